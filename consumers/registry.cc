// SPDX-License-Identifier: Apache-2.0
//
// The two lists, and the finding by name.
#include "consumers/registry.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <vector>

#include "consumers/mutants/backward.h"
#include "consumers/mutants/mutants.h"
#include "consumers/mutants/ordering.h"
#include "consumers/mutants/perf.h"
#include "consumers/mutants/time_merge.h"
#include "consumers/strategies.h"

namespace ringside::consumers {
namespace {

template <class Item>
const Item* find(std::span<const Item> items, std::string_view name) {
  const auto found = std::find_if(items.begin(), items.end(),
                                  [name](const Item& item) { return std::string_view(item.consumer->name) == name; });
  return found == items.end() ? nullptr : &*found;
}

}  // namespace

std::span<const Entry> strategies() {
  static const std::array all{Entry{&copy()},          Entry{&zero_copy()},
                              Entry{&callback()},      Entry{&read()},
                              Entry{&read_into()},     Entry{&peek_consume()},
                              Entry{&guarded_peek()},  Entry{&mutex_peek()},
                              Entry{&iterator()},      Entry{&visit()},
                              Entry{&take()},          Entry{&token_commit()},
                              Entry{&lease()},         Entry{&batch_release()},
                              Entry{&prefetch_view()}, Entry{&busy_poll()},
                              Entry{&copy_level()},    Entry{&copy_level_fence()},
                              Entry{&libbpf()},        Entry{&overwrite_snapshot()},
                              Entry{&time_merge()},    Entry{&drain_all()},
                              Entry{&ab_swap()},       Entry{&libbpf_perf()},
                              Entry{&parse_for_cpu()}, Entry{&drain_cpu()},
                              Entry{&session()},       Entry{&session_watermark()},
                              Entry{&session_merge()}, Entry{&overwritable()}};
  return all;
}

namespace {

// Why a mutant is not tried on the kernel.
constexpr std::string_view nothing_there =
    "A ring of the kernel's that came there by records of the harness holds no plausible header behind them.";
constexpr std::string_view writable_under_tsan =
    "Built for ThreadSanitizer the model shows one writable mapping, so that not every build can show it there.";
constexpr std::string_view whole_on_kernel =
    "On the kernel a step is a whole output, so that none is under way when a ring is paused.";
constexpr std::string_view few_steps =
    "Between two calls the model's producers take fewer steps than an output takes before it writes.";
constexpr std::string_view gaps_of_offline = "A kernel's CPUs have gaps only where some are offline.";
constexpr std::string_view kernel_tells_no_lies = "No kernel can be asked for a header or a head that is not true.";
constexpr std::string_view no_such_position =
    "It would take the kernel 2^32 bytes of records to come to such a position.";

/// Of the strategies of both kinds of rings.
std::vector<Mutant> general_mutants() {
  using ring::DefectKind;
  return {
      Mutant{&mutant::ignore_busy(), DefectKind::phantom, "Delivers a record before its producer has committed it.",
             "D1", on_both("busy_head").and_explored("ignore_busy", DefectKind::data_race)},
      Mutant{&mutant::ignore_discard(), DefectKind::phantom, "Delivers records that their producer discarded.", "B6",
             on_both("discards").and_explored("ignore_discard", DefectKind::uninitialised_read)},
      Mutant{&mutant::release_early(), DefectKind::use_after_release,
             "Hands a record's space back while the host still holds the view of it.", "G1",
             on_both("held_views").and_explored("release_early", DefectKind::use_after_release)},
      Mutant{&mutant::wrong_rounding(), DefectKind::phantom,
             "Rounds records of 1 to 7 bytes down and takes their payload for the next header.", "E4",
             on_both("short_records").and_explored("wrong_rounding", DefectKind::protocol)},
      Mutant{&mutant::break_at_end(), DefectKind::torn,
             "Copies a record that crosses the ring's end only up to that end.", "D3",
             on_both("wrap").and_explored("break_at_end", DefectKind::torn)},
      Mutant{&mutant::sleep_without_look(), DefectKind::missed_wakeup,
             "Publishes its position when about to sleep, and sleeps without looking again.", "A1",
             on_both("interleaved").and_explored("sleep_without_look", DefectKind::missed_wakeup)},
      Mutant{&mutant::early_timeout(), DefectKind::early_timeout,
             "Tells a timeout without looking whether a record came without a wake-up.", "A3",
             on_both("no_wakeup_tail").and_explored("early_timeout", DefectKind::early_timeout)},
      Mutant{&mutant::overwrite_no_second_look(), DefectKind::torn,
             "Does not look at overwrite_pos again after it has copied a record.", "M2",
             on_both("overwrite_lapped").and_explored("overwrite_no_second_look", DefectKind::duplicate, "tso")},
      Mutant{&mutant::overwrite_ignores_pos(), DefectKind::torn,
             "Knows consumer_pos alone, and reads on where the ring was overwritten.", "M2",
             on_both("overwrite_lapped").and_explored("overwrite_ignores_pos", DefectKind::reordered, "tso")},
      Mutant{&mutant::forget_lost(), DefectKind::loss_miscounted, "Passes over PERF_RECORD_LOST without a word.", "B4",
             on_both("burst_overflow").and_explored("forget_lost", DefectKind::loss_miscounted)},
      Mutant{&mutant::count_lost_callbacks(), DefectKind::loss_miscounted,
             "Reports one lost record for each PERF_RECORD_LOST, whatever it accounts for.", "B3",
             on_both("burst_overflow").and_explored("count_lost_callbacks", DefectKind::loss_miscounted)},
      Mutant{&mutant::trust_perf_size(), DefectKind::out_of_bounds,
             "Hands out as many bytes as raw_size says, beyond the record and beyond data_head.", "E1",
             on_both("perf_oversize")},
      Mutant{&mutant::drain_claims_empty(), DefectKind::batch_incomplete,
             "Claims that every ring is empty when its batch ends.", "N1",
             on_both("batches").and_explored("drain_claims_empty", DefectKind::batch_incomplete)},
      Mutant{&mutant::drain_heads_first(), DefectKind::batch_incomplete,
             "Reads the heads, and only then begins the batch that it claims to be whole.", "N1",
             on_both("batches").and_explored("drain_heads_first", DefectKind::batch_incomplete)},
      Mutant{&mutant::drain_one_ring(), DefectKind::batch_incomplete,
             "Reads the head of one ring alone, and claims the batch of all.", "A4",
             on_both("batches").and_explored("drain_one_ring", DefectKind::batch_incomplete)},
      Mutant{&mutant::drain_rereads_head(), DefectKind::unbounded_drain,
             "Reads a ring's head again at each end of what it knows of, whatever the most was that it may deliver.",
             "N1", on_both("refilled")},
      Mutant{&mutant::drain_partly(), DefectKind::missed_wakeup,
             "Takes two records for each wake-up and sleeps beside the rest of them.", "A13",
             on_both("burst_overflow").and_explored("drain_partly", DefectKind::missed_wakeup)},
      Mutant{&mutant::ab_swap_claims_side(), DefectKind::batch_incomplete,
             "Claims a frozen side to be complete when all has come that its counter says.", "Q4",
             on_both("swap_late").and_explored("ab_swap_straggler", DefectKind::batch_incomplete)},
      Mutant{&mutant::ab_swap_no_repoll(), DefectKind::batch_incomplete,
             "Claims a frozen side to be complete at the first look that finds nothing.", "Q4",
             on_both("swap_late").and_explored("ab_swap_no_repoll", DefectKind::batch_incomplete)},
      Mutant{&mutant::ab_swap_erases_count(), DefectKind::loss_miscounted,
             "Sets the counter of a drained side to 0 instead of taking from it what has come.", "Q4",
             on_both("swap_full").and_explored("ab_swap_erased_count", DefectKind::loss_miscounted)},
      Mutant{&mutant::ab_swap_waits_for_count(), DefectKind::busy_spin,
             "Looks for what the counter of a frozen side says until it has come, lost or not.", "Q4",
             on_both("swap_full").and_explored("ab_swap_waits_for_count", DefectKind::busy_spin)}};
}

/// More of those of BPF rings.
std::vector<Mutant> ringbuf_mutants() {
  using ring::DefectKind;
  return {
      Mutant{&mutant::span_without_header(), DefectKind::lost,
             "Looks for the next header right behind a payload of the told length, forgetting the header's own.", "E4",
             on_both("interleaved")},
      Mutant{&mutant::padded_length(), DefectKind::torn,
             "Tells a length rounded up to 8, with bytes of nobody at the end.", "D10", on_both("short_records")},
      Mutant{&mutant::stops_at_discard(), DefectKind::missed_wakeup,
             "Takes a discarded record for one that is still to be committed.", "B6",
             on_both("discards").and_explored("stops_at_discard", DefectKind::missed_wakeup)},
      Mutant{&mutant::passes_over_busy(), DefectKind::lost, "Passes over a BUSY record and hands its space back.", "N4",
             on_both("busy_head").and_explored("passes_over_busy", DefectKind::deadlock)},
      Mutant{&mutant::caches_producer_pos(), DefectKind::phantom,
             "Reads on in a ring that was read before, up to a producer_pos that it has never loaded.", "C1",
             on_model_only("used_ring", nothing_there)
                 .and_explored("caches_producer_pos", DefectKind::uninitialised_read)},
      Mutant{&mutant::keeps_32_bits(), DefectKind::position_regressed, "Keeps its position in 32 bits.", "F1",
             on_model_only("position_wrap_32", no_such_position)},
      Mutant{&mutant::wrapped_difference(), DefectKind::missed_wakeup,
             "Subtracts positions that it has wrapped, and finds nothing where the producer is a lap ahead.", "F5",
             on_both("interleaved").and_explored("wrapped_difference", DefectKind::missed_wakeup)},
      Mutant{&mutant::drops_empty(), DefectKind::lost, "Takes a record of no bytes for none.", "B2",
             on_both("short_records")},
      Mutant{&mutant::short_buffer(), DefectKind::torn,
             "Copies the first 256 bytes of a record, and tells its whole length.", "D3", on_both("interleaved")},
      Mutant{&mutant::keeps_discarded(), DefectKind::missed_wakeup,
             "Sleeps on discarded records that it has not handed back: no commit behind them wakes it.", "G1",
             on_both("discards").and_explored("keeps_discarded", DefectKind::missed_wakeup)},
      Mutant{&mutant::trusts_length(), DefectKind::out_of_bounds,
             "Does not hold a record's length against what the ring has.", "E3",
             on_model_only("broken_length", kernel_tells_no_lies)},
      Mutant{&mutant::consumes_first(), DefectKind::use_after_release,
             "Consumes a record, and then looks at the view of it.", "G1",
             on_both("interleaved").and_explored("consumes_first", DefectKind::use_after_release)},
      Mutant{&mutant::consumes_twice(), DefectKind::lost, "Consumes twice for one peek.", "G1",
             on_both("interleaved").and_explored("consumes_twice", DefectKind::deadlock)},
      Mutant{&mutant::keeps_failed(), DefectKind::duplicate,
             "Does not consume the record at which the function that it called has failed.", "G1",
             on_both("interleaved")},
      Mutant{&mutant::commits_in_any_order(), DefectKind::use_after_release,
             "Hands back all before the record that was committed, whatever is still out.", "G1",
             on_both("held_views")},
      Mutant{&mutant::commits_as_told(), DefectKind::position_regressed,
             "Stores the position of each record that is committed, in whatever order.", "G1", on_both("held_views")},
      Mutant{&mutant::lease_never_ends(), DefectKind::missed_wakeup,
             "Commits nothing at a lease's end, and sleeps on what it has read.", "Q1",
             on_both("interleaved").and_explored("lease_never_ends", DefectKind::missed_wakeup)},
      Mutant{&mutant::keeps_batch(), DefectKind::missed_wakeup,
             "Sleeps on a batch that is not full and not handed back.", "N6",
             on_both("interleaved").and_explored("keeps_batch", DefectKind::missed_wakeup)},
      Mutant{&mutant::reverses(), DefectKind::reordered, "Hands out the second of two records before the first.", "G1",
             on_both("held_views")},
      Mutant{&mutant::copies_late(), DefectKind::use_after_release, "Hands a record's space back and copies it then.",
             "D3", explored_only("copies_late", DefectKind::use_after_release)},
      Mutant{&mutant::drains_without_bound(), DefectKind::unbounded_drain,
             "Drains what there is, however much was asked for.", "N1", on_both("interleaved")},
      Mutant{&mutant::counts_in_a_byte(), DefectKind::protocol,
             "Tells the number of deliveries in a type that is too small for it.", "F4", on_both("burst_overflow")},
      Mutant{&mutant::ignores_stop(), DefectKind::unbounded_drain, "Goes on though it was told to stop.", "B6",
             on_both("interleaved")},
      Mutant{&mutant::crashes_on_empty(), DefectKind::crash, "Looks at the first byte of a record that has none.", "B1",
             on_both("extremes")},
      Mutant{&mutant::clears_headers(), DefectKind::protocol, "Writes into the ring, which is mapped for reading.",
             "P3", on_kernel_only("interleaved", writable_under_tsan)},
      Mutant{&mutant::interrupt_is_fatal(), DefectKind::protocol, "Takes EINTR for the end.", "A7", on_both("signals")},
      Mutant{&mutant::interrupt_is_timeout(), DefectKind::early_timeout, "Takes EINTR for its deadline.", "A7",
             on_both("signals")},
      Mutant{&mutant::restarts_deadline(), DefectKind::deadline_missed,
             "Sleeps its whole time again after a wake-up for nothing.", "I1", on_both("discarded_wakeups")},
      Mutant{&mutant::rounds_deadline_down(), DefectKind::early_timeout, "Sleeps whole milliseconds, rounded down.",
             "I1", on_both("signals")},
      Mutant{&mutant::spins_on_busy(), DefectKind::busy_spin,
             "Does not sleep while the ring holds anything, a BUSY record, say.", "Q2", on_both("busy_head")},
      Mutant{&mutant::never_sleeps(), DefectKind::busy_spin, "Asks epoll with a timeout of 0, again and again.", "N3",
             on_both("no_wakeup_tail")},
      Mutant{&mutant::leaks_a_descriptor(), DefectKind::leak, "Opens a descriptor and never closes it.", "I2",
             on_both("one_page")},
      Mutant{&mutant::reader_tells_untested(), DefectKind::early_timeout,
             "Tells its deadline without emptying the ring.", "A3",
             on_both("no_wakeup_tail").and_explored("reader_tells_untested", DefectKind::early_timeout)}};
}

/// Wrong in one ordering alone.
std::vector<Mutant> ordering_mutants() {
  using ring::DefectKind;
  return {Mutant{&mutant::producer_pos_relaxed(), DefectKind::data_race, "Loads producer_pos without acquire.", "D1",
                 explored_only("producer_pos_relaxed", DefectKind::data_race)},
          Mutant{&mutant::header_relaxed(), DefectKind::data_race, "Loads headers without acquire.", "D1",
                 explored_only("header_relaxed", DefectKind::data_race)},
          Mutant{&mutant::consumer_pos_relaxed(), DefectKind::use_after_release, "Stores consumer_pos without release.",
                 "G1", explored_only("consumer_pos_relaxed", DefectKind::use_after_release)},
          Mutant{&mutant::look_without_fence(), DefectKind::missed_wakeup,
                 "Publishes its position and looks again before it sleeps, without a full fence in between.", "A1",
                 explored_only("look_without_fence", DefectKind::missed_wakeup)},
          Mutant{&mutant::store_for_fence(), DefectKind::missed_wakeup,
                 "Takes a sequentially consistent store of its position for the full fence behind it.", "A2",
                 explored_only("store_for_fence", DefectKind::missed_wakeup)},
          Mutant{&mutant::reader_without_fence(), DefectKind::missed_wakeup,
                 "Looks again before it sleeps, without a full fence between that and its position.", "A1",
                 explored_only("reader_without_fence", DefectKind::missed_wakeup)},
          Mutant{&mutant::data_head_relaxed(), DefectKind::data_race, "Loads data_head without acquire.", "D2",
                 explored_only("data_head_relaxed", DefectKind::data_race)},
          Mutant{&mutant::data_tail_relaxed(), DefectKind::use_after_release, "Stores data_tail without release.", "D3",
                 explored_only("data_tail_relaxed", DefectKind::use_after_release)}};
}

/// Of the strategies of perf rings, by mutants/perf.cc.
std::vector<Mutant> backward_mutants() {
  using ring::DefectKind;
  return {
      Mutant{&mutant::backward_unpaused(), DefectKind::protocol,
             "Copies a ring that goes on, whose newest records lie over the oldest ones that it copies.", "M1",
             on_both("backward_lapped").and_explored("backward_unpaused", DefectKind::data_race)},
      Mutant{
          &mutant::backward_not_quiet(), DefectKind::torn,
          "Takes a paused ring for a quiet one: an output that was under way writes over its oldest records.", "M1",
          on_model_only("backward_lapped", whole_on_kernel).and_explored("backward_not_quiet", DefectKind::data_race)},
      Mutant{&mutant::backward_quiet_first(), DefectKind::torn,
             "Waits for the outputs that are under way before it pauses, and not for those that came between.", "M1",
             on_model_only("backward_lapped", whole_on_kernel)
                 .and_explored("backward_quiet_first", DefectKind::data_race)},
      Mutant{
          &mutant::backward_goes_on_first(), DefectKind::torn,
          "Lets the ring go on when it has read the head, and copies then.", "M1",
          on_kernel_only("backward_lapped", few_steps).and_explored("backward_goes_on_first", DefectKind::data_race)},
      Mutant{&mutant::backward_stays_paused(), DefectKind::protocol, "Lets no ring go on that it has paused.", "M1",
             on_both("backward_steady")},
      Mutant{&mutant::backward_half_record(), DefectKind::torn,
             "Delivers the record at the end of the lap, the rest of which is written over.", "M1",
             on_both("backward_lapped").and_explored("backward_half_record", DefectKind::torn)},
      Mutant{&mutant::backward_two_laps(), DefectKind::duplicate,
             "Walks on behind one lap, where the newest records lie again.", "M1",
             on_both("backward_lapped").and_explored("backward_two_laps", DefectKind::torn)},
      Mutant{&mutant::backward_again(), DefectKind::duplicate,
             "Dumps what an earlier dump has delivered, for nothing in the ring says so.", "C2",
             on_both("backward_steady").and_explored("backward_again", DefectKind::duplicate)},
      Mutant{&mutant::backward_newest_first(), DefectKind::reordered,
             "Delivers the records of a dump as they lie, newest first.", "M1",
             on_both("backward_lapped").and_explored("backward_newest_first", DefectKind::reordered)},
      Mutant{&mutant::backward_forgets_lost(), DefectKind::loss_miscounted,
             "Reports nothing of what its own pauses have lost.", "M3",
             on_model_only("backward_lapped", whole_on_kernel)},
      Mutant{&mutant::backward_stores_tail(), DefectKind::protocol,
             "Stores data_tail, which such a ring does not ask for and maps for reading only.", "P3",
             on_kernel_only("backward_steady", writable_under_tsan)},
      Mutant{&mutant::backward_sleeps_unlooked(), DefectKind::early_timeout,
             "Tells a timeout without a look at what lies below the watermark.", "A4", on_both("backward_nested")},
  };
}

std::vector<Mutant> perf_mutants() {
  using ring::DefectKind;
  return {
      Mutant{&mutant::cpu_no_last_look(), DefectKind::early_timeout,
             "Tells a timeout when epoll named no ring, without a look at what lies below a watermark.", "A4",
             on_both("wakeup_events")},
      Mutant{&mutant::cpu_forgets_rest(), DefectKind::missed_wakeup,
             "Sleeps on a ring that it left records in, which only a new record makes ready.", "A13",
             on_both("backpressure")},
      Mutant{&mutant::cpu_by_index(), DefectKind::protocol, "Takes a CPU's number for its ring's place in the list.",
             "J1", on_model_only("cpu_gaps", gaps_of_offline).and_explored("cpu_by_index", DefectKind::protocol)},
      Mutant{&mutant::cpu_falls_into_holes(), DefectKind::crash,
             "Looks at CPU after CPU at its deadline, and finds a CPU without a ring.", "J6",
             on_model_only("cpu_gaps", gaps_of_offline)},
      Mutant{&mutant::cpu_no_last_drain(), DefectKind::lost,
             "Reads the rings that epoll named, and none once more before it ends.", "B7", on_both("many_cpus")},
      Mutant{&mutant::cpu_ignores_stop(), DefectKind::unbounded_drain, "Goes on when its callback says stop.", "B6",
             on_both("backpressure")},
      Mutant{&mutant::cpu_hands_back_first(), DefectKind::use_after_release,
             "Hands a record's space back and shows it then.", "G1",
             on_both("many_cpus").and_explored("cpu_hands_back_first", DefectKind::use_after_release)},
      Mutant{&mutant::read_deadline_first(), DefectKind::early_timeout,
             "Tells its deadline before the rings are emptied.", "A4", on_both("wakeup_events")},
      Mutant{&mutant::read_loss_as_sample(), DefectKind::phantom, "Takes a loss for an empty sample.", "B2",
             on_both("burst_overflow").and_explored("read_loss_as_sample", DefectKind::torn)},
      Mutant{&mutant::read_loss_of_nothing(), DefectKind::protocol, "Reports each loss as one of 0 records.", "B5",
             on_both("burst_overflow").and_explored("read_loss_of_nothing", DefectKind::loss_miscounted)},
      Mutant{&mutant::read_ends_at_interrupt(), DefectKind::lost, "Ends when a wait is interrupted.", "A7",
             on_both("hangups")},
      Mutant{&mutant::read_ends_at_hangup(), DefectKind::lost,
             "Takes a hang-up for the end, before it has read what lies there.", "I5", on_both("hangups")},
      Mutant{&mutant::read_spins_on_hangup(), DefectKind::busy_spin,
             "Takes a hung-up descriptor for a ready one for ever.", "A12", on_both("hangups")},
      Mutant{&mutant::read_tail_by_halves(), DefectKind::missed_wakeup,
             "Stores data_tail when half of the ring is read, and sleeps with less.", "D3", on_both("interleaved")},
      Mutant{&mutant::read_cuts_padding(), DefectKind::torn, "Takes raw_size for a multiple of 8.", "D3",
             on_both("many_cpus").and_explored("read_cuts_padding", DefectKind::torn)},
      Mutant{&mutant::read_counts_raw_size(), DefectKind::torn,
             "Counts the four bytes of raw_size into the payload, and reads so far behind its end.", "D6",
             on_both("many_cpus")},
      Mutant{&mutant::read_aligns_payload(), DefectKind::phantom,
             "Takes a payload to begin at a multiple of 8, as its fields of 64 bits would like.", "D7",
             on_both("many_cpus")},
      Mutant{&mutant::read_knows_no_time(), DefectKind::lost, "Looks for raw_size where a sample's time is.", "E1",
             on_both("time_order").and_explored("read_knows_no_time", DefectKind::torn)},
      Mutant{&mutant::cpu_shows_wrapped(), DefectKind::out_of_bounds,
             "Shows a sample in place though it runs over the ring's end.", "D3",
             on_both("wrap").and_explored("cpu_shows_wrapped", DefectKind::torn)},
      Mutant{&mutant::read_stands_still(), DefectKind::hang,
             "Goes on by a header.size of 0, and so stays where it is for ever.", "E2",
             on_model_only("broken_sizes", kernel_tells_no_lies)},
      Mutant{&mutant::read_runs_past_head(), DefectKind::position_overrun,
             "Goes on by a header.size that leads past data_head.", "E1",
             on_model_only("broken_sizes", kernel_tells_no_lies)},
      Mutant{&mutant::read_takes_any_loss(), DefectKind::loss_miscounted,
             "Reads a count from a PERF_RECORD_LOST that is too short for one.", "E1",
             on_model_only("broken_loss", kernel_tells_no_lies)},
      Mutant{&mutant::read_takes_behind_for_ahead(), DefectKind::protocol,
             "Takes a data_head that has stepped back for one that is a ring ahead.", "F2",
             on_model_only("head_steps_back", kernel_tells_no_lies)},
      Mutant{&mutant::cpu_hides_deliveries(), DefectKind::protocol,
             "Returns the error of one ring in place of the records that it delivered.", "N8",
             on_model_only("broken_sizes", kernel_tells_no_lies)},
      Mutant{&mutant::session_oversleeps(), DefectKind::deadline_missed, "Sleeps 15 ms whatever the deadline is.", "I1",
             on_both("wakeup_events")},
      Mutant{&mutant::session_claims_order(), DefectKind::reordered,
             "Claims the order of time, with the order of what is visible at each snapshot.", "K1",
             on_model_only("time_order", "Two CPUs write one record at most between two looks: it takes three rings.")
                 .and_explored("session_claims_order", DefectKind::reordered)},
      Mutant{&mutant::session_by_arrival(), DefectKind::reordered, "Hands out ring after ring, whatever the times.",
             "K2", on_both("time_order").and_explored("session_by_arrival", DefectKind::reordered)},
      Mutant{&mutant::session_makes_times_up(), DefectKind::protocol,
             "Hands out ring after ring, and tells times that never fall.", "K5", on_both("time_order")},
      Mutant{&mutant::session_no_hold(), DefectKind::reordered,
             "Takes the second look right behind the first, while a stamped record is not published yet.", "Q3",
             on_model_only("time_order", "A step on a kernel is a whole output: nobody looks within it.")
                 .and_explored("session_no_hold", DefectKind::reordered)}};
}

/// Of `time_merge`, by mutants/time_merge.cc.
std::vector<Mutant> merge_mutants() {
  using ring::DefectKind;
  constexpr std::string_view whole_outputs = "A step on a kernel is a whole output: nobody looks within it.";
  return {
      Mutant{&mutant::merge_ignores_busy(), DefectKind::reordered,
             "Hands a record out while one of another ring is BUSY, which may be older.", "Q3",
             on_both("stamped_busy").and_explored("merge_ignores_busy", DefectKind::reordered)},
      Mutant{&mutant::merge_positions_first(), DefectKind::reordered,
             "Takes the positions, and only then looks for the newest stamp.", "K1",
             on_model_only("stamped_many", whole_outputs).and_explored("merge_positions_first", DefectKind::reordered)},
      Mutant{&mutant::merge_without_bound(), DefectKind::reordered,
             "Hands out what is younger than anything that it had seen before it took the positions.", "K1",
             on_model_only("stamped_many", whole_outputs).and_explored("merge_without_bound", DefectKind::reordered)},
      Mutant{&mutant::merge_by_arrival(), DefectKind::reordered, "Hands out ring after ring, whatever the times.", "K2",
             on_both("stamped").and_explored("merge_by_arrival", DefectKind::reordered)},
      Mutant{&mutant::merge_makes_times_up(), DefectKind::protocol,
             "Hands out ring after ring, and tells times that never fall.", "K5", on_both("stamped")},
      Mutant{&mutant::merge_tells_no_time(), DefectKind::protocol, "Claims the order of time, and tells none.", "K1",
             on_both("stamped")},
      Mutant{&mutant::merge_without_fence(), DefectKind::reordered,
             "Takes the positions behind the newest stamp without a full fence in between.", "A1",
             explored_only("merge_without_fence", DefectKind::reordered)}};
}

std::vector<Mutant> joined(std::initializer_list<std::vector<Mutant>> lists) {
  std::vector<Mutant> all;
  for (const std::vector<Mutant>& list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
}

}  // namespace

std::span<const Mutant> mutants() {
  static const std::vector<Mutant> all = joined(
      {general_mutants(), ringbuf_mutants(), ordering_mutants(), merge_mutants(), perf_mutants(), backward_mutants()});
  return all;
}

std::span<const ProducerEntry> producer_strategies() {
  static const std::array all{ProducerEntry{&user_reserve()}, ProducerEntry{&libbpf_user()}};
  return all;
}

std::span<const ProducerMutant> producer_mutants() {
  using ring::DefectKind;
  static const std::array all{
      ProducerMutant{&mutant::commit_before_write(), DefectKind::torn,
                     "Reserves a sample without BUSY: the kernel drains it before its payload is written.", "D1",
                     on_both("user_steady").and_explored("commit_before_write", DefectKind::data_race)},
      ProducerMutant{&mutant::forget_space(), DefectKind::position_overrun,
                     "Reserves without looking for room, over samples that the kernel has not drained.", "B9",
                     on_both("user_full").and_explored("forget_space", DefectKind::data_race)},
      ProducerMutant{&mutant::two_handles(), DefectKind::lost,
                     "Two handles that know nothing of each other take the same place in the ring.", "O2",
                     on_both("user_steady")},
      ProducerMutant{&mutant::drop_when_full(), DefectKind::lost,
                     "Says that a sample was sent when there was no room for it.", "B3", on_both("user_full")},
      ProducerMutant{&mutant::swallow_wakeup(), DefectKind::missed_wakeup,
                     "Takes the readiness of the ring, does not look for room, and sleeps.", "A1",
                     on_both("user_sizes")},
      ProducerMutant{&mutant::unrounded_span(), DefectKind::protocol,
                     "Moves its position by samples that are not rounded up to 8 bytes.", "E4", on_both("user_sizes")},
      ProducerMutant{&mutant::user_consumer_pos_relaxed(), DefectKind::data_race, "Loads consumer_pos without acquire.",
                     "D1", explored_only("user_consumer_pos_relaxed", DefectKind::data_race)},
      ProducerMutant{&mutant::user_producer_pos_relaxed(), DefectKind::data_race,
                     "Stores producer_pos without release.", "D1",
                     explored_only("user_producer_pos_relaxed", DefectKind::data_race)},
      ProducerMutant{&mutant::user_header_relaxed(), DefectKind::data_race, "Commits a header without release.", "D1",
                     explored_only("user_header_relaxed", DefectKind::data_race)}};
  return all;
}

const Entry* find_strategy(std::string_view name) { return find(strategies(), name); }

const Mutant* find_mutant(std::string_view name) { return find(mutants(), name); }

}  // namespace ringside::consumers
