// SPDX-License-Identifier: Apache-2.0
#include "sim/rule.h"

#include <algorithm>
#include <cassert>

namespace ringside::sim {

namespace {

using ring::RingKind;

constexpr RingKind ringbuf = RingKind::ringbuf;
constexpr RingKind perf = RingKind::perf;
constexpr RingKind user = RingKind::user_ringbuf;

constexpr RuleFace table[] = {
    {Rule::ringbuf_full_compare, "ringbuf_full_compare", "1.5.7", "a reservation fails when n - c is above M",
     "it fails when n - c is M", ringbuf, false},
    {Rule::ringbuf_span_rounding, "ringbuf_span_rounding", "1.4", "a span is rounded up to 8", "it is rounded up to 16",
     ringbuf, false},
    {Rule::ringbuf_largest_span, "ringbuf_largest_span", "1.5", "the largest payload is N - 16", "it is N - 8", ringbuf,
     false},
    {Rule::ringbuf_page_offset, "ringbuf_page_offset", "1.4", "pg_off counts three pages before the data",
     "it counts from the data", ringbuf, false},
    {Rule::ringbuf_pending_walk, "ringbuf_pending_walk", "1.5.6", "pending_pos passes every record that is not BUSY",
     "it passes one record at most", ringbuf, false},
    {Rule::ringbuf_pending_over_discard, "ringbuf_pending_over_discard", "1.5.6",
     "pending_pos passes discarded records", "it stops at them", ringbuf, false},
    {Rule::ringbuf_pending_limits, "ringbuf_pending_limits", "1.5.7", "a reservation fails when n - q is above M",
     "only n - c counts", ringbuf, false},
    {Rule::ringbuf_pending_on_failure, "ringbuf_pending_on_failure", "1.5.6",
     "pending_pos is stored even when the reservation fails", "it is stored on success only", ringbuf, false},
    {Rule::ringbuf_stale_payload, "ringbuf_stale_payload", "1.4", "reserve leaves the payload as it was",
     "it clears the payload", ringbuf, false},
    {Rule::ringbuf_discard_bit, "ringbuf_discard_bit", "1.6.2", "discard sets DISCARD", "it sets nothing", ringbuf,
     false},
    {Rule::ringbuf_discard_wakes, "ringbuf_discard_wakes", "1.6.5", "discard wakes like submit", "it never wakes",
     ringbuf, false},
    {Rule::ringbuf_wakeup_modulo, "ringbuf_wakeup_modulo", "1.6.5", "the wake-up compares positions modulo N",
     "it compares whole positions", ringbuf, false},
    {Rule::ringbuf_force_wins, "ringbuf_force_wins", "1.6.5", "FORCE_WAKEUP wins over NO_WAKEUP", "NO_WAKEUP wins",
     ringbuf, false},
    {Rule::ringbuf_output_flags, "ringbuf_output_flags", "1.7", "output refuses unknown flags", "it ignores them",
     ringbuf, false},
    {Rule::ringbuf_submit_flags, "ringbuf_submit_flags", "1.6.5", "submit ignores unknown flags",
     "unknown flags suppress the wake-up", ringbuf, false},
    {Rule::ringbuf_dynptr_failure, "ringbuf_dynptr_failure", "1.7", "a failed reserve_dynptr returns -EINVAL",
     "it returns -EAGAIN", ringbuf, false},
    {Rule::ringbuf_dynptr_limit, "ringbuf_dynptr_limit", "1.7", "a dynptr above 0xffffff bytes is -E2BIG",
     "it is a failed reservation", ringbuf, false},
    {Rule::ringbuf_query_available, "ringbuf_query_available", "1.7",
     "AVAIL_DATA is producer_pos - consumer_pos whatever lies there", "it never exceeds N", ringbuf, false},
    {Rule::ringbuf_poll_busy, "ringbuf_poll_busy", "4.1", "poll says readable when only a BUSY record lies there",
     "a BUSY record at consumer_pos hides what there is", ringbuf, false},
    {Rule::ringbuf_overwrite_walk, "ringbuf_overwrite_walk", "1.11", "overwrite_pos passes as many records as needed",
     "it passes one", ringbuf, true},
    {Rule::ringbuf_overwrite_consumer, "ringbuf_overwrite_consumer", "1.11",
     "an overwrite ring ignores consumer_pos for space", "it tests n - c, too", ringbuf, true},
    {Rule::ringbuf_overwrite_available, "ringbuf_overwrite_available", "1.11",
     "AVAIL_DATA counts from overwrite_pos when the consumer is behind it", "it counts from consumer_pos", ringbuf,
     true},
    {Rule::perf_space, "perf_space", "2.4.5", "one byte of the ring always stays free", "the last byte is given, too",
     perf, false},
    {Rule::perf_lost_space, "perf_lost_space", "2.4.3", "a LOST record that is due needs 24 bytes more",
     "the space test forgets it", perf, false},
    {Rule::perf_lost_id, "perf_lost_id", "2.7", "LOST.id is the id of the event that writes next",
     "it is the id of the ring's owner", perf, false},
    {Rule::perf_lost_reset, "perf_lost_reset", "2.7", "the count of lost records starts again after LOST",
     "it goes on counting", perf, false},
    {Rule::perf_lost_trailer, "perf_lost_trailer", "2.7", "with sample_id_all LOST carries the id trailer",
     "it carries none", perf, false},
    {Rule::perf_lost_order, "perf_lost_order", "2.7", "LOST stands before the record that succeeded",
     "it stands after it", perf, false},
    {Rule::perf_stale_padding, "perf_stale_padding", "2.5", "padding is not written", "it is cleared", perf, false},
    {Rule::perf_raw_size, "perf_raw_size", "2.8", "raw_size counts the padding", "it is the size of the data", perf,
     false},
    {Rule::perf_oversize, "perf_oversize", "2.8", "a sample above 65528 bytes is cut modulo 65536 and written all",
     "it is refused", perf, false},
    {Rule::perf_watermark_compare, "perf_watermark_compare", "2.4.6", "the watermark is passed when more is produced",
     "it is passed when as much is produced", perf, false},
    {Rule::perf_watermark_once, "perf_watermark_once", "2.4.6", "one record moves the stamp by one watermark",
     "it moves it as far as it reaches", perf, false},
    {Rule::perf_half_buffer, "perf_half_buffer", "2.9", "with wakeup_events half a buffer wakes, too",
     "only the count wakes", perf, false},
    {Rule::perf_wakeup_events_zero, "perf_wakeup_events_zero", "8.1", "wakeup_events 0 is no per-event wake-up",
     "it is treated as 1", perf, false},
    {Rule::perf_wakeup_events_compare, "perf_wakeup_events_compare", "2.9", "wakeup_events is compared as an int",
     "it is compared unsigned", perf, false},
    {Rule::perf_events_shared, "perf_events_shared", "2.9", "events falls by the writing event's wakeup_events",
     "it starts again at 0", perf, false},
    {Rule::perf_samples_count, "perf_samples_count", "2.9", "only samples count for wakeup_events",
     "every record counts", perf, false},
    {Rule::perf_paused_counts, "perf_paused_counts", "2.4.2", "what a paused ring refuses counts as lost",
     "it is not counted", perf, false},
    {Rule::perf_lost_samples, "perf_lost_samples", "2.7", "PERF_FORMAT_LOST is never reset", "a LOST record resets it",
     perf, false},
    {Rule::perf_poll_one_shot, "perf_poll_one_shot", "4.1", "poll takes the flag", "it leaves the flag", perf, false},
    {Rule::perf_backward_watermark, "perf_backward_watermark", "2.10", "a backward ring negates head for the watermark",
     "it does not", perf, false},
    {Rule::perf_redirect_watermark, "perf_redirect_watermark", "2.11",
     "a redirected event keeps the watermark of the ring", "its own watermark counts", perf, false},
    {Rule::user_busy_discard, "user_busy_discard", "3.2", "BUSY|DISCARD is passed at once", "BUSY is waited for", user,
     false},
    {Rule::user_size_before_busy, "user_size_before_busy", "3.2", "a bad length is an error before BUSY is looked at",
     "BUSY comes first", user, false},
    {Rule::user_skipped_counts, "user_skipped_counts", "3.1.4", "discarded samples are not in the drain's count",
     "they are counted", user, false},
    {Rule::user_skipped_wakes, "user_skipped_wakes", "3.1.5", "discarded samples alone wake the producer",
     "they do not", user, false},
    {Rule::user_error_hides_count, "user_error_hides_count", "3.1.3", "an error hides the samples delivered before it",
     "the count is returned", user, false},
    {Rule::user_stop_consumes, "user_stop_consumes", "3.1.6", "the sample at which the callback stops is consumed",
     "it stays", user, false},
    {Rule::user_busy_suppresses_wakeup, "user_busy_suppresses_wakeup", "3.1.2",
     "a drain that finds another one under way sends no wake-up", "FORCE_WAKEUP still wakes", user, false},
    {Rule::user_alignment, "user_alignment", "3.2.1", "a producer_pos that is no multiple of 8 is -EINVAL",
     "it is rounded down", user, false},
    {Rule::user_full, "user_full", "4.1", "a ring of exactly N bytes is not writable", "it is", user, false},
    {Rule::user_drain_flags, "user_drain_flags", "3.1.1", "drain refuses unknown flags", "it ignores them", user,
     false},
    {Rule::epoll_level_again, "epoll_level_again", "4.2", "a level-triggered item that was reported is polled again",
     "it is reported once", ringbuf, false},
    {Rule::epoll_polls_again, "epoll_polls_again", "4.2",
     "epoll_wait polls an announced item and drops it when nothing "
     "is ready",
     "it keeps the item", ringbuf, false},
    {Rule::epoll_add_polls, "epoll_add_polls", "4.2", "ADD announces an item that is ready", "it announces none",
     ringbuf, false},
};

}  // namespace

std::span<const RuleFace> rules() { return table; }

std::optional<Rule> rule_named(std::string_view name) {
  const auto found = std::ranges::find(table, name, &RuleFace::name);
  if (found == std::end(table)) return std::nullopt;
  return found->rule;
}

const RuleFace& face_of(Rule rule) {
  const auto found = std::ranges::find(table, rule, &RuleFace::rule);
  assert(found != std::end(table));
  return *found;
}

}  // namespace ringside::sim
