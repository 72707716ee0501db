// SPDX-License-Identifier: Apache-2.0
#include "explore/parallel.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <cassert>
#include <optional>
#include <string>
#include <utility>

#include "explore/worker.h"

namespace ringside::explore {
namespace {

/// A worker as the one sees it that hands the work out.
struct Hand {
  Worker worker;
  bool busy = false;
  bool asked = false;         ///< to give something, which it has not done yet
  std::uint64_t granted = 0;  ///< executions that it may have and has not told of
  WorkerShare share = {};
};

class Team {
 public:
  Team(const Program& program, const SearchOptions& options, std::size_t jobs, OpenSearch& open)
      : program_(program), options_(options), jobs_(jobs), open_(open), left_(options.most_executions) {
    if (options_.notes) options_.notes(open_.notes);
    hire();
  }

  void search() {
    hand_out();
    while (!result_.failure && busy() > 0) {
      listen();
      if (anew_) begin_anew();
      if (!bound_ && options_.stop) stop_by(options_.stop(seen_));
      hand_out();
    }
    if (!bound_ && !open_.tasks.empty()) bound_ = Bound::executions;
    if (!result_.failure && !open_.tasks.empty()) {
      result_.cut = true;
      result_.bounds.push_back(*bound_);
    }
  }

  SearchResult result() {
    if (options_.notes) open_.notes = options_.notes(0);
    open_.so_far.complete += seen_.complete;
    open_.so_far.blocked += seen_.blocked;
    open_.so_far.share += seen_.share;
    result_.complete = open_.so_far.complete;
    result_.blocked = open_.so_far.blocked;
    return std::move(result_);
  }

  std::vector<WorkerShare> shares() {
    std::vector<WorkerShare> shares;
    for (Hand& hand : hands_) {
      hand.share.cpu_seconds = hand.worker.end();
      shares.push_back(hand.share);
    }
    return shares;
  }

 private:
  void hire() {
    hands_.clear();
    std::vector<int> sockets;
    for (std::size_t job = 0; job < jobs_; ++job) {
      hands_.push_back({.worker = Worker(program_, options_, open_.widths, sockets)});
      sockets.push_back(hands_.back().worker.socket());
    }
  }

  std::size_t busy() const {
    return static_cast<std::size_t>(std::count_if(hands_.begin(), hands_.end(), [](const Hand& h) { return h.busy; }));
  }

  /// Gives everybody something to do; where there is nothing, asks those who have something for a part of it.
  void hand_out() {
    if (bound_ || result_.failure) return;
    for (Hand& hand : hands_) {
      if (hand.busy || open_.tasks.empty() || left_ == 0) continue;
      assign(hand);
    }
    if (!open_.tasks.empty()) return;
    std::size_t starving = jobs_ - busy();
    for (Hand& hand : hands_) {
      if (hand.busy && hand.asked) --starving;
    }
    for (Hand& hand : hands_) {
      if (starving == 0) return;
      if (!hand.busy || hand.asked) continue;
      hand.asked = hand.worker.send({Message::Kind::give});
      --starving;
    }
  }

  /// Some of the tasks, so that enough are left for the others.
  void assign(Hand& hand) {
    constexpr std::size_t most = 64;
    const std::size_t count = std::clamp<std::size_t>(open_.tasks.size() / (2 * jobs_), 1, most);
    Assignment assignment;
    assignment.executions = left_ == UINT64_MAX ? UINT64_MAX : std::max<std::uint64_t>(1, left_ / (2 * jobs_));
    const auto end = open_.tasks.begin() + static_cast<std::ptrdiff_t>(count);
    assignment.tasks.assign(std::make_move_iterator(open_.tasks.begin()), std::make_move_iterator(end));
    open_.tasks.erase(open_.tasks.begin(), end);
    if (left_ != UINT64_MAX) left_ -= assignment.executions;
    hand.granted = assignment.executions;
    hand.busy = true;
    hand.asked = false;
    ++hand.share.assignments;
    hand.worker.send({Message::Kind::tasks, to_text(assignment)});
  }

