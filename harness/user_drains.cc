// SPDX-License-Identifier: Apache-2.0
#include "harness/user_drains.h"

#include <fmt/format.h>

#include <algorithm>

#include "ring/layout.h"

namespace ringside::harness {

namespace {

// What the virtual clock charges for a call across the contract.
constexpr std::int64_t call_ns = 20;
// A turn is nothing in half of all cases, else fewer steps than this.
constexpr std::uint64_t most_steps_of_a_turn = 8;
// How often an application is slow, and how far a drain gets meanwhile.
constexpr std::uint32_t dawdles_percent = 6;
constexpr std::uint64_t most_steps_of_a_dawdle = 64;
// Parts these dice from the workload's, which have the same seed.
constexpr std::uint64_t drains_salt = 0xd7a1'0000'0000'0001ull;

std::uint64_t position_in(const void* page, std::uint64_t offset) {
  // Acquire, as any reader of a position.
  return __atomic_load_n(reinterpret_cast<const std::uint64_t*>(static_cast<const std::byte*>(page) + offset),
                         __ATOMIC_ACQUIRE);
}

}  // namespace

UserDrains::UserDrains(UserWorld& world, const Scenario& scenario, std::uint64_t seed, ring::Judge& judge,
                       Heartbeat& heartbeat)
    : world_(world), scenario_(scenario), random_(seed ^ drains_salt), judge_(judge), heartbeat_(heartbeat) {}

std::uint64_t UserDrains::consumer_pos() const {
  return position_in(world_.ring().consumer_page, ring::ringbuf::consumer_pos_offset);
}

std::uint64_t UserDrains::producer_pos() const {
  return position_in(world_.ring().producer_page, ring::ringbuf::producer_pos_offset);
}

void UserDrains::take(std::span<const std::byte> sample) {
  judge_.deliver(0, sample);
  // Relaxed, both: progress for the watchdog's eyes; nothing is ordered by it.
  heartbeat_.beats.fetch_add(1, std::memory_order_relaxed);
  heartbeat_.deliveries.store(judge_.deliveries(), std::memory_order_relaxed);
}

bool UserDrains::step() {
  if (fault_) return false;
  if (!world_.draining()) {
    if (now_ns_ < next_drain_ns_) return false;
    consumer_at_start_ = consumer_pos();
    world_.begin_drain(scenario_.drain.flags, scenario_.drain.max_samples);
  }
  const auto ended = world_.step([this](std::span<const std::byte> sample) { take(sample); });
  if (!ended) {
    fault_ = ended.error();
    return false;
  }
  now_ns_ += world_.step_ns();
  if (ended->has_value()) end_drain(**ended);
  return true;
}

void UserDrains::end_drain(std::int64_t result) {
  next_drain_ns_ = now_ns_ + scenario_.drain.interval_ns;
  fruitless_ = consumer_pos() == consumer_at_start_ ? fruitless_ + 1 : 0;
  if (result >= 0) return;
  const std::uint64_t consumer = consumer_pos();
  const std::uint64_t producer = producer_pos();
  judge_.accuse(
      {.kind = ring::DefectKind::protocol,
       .detail = fmt::format("the kernel refuses the ring with {}: consumer_pos {}, producer_pos {} (case O2)",
                             ring::errno_name(static_cast<int>(-result)), consumer, producer)});
}

void UserDrains::turn() {
  now_ns_ += call_ns;
  std::uint64_t steps = random_.chance(50) ? 0 : random_.below(most_steps_of_a_turn);
  while (steps > 0 && step()) --steps;
}

void UserDrains::dawdle() {
  if (!random_.chance(dawdles_percent)) return turn();
  if (!world_.draining()) skip_to(next_drain_ns_);
  for (std::uint64_t steps = 1 + random_.below(most_steps_of_a_dawdle); steps > 0 && step();) --steps;
}

void UserDrains::advance(std::int64_t limit_ns) {
  if (!step() && !fault_) skip_to(std::min(std::max(next_drain_ns_, now_ns_ + 1), limit_ns));
}

void UserDrains::skip_to(std::int64_t time_ns) { now_ns_ = std::max(now_ns_, time_ns); }

}  // namespace ringside::harness
