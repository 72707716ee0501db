// SPDX-License-Identifier: Apache-2.0
//
// `ringside compare`: consumers beside one another on the same records, how fast each is and how sure that is.
//
// A ring is filled once for each record size and drained by everyone in turn, round after round; what disturbs a round
// disturbs all of them. Before it is timed, each consumer is judged on records of that size: who is wrong gets no
// figure. In each timed drain the number of records and what was read of them are held against what lies there.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "harness/compare/statistics.h"
#include "harness/compare/timed_drain.h"
#include "harness/report.h"
#include "harness/world_kind.h"
#include "ring/result.h"

namespace ringside::harness {

struct CompareOptions {
  WorldKind world = WorldKind::kernel;
  std::vector<std::string> consumers;  ///< names; empty: every strategy that reads BPF ring buffers there
  std::string plugin;                  ///< path of a shared object; its consumer is compared, too
  std::vector<std::uint32_t> sizes{8, 128, 512, 1024, 2048};  ///< of records, bytes; multiples of 8
  std::vector<Touch> touches{Touch::line, Touch::all};
  std::uint64_t ring_bytes = 64u << 20;
  std::uint32_t rounds = 15;  ///< that count; one more goes before them
  std::string base;           ///< whose ratio is 1; empty: libbpf where it is compared, else the first
  std::uint64_t seed = 1;     ///< of the judged runs
  std::uint64_t hang_timeout_ms = 10'000;
  std::string preset;  ///< the name of the published comparison that this is; empty: none
  /// The `ringside` command: each round is a process of its own then, which begins with a layout of its own; see
  /// docs/compare.md. Empty: all rounds in this process.
  std::string command;
  /// The number of the one round that this process is, from 1; 0: it is the comparison itself. A round is not judged.
  std::uint32_t part = 0;
};

/// One consumer on records of one size, touched in one way. Nanoseconds a record, a value a round.
struct CompareSeries {
  std::string consumer;
  std::uint32_t size = 0;
  Touch touch = Touch::line;
  std::vector<double> wall_ns;
  std::vector<double> cpu_ns;
  std::string reason;  ///< why there is no figure; empty: there is one

  bool has_figure() const { return reason.empty() && !wall_ns.empty(); }
};

/// One consumer on one size and touch, then and now.
struct Change {
  std::string consumer;
  std::uint32_t size = 0;
  Touch touch = Touch::line;
  double times_as_long = 1;  ///< the median now by that of then
  double probability = 1;    ///< of such a difference by chance, before many are asked together
  bool stands = false;       ///< it is sure and large enough: slower above 1, faster below
};

struct CompareReport {
  ReportContext context;
  CompareOptions options;
  std::string base;
  std::vector<std::string> method;     ///< how the machine was kept quiet, one sentence each
  std::vector<std::string> consumers;  ///< in the order of the table
  std::vector<CompareSeries> series;   ///< size by size, touch by touch, in the order of `consumers`
  std::vector<CompareSeries> limits;   ///< one pass over the same bytes: a series for each size and touch
  std::string baseline;                ///< the file that it was held against; empty: none
  std::string baseline_remark;         ///< what a reader of the changes should know; empty: nothing
  std::vector<Change> changes;         ///< each series that both have
  std::size_t planned = 0;             ///< drains
  double duration_seconds = 0;
  int interrupted_by = 0;

  const CompareSeries* find(const std::string& consumer, std::uint32_t size, Touch touch) const;
  const CompareSeries* limit(std::uint32_t size, Touch touch) const;
  /// Of the changes, those that are slower for sure.
  std::size_t slower() const;
  /// Consumers that were judged and found wrong, by name.
  std::vector<std::string> convicted() const;
};

/// Told before each drain.
struct CompareProgress {
  std::size_t done = 0;
  std::size_t total = 0;
  std::string now;  ///< `128 B, line: libbpf`
};
using CompareProgressSink = std::function<void(const CompareProgress&)>;

/// The consumers, by name, and how many drains there will be. Errors: an unknown consumer, one that reads no BPF rings
/// or not in that world, a base that is not compared, a size that is no multiple of 8 or that the ring cannot hold, a
/// plugin that does not load.
struct ComparePlan {
  std::vector<std::string> consumers;
  std::string base;
  std::size_t drains = 0;
};
ring::Result<ComparePlan> plan_compare(const CompareOptions& options);

/// Fills `report`, but for its context and duration. A signal ends it after the drain under way; what was measured is
/// there. `remark` is told what a user waits for.
ring::Result<void> run_compare(const CompareOptions& options, const CompareProgressSink& progress,
                               const std::function<void(const std::string&)>& remark, CompareReport& report);

enum class CompareFormat : std::uint8_t { table, json, csv, html };
std::string render(const CompareReport& report, CompareFormat format, const TextStyle& style);
std::string verdict_line(const CompareReport& report, const TextStyle& style);

}  // namespace ringside::harness
