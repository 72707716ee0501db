// SPDX-License-Identifier: Apache-2.0
//
// Visits every execution of a program once: every graph of reads-from and modification orders that the memory model
// allows. The algorithm is TruSt (Kokologiannakis, Marmanis, Gladstein, Vafeiadis: "Truly Stateless, Optimal Dynamic
// Partial Order Reduction", POPL 2022): threads run in a fixed order; a load branches over the stores it may read, a
// store over its places in the modification order and over the earlier loads that might have read it instead. A load is
// only taken back if all that is thrown away with it was what would be added first, so no graph is met twice and no set
// of visited graphs is kept.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "explore/graph.h"
#include "explore/laps.h"
#include "explore/memory_model.h"
#include "explore/program.h"
#include "explore/step.h"
#include "explore/task.h"
#include "explore/walks.h"
#include "ring/defect.h"

namespace ringside::explore {

struct Failure;

/// What kept a search from seeing everything.
enum class Bound : std::uint8_t {
  executions,  ///< most_executions
  cost,        ///< of walk(bounded_walk()): something costs more
  chance,      ///< a walk draws its executions, and never knows that it has them all
  time,        ///< of the command line
  signal,      ///< that asked it to end
};

std::string_view name_of(Bound bound);

struct SearchOptions {
  MemoryModel model = MemoryModel::c11;
  std::uint64_t most_executions = UINT64_MAX;  ///< complete and blocked ones together
  std::size_t most_events = 1000;              ///< of one execution; more is taken for a loop without an end
  std::size_t stack_bytes = 256 * 1024;
  /// Under c11: executions that differ only in which store answered a question (program.h) are one.
  bool questions = true;
  /// Of `shards` searches, each with another `shard` from 0 on, every execution belongs to exactly one, which counts
  /// and observes it; few are run by several of them. What fails may be found by more than one.
  std::size_t shard = 0;
  std::size_t shards = 1;
  /// How many alternatives lead to what is dealt out as one: less is run by all, and more is dealt out more evenly.
  std::uint32_t shard_levels = 12;
  /// Told each complete execution, on the searching thread.
  std::function<void(const Graph&)> observe = {};
  /// Told each failure, without its steps; whether to go on for others. What an execution would have led to, had it not
  /// failed within, is not visited then. Without it the first failure ends the search.
  std::function<bool(const Failure&)> another = {};
  /// Told when the search begins anew, because the program turned out to access the same bytes atomically in several
  /// widths, or to leave a deferred load nothing to read: what was observed, counted and done at the end of executions
  /// so far is void.
  std::function<void()> anew = {};
  /// Asked after each execution, with what this search has seen so far: a bound ends the search. Not by walks.
  std::function<std::optional<Bound>(const Tally&)> stop = {};
  /// What the program's surroundings note of a search besides, as bits: adds these and returns all. So it is carried
  /// from the processes that search to the one that asked them to.
  std::function<std::uint32_t(std::uint32_t)> notes = {};
};

enum class FailureKind : std::uint8_t {
  failed,              ///< the program said so: a fault of its own, or one that it gave no name
  found,               ///< the program found a defect of what it tries: Failure::defect
  data_race,           ///< two accesses of the same bytes, one a write and one plain, that nothing orders
  mixed_sizes,         ///< a part of a word of several atomic widths is written plainly while others are accessed
  use_after_release,   ///< bytes of a ring were read after, or not surely before, their space was handed back
  uninitialised_read,  ///< bytes of a ring were read that this lap's producer never wrote
  deadlock,            ///< threads wait for values that nobody will store
  missed_wakeup,       ///< a thread sleeps for ever, or until its timeout, beside a committed record (Program::unread)
  busy_spin,           ///< a thread goes round for ever: no load of a round will ever read anything else
  too_long,            ///< an execution of more than most_events
  nondeterministic,    ///< the program did something else although its loads returned the same
  unmodelled,          ///< the program asked for something that has no meaning here: it says what, and what to do
  use_after_free,      ///< memory was accessed, or freed again, after it had been freed
  out_of_memory,       ///< one execution allocated more than it may
  crash,               ///< a thread did what the processor or the kernel forbids
  stack_overflow,      ///< a thread ran over the end of its stack
  crashed,             ///< a process that searched ended without a word
  not_instrumented,    ///< nothing that the program did was seen
};

std::string_view name_of(FailureKind kind);

struct Failure {
  FailureKind kind = FailureKind::failed;
  std::string what;
  Graph graph;                                  ///< the execution, up to there
  std::optional<ring::DefectKind> defect = {};  ///< of the kind `found`
  /// Of the same execution, done once more to be told: whatever it did, in order. The last one failed, unless threads
  /// wait for ever or the end of the program did. Empty if the program did something else the second time.
  std::vector<Step> steps = {};
  /// Of a race: the earlier step, with which the last one races. Of what was wrong with bytes of a ring: the store that
  /// handed them back or claimed them, or the access that it does not wait for.
  std::optional<std::size_t> rival = {};
  std::string schedule = {};  ///< repeats it: replay()
  std::optional<RingSpan> span = {};
};

/// The defect, where the program found one; else the name of the kind.
std::string_view name_of(const Failure& failure);
/// Whether the two go by the same name for the same reason.
bool same_kind(const Failure& one, const Failure& other);

struct SearchResult {
  std::uint64_t complete = 0;  ///< executions in which every thread ended
  std::uint64_t blocked = 0;   ///< that ended with a thread asleep which another execution wakes
  bool cut = false;            ///< a bound ended the search: what was found is not all
  std::vector<Bound> bounds;   ///< which
  /// Words that are accessed atomically in several widths. The stores of each are taken to have one order, which agrees
  /// with program order and reads-from. What only that forbids is not explored: a load of the whole that sees one
  /// thread's later store of a part without its earlier one of another part.
  std::size_t mixed_words = 0;
  std::optional<Failure> failure;
};

/// Explores until all is seen or something fails. Everything happens on the calling thread; several searches may run on
/// threads of their own as long as their programs share nothing.
SearchResult search(const Program& program, const SearchOptions& options = {});

/// The same from what is open, in whatever process that was left; there stands afterwards what a bound kept it from,
/// and in `so_far` what was counted in all. Counts of the result are those of all, too, while bounds are of this
/// search. The program and the options must be the same as before, but for bounds; another program, if it is found out,
/// is a failure `nondeterministic`.
SearchResult continue_search(const Program& program, const SearchOptions& options, OpenSearch& open);

/// Executions as the chooser decides them, until one fails, until it has no more, or most_executions. What a thread
/// waits for by await() or lock() it sleeps for: it goes on when there is such a value.
SearchResult walk(const Program& program, Chooser& chooser, const SearchOptions& options);

/// The one execution that the schedule of a failure describes, with `most_events` and `model` as they were. Its failure
/// has steps; none, if it goes well. A text that cannot be read and a program that does something else by now are
/// failures `nondeterministic`, which say so.
SearchResult replay(const Program& program, std::string_view schedule, const SearchOptions& options = {});

}  // namespace ringside::explore
