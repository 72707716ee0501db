// SPDX-License-Identifier: Apache-2.0
//
// The strategies for BPF rings and their mutants, as they stand in consumers/, over every execution beside the model's
// producers. Each sleeps in epoll whenever nothing is left to read.
#include <cstring>

#include "consumers/mutants/mutants.h"
#include "consumers/mutants/ordering.h"
#include "consumers/strategies.h"
#include "explore/programs/bpf_map.h"
#include "harness/explored/host.h"
#include "ring/operation.h"

namespace ringside::harness::explored {
namespace {

using explore::Registered;
using explore::programs::RingPlan;
namespace programs = explore::programs;

std::uint64_t read(const void* bytes, std::uint64_t size) {
  if (size < programs::record_size()) explore::fail(DefectKind::torn, "a record is delivered in part");
  if (size > programs::record_size())
    explore::fail(DefectKind::phantom, "a record of a size that none has is delivered");
  std::uint64_t first = 0;
  const std::uint64_t length = size < sizeof first ? size : sizeof first;
  std::memcpy(&first, bytes, length);
  std::uint64_t last = 0;
  std::memcpy(&last, static_cast<const std::byte*>(bytes) + size - length, length);
  if (first != last) explore::fail(DefectKind::torn, "a record is delivered whose end is not its own");
  return first;
}

bool readable() {
  const programs::RingView view = programs::ring();
  const std::uint64_t position = __atomic_load_n(view.consumer_pos, __ATOMIC_RELAXED);
  if (__atomic_load_n(view.producer_pos, __ATOMIC_ACQUIRE) == position) return false;
  const auto* const header = reinterpret_cast<const std::uint32_t*>(view.data + (position & view.mask));
  return (__atomic_load_n(header, __ATOMIC_ACQUIRE) & programs::busy_bit) == 0;
}

constexpr Judge judge{.read = read, .delivered = programs::deliver, .lost = [](std::uint64_t) {
                        explore::fail(DefectKind::loss_miscounted, "a BPF ring loses nothing that was reserved");
                      }};
constexpr Judge judge_of_timeouts{
    .read = judge.read, .delivered = judge.delivered, .lost = judge.lost, .readable = readable};

/// Until every record is delivered. `timeout_ns` is that of each wait; < 0: none.
void consume_all(ConsumerTable table, std::int64_t timeout_ns) {
  Host host(table(), as_mapped(programs::ring()), timeout_ns < 0 ? judge : judge_of_timeouts);
  while (true) {
    host.drain();
    if (host.delivered() == programs::records_in_all()) return;
    if (host.wait(timeout_ns) < 0) explore::fail(DefectKind::protocol, "wait tells an error");
  }
}

explore::Program over_ring(RingPlan plan, ConsumerTable table, std::int64_t timeout_ns = -1) {
  plan.wakes = true;
  explore::Program program = armed(bpf_program(plan, [table, timeout_ns] { consume_all(table, timeout_ns); }),
                                   programs::open_ring_map, EPOLLIN, table().trigger);
  // Nobody is to be woken: who sleeps until a timeout beside a record has missed nothing.
  if ((plan.flags & ring::flag_no_wakeup) != 0) program.unread = {};
  return program;
}

constexpr std::uint64_t page = 4096;
constexpr std::int64_t a_second_ns = 1'000'000'000;

constexpr RingPlan two{.records = 2};
// The second record's payload lies across the end of the data.
constexpr RingPlan wrapping{.records = 2, .start = page - 40, .size = 16};
constexpr RingPlan two_producers{.producers = 2, .records = 1};
// The ring holds one such record.
constexpr RingPlan full{.records = 2, .size = page / 2, .waits_for_space = true};
constexpr RingPlan discarding{.records = 2, .discards = 0b01};
// A commit that wakes nobody is found at the deadline.
constexpr RingPlan quiet{.records = 1, .flags = ring::flag_no_wakeup};
// Read before, up to there.
constexpr RingPlan used{.records = 2, .start = 512};
constexpr RingPlan short_records{.records = 2, .size = 4};

struct Programs {
  Programs(const std::string& name, ConsumerTable table)
      : two_(name + "_1x2", over_ring(two, table)),
        wrapping_(name + "_wrap", over_ring(wrapping, table)),
        two_producers_(name + "_2x1", over_ring(two_producers, table)),
        full_(name + "_full", over_ring(full, table)),
        discarding_(name + "_discard", over_ring(discarding, table)),
        short_(name + "_short", over_ring(short_records, table)),
        quiet_(name + "_quiet", over_ring(quiet, table, a_second_ns)) {}

