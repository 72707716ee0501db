// SPDX-License-Identifier: Apache-2.0
#include "conform/ringbuf_holder.h"

#include <bpf/bpf.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cassert>
#include <cerrno>
#include <utility>

#include "real/pinned.h"

namespace ringside::conform {

namespace {

const char* const attempt = "hold a record of a script";

void signal(const real::Fd& event) {
  const std::uint64_t one = 1;
  // An eventfd takes a 1 unless it stands at its limit, which one order at a time never reaches.
  [[maybe_unused]] const ssize_t written = ::write(event.get(), &one, sizeof(one));
  assert(written == sizeof(one));
}

void wait_for(const real::Fd& event) {
  std::uint64_t count = 0;
  while (::read(event.get(), &count, sizeof(count)) < 0 && errno == EINTR) {
  }
}

}  // namespace

RingbufHolder::RingbufHolder(int program, std::uint32_t slot, conform_ringbuf_hold& order, real::MissingPage page)
    : program_(program),
      slot_(slot),
      order_(&order),
      page_(std::move(page)),
      ordered_(::eventfd(0, EFD_CLOEXEC)),
      ended_(::eventfd(0, EFD_CLOEXEC)) {}

ring::Result<std::unique_ptr<RingbufHolder>> RingbufHolder::start(int program, std::uint32_t slot,
                                                                  conform_ringbuf_hold& order, std::uint32_t cpu) {
  auto page = real::MissingPage::create();
  if (!page) return tl::unexpected(page.error());
  std::unique_ptr<RingbufHolder> holder(new RingbufHolder(program, slot, order, std::move(*page)));
  if (!holder->ordered_ || !holder->ended_) return ring::errno_error(attempt, errno, "raise the limit of open files");
  auto thread = real::start_thread([held = holder.get(), cpu] { held->serve(cpu); });
  if (!thread) return tl::unexpected(thread.error());
  holder->thread_ = std::move(*thread);
  if (auto pinned = holder->await_end(); !pinned) return tl::unexpected(pinned.error());
  return holder;
}

RingbufHolder::~RingbufHolder() {
  if (!thread_.joinable()) return;
  if (holds_ && !settle(true, 0)) page_.abandon();
  // Relaxed: the order that follows hands it over.
  stops_.store(true, std::memory_order_relaxed);
  signal(ordered_);
  thread_.join();
}

// The thread: pins itself, then carries out orders.
void RingbufHolder::serve(std::uint32_t cpu) {
  outcome_ = real::pin_to(cpu);
  signal(ended_);
  while (true) {
    wait_for(ordered_);
    if (stops_.load(std::memory_order_relaxed)) return;
    outcome_ = run();
    signal(ended_);
  }
}

ring::Result<void> RingbufHolder::run() const {
  std::uint64_t slot = slot_;
  bpf_test_run_opts options{};
  options.sz = sizeof(options);
  options.ctx_in = &slot;
  options.ctx_size_in = sizeof(slot);
  const int code = bpf_prog_test_run_opts(program_, &options);
  if (code != 0) return ring::errno_error(attempt, -code);
  const auto returned = static_cast<std::int32_t>(options.retval);
  if (returned != 0) return ring::errno_error(attempt, -returned);
  return {};
}

ring::Result<void> RingbufHolder::await_end() {
  wait_for(ended_);
  return outcome_;
}

ring::Result<std::int64_t> RingbufHolder::hold(std::uint32_t ring, std::uint32_t size) {
  assert(!holds_);
  if (auto taken = page_.take_back(); !taken) return tl::unexpected(taken.error());
  *order_ = {
      .ring = ring, .size = size, .wait_address = page_.address(), .flags = 0, .discard = 0, .unused = 0, .result = 0};
  signal(ordered_);
  std::array<pollfd, 2> items{
      {{.fd = page_.fd(), .events = POLLIN, .revents = 0}, {.fd = ended_.get(), .events = POLLIN, .revents = 0}}};
  while (::poll(items.data(), items.size(), -1) < 0) {
    if (errno != EINTR) return ring::errno_error(attempt, errno);
  }
  holds_ = items[1].revents == 0;  // asleep on the page
  if (holds_) return 0;
  if (auto ended = await_end(); !ended) return tl::unexpected(ended.error());
  return order_->result;
}

ring::Result<void> RingbufHolder::settle(bool discard, std::uint64_t flags) {
  assert(holds_);
  order_->discard = discard;
  order_->flags = flags;
  if (auto supplied = page_.supply(1); !supplied) return supplied;
  holds_ = false;
  return await_end();
}

}  // namespace ringside::conform
