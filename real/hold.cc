// SPDX-License-Identifier: Apache-2.0
//
// A record that stays BUSY. The holding program sleeps inside a copy from user memory: from a page that is missing
// until the record is to be settled. So a hold costs no CPU time, needs no time-out to be safe (a killed process ends
// the sleep), and is known to hold by the fault that it raises, not by waiting long enough.
#include <bpf/bpf.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cassert>

#include "real/missing_page.h"
#include "real/pinned.h"
#include "real/producers.h"
#include "real/program.h"

namespace ringside::real {

namespace {

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
  std::uint32_t cpu = 0;

  void hold_on() {
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
  state->cpu = options.cpu;
  auto thread = start_thread([held = state.get()] { held->hold_on(); });
  if (!thread) return tl::unexpected(thread.error());
  state->thread = std::move(*thread);
  if (auto busy = state->await_busy(); !busy) return tl::unexpected(busy.error());
  assert(__atomic_load_n(&state->slot.slot().state, __ATOMIC_ACQUIRE) == RINGSIDE_HOLD_BUSY);
  return Hold(std::move(state));
}

ring::Result<void> Hold::settle(ring::Action action) {
  assert(action == ring::Action::settle_submit || action == ring::Action::settle_discard);
  if (!state_ || !state_->thread.joinable()) return ring::error("settle held record", "it is settled already");
  auto ended = state_->end(action == ring::Action::settle_submit ? RINGSIDE_SETTLE_SUBMIT : RINGSIDE_SETTLE_DISCARD);
  return ended ? state_->slot.program().wakeups().pass(state_->cpu) : ended;
}

}  // namespace ringside::real
