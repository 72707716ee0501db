// SPDX-License-Identifier: Apache-2.0
//
// The search at work: what remains to be visited (search.cc) and the execution under way (execution.cc).
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "explore/aliases.h"
#include "explore/fiber.h"
#include "explore/granules.h"
#include "explore/graph.h"
#include "explore/laps.h"
#include "explore/races.h"
#include "explore/schedule.h"
#include "explore/search.h"
#include "explore/task.h"

namespace ringside::explore {

/// Another way to go on from an event: what remains to be visited when all after that event has been.
struct Alternative {
  enum class Kind : std::uint8_t {
    read_from,  ///< the load reads from `store`
    place,      ///< the store stands at `position` of its modification order
    revisit,    ///< `load`, added before, reads from the store
    choose,     ///< the choice falls on `position`
  };
  Kind kind = Kind::read_from;
  std::uint32_t stamp = 0;  ///< of the event
  EventId event;
  EventId store;
  EventId load;
  std::size_t position = 0;
  std::uint32_t level = 0;  ///< how many alternatives lead to it, itself included
  std::uint64_t path = 0;   ///< which ones: the same in every search of the program
  std::uint64_t weight = 0;
};

/// A graph and what remains to be visited of it. A revisit begins another one.
struct Branch {
  Graph graph;
  std::vector<Alternative> alternatives;
};

/// A plain read of a look, and what must not have been written then: by which threads, a bit each.
struct PlainLook {
  std::uintptr_t address = 0;
  std::size_t size_bytes = 0;
  std::uint8_t threads = 0;
};

/// What a thread carries from event to event.
struct ThreadState {
  enum class Status : std::uint8_t {
    unborn,  ///< nobody has created it yet
    ready,
    joining,  ///< waits for the end of `joined`
    asleep,   ///< on a walk: until `location` has more stores than `stores`
    resting,  ///< on a walk: until a load of its round would read something else
    stuck,
    ended,
  };

  Status status = Status::unborn;
  std::size_t joined = 0;
  std::uint16_t location = 0;
  std::size_t stores = 0;
  std::size_t round = 1;     ///< of a stuck thread: how many events it would repeat for ever
  bool spins = false;        ///< stuck, and awake: in a round, not in a wait
  bool timed = false;        ///< its wait would end by a timeout
  std::size_t children = 0;  ///< that it created in this run, so far
  std::size_t events = 0;    ///< of this run, so far
  Clock causes;
  Clock known;                 ///< happens-before
  Clock seen;                  ///< what an acquire fence would add
  Clock fenced;                ///< known at the last release fence
  const void* site = nullptr;  ///< of the next access
  std::uint64_t look = 0;      ///< all that the look under way depends on, as a hash; 0: none, or it is not known
  std::uint64_t (*look_memory)() = nullptr;  ///< but for this, which was not asked yet
  std::uint64_t look_began = 0;              ///< what that said
  bool looked = false;                       ///< stuck after a look in vain
};

/// A place that is accessed atomically, and how often it was written plainly in between.
struct Word {
  std::uintptr_t address = 0;
  std::size_t size_bytes = 0;
  std::uint32_t generation = 0;
  bool accessed = false;       ///< in this generation
  std::uint16_t location = 0;  ///< of the graph, in this generation
};

/// A thread that the program's threads create while they run.
struct Child {
  std::size_t creator = 0;
  std::size_t ordinal = 0;  ///< among the creator's
  std::uint32_t born = 0;   ///< words by which creator and child, child and joiner are ordered
  std::uint32_t ended = 0;
};

/// A word that is accessed atomically in several widths, as wide as the widest.
struct MixedWord {
  std::uintptr_t address = 0;
  std::size_t size_bytes = 0;
};

/// Where an atomic access is made: a location of the graph, and which of its bytes.
struct Place {
  std::uint16_t location = 0;
  std::uint8_t bytes = 0xff;
  bool part = false;  ///< of a word of several widths
};

/// From the first execution down to those that leave nothing open.
struct Descent {
  double executions = 0;   ///< of the whole, if all were like those that were run
  std::uint64_t seen = 0;  ///< that were run
  bool failed = false;
};

/// Who of an execution's threads waits at its end, a bit each, and how.
struct Waiting {
  std::uint8_t asleep = 0;         ///< until somebody wakes it
  std::uint8_t until_timeout = 0;  ///< or its timeout does
  std::uint8_t spinning = 0;
  bool in_vain = true;  ///< nothing that was stored ends any of it

