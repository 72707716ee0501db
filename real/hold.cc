// SPDX-License-Identifier: Apache-2.0
//
// A record that stays BUSY. The holding program sleeps inside a copy from user memory: from a page that userfaultfd
// leaves missing until the record is to be settled. So a hold costs no CPU time, needs no time-out to be safe (a killed
// process ends the sleep), and is known to hold by the fault that it raises, not by waiting long enough.
#include <bpf/bpf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cassert>
#include <cstring>
#include <vector>

#include "real/pinned.h"
#include "real/producers.h"
#include "real/program.h"

namespace ringside::real {

namespace {

ring::Result<Fd> open_userfaultfd() {
  Fd fd(static_cast<int>(::syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK)));
  if (!fd) {
    // Where the system call is refused, the device may be allowed (since 6.1).
    const Fd device(::open("/dev/userfaultfd", O_RDWR | O_CLOEXEC));
    if (device) fd = Fd(::ioctl(device.get(), USERFAULTFD_IOC_NEW, O_CLOEXEC | O_NONBLOCK));
  }
  if (!fd) {
    return ring::errno_error("open userfaultfd", errno,
                             "run as root or with CAP_SYS_PTRACE, or allow /dev/userfaultfd");
  }
  uffdio_api api{};
  api.api = UFFD_API;
  if (::ioctl(fd.get(), UFFDIO_API, &api) != 0) return ring::errno_error("set up userfaultfd", errno);
  return fd;
}

/// A page that is missing until it is supplied.
class MissingPage {
 public:
  static ring::Result<MissingPage> create() {
    MissingPage result;
    auto fd = open_userfaultfd();
    if (!fd) return tl::unexpected(fd.error());
    auto page = Mapping::anonymous(page_bytes(), "the page that a hold waits for");
    if (!page) return tl::unexpected(page.error());
    uffdio_register range{};
    range.range.start = reinterpret_cast<std::uintptr_t>(page->data());
    range.range.len = page->size();
    range.mode = UFFDIO_REGISTER_MODE_MISSING;
    if (::ioctl(fd->get(), UFFDIO_REGISTER, &range) != 0) {
      return ring::errno_error("register page with userfaultfd", errno);
    }
    result.page_ = std::move(*page);
    result.fd_ = std::move(*fd);
    return result;
  }

  std::uint64_t address() const { return reinterpret_cast<std::uintptr_t>(page_.data()); }
  /// Readable once a thread sleeps on the page.
  int fd() const { return fd_.get(); }

  /// Ends the sleep of whoever reads the page: it reads `value`.
  ring::Result<void> supply(std::uint32_t value) {
    std::vector<std::byte> content(page_.size());
    std::memcpy(content.data(), &value, sizeof(value));
    uffdio_copy copy{};
    copy.dst = address();
    copy.src = reinterpret_cast<std::uintptr_t>(content.data());
    copy.len = page_.size();
    if (::ioctl(fd_.get(), UFFDIO_COPY, &copy) != 0) return ring::errno_error("supply page of a hold", errno);
    return {};
  }

  /// The last resort: whoever sleeps on the page reads zeros.
  void abandon() { fd_.reset(); }

 private:
  MissingPage() = default;

  Mapping page_;
  Fd fd_;
};

/// The context of the `hold` program.
struct HoldArguments {
  std::uint64_t slot;
  std::int64_t result;
};

}  // namespace

struct Hold::State {
  State(SlotLease lease, MissingPage missing, Fd done)
      : slot(std::move(lease)), page(std::move(missing)), ended(std::move(done)) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() { [[maybe_unused]] const auto untold = end(RINGSIDE_SETTLE_DISCARD); }

  SlotLease slot;
  MissingPage page;
  Fd ended;  // readable once the thread has ended
  ring::Result<void> outcome;
  std::thread thread;

  void hold_on(std::uint32_t cpu) {
    outcome = pin_to(cpu);
    if (outcome) outcome = run();
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t ignored = ::write(ended.get(), &one, sizeof(one));
  }

