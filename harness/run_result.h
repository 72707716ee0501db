// SPDX-License-Identifier: Apache-2.0
//
// What one run was and what came of it: plain data that crosses from the child that ran it to the reports.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "harness/world_kind.h"
#include "ring/judge.h"
#include "ring/result.h"

namespace ringside::harness {

/// One cell of the check: this consumer, on this ring kind of that world, under that scenario.
struct RunSpec {
  std::string consumer;
  std::string scenario;  ///< its name, or the path it was read from
  WorldKind world = WorldKind::model;
  ring::RingKind ring = ring::RingKind::ringbuf;
  std::uint64_t seed = 0;     ///< every choice of the run is drawn from it
  std::uint64_t records = 0;  ///< of all sources together; 0: as the scenario says

  friend bool operator==(const RunSpec&, const RunSpec&) = default;
};

enum class Outcome : std::uint8_t {
  clean,    ///< judged, nothing wrong
  defects,  ///< judged, the verdict names what is wrong
  skipped,  ///< cannot run here; `reason` says why
  fault,    ///< ringside itself failed; `reason` says how
};
/// `clean`, `defects`, `skipped`, `fault`.
std::string_view name_of(Outcome outcome);

struct RunResult {
  RunSpec spec{};
  Outcome outcome = Outcome::fault;
  std::string reason{};  ///< of skipped and fault; one line
  ring::Verdict verdict{};
  double wall_seconds = 0;
  std::string repeat{};  ///< the command line that runs exactly this again

  friend bool operator==(const RunResult&, const RunResult&) = default;
};

/// A run as one JSON object in a line, and back. An unreadable text is an error that says where.
std::string to_json_line(const RunResult& result);
ring::Result<RunResult> run_result_from_json(std::string_view text);

}  // namespace ringside::harness
