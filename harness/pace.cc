// SPDX-License-Identifier: Apache-2.0
#include "harness/pace.h"

#include <algorithm>
#include <chrono>
#include <thread>

namespace ringside::harness {

namespace {

// What the virtual clock charges for a call across the contract.
constexpr std::int64_t call_ns = 20;
// A turn is nothing in half of all cases, else fewer steps than this.
constexpr std::uint64_t most_steps_of_a_turn = 8;
// Free drive: so long, and then a look whether the producers have ended.
constexpr std::int64_t longest_sleep_ns = 20'000'000;
// Parts the session's dice from the world's, which have the same seed.
constexpr std::uint64_t session_salt = 0x5e55'1011'0000'0001ull;

}  // namespace

Pace::Pace(World& world, const Scenario& scenario, std::uint64_t seed)
    : world_(world), scenario_(scenario), stepped_(scenario.drive == Drive::stepped), random_(seed ^ session_salt) {}

std::int64_t Pace::now_ns() const {
  if (stepped_) return now_ns_;
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

bool Pace::producers_done() const {
  return stepped_ ? !world_.next_event_ns().has_value() : !world_.producers_running();
}

Moved Pace::step() {
  if (fault_) return Moved::done;
  auto moved = world_.step(random_, now_ns_);
  if (!moved) {
    fault_ = moved.error();
    return Moved::done;
  }
  if (*moved == Moved::stepped) {
    now_ns_ += world_.step_ns();
    if (behind_step_) behind_step_();
  }
  return *moved;
}

Moved Pace::sleep_towards(std::int64_t time_ns) {
  if (!stepped_) {
    if (!world_.producers_running()) return Moved::done;
    std::this_thread::sleep_for(std::chrono::nanoseconds(std::min(time_ns - now_ns(), longest_sleep_ns)));
    return Moved::stepped;
  }
  const Moved moved = step();
  if (moved == Moved::waiting) skip_time(time_ns);
  return moved;
}

void Pace::turn() {
  if (!stepped_) return;
  now_ns_ += call_ns;
  std::uint64_t steps = random_.chance(50) ? 0 : random_.below(most_steps_of_a_turn);
  while (steps > 0 || world_.in_burst()) {
    if (step() != Moved::stepped) return;
    if (steps > 0) --steps;
  }
}

void Pace::work() {
  if (!stepped_) return;
  const std::int64_t end = now_ns_ + scenario_.consumer.work_ns;
  while (now_ns_ < end) {
    if (step() != Moved::stepped) skip_time(end);
  }
}

bool Pace::advance() {
  const Moved moved = step();
  if (moved == Moved::waiting) skip_time(INT64_MAX);
  return moved != Moved::done;
}

void Pace::skip_time(std::int64_t limit_ns) {
  const std::int64_t next = std::max(world_.next_event_ns().value_or(limit_ns), now_ns_ + world_.step_ns());
  skip_to(std::min(next, limit_ns));
}

void Pace::skip_to(std::int64_t time_ns) { now_ns_ = std::max(now_ns_, time_ns); }

}  // namespace ringside::harness