  Registered two_;
  Registered wrapping_;
  Registered two_producers_;
  Registered full_;
  Registered discarding_;
  Registered short_;
  Registered quiet_;
};

const Programs copy("copy", consumers::copy);
const Programs callback("callback", consumers::callback);
const Programs zero_copy("zero_copy", consumers::zero_copy);
const Programs batch_release("batch_release", consumers::batch_release);
const Programs prefetch_view("prefetch_view", consumers::prefetch_view);
// Level-triggered, a wait beside a BUSY record returns at once, as often as the consumer likes: a tree without an end.
const Registered copy_level{"copy_level_quiet", over_ring(quiet, consumers::copy_level, a_second_ns)};
const Registered copy_level_fence{"copy_level_fence_quiet", over_ring(quiet, consumers::copy_level_fence, a_second_ns)};

/// Readers look three times where those above look once: their trees are that much larger.
struct Readers {
  Readers(const std::string& name, ConsumerTable table)
      : one_(name + "_1x1", over_ring({.records = 1}, table)),
        wrapping_(name + "_wrap", over_ring(wrapping, table)),
        full_(name + "_full", over_ring(full, table)),
        discarding_(name + "_discard", over_ring(discarding, table)),
        quiet_(name + "_quiet", over_ring(quiet, table, a_second_ns)) {}

  Registered one_;
  Registered wrapping_;
  Registered full_;
  Registered discarding_;
  Registered quiet_;
};

const Readers read_fresh("read", consumers::read);
const Readers read_into("bpf_read_into", consumers::read_into);
const Readers peek_consume("peek_consume", consumers::peek_consume);
const Readers guarded_peek("guarded_peek", consumers::guarded_peek);
const Readers mutex_peek("mutex_peek", consumers::mutex_peek);
const Readers iterator("iterator", consumers::iterator);
const Readers visit("visit", consumers::visit);
const Readers take("take", consumers::take);
const Readers token_commit("token_commit", consumers::token_commit);
const Readers lease("lease", consumers::lease);

namespace mutant = consumers::mutant;
const Registered ignore_busy{"ignore_busy", over_ring(two, mutant::ignore_busy)};
const Registered ignore_discard{"ignore_discard", over_ring(discarding, mutant::ignore_discard)};
const Registered release_early{"release_early", over_ring(full, mutant::release_early)};
const Registered wrong_rounding{"wrong_rounding", over_ring(short_records, mutant::wrong_rounding)};
const Registered early_timeout{"early_timeout", over_ring(quiet, mutant::early_timeout, a_second_ns)};
const Registered break_at_end{"break_at_end", over_ring(wrapping, mutant::break_at_end)};
const Registered producer_pos_relaxed{"producer_pos_relaxed", over_ring(two, mutant::producer_pos_relaxed)};
const Registered header_relaxed{"header_relaxed", over_ring(two, mutant::header_relaxed)};
const Registered consumer_pos_relaxed{"consumer_pos_relaxed", over_ring(full, mutant::consumer_pos_relaxed)};
const Registered look_without_fence{"look_without_fence", over_ring(two, mutant::look_without_fence)};
const Registered store_for_fence{"store_for_fence", over_ring(two, mutant::store_for_fence)};
const Registered reader_without_fence{"reader_without_fence", over_ring(two, mutant::reader_without_fence)};
const Registered stops_at_discard{"stops_at_discard", over_ring(discarding, mutant::stops_at_discard)};
const Registered passes_over_busy{"passes_over_busy", over_ring(two, mutant::passes_over_busy)};
const Registered caches_producer_pos{"caches_producer_pos", over_ring(used, mutant::caches_producer_pos)};
const Registered wrapped_difference{"wrapped_difference", over_ring(wrapping, mutant::wrapped_difference)};
const Registered keeps_discarded{"keeps_discarded", over_ring(discarding, mutant::keeps_discarded)};
const Registered consumes_first{"consumes_first", over_ring(full, mutant::consumes_first)};
const Registered consumes_twice{"consumes_twice", over_ring(two, mutant::consumes_twice)};
const Registered lease_never_ends{"lease_never_ends", over_ring(two, mutant::lease_never_ends)};
const Registered keeps_batch{"keeps_batch", over_ring(two, mutant::keeps_batch)};
const Registered copies_late{"copies_late", over_ring(full, mutant::copies_late)};
const Registered reader_tells_untested{"reader_tells_untested",
                                       over_ring(quiet, mutant::reader_tells_untested, a_second_ns)};
const Registered sleep_without_look{"sleep_without_look", over_ring(two, mutant::sleep_without_look)};

}  // namespace
}  // namespace ringside::harness::explored
