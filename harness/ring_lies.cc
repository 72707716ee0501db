// SPDX-License-Identifier: Apache-2.0
#include "harness/ring_lies.h"

#include <array>
#include <cassert>
#include <cstddef>
#include <span>
#include <utility>

#include "sim/perf_ring.h"

namespace ringside::harness {

namespace {

constexpr std::size_t broken_payload = 16;

// No test record reads like that.
std::array<std::byte, broken_payload> broken_bytes() {
  std::array<std::byte, broken_payload> bytes;
  bytes.fill(std::byte{0xb5});
  return bytes;
}

bool is_behind(std::uint64_t a, std::uint64_t b) { return static_cast<std::int64_t>(a - b) < 0; }

}  // namespace

RingLies::RingLies(sim::Machine& machine, ring::RingKind kind, const FaultsPlan& plan, std::uint64_t seed)
    : machine_(machine), kind_(kind), plan_(plan), seed_(seed) {
  if (kind != ring::RingKind::perf) return;
  for (std::uint32_t ring = 0; ring < machine.ring_count(); ++ring) {
    const std::uint64_t head = machine.perf(ring).data_head();
    heads_.push_back({.now = head, .before = head, .stepped_back = false});
  }
}

std::uint64_t* RingLies::producer_pos(std::uint32_t ring) {
  return kind_ == ring::RingKind::perf ? machine_.perf(ring).state().data_head
                                       : machine_.ringbuf(ring).state().producer_pos;
}

bool RingLies::step_forward() {
  if (!back_) return false;
  *producer_pos(*back_) = heads_[*back_].now;
  back_.reset();
  return true;
}

bool RingLies::step_back() {
  if (plan_.head_back_every == 0) return false;
  for (std::uint32_t ring = 0; ring < heads_.size(); ++ring) {
    Head& head = heads_[ring];
    const std::uint64_t published = machine_.perf(ring).data_head();
    if (published != head.now) head = {.now = published, .before = head.now, .stepped_back = false};
    const bool can = !back_ && !head.stepped_back && head.before != head.now;
    if (!can || machine_.perf(ring).data_tail() != head.now) continue;
    head.stepped_back = true;
    if (++chances_ % plan_.head_back_every != 0) continue;
    *producer_pos(ring) = head.before;
    back_ = ring;
  }
  return back_.has_value();
}

bool RingLies::put_broken_records() {
  if (plan_.broken_sizes.empty() || !broken_at_.empty()) return false;
  for (std::uint32_t ring = 0; ring < machine_.ring_count(); ++ring) {
    put_broken_record(ring, plan_.broken_sizes[(ring + seed_) % plan_.broken_sizes.size()]);
  }
  return true;
}

void RingLies::put_broken_record(std::uint32_t ring, std::uint64_t size) {
  const auto bytes = broken_bytes();
  broken_at_.push_back(*producer_pos(ring));
  if (kind_ == ring::RingKind::perf) {
    machine_.perf(ring).write({.type = plan_.broken_type,
                               .payload = std::span<const std::byte>(bytes),
                               .false_size = static_cast<std::uint16_t>(size)});
    return;
  }
  // Committed first, and lied about then: nobody has looked since, and nobody reserves behind it.
  machine_.ringbuf(ring).output(bytes, ring::flag_force_wakeup);
  *machine_.ringbuf(ring).state().length_word(broken_at_[ring]) = static_cast<std::uint32_t>(size);
}

std::optional<std::uint64_t> RingLies::true_head(std::uint32_t ring) const {
  if (back_ != ring) return std::nullopt;
  return heads_[ring].now;
}

bool RingLies::nothing_from(std::uint32_t ring, std::uint64_t consumer_pos) const {
  if (back_ == ring) return consumer_pos == heads_[ring].now;
  return is_broken(ring) && !is_behind(consumer_pos, broken_at_[ring]);
}

/// As if the rings ended where they break.
std::vector<std::uint64_t> RingLies::records_left() {
  std::vector<std::uint64_t> published;
  for (std::uint32_t ring = 0; ring < broken_at_.size(); ++ring) {
    published.push_back(std::exchange(*producer_pos(ring), broken_at_[ring]));
  }
  auto left = machine_.records_left();
  for (std::uint32_t ring = 0; ring < published.size(); ++ring) *producer_pos(ring) = published[ring];
  return left;
}

}  // namespace ringside::harness
