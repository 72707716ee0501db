// SPDX-License-Identifier: Apache-2.0
//
// The strategies for perf rings and their mutants, as they stand in consumers/, over every execution beside the model's
// writer, its interrupt and its LOST records.
#include <cstring>

#include "consumers/mutants/mutants.h"
#include "consumers/mutants/ordering.h"
#include "consumers/mutants/perf.h"
#include "consumers/strategies.h"
#include "explore/programs/perf_event.h"
#include "harness/explored/host.h"
#include "harness/explored/perf_samples.h"

namespace ringside::harness::explored {
namespace {

using explore::Registered;
using explore::programs::PerfEventPlan;
namespace programs = explore::programs;

std::uint64_t read(const void* bytes, std::uint64_t size) {
  return read_sample(bytes, size, programs::perf_event_plan().size);
}

constexpr Judge judge{
    .read = read,
    .delivered = [](std::uint64_t number) { programs::deliver_sample(static_cast<std::uint32_t>(number)); },
    .lost = programs::deliver_lost,
    .batch_begin = programs::begin_batch,
    .batch_end =
        [](std::uint32_t claim) {
          claim == RINGSIDE_BATCH_EMPTY ? programs::end_batch_of_all() : programs::end_batch_of_before();
        }};

/// Until every record is delivered; sleeps whenever nothing is left to read.
void consume_all(ConsumerTable table) {
  Host host(table(), as_mapped(programs::perf_event_pages()), judge);
  while (true) {
    host.drain();
    if (host.delivered() + host.lost() >= programs::perf_event_plan().records) return;
    if (host.wait(-1) < 0) explore::fail(DefectKind::protocol, "wait tells an error");
  }
}

/// A few looks, whatever is there: how many records will be lost nobody knows before.
void look_thrice(ConsumerTable table) {
  Host host(table(), as_mapped(programs::perf_event_pages()), judge);
  for (int look = 0; look < 3; ++look) host.drain();
}

explore::Program over_ring(const PerfEventPlan& plan, ConsumerTable table, void (*consume)(ConsumerTable)) {
  return armed(perf_event_program(plan, [table, consume] { consume(table); }), programs::open_perf_event, EPOLLIN,
               table().trigger);
}

constexpr std::uint64_t page = 4096;
// Who sleeps is woken as on x86, but for one program.
constexpr PerfEventPlan one{.records = 1, .wakes = true, .flag_behind_head = true};
constexpr PerfEventPlan two{.records = 2, .wakes = true, .flag_behind_head = true};
constexpr PerfEventPlan three{.records = 3, .wakes = true, .flag_behind_head = true};
constexpr PerfEventPlan interrupted{.records = 2, .wakes = true, .flag_behind_head = true, .interrupt = true};
constexpr PerfEventPlan weak{.records = 2, .wakes = true};
// The first record's payload lies across the end of the data.
constexpr PerfEventPlan wrapping{.records = 2, .start = page - 16, .size = 12, .wakes = true, .flag_behind_head = true};
// Three such samples fit; two may be lost before the last one tells of them.
constexpr PerfEventPlan full{.records = 6, .size = 1012, .wakes = true, .loses = true};

struct Programs {
  Programs(const std::string& name, ConsumerTable table)
      : three_(name + "_3", over_ring(three, table, consume_all)),
        interrupted_(name + "_interrupted", over_ring(interrupted, table, consume_all)),
        wrapping_(name + "_wrap", over_ring(wrapping, table, consume_all)),
        full_(name + "_full", over_ring(full, table, look_thrice)) {}

  Registered three_;
  Registered interrupted_;
  Registered wrapping_;
  Registered full_;
};

const Programs read_into("read_into", consumers::read_into);
const Programs drain_all("drain_all", consumers::drain_all);
const Programs parse_for_cpu("parse_for_cpu", consumers::parse_for_cpu);
const Programs drain_cpu("drain_cpu", consumers::drain_cpu);
const Programs session_watermark("session_watermark", consumers::session_watermark);
// Who sleeps for a time, whatever comes, never comes to an end here: it looks only.
const Registered session_full{"session_full", over_ring(full, consumers::session, look_thrice)};
const Registered merge_full{"session_merge_full", over_ring(full, consumers::session_merge, look_thrice)};

const Registered weak_flag{"perf_flag_before_head", over_ring(weak, consumers::read_into, consume_all)};

namespace mutant = consumers::mutant;
const Registered data_head_relaxed{"data_head_relaxed", over_ring(three, mutant::data_head_relaxed, consume_all)};
const Registered data_tail_relaxed{"data_tail_relaxed", over_ring(full, mutant::data_tail_relaxed, look_thrice)};
const Registered lost_callbacks{"count_lost_callbacks", over_ring(full, mutant::count_lost_callbacks, look_thrice)};
const Registered forget_lost{"forget_lost", over_ring(full, mutant::forget_lost, look_thrice)};
const Registered partly{"drain_partly", over_ring(three, mutant::drain_partly, consume_all)};
const Registered claims_empty{"drain_claims_empty", over_ring(one, mutant::drain_claims_empty, consume_all)};
const Registered heads_first{"drain_heads_first", over_ring(two, mutant::drain_heads_first, consume_all)};
const Registered cuts_padding{"read_cuts_padding", over_ring(one, mutant::read_cuts_padding, consume_all)};
const Registered loss_as_sample{"read_loss_as_sample", over_ring(full, mutant::read_loss_as_sample, look_thrice)};
const Registered loss_of_nothing{"read_loss_of_nothing", over_ring(full, mutant::read_loss_of_nothing, look_thrice)};
const Registered hands_back{"cpu_hands_back_first", over_ring(full, mutant::cpu_hands_back_first, look_thrice)};
const Registered shows_wrapped{"cpu_shows_wrapped", over_ring(wrapping, mutant::cpu_shows_wrapped, consume_all)};

}  // namespace
}  // namespace ringside::harness::explored
