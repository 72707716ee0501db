// SPDX-License-Identifier: Apache-2.0
#include "explore/parallel.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

#include "ring/io.h"

namespace ringside::explore {
namespace {

/// What a process says of its part, before the texts of its failure.
struct Answer {
  std::uint64_t complete = 0;
  std::uint64_t blocked = 0;
  std::uint64_t mixed_words = 0;
  std::uint32_t what_bytes = 0;
  std::uint32_t schedule_bytes = 0;
  FailureKind kind = FailureKind::failed;
  bool failed = false;
  bool cut = false;
};
static_assert(std::is_trivially_copyable_v<Answer>);

/// A searching process and the pipe by which it answers. Ended with its owner, if nobody waited for it before.
class Worker {
 public:
  Worker(const Program& program, const SearchOptions& options);
  Worker(Worker&& other) noexcept
      : process_(std::exchange(other.process_, -1)), answers_(std::exchange(other.answers_, -1)) {}
  Worker& operator=(Worker&&) = delete;
  ~Worker() {
    if (process_ > 0) ::kill(process_, SIGKILL);
    wait();
  }

  std::string answer() const { return ring::read_all(answers_); }

  /// Its status, as waitpid() tells it; once.
  int wait() {
    int status = 0;
    if (answers_ >= 0) ::close(std::exchange(answers_, -1));
    if (process_ > 0) {
      while (::waitpid(process_, &status, 0) < 0 && errno == EINTR) {
      }
    }
    process_ = -1;
    return status;
  }

 private:
  pid_t process_ = -1;
  int answers_ = -1;
};

/// If the parent is gone, nobody is left to tell.
void tell(int file, const SearchResult& result) {
  Answer answer{.complete = result.complete, .blocked = result.blocked, .mixed_words = result.mixed_words};
  answer.cut = result.cut;
  answer.failed = result.failure.has_value();
  if (answer.failed) {
    answer.kind = result.failure->kind;
    answer.what_bytes = static_cast<std::uint32_t>(result.failure->what.size());
    answer.schedule_bytes = static_cast<std::uint32_t>(result.failure->schedule.size());
  }
  std::string text(reinterpret_cast<const char*>(&answer), sizeof answer);
  if (answer.failed) text += result.failure->what + result.failure->schedule;
  ring::write_all(file, text);
}

Worker::Worker(const Program& program, const SearchOptions& options) {
  std::array<int, 2> pipe{};
  if (::pipe(pipe.data()) != 0) throw std::system_error(errno, std::generic_category(), "pipe to a searching process");
  process_ = ::fork();
  if (process_ == 0) {
    ::close(pipe[0]);
    tell(pipe[1], search(program, options));
    ::_exit(0);  // what else the copy holds is the parent's to end
  }
  const int fault = errno;
  ::close(pipe[1]);
  answers_ = pipe[0];
  if (process_ > 0) return;
  wait();
  throw std::system_error(fault, std::generic_category(), "fork a searching process");
}

SearchResult result_of(Worker& worker, std::size_t shard) {
  const std::string said = worker.answer();
  const int status = worker.wait();
  Answer answer;
  SearchResult result;
  if (said.size() >= sizeof answer) std::memcpy(&answer, said.data(), sizeof answer);
  if (said.size() != sizeof answer + answer.what_bytes + answer.schedule_bytes || said.empty()) {
    const std::string how = WIFSIGNALED(status) ? fmt::format("by signal {}", WTERMSIG(status)) : "without a word";
    result.failure = Failure{.kind = FailureKind::crashed,
                             .what = fmt::format("the process that searched part {} ended {}", shard, how),
                             .graph = {}};
    return result;
  }
  result.complete = answer.complete;
  result.blocked = answer.blocked;
  result.mixed_words = answer.mixed_words;
  result.cut = answer.cut;
  if (!answer.failed) return result;
  result.failure = Failure{.kind = answer.kind, .what = said.substr(sizeof answer, answer.what_bytes), .graph = {}};
  result.failure->schedule = said.substr(sizeof answer + answer.what_bytes);
  return result;
}

/// The steps of a failure stay in the process that found it; its schedule leads to them again.
void tell_again(const Program& program, SearchOptions options, SearchResult& result) {
  if (!result.failure || result.failure->schedule.empty()) return;
  options.observe = {};
  SearchResult again = replay(program, result.failure->schedule, options);
  const bool same = again.failure && again.failure->kind == result.failure->kind;
  if (same) result.failure = std::move(again.failure);
}

}  // namespace

SearchResult search_in_processes(const Program& program, const SearchOptions& options, std::size_t jobs) {
  assert(jobs >= 1 && jobs <= 64);
  std::vector<Worker> workers;
  for (std::size_t job = 0; job < jobs; ++job) {
    SearchOptions part = options;
    part.shard = options.shard + options.shards * job;
    part.shards = options.shards * jobs;
    workers.emplace_back(program, part);
  }
  SearchResult all;
  for (std::size_t job = 0; job < jobs; ++job) {
    SearchResult part = result_of(workers[job], job);
    all.complete += part.complete;
    all.blocked += part.blocked;
    all.cut = all.cut || part.cut;
    all.mixed_words = std::max(all.mixed_words, part.mixed_words);
    if (!all.failure) all.failure = std::move(part.failure);
  }
  tell_again(program, options, all);
  return all;
}

}  // namespace ringside::explore