  bool none() const { return (asleep | until_timeout | spinning) == 0; }
};

/// Thrown by fail where there is no fiber to leave.
struct Stopped {};

/// One search on one thread. What the threads of the program do comes to it through program.h.
class Engine {
 public:
  Engine(const Program& program, const SearchOptions& options);

  SearchResult run();
  /// Goes on from what is open, and leaves there what is open when it ends: nothing, unless a bound ended it. All that
  /// is left is found out by one engine only.
  SearchResult run(OpenSearch& open);
  /// Takes at most so many open parts out of the search, those nearest to its beginning first. Between executions:
  /// within SearchOptions::stop.
  std::vector<Task> give(std::size_t most);
  /// How many alternatives are open now; some of them may turn out to lead nowhere.
  std::size_t open_count() const;
  /// As estimate.h has it.
  Descent descend(std::uint64_t seed);
  /// The one execution of the schedule.
  SearchResult run(const Schedule& schedule);
  /// Executions as the chooser decides them.
  SearchResult run(Chooser& chooser);

  /// The one at work on this thread.
  static thread_local Engine* current;

  /// The running thread's next access stands there in the code, unless an outer call has said where.
  Engine& at(const void* site) {
    if (me().site == nullptr) me().site = site;
    return *this;
  }

  /// A load as `asked` describes it; where it stands and what it reads is this search's to fill in.
  Event load(std::uintptr_t address, std::size_t size, Event asked, const std::function<bool(std::uint64_t)>* enough);
  void store(std::uintptr_t address, std::size_t size, std::uint64_t value, EventKind kind, Order order);
  void fence(Order order);
  /// What the running thread knows, for a load that is made later and is of here.
  View view() const { return {threads_[running_].known, threads_[running_].events}; }
  /// Whether such loads can be made: hardware of sc and tso orders them with all that stands in between.
  bool defers() const { return options_.model == MemoryModel::c11 && defers_; }
  /// The answer, by a load that is of the view's place.
  bool ask(std::uintptr_t address, std::size_t size, Order order, const ValueTest& test, const View& view);
  std::uint64_t choose(std::uint64_t count);
  /// `in_look`: the memory is part of what a look began with (begin_look).
  void plain(std::uintptr_t address, std::size_t size, bool write, bool in_look = false);
  /// `defect`: of FailureKind::found.
  [[noreturn]] void fail(FailureKind kind, std::string what, std::optional<ring::DefectKind> defect = {});

  /// Whether a thread of the program runs, and which: its number.
  bool inside() const { return inside_; }
  std::size_t running() const { return running_; }
  /// Whether the address lies on the running thread's stack.
  bool on_running_stack(const void* address) const { return fibers_[running_]->holds(address); }
  bool guards_running_stack(const void* address) const { return fibers_[running_]->guards(address); }
  const char* running_stack_end() const { return fibers_[running_]->stack_end(); }
  /// How many events the running thread has had in this execution.
  std::size_t events() const { return threads_[running_].events; }
  /// Where memory that is seen at two addresses is accounted for.
  std::uintptr_t canonical(std::uintptr_t address) const { return explore::canonical(program_.aliases, address); }

  std::size_t spawn(std::function<void()> body);
  /// Whether the thread is one that was created in this execution.
  bool was_spawned(std::size_t thread) const {
    return thread >= program_.threads.size() && thread < threads_.size() &&
           threads_[thread].status != ThreadState::Status::unborn;
  }
  void join(std::size_t thread);
  [[noreturn]] void end_thread();
  /// The running thread would do its last `events` events again and again until one of their loads reads another value:
  /// `awake`, or asleep for a while in each round. Returns where it goes on in this execution, which only a walk's may.
  void spin(std::size_t events, bool awake);
  /// The running thread looks for something, and what it finds hangs on `state`, a hash, on what it reads from now on,
  /// and on memory of which `memory`, where there is any, makes a hash; asked for before any of it changes.
  void begin_look(std::uint64_t state, std::uint64_t (*memory)() = nullptr);
  /// It hangs on something else, too, or is over.
  void forget_look() { me().look = 0; }
  /// The look has found nothing, and would again until one of its `events` reads another value: as spin(), asleep.
  void end_look_in_vain(std::size_t events);
  /// Whether what the running thread waits for from now on has an end anyhow: a thread that is left so is no deadlock.
  void set_timed(bool timed) { me().timed = timed; }

