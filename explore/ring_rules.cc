// SPDX-License-Identifier: Apache-2.0
//
// Accesses of a ring's data held against the positions of its consumer and its producers (laps.h). A store that hands
// bytes back lets the kernel write over them as soon as it is seen: so every access of them must come before it, by
// what the store releases, and none may come after it until a kernel has written them again.
#include <fmt/format.h>

#include "explore/engine.h"
#include "explore/fault.h"

namespace ringside::explore {
namespace {

// Whoever fails does not return, so what it says is made by functions that do.

std::string handed_back_early(std::size_t by, const Passing& passing, const Access& access, const RingSpan& span) {
  const std::string whose = access.thread == by ? "its own" : fmt::format("thread {}'s", access.thread);
  return fmt::format(
      "thread {} hands back positions {:#x} to {:#x} of {}, and {} {} of position {:#x} need not be over", by,
      passing.from, passing.to, span.ring, whose, access.write ? "write" : "read", span.position);
}

std::string used_late(const Access& access, const Passing& passing, const RingSpan& span) {
  const std::string who = passing.thread == access.thread ? "it" : fmt::format("thread {}", passing.thread);
  return fmt::format("thread {} {} positions {:#x} to {:#x} of {}, which {} had handed back", access.thread,
                     access.write ? "writes" : "reads", span.position, span.position + span.size_bytes, span.ring, who);
}

std::string unwritten(const Access& access, LapFault::Kind kind, const RingSpan& span) {
  if (kind == LapFault::Kind::unclaimed) {
    return fmt::format("thread {} reads position {:#x} of {}, where nothing has been produced", access.thread,
                       span.position, span.ring);
  }
  const std::uint64_t first = span.position - span.from;
  const std::uint64_t last = first + span.size_bytes - 1;
  return fmt::format(
      "thread {} reads {} of the record at position {:#x} of {}, which nobody has written", access.thread,
      first == last ? fmt::format("byte {}", first) : fmt::format("bytes {} to {}", first, last), span.from, span.ring);
}

}  // namespace

void Engine::set_rings() {
  for (const std::size_t thread : program_.kernel_threads) kernel_ = static_cast<std::uint8_t>(kernel_ | 1u << thread);
  std::vector<std::uintptr_t> data;
  for (const Ring& ring : program_.rings) data.push_back(canonical(reinterpret_cast<std::uintptr_t>(ring.data)));
  laps_.set_rings(program_.rings, data);
}

void Engine::note_ring_use(const Access& access) {
  if (is_kernels(access.thread)) {
    if (access.write) laps_.write(access, me().known);
    return;
  }
  if (const auto fault = laps_.use(access, me().known)) fail_use(access, *fault);
}

/// The store may be one of a ring's position: from what stands before it in the modification order.
void Engine::note_position(EventId store) {
  const Event& event = graph().at(store);
  const Location& location = graph().location(event.location);
  if (location.size_bytes != sizeof(std::uint64_t) || event.bytes != 0xff) return;
  for (std::size_t index = 0; index < program_.rings.size(); ++index) {
    const Ring& ring = program_.rings[index];
    const bool consumes = canonical(reinterpret_cast<std::uintptr_t>(ring.consumed)) == location.address;
    const bool produces = canonical(reinterpret_cast<std::uintptr_t>(ring.produced)) == location.address;
    if (!consumes && !produces) continue;
    const EventId before = graph().store_at(event.location, graph().position(event.location, store) - 1);
    const Passing passing{.thread = store.thread,
                          .time = store.index,
                          .from = graph().value_of(event.location, before, 0xff),
                          .to = event.value};
    if (produces) laps_.claim(index, passing, me().known);
    const auto handed_back = consumes ? laps_.hand_back(index, passing) : std::nullopt;
    if (!handed_back) continue;
    for (const Access& place : laps_.places_of(index, *handed_back)) {
      const auto users = static_cast<std::uint8_t>(~kernel_);
      if (place.size_bytes == 0) continue;
      const auto unordered = races_.unknown(place, users, event.released);
      if (unordered && !planted(Fault::views_need_not_be_over)) fail_handing_back(index, *handed_back, *unordered);
    }
  }
}

void Engine::fail_handing_back(std::size_t ring, const Passing& passing, const Race& unordered) {
  if (recording_) find_rival(unordered.earlier);
  const std::uint64_t position = laps_.position_of(ring, passing, unordered.address);
  span_ = RingSpan{program_.rings[ring].name, passing.from, passing.to, position, unordered.size_bytes, true};
  fail(FailureKind::use_after_release, handed_back_early(running_, passing, unordered.earlier, *span_));
}

void Engine::fail_use(const Access& access, const LapFault& fault) {
  const Passing& passing = fault.passing;
  span_ = RingSpan{program_.rings[fault.ring].name, passing.from, passing.to, fault.position, fault.size_bytes, false};
  if (recording_ && fault.kind != LapFault::Kind::unclaimed) rival_ = step_of_[passing.thread][passing.time];
  if (fault.kind == LapFault::Kind::handed_back) {
    fail(FailureKind::use_after_release, used_late(access, passing, *span_));
  }
  fail(FailureKind::uninitialised_read, unwritten(access, fault.kind, *span_));
}

}  // namespace ringside::explore