  ring::Result<void> run() const {
    HoldArguments arguments{.slot = slot.index(), .result = 0};
    bpf_test_run_opts options{};
    options.sz = sizeof(options);
    options.ctx_in = &arguments;
    options.ctx_size_in = sizeof(arguments);
    const std::string attempt = fmt::format("hold record of source {}", slot.slot().source);
    const int code = bpf_prog_test_run_opts(slot.program().descriptors().hold, &options);
    if (code != 0) return ring::errno_error(attempt, -code);
    if (arguments.result != 0) return ring::errno_error(attempt, static_cast<int>(-arguments.result));
    return {};
  }

  /// Waits until the program sleeps with its record BUSY, or has ended with an error.
  ring::Result<void> await_busy() {
    std::array<pollfd, 2> items{
        {{.fd = page.fd(), .events = POLLIN, .revents = 0}, {.fd = ended.get(), .events = POLLIN, .revents = 0}}};
    while (::poll(items.data(), items.size(), -1) < 0) {
      if (errno != EINTR) return ring::errno_error("wait for a record to be held", errno);
    }
    if (items[1].revents == 0) return {};
    thread.join();
    return outcome;
  }

  ring::Result<void> end(std::uint32_t command) {
    if (!thread.joinable()) return {};
    const auto supplied = page.supply(command);
    if (!supplied) page.abandon();
    thread.join();
    return supplied ? outcome : supplied;
  }
};

Hold::Hold(std::unique_ptr<State> state) : state_(std::move(state)) {}
Hold::~Hold() = default;
Hold::Hold(Hold&&) noexcept = default;
Hold& Hold::operator=(Hold&&) noexcept = default;

ring::Result<Hold> Hold::start(const Producers& producers, const HoldOptions& options) {
  const std::shared_ptr<Program>& program = producers.program();
  const std::string attempt = fmt::format("hold record of source {}", options.source);
  if (program->kind() != ring::RingKind::ringbuf) {
    return ring::error(attempt, "a perf record cannot be held: it is made in one go");
  }
  if (program->descriptors().hold < 0) {
    return ring::error(attempt, "its program is not loaded", "set ProducersOptions::holds");
  }
  if (options.source >= max_sources || options.size > program->max_record_bytes()) {
    return ring::errno_error(
        attempt, EINVAL,
        fmt::format("sources are below {}, records at most {} bytes", max_sources, program->max_record_bytes()));
  }
  auto lease = SlotLease::take(program);
  if (!lease) return tl::unexpected(lease.error());
  auto page = MissingPage::create();
  if (!page) return tl::unexpected(page.error());
  Fd ended(::eventfd(0, EFD_CLOEXEC));
  if (!ended) return ring::errno_error(attempt, errno);

  ringside_slot& slot = lease->slot();
  slot.source = options.source;
  slot.min_size = options.size;
  slot.flags = options.flags;
  slot.wait_address = page->address();
  auto state = std::make_unique<State>(std::move(*lease), std::move(*page), std::move(ended));
  auto thread = start_thread([held = state.get(), cpu = options.cpu] { held->hold_on(cpu); });
  if (!thread) return tl::unexpected(thread.error());
  state->thread = std::move(*thread);
  if (auto busy = state->await_busy(); !busy) return tl::unexpected(busy.error());
  assert(__atomic_load_n(&state->slot.slot().state, __ATOMIC_ACQUIRE) == RINGSIDE_HOLD_BUSY);
  return Hold(std::move(state));
}

ring::Result<void> Hold::settle(ring::Action action) {
  assert(action == ring::Action::settle_submit || action == ring::Action::settle_discard);
  if (!state_ || !state_->thread.joinable()) return ring::error("settle held record", "it is settled already");
  return state_->end(action == ring::Action::settle_submit ? RINGSIDE_SETTLE_SUBMIT : RINGSIDE_SETTLE_DISCARD);
}

}  // namespace ringside::real
