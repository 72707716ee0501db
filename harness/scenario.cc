// SPDX-License-Identifier: Apache-2.0
#include "harness/scenario.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "harness/nearest.h"
#include "harness/scenario_reader.h"
#include "harness/shipped_scenarios.h"
#include "harness/text_file.h"
#include "harness/text_layout.h"
#include "harness/workload.h"
#include "ring/layout.h"
#include "ring/record_format.h"
#include "sim/kernel_version.h"

namespace ringside::harness {

namespace {

constexpr std::int64_t most_records = 1'000'000'000'000;
constexpr std::int64_t most_nanoseconds = 3'600'000'000'000;
constexpr std::int64_t largest_ring = std::int64_t{1} << 31;
constexpr std::int64_t largest_payload = ring::ringbuf::length_mask;
constexpr std::size_t most_sources = 4096;
// A kernel's ring starts at 0 and is brought to its start position by records: so far, in bytes.
constexpr std::uint64_t farthest_kernel_start = 1u << 26;

const std::vector<std::string> ring_names{"ringbuf", "perf", "user_ringbuf"};

ring::RingKind kind_of(std::string_view name) {
  if (name == "perf") return ring::RingKind::perf;
  return name == "user_ringbuf" ? ring::RingKind::user_ringbuf : ring::RingKind::ringbuf;
}

std::uint8_t wakeup_flags(std::string_view name) {
  if (name == "no") return ring::flag_no_wakeup;
  return name == "force" ? ring::flag_force_wakeup : std::uint8_t{0};
}

std::optional<ring::Action> action_of(const std::string& name) {
  if (name == "submit") return ring::Action::submit;
  if (name == "discard") return ring::Action::discard;
  if (name == "output") return ring::Action::output;
  if (name == "hold") return ring::Action::hold;
  return std::nullopt;
}

void read_size_list(TableReader& reader, const toml::array& list, SizePlan& plan) {
  for (const auto& item : list) {
    if (const auto text = item.value_exact<std::string>(); text && *text == "largest") {
      plan.cycle.push_back(SizePlan::largest);
    } else if (const auto bytes = item.value_exact<std::int64_t>(); bytes && *bytes >= 0 && *bytes <= largest_payload) {
      plan.cycle.push_back(static_cast<std::uint32_t>(*bytes));
    } else {
      reader.fail("size", "holds something that is no size", "use bytes from 0 to 1073741823, or \"largest\"");
    }
  }
  if (list.empty()) reader.fail("size", "is an empty list", "name at least one size");
}

void read_size_range(TableReader& reader, const toml::table& table, SizePlan& plan, ReadState& state) {
  TableReader range(table, reader.path_of("size"), state);
  range.integer("min", plan.min, 0, largest_payload);
  plan.max = std::max(plan.max, plan.min);
  range.integer("max", plan.max, plan.min, largest_payload);
  range.finish();
}

/// size = 64 | [0, 8, "largest"] | { min = 16, max = 200 }
void read_size(TableReader& reader, SizePlan& plan, ReadState& state) {
  const toml::node* found = reader.node("size");
  if (found == nullptr) return;
  if (const toml::array* list = found->as_array()) return read_size_list(reader, *list, plan);
  if (const toml::table* table = found->as_table()) return read_size_range(reader, *table, plan, state);
  const auto bytes = found->value_exact<std::int64_t>();
  if (bytes && *bytes >= 0 && *bytes <= largest_payload) {
    plan.min = plan.max = static_cast<std::uint32_t>(*bytes);
  } else {
    reader.fail("size", "is no size", "use bytes, a list of bytes, or { min = …, max = … }");
  }
}

SourcePlan read_source(const toml::table& table, std::size_t index, ReadState& state) {
  SourcePlan source;
  TableReader reader(table, fmt::format("source[{}]", index), state);
  reader.integer("cpu", source.cpu, 0, 1023);
  reader.integer("records", source.records, 1, most_records);
  if (const auto name = reader.text("action", {"submit", "discard", "output", "hold"}))
    source.action = *action_of(*name);
  read_size(reader, source.size, state);
  if (const auto name = reader.text("wakeup", {"adaptive", "no", "force"})) source.flags = wakeup_flags(*name);
  reader.integer("force_every", source.force_every, 0, most_records);
  reader.integer("discard_every", source.discard_every, 0, most_records);
  reader.integer("discard_run", source.discard_run, 1, 1'000'000);
  reader.integer("hold_ns", source.hold_ns, 0, most_nanoseconds);
  reader.integer("nested", source.nested, 0, 1000);
  reader.integer("nested_size", source.nested_size, 0, 65516);
  reader.integer("interval_ns", source.interval_ns, 0, most_nanoseconds);
  reader.boolean("retry", source.retry);
  reader.integer("burst", source.burst, 1, 1'000'000'000);
  reader.finish();
  return source;
}

void read_sources(TableReader& reader, Scenario& scenario, ReadState& state) {
  const toml::array* list = reader.tables("source");
  if (list == nullptr) {
    reader.fail("source", "is missing", "name at least one producer as [[source]]");
    return;
  }
  for (const auto& item : *list)
    scenario.sources.push_back(read_source(*item.as_table(), scenario.sources.size(), state));
}

/// The kernels that the model can be: the first with a BPF ring buffer, and the last that KERNEL-RINGS knows.
void read_kernel(TableReader& reader, RingPlan& plan) {
  constexpr sim::KernelVersion first{5, 8, 0};
  constexpr sim::KernelVersion last{7, 3};
  constexpr const char* remedy = "write a release from 5.8 to 7.3, such as \"6.12\" or \"6.12.118\"";
  const auto text = reader.text("kernel");
  if (!text) return;
  const auto version = sim::parse_kernel_version(*text);
  if (!version) {
    reader.fail("kernel", fmt::format("is \"{}\", no version of a kernel", one_line(*text)), remedy);
  } else if (*version < first || *version > last) {
    reader.fail("kernel", fmt::format("is \"{}\", which the model does not know", one_line(*text)), remedy);
  }
  plan.kernel = *text;
}

void read_ring(const toml::table& table, RingPlan& plan, ReadState& state) {
  TableReader reader(table, "ring", state);
  read_kernel(reader, plan);
  reader.integer("size", plan.size, 4096, largest_ring);
  std::int64_t start = 0;
  reader.integer("start", start, std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max());
  plan.start = static_cast<std::uint64_t>(start);
  reader.integer("cpus", plan.cpus, 1, 1024);
  reader.integer("wakeup_events", plan.wakeup_events, 0, std::numeric_limits<std::int32_t>::max());
  reader.integer("watermark_bytes", plan.watermark_bytes, 0, largest_ring);
  reader.integer("sides", plan.sides, 1, 2);
  reader.boolean("sample_time", plan.sample_time);
  reader.integer("cpu_step", plan.cpu_step, 1, 64);
  reader.boolean("overwrite", plan.overwrite);
  reader.boolean("backward", plan.backward);
  reader.boolean("per_cpu", plan.per_cpu);
  if (const auto name = reader.text("stamp", {"before", "inside"})) {
    plan.stamp = *name == "before" ? ring::Stamp::before : ring::Stamp::inside;
  }
  reader.finish();
}

void read_consumer(const toml::table& table, ConsumerPlan& plan, ReadState& state) {
  TableReader reader(table, "consumer", state);
  reader.integer("max_records", plan.max_records, 1, 1'000'000'000);
  reader.integer("timeout_ns", plan.timeout_ns, 0, most_nanoseconds);
  reader.integer("work_ns", plan.work_ns, 0, most_nanoseconds);
  reader.integer("hold_views", plan.hold_views, 0, 4096);
  reader.finish();
}

void read_drain(const toml::table& table, DrainPlan& plan, ReadState& state) {
  TableReader reader(table, "drain", state);
  reader.integer("interval_ns", plan.interval_ns, 1, most_nanoseconds);
  reader.integer("max_samples", plan.max_samples, 0, 1'000'000);
  if (const auto name = reader.text("wakeup", {"adaptive", "no", "force"})) plan.flags = wakeup_flags(*name);
  reader.finish();
}

void read_producer(const toml::table& table, ProducerPlan& plan, ReadState& state) {
  TableReader reader(table, "producer", state);
  reader.integer("timeout_ns", plan.timeout_ns, 0, most_nanoseconds);
  reader.finish();
}

void read_faults(const toml::table& table, FaultsPlan& plan, ReadState& state) {
  TableReader reader(table, "faults", state);
  reader.integer("eintr_every", plan.eintr_every, 0, 1'000'000);
  reader.integer("spurious_every", plan.spurious_every, 0, 1'000'000);
  reader.integer("hangup_every", plan.hangup_every, 0, 1'000'000);
  reader.integer("stall_every", plan.stall_every, 0, 1'000'000);
  reader.integer("stall_turns", plan.stall_turns, 0, 1'000'000);
  reader.integer("lock_fails_percent", plan.lock_fails_percent, 0, 100);
  reader.finish();
}

Scenario read_scenario(const toml::table& table, ReadState& state) {
  Scenario scenario;
  TableReader reader(table, "", state);
  if (auto name = reader.text("name")) scenario.name = *name;
  if (scenario.name.empty()) reader.fail("name", "is missing", "give the scenario a name");
  if (auto summary = reader.text("summary")) scenario.summary = *summary;
  for (const auto& name : reader.texts("rings", ring_names)) {
    scenario.rings.push_back(kind_of(name));
  }
  if (scenario.rings.empty())
    reader.fail("rings", reader.has("rings") ? "is empty" : "is missing",
                "name \"ringbuf\", \"perf\" or both, or \"user_ringbuf\"");
  if (reader.has("worlds")) scenario.worlds.clear();
  for (const auto& name : reader.texts("worlds", {"model", "kernel"})) {
    scenario.worlds.push_back(name == "kernel" ? WorldKind::kernel : WorldKind::model);
  }
  if (scenario.worlds.empty()) reader.fail("worlds", "is empty", "name \"model\", \"kernel\" or both");
  scenario.cases = reader.texts("cases");
  if (const auto drive = reader.text("drive", {"stepped", "free"})) {
    scenario.drive = *drive == "free" ? Drive::free : Drive::stepped;
  }
  if (const toml::table* ring = reader.table("ring")) read_ring(*ring, scenario.ring, state);
  read_sources(reader, scenario, state);
  if (const toml::table* consumer = reader.table("consumer")) read_consumer(*consumer, scenario.consumer, state);
  if (const toml::table* drain = reader.table("drain")) read_drain(*drain, scenario.drain, state);
  if (const toml::table* producer = reader.table("producer")) read_producer(*producer, scenario.producer, state);
  if (const toml::table* faults = reader.table("faults")) read_faults(*faults, scenario.faults, state);
  reader.finish();
  return scenario;
}

tl::unexpected<ring::Error> refuse(const Scenario& scenario, std::string reason, std::string remedy) {
  return ring::error(fmt::format("{}: use scenario \"{}\"", scenario.origin, scenario.name), std::move(reason),
                     std::move(remedy));
}

/// The smallest and the largest size that a source may draw, "largest" left out.
std::pair<std::uint32_t, std::uint32_t> size_bounds(const SizePlan& plan) {
  std::uint32_t min = UINT32_MAX;
  std::uint32_t max = 0;
  if (plan.cycle.empty()) return {plan.min, plan.max};
  for (const std::uint32_t size : plan.cycle) {
    if (size == SizePlan::largest) continue;
    min = std::min(min, size);
    max = std::max(max, size);
  }
  return {min, max};
}

bool draws_short_records(const SizePlan& plan) {
  if (plan.cycle.empty()) return plan.min < RINGSIDE_RECORD_HEADER_BYTES && plan.max > 0;
  return std::any_of(plan.cycle.begin(), plan.cycle.end(),
                     [](std::uint32_t size) { return size > 0 && size < RINGSIDE_RECORD_HEADER_BYTES; });
}

ring::Result<void> validate_source(const Scenario& scenario, std::size_t index) {
  const SourcePlan& source = scenario.sources[index];
  const auto who = [&](std::string_view what) { return fmt::format("source {} {}", index, what); };
  if (source.cpu >= scenario.ring.cpus) {
    return refuse(scenario, who(fmt::format("is on cpu {} of {}", source.cpu, scenario.ring.cpus)),
                  "raise ring.cpus or lower source.cpu");
  }
  const bool short_records = draws_short_records(source.size);
  if (scenario.runs_on(ring::RingKind::perf)) {
    if (short_records || (source.nested > 0 && source.nested_size < RINGSIDE_RECORD_HEADER_BYTES)) {
      return refuse(scenario, who("draws records of 1 to 15 bytes, which the padding of a perf ring hides"),
                    "use 0 or at least 16 bytes, or rings = [\"ringbuf\"]");
    }
    const bool held = source.action == ring::Action::hold && scenario.ring.sides == 1;
    if (held || source.action == ring::Action::discard || source.discard_every > 0) {
      return refuse(scenario, who("holds or discards, which a perf ring cannot"), "use rings = [\"ringbuf\"]");
    }
  }
  if (short_records && index >= RINGSIDE_RECORD_SHORT_SOURCES) {
    return refuse(scenario, who("draws records of 1 to 15 bytes"), "only sources 0 to 7 can: they carry 3 bits of it");
  }
  if (scenario.drive == Drive::free &&
      (!source.size.cycle.empty() || source.action == ring::Action::hold || source.nested > 0 ||
       source.interval_ns > 0 || source.burst > 1 || source.discard_run > 1)) {
    return refuse(scenario, who("has a size list, a hold, an interval, a burst, a discard run or nested records"),
                  "use drive = \"stepped\"");
  }
  if (scenario.drive == Drive::stepped && source.retry && !scenario.runs_on(ring::RingKind::user_ringbuf)) {
    return refuse(scenario, who("retries, which in a stepped run would never end"), "use drive = \"free\"");
  }
  return {};
}

/// The producer of a user ring buffer is one thread, and is what is judged: nothing of a scenario for consumers is
/// about it, and the other way round.
ring::Result<void> validate_user(const Scenario& scenario) {
  const bool about_drains = scenario.drain != DrainPlan{} || scenario.producer != ProducerPlan{};
  if (!scenario.runs_on(ring::RingKind::user_ringbuf)) {
    if (!about_drains) return {};
    return refuse(scenario, "it has [drain] or [producer], which are about user ring buffers",
                  "use rings = [\"user_ringbuf\"]");
  }
  if (scenario.rings.size() > 1) {
    return refuse(scenario, "it is for user ring buffers and for other rings, whose consumers are judged",
                  "write a scenario for each");
  }
  RingPlan plain;
  plain.size = scenario.ring.size;
  plain.start = scenario.ring.start;
  FaultsPlan faults;
  faults.eintr_every = scenario.faults.eintr_every;
  faults.spurious_every = scenario.faults.spurious_every;
  if (scenario.drive != Drive::stepped || scenario.ring != plain || scenario.consumer != ConsumerPlan{} ||
      scenario.faults != faults) {
    return refuse(scenario, "it sets what a user ring buffer has not",
                  "keep to drive = \"stepped\", [ring] size and start, [[source]], [drain], [producer], and [faults] "
                  "eintr_every and spurious_every");
  }
  for (const SourcePlan& source : scenario.sources) {
    if (source.action == ring::Action::output || source.nested > 0 || source.flags != 0 || source.force_every > 0) {
      return refuse(scenario, "a source has output, nested records or a wake-up flag, which are the kernel's",
                    "use action = \"submit\", \"discard\" or \"hold\", and [drain] wakeup");
    }
    const std::uint32_t most = size_bounds(source.size).second;
    const std::uint32_t largest = harness::largest_payload(ring::RingKind::user_ringbuf, scenario.ring.size);
    if (most > largest) {
      return refuse(scenario, fmt::format("a source draws {} bytes for a user ring of {}", most, scenario.ring.size),
                    fmt::format("the largest sample is {}", largest));
    }
  }
  const bool waits = std::any_of(scenario.sources.begin(), scenario.sources.end(),
                                 [](const SourcePlan& source) { return source.retry; });
  if (waits && (scenario.drain.flags & ring::flag_no_wakeup) != 0 && scenario.producer.timeout_ns < 0) {
    return refuse(scenario, "its drains wake nobody, and the producer waits without a deadline",
                  "set producer.timeout_ns");
  }
  return {};
}

/// KERNEL-RINGS 1.11. The largest number of a record of 1 to 15 bytes is found from its neighbours, which an overwrite
/// ring takes away.
ring::Result<void> validate_overwrite(const Scenario& scenario) {
  if (!scenario.ring.overwrite) return {};
  if (scenario.rings != std::vector{ring::RingKind::ringbuf}) {
    return refuse(scenario, "ring.overwrite is a mode of BPF ring buffers", "use rings = [\"ringbuf\"]");
  }
  if (!scenario.ring.kernel.empty()) {
    const auto version = sim::parse_kernel_version(scenario.ring.kernel);
    if (!version || !sim::ringbuf_rules(*version).has_overwrite) {
      return refuse(scenario,
                    fmt::format("kernel {} has no overwrite rings, which came with 6.19", scenario.ring.kernel),
                    "set ring.kernel to \"6.19\" or newer, or leave it out");
    }
  }
  for (std::size_t index = 0; index < scenario.sources.size(); ++index) {
    const SourcePlan& source = scenario.sources[index];
    const bool short_nested =
        source.nested > 0 && source.nested_size > 0 && source.nested_size < RINGSIDE_RECORD_HEADER_BYTES;
    if (!draws_short_records(source.size) && !short_nested) continue;
    return refuse(
        scenario,
        fmt::format("source {} draws records of 1 to 15 bytes, which carry only a part of their number", index),
        "with ring.overwrite use 0 or at least 16 bytes");
  }
  return {};
}

/// The programs of an A/B swap read a side, count themselves and write: a task's, one after the other on a CPU.
ring::Result<void> validate_sides(const Scenario& scenario) {
  if (scenario.ring.sides == 1) return {};
  if (scenario.rings != std::vector{ring::RingKind::perf}) {
    return refuse(scenario, "ring.sides are sides of perf rings", "use rings = [\"perf\"]");
  }
  if (std::any_of(scenario.sources.begin(), scenario.sources.end(),
                  [](const SourcePlan& source) { return source.nested > 0 || source.retry; })) {
    return refuse(scenario, "a source of two sides has nested records, or tries again what found the ring full",
                  "leave out nested and retry");
  }
  const auto holds = [](const SourcePlan& source) { return source.action == ring::Action::hold; };
  const auto held = std::find_if(scenario.sources.begin(), scenario.sources.end(), holds);
  if (held == scenario.sources.end()) return {};
  const auto on_its_cpu = [held](const SourcePlan& source) { return source.cpu == held->cpu; };
  if (std::count_if(scenario.sources.begin(), scenario.sources.end(), holds) > 1 ||
      std::count_if(scenario.sources.begin(), scenario.sources.end(), on_its_cpu) > 1 || scenario.sources.size() < 2) {
    return refuse(scenario, "a program that is held takes its CPU, and there is one at a time",
                  "give one source the action \"hold\", on a cpu of its own, beside others");
  }
  return {};
}

/// One BPF ring a CPU. In one ring of several CPUs the records do not lie in the order of their stamps.
ring::Result<void> validate_per_cpu(const Scenario& scenario) {
  const RingPlan& ring = scenario.ring;
  if (!ring.per_cpu && ring.stamp == ring::Stamp::none) return {};
  if (scenario.rings != std::vector{ring::RingKind::ringbuf} || ring.overwrite) {
    return refuse(scenario, "ring.per_cpu and ring.stamp are about BPF ring buffers that do not overwrite",
                  "use rings = [\"ringbuf\"] without ring.overwrite");
  }
  if (ring.stamp == ring::Stamp::none) return {};
  if (!ring.per_cpu) {
    return refuse(scenario, "it stamps the records of one ring, where they do not lie in the order of their stamps",
                  "set ring.per_cpu = true");
  }
  if (std::any_of(scenario.sources.begin(), scenario.sources.end(),
                  [](const SourcePlan& source) { return source.action == ring::Action::output; })) {
    return refuse(scenario, "a source outputs records that are to be stamped, which nobody can do inside an output",
                  "use action = \"submit\", \"discard\" or \"hold\"");
  }
  return {};
}

/// KERNEL-RINGS 2.10.
ring::Result<void> validate_backward(const Scenario& scenario) {
  if (!scenario.ring.backward) return {};
  if (scenario.rings != std::vector{ring::RingKind::perf}) {
    return refuse(scenario, "ring.backward is a mode of perf rings", "use rings = [\"perf\"]");
  }
  if (scenario.ring.sides == 2) {
    return refuse(scenario, "ring.backward and ring.sides are two ways of reading a ring", "take one of them");
  }
  if (scenario.drive == Drive::free && scenario.runs_in(WorldKind::model)) {
    return refuse(scenario, "the model's backward rings are stepped",
                  "use drive = \"stepped\" or worlds = [\"kernel\"]");
  }
  if (scenario.ring.start != 0) {
    return refuse(scenario, "a ring that is written backward starts at 0, and is at 2^64 - 16 with its first record",
                  "leave ring.start out");
  }
  for (std::size_t index = 0; index < scenario.sources.size(); ++index) {
    const SourcePlan& source = scenario.sources[index];
    const auto [least, most] = size_bounds(source.size);
    if (least == 0 || (source.nested > 0 && source.nested_size == 0)) {
      return refuse(scenario, fmt::format("source {} draws empty records, which carry no number", index),
                    "with ring.backward use at least 16 bytes");
    }
    const std::uint64_t largest = scenario.ring.size / 4;
    const auto& cycle = source.size.cycle;
    const bool draws_largest = std::find(cycle.begin(), cycle.end(), SizePlan::largest) != cycle.end();
    if (!draws_largest && most <= largest) continue;
    return refuse(
        scenario,
        fmt::format("source {} draws records above a quarter of a ring of {} bytes", index, scenario.ring.size),
        fmt::format("with ring.backward use at most {} bytes", largest));
  }
  return {};
}

/// What only perf rings have.
ring::Result<void> validate_perf(const Scenario& scenario) {
  const RingPlan& ring = scenario.ring;
  if (!ring.sample_time && ring.cpu_step == 1) return {};
  if (scenario.rings != std::vector{ring::RingKind::perf}) {
    return refuse(scenario, "ring.sample_time and ring.cpu_step are about perf rings", "use rings = [\"perf\"]");
  }
  if (ring.cpu_step != 1 && scenario.runs_in(WorldKind::kernel)) {
    return refuse(scenario, "ring.cpu_step is nothing that a kernel can be asked for", "set worlds = [\"model\"]");
  }
  return {};
}

/// A kernel's lock cannot be asked to fail, and its rings start at 0: some records bring them so far, and no farther.
ring::Result<void> validate_for_kernel(const Scenario& scenario) {
  if (!scenario.runs_in(WorldKind::kernel)) return {};
  const std::string remedy = "set worlds = [\"model\"]";
  if (scenario.faults.lock_fails_percent > 0) {
    return refuse(scenario, "faults.lock_fails_percent is nothing that a kernel can be asked for", remedy);
  }
  if (scenario.faults.stall_every > 0) {
    return refuse(scenario, "faults.stall_every is nothing that a kernel can be asked for; action = \"hold\" is",
                  remedy);
  }
  if (scenario.ring.sides == 2 && (scenario.drive == Drive::free || scenario.ring.start != 0)) {
    return refuse(scenario, "a kernel's two sides are stepped and start at 0", remedy);
  }
  if (scenario.ring.start > farthest_kernel_start) {
    return refuse(scenario, fmt::format("a kernel's ring cannot be brought to position {}", scenario.ring.start),
                  remedy);
  }
  return {};
}

/// Whether every record is announced, so that a consumer may sleep without a deadline.
bool announces_every_record(const Scenario& scenario) {
  const RingPlan& ring = scenario.ring;
  if (scenario.runs_on(ring::RingKind::perf) && (ring.wakeup_events != 1 || ring.watermark_bytes != 0)) return false;
  return std::none_of(scenario.sources.begin(), scenario.sources.end(),
                      [](const SourcePlan& source) { return (source.flags & ring::flag_no_wakeup) != 0; });
}

}  // namespace

std::uint64_t sample_type_of(const RingPlan& plan) {
  return ring::perf::sample_type_raw | (plan.sample_time ? ring::perf::sample_type_time : 0);
}

bool Scenario::runs_in(WorldKind world) const { return std::find(worlds.begin(), worlds.end(), world) != worlds.end(); }

bool Scenario::runs_on(ring::RingKind kind) const { return std::find(rings.begin(), rings.end(), kind) != rings.end(); }

ring::Result<Scenario> parse_scenario(std::string_view toml, std::string_view origin) {
  toml::table table;
  try {
    table = toml::parse(toml, origin);
  } catch (const toml::parse_error& wrong) {  // Debian's library is built with exceptions: they end here
    return ring::error(fmt::format("{}:{}: read TOML", origin, wrong.source().begin.line),
                       std::string(wrong.description()));
  }
  ReadState state{.origin = std::string(origin), .failure = {}};
  Scenario scenario = read_scenario(table, state);
  if (state.failure) return tl::unexpected(*state.failure);
  scenario.origin = origin;
  if (auto valid = validate(scenario); !valid) return tl::unexpected(valid.error());
  return scenario;
}

ring::Result<Scenario> load_scenario(const std::string& path) {
  return read_text_file(path, "scenario file", "name a readable TOML file or a scenario of `ringside list scenarios`")
      .and_then([&](const std::string& text) { return parse_scenario(text, path); });
}

ring::Result<void> validate(const Scenario& scenario) {
  const RingPlan& ring = scenario.ring;
  if ((ring.size & (ring.size - 1)) != 0) {
    return refuse(scenario, fmt::format("ring.size is {}, no power of two", ring.size), "use 4096, 8192, 16384, …");
  }
  if (ring.start % 8 != 0) {
    return refuse(scenario, fmt::format("ring.start is {}, no multiple of 8", ring.start), "positions count in eights");
  }
  if (auto valid = validate_user(scenario); !valid) return valid;
  if (auto valid = validate_overwrite(scenario); !valid) return valid;
  if (auto valid = validate_sides(scenario); !valid) return valid;
  if (auto valid = validate_backward(scenario); !valid) return valid;
  if (auto valid = validate_perf(scenario); !valid) return valid;
  if (auto valid = validate_per_cpu(scenario); !valid) return valid;
  if (scenario.consumer.timeout_ns < 0 && !announces_every_record(scenario)) {
    return refuse(scenario, "it leaves records unannounced and gives the consumer no deadline",
                  "set consumer.timeout_ns");
  }
  if (scenario.sources.empty() || scenario.sources.size() > most_sources) {
    return refuse(scenario, fmt::format("it has {} sources", scenario.sources.size()), "name 1 to 4096");
  }
  if (auto valid = validate_for_kernel(scenario); !valid) return valid;
  for (std::size_t index = 0; index < scenario.sources.size(); ++index) {
    if (auto valid = validate_source(scenario, index); !valid) return valid;
    const std::uint32_t most = size_bounds(scenario.sources[index].size).second;
    const std::uint64_t largest = ring::ringbuf::max_payload(ring.size) - ring::stamp_bytes(ring.stamp);
    if (scenario.runs_on(ring::RingKind::ringbuf) && most > largest) {
      return refuse(scenario, fmt::format("source {} draws {} bytes from a ring of {}", index, most, ring.size),
                    fmt::format("the largest payload is {}", largest));
    }
  }
  return {};
}

const std::vector<Scenario>& shipped_scenarios() {
  static const std::vector<Scenario> scenarios = [] {
    std::vector<Scenario> read;
    for (const auto& [origin, text] : shipped_scenario_texts()) {
      auto scenario = parse_scenario(text, origin);
      if (!scenario) {
        fmt::print(stderr, "ringside: a shipped scenario is broken: {}\n", ring::to_string(scenario.error()));
        std::abort();
      }
      read.push_back(std::move(*scenario));
    }
    return read;
  }();
  return scenarios;
}

ring::Result<Scenario> find_scenario(const std::string& name_or_path) {
  if (name_or_path.find('/') != std::string::npos || name_or_path.ends_with(".toml"))
    return load_scenario(name_or_path);
  std::vector<std::string> names;
  for (const Scenario& scenario : shipped_scenarios()) {
    if (scenario.name == name_or_path) return scenario;
    names.push_back(scenario.name);
  }
  return ring::error(fmt::format("find scenario \"{}\"", name_or_path), "no scenario has that name",
                     suggestion(name_or_path, names) + ", or give the path of a TOML file");
}

}  // namespace ringside::harness
