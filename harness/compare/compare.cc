// SPDX-License-Identifier: Apache-2.0
#include "harness/compare/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <span>

#include "harness/catalogue.h"
#include "harness/check.h"
#include "harness/compare/parts.h"
#include "harness/compare/quiet_cpu.h"
#include "harness/nearest.h"
#include "harness/world.h"
#include "ring/layout.h"
#include "ring/signals.h"

namespace ringside::harness {

namespace {

using ring::Result;

constexpr std::uint64_t judged_records = 2000;
constexpr std::uint64_t judged_ring_bytes = 65536;
constexpr std::uint64_t records_of_a_figure = 200'000;

/// A scenario that shows whether a consumer reads records of that size right: beside discarded ones and BUSY ones, over
/// the ring's end.
Scenario judging_scenario(const CompareOptions& options, std::uint32_t size) {
  Scenario scenario;
  scenario.name = fmt::format("compare_{}", size);
  scenario.summary = "records of one size, judged before they are timed";
  scenario.rings = {ring::RingKind::ringbuf};
  scenario.worlds = {options.world};
  scenario.ring.size = std::min(options.ring_bytes, judged_ring_bytes);
  scenario.ring.cpus = 3;
  SourcePlan source;
  source.records = judged_records;
  source.size.min = source.size.max = size;
  source.discard_every = 50;
  source.interval_ns = 1000;
  SourcePlan output = source;
  output.cpu = 1;
  output.action = ring::Action::output;
  output.discard_every = 0;
  SourcePlan holder = output;
  holder.cpu = 2;
  holder.action = ring::Action::hold;
  holder.records = judged_records / 100;
  holder.hold_ns = 5000;
  holder.interval_ns = 100'000;
  scenario.sources = {source, output, holder};
  return scenario;
}

/// Why it may not be timed; empty when it may.
std::string judge(const CompareOptions& options, const Judged& judged, std::uint32_t size) {
  CheckOptions check;
  check.hang_timeout_ms = options.hang_timeout_ms;
  const Scenario scenario = judging_scenario(options, size);
  const RunSpec spec{.consumer = judged.name(),
                     .scenario = scenario.name,
                     .world = options.world,
                     .ring = ring::RingKind::ringbuf,
                     .seed = options.seed,
                     .records = 0};
  const RunResult result = run_cell(spec, *judged.consumer, scenario, check);
  if (result.outcome == Outcome::clean) return {};
  if (result.outcome != Outcome::defects) return result.reason.empty() ? "it could not be judged" : result.reason;
  const ring::Defect& defect = result.verdict.defects.front();
  return fmt::format("convicted of {}: {}", ring::name_of(defect.kind), one_line(defect.detail));
}

Result<void> check_sizes(const CompareOptions& options) {
  for (const std::uint32_t size : options.sizes) {
    const std::string attempt = fmt::format("compare on records of {} bytes", size);
    if (size < 8 || size % 8 != 0) return ring::error(attempt, "sizes are multiples of 8", "round it up");
    const std::uint64_t most = ring::ringbuf::max_payload(std::min(options.ring_bytes, judged_ring_bytes));
    if (size > most) {
      return ring::error(attempt, fmt::format("the largest is {}", most), "take smaller records or a larger ring");
    }
  }
  return {};
}

/// Every consumer by name; those that were named must be able to run, the others are left out where they are not.
Result<std::vector<Judged>> chosen(const CompareOptions& options, const Catalogue& catalogue) {
  std::vector<std::string> names = options.consumers;
  if (names.empty()) {
    for (const consumers::Entry& entry : consumers::strategies()) names.emplace_back(entry.consumer->name);
    if (!options.plugin.empty()) names.push_back(catalogue.default_names().front());
  }
  std::vector<Judged> all;
  for (const std::string& name : names) {
    const auto judged = catalogue.find(name);
    if (!judged) return tl::unexpected(judged.error());
    const bool fits =
        judged->consumer != nullptr && judged->runs_on(ring::RingKind::ringbuf) && judged->lives_in(options.world);
    if (fits) {
      all.push_back(*judged);
    } else if (!options.consumers.empty()) {
      return ring::error(fmt::format("compare \"{}\"", name),
                         fmt::format("it reads no BPF ring buffer of the {} world", name_of(options.world)),
                         "see `ringside list consumers`");
    }
  }
  return all;
}

struct Prepared {
  Catalogue catalogue;
  std::vector<Judged> consumers;
  std::string base;