 private:
  Graph& graph() { return branches_[depth_ - 1]->graph; }
  const Graph& graph() const { return branches_[depth_ - 1]->graph; }
  std::vector<Alternative>& alternatives() { return branches_[depth_ - 1]->alternatives; }
  ThreadState& me() { return threads_[running_]; }
  /// Of the running thread, which has one.
  EventId last_event() const {
    return {static_cast<std::uint16_t>(running_), static_cast<std::uint16_t>(threads_[running_].events - 1)};
  }
  bool replaying() const { return replayed_ < to_replay_; }
  /// The turn that a schedule has for the next event; null where none does.
  const Turn* turn() {
    const bool given = script_ != nullptr && graph().size() < script_->turns.size();
    return given ? &script_->turns[graph().size()] : nullptr;
  }
  void expect_the_turn(bool possible);
  void cut_by(Bound bound);
  std::optional<std::size_t> choose_thread();
  void sleep_until(const Place& place, const std::function<bool(std::uint64_t)>& enough, bool updates);
  void choose_one();
  SearchResult follow(const Schedule& schedule);
  void expect_the_sum();

  void record(StepKind kind, std::uintptr_t address, std::size_t size, Order order, std::uint64_t value);
  void record_event(EventId id, std::uintptr_t address, std::size_t size);
  void mark_round(std::size_t events);
  void find_rival(const Access& earlier);
  void tell();

  SearchResult search_from(OpenSearch& open, bool keep);
  bool begin_next(OpenSearch& open);
  void begin(Task task);
  void learn_widths(const std::vector<Task>& widths);
  void expect_the_task();
  void settle();
  Task task_here();
  std::vector<Task> tasks_of(const Branch& branch, const Alternative& alternative);
  void share_out();
  bool over();
  Waiting who_waits();
  bool rest();
  bool waits_in_vain(std::size_t thread) const;
  bool repeats_in_vain(EventId load, std::size_t round_begin) const;
  bool lies_unread();
  void judge(const Waiting& waiting);
  void execute();
  void count();
  void outside(const std::function<void()>& part);
  bool next_graph(std::size_t above = 0);
  bool apply(const Alternative& alternative);
  bool begin_revisit(const Alternative& alternative);
  bool place_revisiting(const Alternative& alternative);
  void leave_places(EventId store, std::uint32_t stamp);
  Branch& push_branch();
  void remember(Alternative alternative);
  bool mine(std::uint32_t level, std::uint64_t path) const;

  bool can_go_on(std::size_t thread) const;
  std::size_t number_of_child(std::size_t creator, std::size_t ordinal);
  Child& child(std::size_t thread) { return children_[thread - program_.threads.size()]; }
  std::optional<std::size_t> next_thread();
  void take_turn();
  void switch_to(std::size_t thread);
  [[noreturn]] void leave();

  void note_look(const Event& load);
  std::uint64_t all_of_look(std::uint64_t look);
  bool is_in_vain(Event load, EventId store);
  bool would_fail(const Event& load, EventId store);
  bool is_stuck_by_an_older_store() const;
  void note_plain_look(std::uintptr_t address, std::size_t size, bool in_look);
  Event next_event(Event event) const;
  EventId replay_event(const Event& asked, std::uint16_t location);
  void expect_more();
  EventId add_load(Event event, const std::function<bool(std::uint64_t)>* enough);
  void add_store(const Event& event);
  void add_choice(Event event);
  void find_places(EventId id);
  void offer_revisits(EventId store);
  bool added_first(EventId event, EventId store);
  void learn_width(std::uintptr_t address);
  Place place_of(std::uintptr_t address, std::size_t size);
  const MixedWord* mixed_word(std::uintptr_t address, std::size_t size) const;
  [[noreturn]] void widen(const Word& word, std::uintptr_t address, std::size_t size);
  Event load_at(const Place& place, const Event& asked, const std::function<bool(std::uint64_t)>* enough);
  bool may_read(EventId load, std::size_t position);
  Clock view_of(const Event& load) const;
  bool of_its_place(const Event& load, EventId id, EventId store);
  bool any_is_of_its_place(EventId load, std::size_t lowest, std::size_t last);
  [[noreturn]] void defer_no_more();
  void begin_anew();
  void find_answers(EventId load, std::size_t lowest, std::size_t last);
  bool answer(const Event& load, EventId store);
  bool answered_before(EventId load, std::size_t lowest, std::size_t position);
  bool answers_first(EventId load, EventId store, const std::function<bool(EventId)>& previous);
  bool knows_fence(const View& view);
  void note_partial_write(const MixedWord& word, std::uintptr_t address, std::size_t size);
  [[noreturn]] void fail_partial(std::size_t writer, std::size_t other);
  void plain_piece(std::uintptr_t address, std::size_t size, bool write);
  void note_access(std::uintptr_t address, std::size_t size, bool atomic, bool write);
  void write_native(EventId store);

