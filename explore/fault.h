// SPDX-License-Identifier: Apache-2.0
//
// Faults that can be planted in the search, to see that the comparison with brute force finds them (fault_test.cc). The
// search itself is built without: there every planted() is the constant false.
#pragma once

#include <cstdint>

namespace ringside::explore {

enum class Fault : std::uint8_t {
  none,
  no_revisits,             ///< no load reads a store that was added after it
  revisits_by_all,         ///< whatever is thrown away, the load is read again
  revisits_by_any_choice,  ///< so with what was chosen
  updates_are_split,       ///< a store may come between the halves of an update
  oldest_not_read,         ///< a load never reads the oldest store that it may
  reads_not_coherent,      ///< a thread that read a store may read an older one
  fences_do_not_release,
  fences_do_not_acquire,
  updates_end_a_release,  ///< no release sequence
  sequence_not_agreed,    ///< threads need not agree on an order of sequentially consistent events
  sequential_store_is_plain,
  reads_from_an_old_memory,  ///< a load need not come before the store that overwrites what it read
  parts_know_too_little,     ///< whoever wrote one byte does not know of later stores of others
  answers_are_alike,         ///< whatever answers the same stands for the others, whatever it teaches
  tasks_forget_order,        ///< who goes on with a task takes its events for added in the order in which they are run
  tasks_forget_children,     ///< and numbers threads anew
  tasks_forget_widths,       ///< and does not know of words of several widths
  tasks_forget_paths,        ///< nor which alternatives led to it
  tasks_keep_their_weight,   ///< though what is left open gets a part of it
  tasks_stay_open,           ///< what is given away is searched here, too
  views_may_be_late,         ///< bytes of a ring are read after they were handed back
  views_need_not_be_over,    ///< when the bytes are handed back
  any_write_takes_back,      ///< also one of a producer that does not know that they were handed back
  any_claim_is_known,        ///< also to who knows nothing of the producer
  last_lap_counts,           ///< what it wrote stands for what this one did not write
  memory_counts,             ///< so does what the memory was before the first lap
  looks_end_with_the_last,   ///< a look in vain does not read the last store either
  looks_are_alike,           ///< whatever they read
  looks_read_no_memory,      ///< but what they read atomically
  looks_never_fail,          ///< whatever their thread knows
};

inline constexpr Fault last_fault = Fault::looks_never_fail;
/// None: it makes the search slower.
inline constexpr Fault looks_are_forgotten{0xff};

#ifdef RINGSIDE_PLANTED_FAULTS
inline thread_local Fault planted_fault = Fault::none;
inline bool planted(Fault fault) { return fault == planted_fault; }
#else
constexpr bool planted(Fault) { return false; }
#endif

}  // namespace ringside::explore
