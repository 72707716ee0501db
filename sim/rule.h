// SPDX-License-Identifier: Apache-2.0
//
// Rules of the specification that can be broken on purpose. A model over BrokenMemory (sim/memory.h) breaks the one
// that is set, by one step; whoever holds the model to the kernel must then name a deviation. Models over PlainMemory
// break nothing and pay nothing for being asked.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "ring/ring_kind.h"

namespace ringside::sim {

/// One rule each; `none` breaks nothing. What breaking does stands in rules().
enum class Rule : std::uint8_t {
  none,
  // BPF ring buffer
  ringbuf_full_compare,
  ringbuf_span_rounding,
  ringbuf_largest_span,
  ringbuf_page_offset,
  ringbuf_pending_walk,
  ringbuf_pending_over_discard,
  ringbuf_pending_limits,
  ringbuf_pending_on_failure,
  ringbuf_stale_payload,
  ringbuf_discard_bit,
  ringbuf_discard_wakes,
  ringbuf_wakeup_modulo,
  ringbuf_force_wins,
  ringbuf_output_flags,
  ringbuf_submit_flags,
  ringbuf_dynptr_failure,
  ringbuf_dynptr_limit,
  ringbuf_query_available,
  ringbuf_poll_busy,
  ringbuf_overwrite_walk,
  ringbuf_overwrite_consumer,
  ringbuf_overwrite_available,
  // perf ring
  perf_space,
  perf_lost_space,
  perf_lost_id,
  perf_lost_reset,
  perf_lost_trailer,
  perf_lost_order,
  perf_stale_padding,
  perf_raw_size,
  perf_oversize,
  perf_watermark_compare,
  perf_watermark_once,
  perf_half_buffer,
  perf_wakeup_events_zero,
  perf_wakeup_events_compare,
  perf_events_shared,
  perf_samples_count,
  perf_paused_counts,
  perf_lost_samples,
  perf_poll_one_shot,
  perf_backward_watermark,
  perf_redirect_watermark,
  // user ring buffer
  user_busy_discard,
  user_size_before_busy,
  user_skipped_counts,
  user_skipped_wakes,
  user_error_hides_count,
  user_stop_consumes,
  user_busy_suppresses_wakeup,
  user_alignment,
  user_full,
  user_drain_flags,
  // epoll
  epoll_level_again,
  epoll_polls_again,
  epoll_add_polls,
};

/// What a rule is about. Plain data with the life of the program.
struct RuleFace {
  Rule rule;
  std::string_view name;     ///< stable, as a mutant is named: `perf_lost_space`
  std::string_view section;  ///< of KERNEL-RINGS: `2.4.3`
  std::string_view holds;    ///< what the kernel does, one sentence
  std::string_view broken;   ///< what the broken model does instead
  ring::RingKind kind;       ///< the ring whose scripts show it
  bool needs_overwrite;      ///< only kernels with overwrite rings (6.19) show it
};

/// All of them but `none`, in the order of the enumeration.
std::span<const RuleFace> rules();
/// The rule of that name.
std::optional<Rule> rule_named(std::string_view name);
const RuleFace& face_of(Rule rule);

}  // namespace ringside::sim