  /// Waits until somebody says something, and not much longer than others want to be asked whether to go on.
  void listen() {
    constexpr int patience_ms = 50;
    std::vector<pollfd> ready;
    for (const Hand& hand : hands_) ready.push_back({.fd = hand.worker.socket(), .events = POLLIN, .revents = 0});
    if (::poll(ready.data(), ready.size(), options_.stop ? patience_ms : -1) <= 0) return;
    for (std::size_t at = 0; at < hands_.size() && !result_.failure && !anew_; ++at) {
      if (ready[at].revents == 0) continue;
      std::vector<Message> messages;
      const bool alive = hands_[at].worker.receive(messages);
      for (const Message& message : messages) take(hands_[at], message);
      if (!alive && !result_.failure && !anew_) {
        result_.failure = Failure{
            .kind = FailureKind::crashed,
            .what = fmt::format("searching process {} of {} ended {}", at + 1, jobs_, hands_[at].worker.how_it_ended()),
            .graph = {}};
      }
    }
  }

  void take(Hand& hand, const Message& message) {
    Account account = account_from(message.text);
    if (message.kind == Message::Kind::anew) {
      anew_ = std::move(account.tasks);
      return;
    }
    const std::uint64_t executions = account.seen.complete + account.seen.blocked;
    seen_.complete += account.seen.complete;
    seen_.blocked += account.seen.blocked;
    seen_.share += account.seen.share;
    hand.share.executions += executions;
    hand.granted -= std::min(hand.granted, executions);
    if (options_.notes) options_.notes(account.notes);
    if (message.kind == Message::Kind::failed) {
      result_.failure =
          Failure{.kind = account.kind, .what = std::move(account.what), .graph = {}, .defect = account.defect};
      result_.failure->schedule = std::move(account.schedule);
      return;
    }
    result_.mixed_words = std::max<std::size_t>(result_.mixed_words, account.mixed_words);
    open_.tasks.insert(open_.tasks.end(), std::make_move_iterator(account.tasks.begin()),
                       std::make_move_iterator(account.tasks.end()));
    if (message.kind == Message::Kind::given) hand.asked = false;
    if (message.kind != Message::Kind::done) return;
    hand.busy = hand.asked = false;
    if (left_ != UINT64_MAX) left_ += hand.granted;
  }

  void stop_by(std::optional<Bound> bound) {
    if (!bound) return;
    bound_ = bound;
    for (const Hand& hand : hands_) {
      if (hand.busy) hand.worker.send({Message::Kind::stop});
    }
  }

  /// With what is known of widths now.
  void begin_anew() {
    open_ = {.widths = *std::exchange(anew_, std::nullopt)};
    seen_ = {};
    left_ = options_.most_executions;
    result_ = {};
    if (options_.anew) options_.anew();
    hire();
  }

  const Program& program_;
  const SearchOptions& options_;
  std::size_t jobs_;
  OpenSearch& open_;
  std::vector<Hand> hands_;
  Tally seen_;
  std::uint64_t left_;  ///< executions that nobody has been granted
  std::optional<Bound> bound_;
  std::optional<std::vector<Task>> anew_;
  SearchResult result_;
};

/// The steps of a failure stay in the process that found it; its schedule leads to them again.
void tell_again(const Program& program, SearchOptions options, SearchResult& result) {
  if (!result.failure || result.failure->schedule.empty()) return;
  options.observe = {};
  SearchResult again = replay(program, result.failure->schedule, options);
  const bool same = again.failure && same_kind(*again.failure, *result.failure);
  if (same) result.failure = std::move(again.failure);
}

}  // namespace

SearchResult search_in_processes(const Program& program, const SearchOptions& options, std::size_t jobs) {
  OpenSearch whole;
  return search_in_processes(program, options, jobs, whole);
}

SearchResult search_in_processes(const Program& program, const SearchOptions& options, std::size_t jobs,
                                 OpenSearch& open, std::vector<WorkerShare>* shares) {
  assert(jobs >= 1 && jobs <= 64);
  SearchResult result;
  {
    Team team(program, options, jobs, open);
    team.search();
    result = team.result();
    if (shares != nullptr) *shares = team.shares();
  }
  tell_again(program, options, result);
  return result;
}

}  // namespace ringside::explore
