// SPDX-License-Identifier: Apache-2.0
//
// A search that goes on from what another left, and leaves what it has not done.
#include <algorithm>
#include <cassert>
#include <utility>

#include "explore/engine.h"
#include "explore/fault.h"

namespace ringside::explore {

SearchResult Engine::run() {
  OpenSearch whole;
  return search_from(whole, false);
}

SearchResult Engine::run(OpenSearch& open) { return search_from(open, true); }

SearchResult Engine::search_from(OpenSearch& open, bool keep) {
  Engine* const outer = std::exchange(current, this);
  result_ = {};
  share_ = 0;
  stopped_.reset();
  if (options_.notes) options_.notes(open.notes);
  learn_widths(open.widths);
  bool more = !result_.failure && begin_next(open);
  while (more) {
    execute();
    if (std::exchange(anew_, false)) {
      // Forgets all that was found, but not how wide words are accessed, nor whether loads can be deferred.
      open = {.widths = widths_};
      result_ = {};
      share_ = 0;
      if (options_.anew) options_.anew();
      more = begin_next(open);
      continue;
    }
    if (following_) expect_the_task();
    count();
    share_out();
    share_ += std::exchange(weight_, 0);
    more = !over() && (next_graph() || begin_next(open));
  }
  if (stopped_) {
    // Whether anything is left is known only by looking.
    if (keep) {
      const std::vector<Task> rest = give(SIZE_MAX);
      open.tasks.insert(open.tasks.end(), rest.begin(), rest.end());
    }
    if (!open.tasks.empty() || next_graph()) cut_by(*stopped_);
  }
  current = outer;
  if (result_.failure && result_.failure->kind != FailureKind::nondeterministic) tell();
  if (options_.notes) open.notes = options_.notes(0);
  open.so_far.complete += result_.complete;
  open.so_far.blocked += result_.blocked;
  open.so_far.share += share_;
  result_.complete = open.so_far.complete;
  result_.blocked = open.so_far.blocked;
  result_.mixed_words = mixed_.size();
  return std::move(result_);
}

bool Engine::begin_next(OpenSearch& open) {
  if (open.tasks.empty()) return false;
  Task task = std::move(open.tasks.back());
  open.tasks.pop_back();
  begin(std::move(task));
  return true;
}

/// The next execution is along the task's graph and on.
void Engine::begin(Task task) {
  depth_ = 0;
  push_branch();
  task_ = std::move(task);
  level_ = task_.level;
  path_ = task_.path;
  offered_ = task_.offered;
  weight_ = task_.weight;
  unweighted_ = 0;
  children_.clear();
  if (planted(Fault::tasks_forget_paths)) level_ = 0, path_ = offered_ = 0;
  if (planted(Fault::tasks_forget_children)) task_.children.clear();
  for (const ChildName& child : task_.children)
    children_.push_back({.creator = child.creator, .ordinal = child.ordinal});
  const std::size_t threads = program_.threads.size() + children_.size();
  if (fibers_.size() > threads) fibers_.resize(threads);
  while (fibers_.size() < threads) fibers_.push_back(std::make_unique<Fiber>(options_.stack_bytes));
  following_ = !task_.schedule.turns.empty();
  script_ = following_ ? &task_.schedule : nullptr;
}

/// Does again what showed that words are accessed in several widths, those it does not know of yet.
void Engine::learn_widths(const std::vector<Task>& widths) {
  for (std::size_t i = widths_.size(); i < widths.size() && !result_.failure; ++i) {
    if (planted(Fault::tasks_forget_widths)) return;
    begin(widths[i]);
    execute();
    if (!std::exchange(anew_, false)) expect_the_task();
  }
}

/// At the end of the graph that a task begins with: from there on it is a search like any other.
void Engine::settle() {
  if (graph().size() < task_.schedule.turns.size()) return;
  following_ = false;
  script_ = nullptr;
  if (sum_of(graph(), graph().size()) != task_.schedule.sum) {
    fail(FailureKind::nondeterministic,
         "the program's events are others than those of its search that is gone on with");
  }
  if (!planted(Fault::tasks_forget_order)) graph().restamp(task_.added);
}

/// After an execution that had nothing to add to that graph, or did not come to its end.
void Engine::expect_the_task() {
  following_ = false;
  script_ = nullptr;
  const std::size_t turns = task_.schedule.turns.size();
  if (result_.failure || (graph().size() == turns && sum_of(graph(), turns) == task_.schedule.sum)) return;
  result_.failure = Failure{.kind = FailureKind::nondeterministic,
                            .what = "the program's events are others than those of its search that is gone on with",
                            .graph = graph()};
}

/// The graph that would be run next.
Task Engine::task_here() {
  Task task{.schedule = schedule_of(graph()),
            .added = graph().added(),
            .level = level_,
            .path = path_,
            .offered = offered_,
            .weight = weight_};
  for (const Child& child : children_) task.children.push_back({.creator = child.creator, .ordinal = child.ordinal});
  return task;
}

/// What the execution has left open gets its parts of the weight.
void Engine::share_out() {
  std::vector<Alternative>& open = alternatives();
  const std::uint64_t part = weight_ / (unweighted_ + 1);
  if (!planted(Fault::tasks_keep_their_weight)) weight_ -= part * unweighted_;
  for (; unweighted_ > 0; --unweighted_) open[open.size() - unweighted_].weight = part;
}

std::size_t Engine::open_count() const {
  std::size_t count = 0;
  for (std::size_t depth = 0; depth < depth_; ++depth) count += branches_[depth]->alternatives.size();
  return count;
}

/// The graphs that the alternative leads to, in a branch of their own: the branch's graph goes on from there on the way
/// that is being searched.
std::vector<Task> Engine::tasks_of(const Branch& branch, const Alternative& alternative) {
  std::vector<Task> tasks;
  const std::size_t depth = depth_;
  Branch& own = push_branch();
  own.graph = branch.graph;
  own.alternatives.push_back(alternative);
  while (next_graph(depth)) tasks.push_back(task_here());
  return tasks;
}

std::vector<Task> Engine::give(std::size_t most) {
  std::vector<Task> given;
  const std::size_t depth = depth_;
  for (std::size_t at = 0; at < depth; ++at) {
    Branch& branch = *branches_[at];
    std::size_t taken = 0;
    for (; taken < branch.alternatives.size() && given.size() < most; ++taken) {
      for (Task& task : tasks_of(branch, branch.alternatives[taken])) given.push_back(std::move(task));
    }
    if (planted(Fault::tasks_stay_open)) continue;
    branch.alternatives.erase(branch.alternatives.begin(),
                              branch.alternatives.begin() + static_cast<std::ptrdiff_t>(taken));
  }
  return given;
}

}  // namespace ringside::explore
