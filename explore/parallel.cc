// SPDX-License-Identifier: Apache-2.0
#include "explore/parallel.h"

#include <fmt/format.h>
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

struct Worker {
  pid_t process = -1;
  int answers = -1;
};

void write_all(int file, const void* from, std::size_t size) {
  const auto* at = static_cast<const char*>(from);
  while (size > 0) {
    const ssize_t written = ::write(file, at, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;  // the parent is gone: nobody is left to tell
    at += written;
    size -= static_cast<std::size_t>(written);
  }
}

std::string read_all(int file) {
  std::string all;
  std::array<char, 4096> part{};
  while (true) {
    const ssize_t count = ::read(file, part.data(), part.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return all;
    all.append(part.data(), static_cast<std::size_t>(count));
  }
}

void answer(int file, const SearchResult& result) {
  Answer answer{.complete = result.complete, .blocked = result.blocked, .mixed_words = result.mixed_words};
  answer.cut = result.cut;
  answer.failed = result.failure.has_value();
  if (!answer.failed) return write_all(file, &answer, sizeof answer);
  answer.kind = result.failure->kind;
  answer.what_bytes = static_cast<std::uint32_t>(result.failure->what.size());
  answer.schedule_bytes = static_cast<std::uint32_t>(result.failure->schedule.size());
  write_all(file, &answer, sizeof answer);
  write_all(file, result.failure->what.data(), answer.what_bytes);
  write_all(file, result.failure->schedule.data(), answer.schedule_bytes);
}

Worker begin_worker(const Program& program, const SearchOptions& options) {
  std::array<int, 2> pipe{};
  if (::pipe(pipe.data()) != 0) throw std::system_error(errno, std::generic_category(), "pipe to a searching process");
  const pid_t process = ::fork();
  if (process < 0) throw std::system_error(errno, std::generic_category(), "fork a searching process");
  if (process == 0) {
    ::close(pipe[0]);
    answer(pipe[1], search(program, options));
    ::_exit(0);  // what else the copy holds is the parent's to end
  }
  ::close(pipe[1]);
  return {.process = process, .answers = pipe[0]};
}

SearchResult end_worker(const Worker& worker, std::size_t shard) {
  const std::string said = read_all(worker.answers);
  ::close(worker.answers);
  int status = 0;
  while (::waitpid(worker.process, &status, 0) < 0 && errno == EINTR) {
  }
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
    workers.push_back(begin_worker(program, part));
  }
  SearchResult all;
  for (std::size_t job = 0; job < jobs; ++job) {
    SearchResult part = end_worker(workers[job], job);
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