  void set_rings();
  bool is_kernels(std::size_t thread) const { return (kernel_ >> thread & 1u) != 0; }
  void note_ring_use(const Access& access);
  void note_position(EventId store);
  [[noreturn]] void fail_handing_back(std::size_t ring, const Passing& passing, const Race& unordered);
  [[noreturn]] void fail_use(const Access& access, const LapFault& fault);

  const Program& program_;
  const SearchOptions& options_;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  Fiber main_;
  std::vector<std::unique_ptr<Branch>> branches_;  ///< the first depth_ of them are in use
  std::size_t depth_ = 0;
  std::vector<MixedWord> mixed_;
  SearchResult result_;
  std::uint8_t kernel_ = 0;     ///< threads, a bit each
  std::deque<Child> children_;  ///< threads beyond the program's, in the order in which the search met them
  bool defers_ = true;          ///< not if a deferred load turned out to have nothing to read (questions.cc)
  std::vector<Task> widths_;    ///< how mixed_ and defers_ were found out
  std::uint64_t share_ = 0;     ///< of the whole, that was seen
  std::optional<Bound> stopped_;

  // Of the alternative that is being followed.
  std::uint32_t level_ = 0;
  std::uint64_t path_ = 0;
  std::uint64_t offered_ = 0;  ///< alternatives that were left for later on its way
  std::uint64_t weight_ = 0;
  std::size_t unweighted_ = 0;  ///< alternatives, the last of the branch, that have no part of the weight yet
  Task task_;                   ///< that it began with

  /// Looks that found nothing, as hashes, and what they read plainly after their last load (looks.cc).
  std::unordered_map<std::uint64_t, std::vector<PlainLook>> in_vain_;

  // Of the execution under way.
  std::vector<ThreadState> threads_;
  std::size_t to_replay_ = 0;  ///< events of the graph when it began
  std::size_t replayed_ = 0;
  std::size_t running_ = 0;
  bool inside_ = false;      ///< a thread of the program runs, on its own stack
  bool impossible_ = false;  ///< the graph turned out to be none: not an execution
  bool anew_ = false;        ///< the search must begin anew
  /// By location: the store whose value the memory holds, byte by byte where widths are mixed, else in the first.
  std::vector<std::array<EventId, 8>> written_;
  Races races_;
  Laps laps_;
  std::optional<RingSpan> span_;  ///< of what is about to fail
  std::vector<Word> words_;       ///< that were accessed atomically
  Granules<std::vector<std::uint16_t>> words_in_;

  // Of an execution that is done by a schedule, or told.
  const Schedule* script_ = nullptr;
  bool following_ = false;  ///< the schedule is a task's: what it says is known to be possible
  Chooser* chooser_ = nullptr;
  std::optional<std::size_t> granted_;  ///< the thread that was chosen, until its next event
  bool recording_ = false;
  bool telling_ = false;  ///< what was seen before
  std::vector<Step> steps_;
  std::optional<std::size_t> rival_;                            ///< of the race that was found: the earlier step
  std::array<std::vector<std::size_t>, most_threads> step_of_;  ///< by thread and event: its step

  // Kept so that a step allocates no memory.
  std::array<std::vector<PlainLook>, most_threads> look_reads_;  ///< by thread: plain ones, since its look's last load
  std::vector<std::size_t> places_;
  std::vector<std::size_t> possible_;
};

}  // namespace ringside::explore