  std::size_t drains(const CompareOptions& options) const {
    return (consumers.size() + 1) * options.sizes.size() * options.touches.size() * (options.rounds + 1);
  }
};

Result<Prepared> prepare(const CompareOptions& options) {
  if (auto sound = check_sizes(options); !sound) return tl::unexpected(sound.error());
  auto catalogue = Catalogue::load(options.plugin);
  if (!catalogue) return tl::unexpected(catalogue.error());
  auto all = chosen(options, *catalogue);
  if (!all) return tl::unexpected(all.error());
  std::vector<std::string> names;
  for (const Judged& judged : *all) names.emplace_back(judged.name());
  std::string base = options.base;
  if (base.empty()) {
    const bool libbpf = std::find(names.begin(), names.end(), "libbpf") != names.end();
    base = libbpf ? "libbpf" : names.front();
  } else if (std::find(names.begin(), names.end(), base) == names.end()) {
    return ring::error(fmt::format("take \"{}\" for the base", base), "it is not compared", suggestion(base, names));
  }
  return Prepared{.catalogue = std::move(*catalogue), .consumers = std::move(*all), .base = std::move(base)};
}

/// Everyone's series on one ring, touched in one way.
class Rounds {
 public:
  Rounds(const CompareOptions& options, const std::vector<Judged>& consumers, FilledRing& ring, Caches& caches,
         const QuietCpu* cpu)
      : options_(options), consumers_(consumers), ring_(ring), caches_(caches), cpu_(cpu) {}

  /// `tell(name)` before each drain; false ends it.
  void run(std::span<CompareSeries> series, CompareSeries& limit, const std::function<bool(const char*)>& tell) {
    // Everyone follows everyone else in time: who comes behind a slow one must not always do so.
    const std::uint32_t rounds = options_.part == 0 ? options_.rounds : 1;
    for (std::uint32_t round = 0; round <= rounds; ++round) {
      for (std::size_t turn = 0; turn <= consumers_.size(); ++turn) {
        const std::size_t index = (turn + options_.part + round) % (consumers_.size() + 1);
        const bool is_limit = index == consumers_.size();
        if (!tell(is_limit ? "one pass" : consumers_[index].name())) return;
        is_limit ? pass(limit, round > 0) : drain(consumers_[index], series[index], round > 0);
      }
    }
  }

 private:
  /// A drain of a small ring is too short for a clock: some of them make one figure.
  std::uint64_t drains() const { return std::max<std::uint64_t>(1, records_of_a_figure / ring_.records()); }

  void pass(CompareSeries& limit, bool counts) {
    DrainTime sum;
    for (std::uint64_t drain = 0; drain < drains(); ++drain) {
      caches_.prepare(ring_);
      sum += time_one_pass(ring_);
    }
    keep(limit, sum, counts);
  }
  void drain(const Judged& judged, CompareSeries& series, bool counts) {
    DrainTime sum;
    for (std::uint64_t drain = 0; drain < drains() && series.reason.empty(); ++drain) {
      caches_.prepare(ring_);
      const auto time = time_drain(*judged.consumer, ring_, series.touch);
      if (time) {
        sum += *time;
      } else {
        series.reason = fmt::format("at {} B {}", series.size, ring::to_string(time.error()));
      }
    }
    if (series.reason.empty()) keep(series, sum, counts);
  }
  void keep(CompareSeries& series, const DrainTime& time, bool counts) {
    if (cpu_ != nullptr) cpu_->rest(time.wall_ns);
    if (!counts) return;
    const auto records = static_cast<double>(ring_.records() * drains());
    series.wall_ns.push_back(time.wall_ns / records);
    series.cpu_ns.push_back(time.cpu_ns / records);
  }

