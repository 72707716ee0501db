// SPDX-License-Identifier: Apache-2.0
//
// The strategies for perf rings and their mutants, as they stand in consumers/, over every execution beside two CPUs:
// whether each ring is come to, what a batch of both has, and the order of time of who claims it.
#include <array>

#include "consumers/mutants/mutants.h"
#include "consumers/mutants/perf.h"
#include "consumers/strategies.h"
#include "explore/programs/perf_pair.h"
#include "harness/explored/host.h"
#include "harness/explored/perf_samples.h"
#include "ring/layout.h"

namespace ringside::harness::explored {
namespace {

using explore::Registered;
using explore::programs::PerfPairPlan;
namespace programs = explore::programs;
namespace mutant = consumers::mutant;

constexpr std::uint64_t raw_with_time = ring::perf::sample_type_raw | ring::perf::sample_type_time;

constexpr Judge judge{
    .read = [](const void* bytes, std::uint64_t size) { return read_sample(bytes, size, programs::pair_raw_bytes); },
    .delivered = programs::deliver_of_pair,
    .lost = [](std::uint64_t /*count*/) { explore::fail(DefectKind::loss_miscounted, "nothing was lost"); },
    .batch_begin = programs::begin_batch_of_pair,
    .batch_end = [](std::uint32_t /*claim*/) { programs::end_batch_of_pair(); }};

constexpr Judge stamped_judge(bool in_order) {
  Judge stamped = judge;
  stamped.timed = in_order ? programs::check_time_of_pair : nullptr;
  stamped.yield = programs::yield_to_pair;
  stamped.now_ns = programs::pair_now_ns;
  stamped.sample_type = raw_with_time;
  return stamped;
}

const Judge& judge_of(const ringside_consumer& consumer) {
  static constexpr Judge in_order = stamped_judge(true);
  static constexpr Judge in_any = stamped_judge(false);
  if (!programs::perf_pair_plan().stamped) return judge;
  return (consumer.claims & RINGSIDE_CLAIM_TIME_ORDER) != 0 ? in_order : in_any;
}

/// There is no CPU 1: a CPU's number is not its ring's place.
std::array<ringside_ring, 2> mapped() {
  const auto pages = programs::perf_pair_pages();
  std::array<ringside_ring, 2> rings{as_mapped(pages[0]), as_mapped(pages[1])};
  rings[1].cpu = 2;
  return rings;
}

/// Until every record is delivered; sleeps whenever nothing is left to read.
void consume_all(ConsumerTable table) {
  const auto rings = mapped();
  Host host(table(), rings, judge_of(table()));
  while (true) {
    host.drain();
    if (host.delivered() >= 2 * programs::perf_pair_plan().records) return;
    if (host.wait(-1) < 0) explore::fail(DefectKind::protocol, "wait tells an error");
  }
}

/// Two looks, whatever is there.
void look_twice(ConsumerTable table) {
  const auto rings = mapped();
  Host host(table(), rings, judge_of(table()));
  host.drain();
  host.drain();
}

explore::Program over_rings(const PerfPairPlan& plan, ConsumerTable table, void (*consume)(ConsumerTable)) {
  explore::Program program = perf_pair_program(plan, [table, consume] { consume(table); });
  program.begin = [begin = program.begin, trigger = table().trigger] {
    begin();
    arm(programs::open_perf_pair(), EPOLLIN, trigger);
  };
  return program;
}

constexpr PerfPairPlan one{};
constexpr PerfPairPlan stamped{.stamped = true, .in_full = false};

const Registered read_into{"read_into_pair", over_rings(one, consumers::read_into, consume_all)};
const Registered drain_all{"drain_all_pair", over_rings(one, consumers::drain_all, consume_all)};
const Registered parse_for_cpu{"parse_for_cpu_pair", over_rings(one, consumers::parse_for_cpu, consume_all)};
const Registered drain_cpu{"drain_cpu_pair", over_rings(one, consumers::drain_cpu, consume_all)};
const Registered watermark{"session_watermark_pair", over_rings(one, consumers::session_watermark, consume_all)};
// It sleeps for a time, whatever comes, and never comes to an end here: it looks only.
const Registered session{"session_pair", over_rings(stamped, consumers::session, look_twice)};
const Registered merge{"session_merge_pair", over_rings(stamped, consumers::session_merge, look_twice)};

const Registered one_ring{"drain_one_ring", over_rings(one, mutant::drain_one_ring, consume_all)};
const Registered by_index{"cpu_by_index", over_rings(one, mutant::cpu_by_index, consume_all)};
const Registered no_time{"read_knows_no_time", over_rings(stamped, mutant::read_knows_no_time, look_twice)};
const Registered claims_order{"session_claims_order", over_rings(stamped, mutant::session_claims_order, look_twice)};
const Registered by_arrival{"session_by_arrival", over_rings(stamped, mutant::session_by_arrival, look_twice)};
const Registered no_hold{"session_no_hold", over_rings(stamped, mutant::session_no_hold, look_twice)};

}  // namespace
}  // namespace ringside::harness::explored
