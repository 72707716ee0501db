// SPDX-License-Identifier: Apache-2.0
//
// Scripts drawn from a seed, and the simpler scripts that one can be cut down to. RapidCheck draws and enumerates; what
// is likely is decided here: sizes and positions at the edges that the specification names, operations that build on
// one another, and lies only in every second script, so that honest ones get far.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "conform/script.h"

namespace ringside::conform {

struct GenerateOptions {
  std::size_t most_ops = 200;  ///< a script has 1 to so many operations
  bool overwrite = false;      ///< ringbuf: some rings are overwrite rings, which need kernel 6.19
};

/// Script number `index` of that kind and seed: the same on every machine.
Script generate(ring::RingKind kind, std::uint64_t seed, std::uint64_t index, const GenerateOptions& options);

/// The scripts that are simpler than one by one step, simplest first: without some operations, with smaller values, or
/// with one operation less and another one at an edge. Each is valid.
class Simpler {
 public:
  explicit Simpler(const Script& script);
  ~Simpler();
  Simpler(const Simpler&) = delete;
  Simpler& operator=(const Simpler&) = delete;

  /// The next one; nothing after the last.
  std::optional<Script> next();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ringside::conform
