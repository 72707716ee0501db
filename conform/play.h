// SPDX-License-Identifier: Apache-2.0
//
// Plays a script on both sides and compares after every operation: what it returned, every number and every byte that
// the sides show. And, when a script deviates, finds the shortest one that still does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <ostream>
#include <string>

#include "conform/script.h"
#include "conform/side.h"

namespace ringside::conform {

/// Where the two sides part.
struct Deviation {
  std::size_t op = 0;     ///< index of the operation after which they differ; the number of them: before the first one
  std::string operation;  ///< as text; `set-up` before the first one
  std::string what;       ///< `result`, `details`, `producer_pos`, `data byte 16`
  std::string kernel;     ///< what the kernel showed
  std::string model;      ///< what the model showed

  friend bool operator==(const Deviation&, const Deviation&) = default;
};
/// `after output size=24 flags=0: producer_pos is 40 on the kernel, 32 in the model`
std::ostream& operator<<(std::ostream& out, const Deviation& deviation);

/// One kind of ring's two sides, made anew for each script.
struct Sides {
  std::function<ring::Result<std::unique_ptr<Side>>(const Script&)> kernel;
  std::function<ring::Result<std::unique_ptr<Side>>(const Script&, const Facts&)> model;
};
/// The running kernel's lab and the model. The lab must outlive it.
Sides sides_of(ring::RingKind kind, Lab& lab, const ModelOptions& options);
/// A lab for that kind of ring on the calling thread (see Lab). On PREEMPT_RT, too, the wake-ups of an operation are
/// done when its side has carried it out.
ring::Result<std::unique_ptr<Lab>> make_lab(ring::RingKind kind, std::uint32_t cpu);

struct Played {
  std::size_t operations = 0;  ///< carried out on both sides
  std::optional<Deviation> deviation;
};
/// Errors are of the harness: a side that cannot be made, an operation that cannot be run.
ring::Result<Played> play(const Script& script, const Sides& sides);

struct Shrunk {
  Script script;
  Deviation deviation;
  std::size_t tried = 0;  ///< scripts played on the way
};
/// Cuts a script that deviates down as far as it goes, playing at most `most_tried` scripts. A simpler script counts
/// when it deviates, whatever the deviation.
ring::Result<Shrunk> shrink(const Script& script, const Deviation& deviation, const Sides& sides,
                            std::size_t most_tried = 50'000);

}  // namespace ringside::conform
