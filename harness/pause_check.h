// SPDX-License-Identifier: Apache-2.0
//
// What a consumer pauses (ringside_host.pause): that it lets it go on, and that it reads no ring that is written
// backward without having paused it.
#pragma once

#include <cstdint>
#include <optional>
#include <set>

#include "ring/defect.h"

namespace ringside::harness {

/// Not thread-safe: the session's thread alone uses it.
class PauseCheck {
 public:
  /// The ring is paused from now on, or goes on.
  void note(std::uint32_t ring, bool paused);
  /// A record of a ring that is written backward is delivered.
  std::optional<ring::Defect> delivered_backward(std::uint32_t ring) const;
  /// The consumer is closed.
  std::optional<ring::Defect> at_close() const;

 private:
  std::set<std::uint32_t> paused_;
  std::set<std::uint32_t> ever_paused_;
};

}  // namespace ringside::harness