  const CompareOptions& options_;
  const std::vector<Judged>& consumers_;
  FilledRing& ring_;
  Caches& caches_;
  const QuietCpu* cpu_;  // nullptr: who started this process looks after it
};

}  // namespace

const CompareSeries* CompareReport::find(const std::string& consumer, std::uint32_t size, Touch touch) const {
  const auto found = std::find_if(series.begin(), series.end(), [&](const CompareSeries& one) {
    return one.consumer == consumer && one.size == size && one.touch == touch;
  });
  return found == series.end() ? nullptr : &*found;
}

const CompareSeries* CompareReport::limit(std::uint32_t size, Touch touch) const {
  const auto found = std::find_if(limits.begin(), limits.end(),
                                  [&](const CompareSeries& one) { return one.size == size && one.touch == touch; });
  return found == limits.end() ? nullptr : &*found;
}

std::size_t CompareReport::slower() const {
  return static_cast<std::size_t>(std::count_if(
      changes.begin(), changes.end(), [](const Change& change) { return change.stands && change.times_as_long > 1; }));
}

std::vector<std::string> CompareReport::convicted() const {
  std::vector<std::string> names;
  for (const CompareSeries& one : series) {
    if (one.reason.empty() || std::find(names.begin(), names.end(), one.consumer) != names.end()) continue;
    names.push_back(one.consumer);
  }
  return names;
}

Result<ComparePlan> plan_compare(const CompareOptions& options) {
  auto prepared = prepare(options);
  if (!prepared) return tl::unexpected(prepared.error());
  ComparePlan plan{.consumers = {}, .base = prepared->base, .drains = prepared->drains(options)};
  for (const Judged& judged : prepared->consumers) plan.consumers.emplace_back(judged.name());
  return plan;
}

namespace {

/// Who may be timed, and why the others may not: a consumer that is wrong on records of one size gets no figure at all.
std::map<std::string, std::string> judge_all(const CompareOptions& options, const std::vector<Judged>& consumers,
                                             const CompareProgressSink& progress, std::size_t planned) {
  std::map<std::string, std::string> reasons;
  for (const std::uint32_t size : options.sizes) {
    for (const Judged& judged : consumers) {
      std::string& reason = reasons[judged.name()];
      if (!reason.empty() || ring::interrupted_by() != 0) continue;
      progress({.done = 0, .total = planned, .now = fmt::format("judging {} at {} B", judged.name(), size)});
      reason = judge(options, judged, size);
      if (!reason.empty()) reason = fmt::format("at {} B {}", size, reason);
    }
  }
  return reasons;
}

/// Empty series for everyone, in the order of the report.
void prepare_series(const std::vector<Judged>& consumers, const std::map<std::string, std::string>& reasons,
                    CompareReport& report) {
  for (const std::uint32_t size : report.options.sizes) {
    for (const Touch touch : report.options.touches) {
      for (const Judged& judged : consumers) {
        const auto reason = reasons.find(judged.name());
        report.series.push_back({.consumer = judged.name(),
                                 .size = size,
                                 .touch = touch,
                                 .wall_ns = {},
                                 .cpu_ns = {},
                                 .reason = reason == reasons.end() ? std::string() : reason->second});
      }
      report.limits.push_back(
          {.consumer = "one pass", .size = size, .touch = touch, .wall_ns = {}, .cpu_ns = {}, .reason = {}});
    }
  }
}

/// Told before each drain; false: no more.
using Tell = std::function<bool(std::string now)>;

/// All rounds, or the one that this process is, in this process.
Result<void> measure_here(const std::vector<Judged>& consumers, const QuietCpu* cpu, const Tell& tell,
                          CompareReport& report) {
  const CompareOptions& options = report.options;
  Caches caches(options.ring_bytes);
  auto series = report.series.begin();
  auto limit = report.limits.begin();
  for (const std::uint32_t size : options.sizes) {
    auto ring = FilledRing::fill(options.world, options.ring_bytes, size);
    if (!ring) return tl::unexpected(ring.error());
    for (const Touch touch : options.touches) {
      Rounds rounds(options, consumers, **ring, caches, cpu);
      rounds.run({series, series + static_cast<std::ptrdiff_t>(consumers.size())}, *limit,
                 [&](const char* name) { return tell(fmt::format("{} B, {}: {}", size, name_of(touch), name)); });
      series += static_cast<std::ptrdiff_t>(consumers.size());
      ++limit;
      if (ring::interrupted_by() != 0) return {};
    }
  }
  return {};
}

}  // namespace

Result<void> run_compare(const CompareOptions& options, const CompareProgressSink& progress,
                         const std::function<void(const std::string&)>& remark, CompareReport& report) {
  auto prepared = prepare(options);
  if (!prepared) return tl::unexpected(prepared.error());
  const ring::SignalGuard signals;
  report.options = options;
  report.base = prepared->base;
  report.planned = prepared->drains(options);
  for (const Judged& judged : prepared->consumers) report.consumers.emplace_back(judged.name());
  if (options.part != 0) {
    prepare_series(prepared->consumers, {}, report);
    return measure_here(prepared->consumers, nullptr, [](const std::string&) { return true; }, report);
  }
  const auto reasons = judge_all(options, prepared->consumers, progress, report.planned);
  prepare_series(prepared->consumers, reasons, report);
  if (ring::interrupted_by() != 0) return {};
  const auto cpu = QuietCpu::take([&] { remark("another comparison runs on this machine: waiting for its end"); });
  if (!cpu) return tl::unexpected(cpu.error());
  report.method = (*cpu)->method();
  report.method.push_back(Caches(options.ring_bytes).method());
  if (!options.command.empty()) {
    report.method.emplace_back("a process and a ring of its own for each round");
    return measure_in_parts(progress, report);
  }
  std::size_t done = 0;
  const Tell tell = [&](std::string now) {
    if (ring::interrupted_by() != 0) return false;
    progress({.done = done++, .total = report.planned, .now = std::move(now)});
    return true;
  };
  return measure_here(prepared->consumers, cpu->get(), tell, report);
}

}  // namespace ringside::harness
