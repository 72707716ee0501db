// SPDX-License-Identifier: Apache-2.0
//
// Which sides belong to which kind of ring, and what all kernel sides have in common: an operation of theirs has ended,
// its wake-ups included, when the next one begins. That needs nothing but on PREEMPT_RT (real/wakeup_fence.h).
#include <utility>

#include "conform/play.h"
#include "conform/readiness_kernel.h"
#include "real/wakeup_fence.h"

namespace ringside::conform {

namespace {

/// A kernel side that waits for the wake-ups of every operation that may make any. Right after it, not when somebody
/// looks: a perf ring wakes the events that share it when the wake-up arrives, and the next operation may change these.
class FencedSide final : public Side {
 public:
  FencedSide(std::unique_ptr<Side> side, const real::WakeupFence& wakeups, std::uint32_t cpu)
      : side_(std::move(side)), wakeups_(&wakeups), cpu_(cpu) {}

  ring::Result<Outcome> apply(const Op& op, std::uint64_t ordinal) override {
    auto outcome = side_->apply(op, ordinal);
    if (!outcome || is_readiness(op.verb)) return outcome;
    if (auto passed = wakeups_->pass(cpu_); !passed) return tl::unexpected(passed.error());
    return outcome;
  }
  ring::Result<Outcome> look() override { return side_->look(); }
  ring::Result<void> show(View& view) override { return side_->show(view); }
  const Facts& facts() const override { return side_->facts(); }

 private:
  std::unique_ptr<Side> side_;
  const real::WakeupFence* wakeups_;
  std::uint32_t cpu_;
};

class FencedLab final : public Lab {
 public:
  FencedLab(std::unique_ptr<Lab> lab, real::WakeupFence wakeups, std::uint32_t cpu)
      : lab_(std::move(lab)), wakeups_(std::move(wakeups)), cpu_(cpu) {}

  ring::Result<std::unique_ptr<Side>> side(const Script& script) override {
    auto side = lab_->side(script);
    if (!side) return side;
    return std::make_unique<FencedSide>(std::move(*side), wakeups_, cpu_);
  }

 private:
  std::unique_ptr<Lab> lab_;
  real::WakeupFence wakeups_;
  std::uint32_t cpu_;
};

ring::Result<std::unique_ptr<Lab>> make_lab_of(ring::RingKind kind, std::uint32_t cpu) {
  switch (kind) {
    case ring::RingKind::ringbuf:
      return make_ringbuf_lab(cpu);
    case ring::RingKind::perf:
      return make_perf_lab(cpu);
    case ring::RingKind::user_ringbuf:
      break;
  }
  return make_user_ringbuf_lab(cpu);
}

}  // namespace

Sides sides_of(ring::RingKind kind, Lab& lab, const ModelOptions& options) {
  const auto make_model = kind == ring::RingKind::ringbuf ? make_ringbuf_model
                          : kind == ring::RingKind::perf  ? make_perf_model
                                                          : make_user_ringbuf_model;
  return Sides{.kernel = [&lab](const Script& script) { return lab.side(script); },
               .model = [make_model, options](const Script& script,
                                              const Facts& facts) { return make_model(script, options, facts); }};
}

ring::Result<std::unique_ptr<Lab>> make_lab(ring::RingKind kind, std::uint32_t cpu) {
  auto lab = make_lab_of(kind, cpu);
  if (!lab) return lab;
  auto wakeups = real::WakeupFence::create();
  if (!wakeups) return tl::unexpected(wakeups.error());
  return std::make_unique<FencedLab>(std::move(*lab), std::move(*wakeups), cpu);
}

}  // namespace ringside::conform
