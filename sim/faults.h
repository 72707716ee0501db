// SPDX-License-Identifier: Apache-2.0
//
// Faults that a kernel cannot be asked for. Plain data; everything is off by default, and whatever is left to chance is
// drawn from the machine's seed.
#pragma once

#include <cstdint>
#include <optional>

namespace ringside::sim {

/// What a hostile perf sample says in its header.size, whatever it really is [2.14].
enum class HostileSize : std::uint8_t {
  zero,  ///< 0: a reader that adds it stays where it is
  huge,  ///< 65528: a reader that trusts it runs past data_head
};

struct FaultPlan {
  std::uint32_t eintr_every = 0;     ///< every n-th wait ends at once with EINTR; 0: never
  std::uint32_t spurious_every = 0;  ///< every n-th wait ends at once, naming a ring that need not be ready; 0: never

  std::optional<std::uint32_t> hup_ring = {};  ///< this ring reports HUP for ever ...
  std::uint64_t hup_after = 0;                 ///< ... once that many operations have ended

  std::uint32_t stall_every = 0;  ///< every n-th operation of a CPU stalls with its record BUSY; 0: never
  std::uint32_t stall_turns = 0;  ///< for that many turns of its CPU (threaded: yields of its thread)

  std::uint32_t lock_failures_ppm = 0;  ///< reservations that fail at the lock, per million [5.5]

  std::uint32_t hostile_every = 0;  ///< perf: every n-th sample of a CPU lies about its size; 0: never
  HostileSize hostile_size = HostileSize::zero;

  friend bool operator==(const FaultPlan&, const FaultPlan&) = default;
};

}  // namespace ringside::sim
