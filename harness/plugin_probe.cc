// SPDX-License-Identifier: Apache-2.0
//
// The child speaks over a pipe, in texts that end with NUL: "step" and its name, "done", or "error" and its three
// parts. A pipe that closes before "done" or "error" says that the child ended.
#include "harness/plugin_probe.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

namespace ringside::harness {
namespace {

using Clock = std::chrono::steady_clock;
using Outcome = std::optional<ring::Result<void>>;  ///< nothing: the child has not returned

void say(int pipe, std::string_view text) {
  std::string rest{text};
  rest.erase(std::remove(rest.begin(), rest.end(), '\0'), rest.end());
  rest += '\0';
  while (!rest.empty()) {
    const ssize_t written = write(pipe, rest.data(), rest.size());
    if (written < 0 && errno != EINTR) return;
    if (written > 0) rest.erase(0, static_cast<std::size_t>(written));
  }
}

[[noreturn]] void work_in_child(int pipe, const std::function<ring::Result<void>(const StepTeller&)>& work) {
  // Standard output belongs to the report.
  dup2(STDERR_FILENO, STDOUT_FILENO);
  const ring::Result<void> result = work([pipe](const char* step) {
    say(pipe, "step");
    say(pipe, step);
  });
  if (result) {
    say(pipe, "done");
  } else {
    say(pipe, "error");
    for (const std::string& part : {result.error().attempt, result.error().reason, result.error().remedy}) {
      say(pipe, part);
    }
  }
  // No destructors and no exit handlers: they are the parent's.
  _exit(0);
}

/// What the child said so far.
class Story {
 public:
  void add(std::string_view bytes) {
    for (const char byte : bytes) {
      if (byte != '\0') {
        text_ += byte;
        continue;
      }
      texts_.push_back(std::move(text_));
      text_.clear();
    }
  }

  /// The result, as soon as all of it was said; keeps the step told last in `step`.
  Outcome outcome(std::string& step) const {
    for (std::size_t at = 0; at < texts_.size(); ++at) {
      const std::size_t behind = texts_.size() - at - 1;
      if (texts_[at] == "done") return ring::Result<void>{};
      if (texts_[at] == "step" && behind >= 1) step = texts_[++at];
      if (texts_[at] == "error" && behind >= 3) return ring::error(texts_[at + 1], texts_[at + 2], texts_[at + 3]);
    }
    return std::nullopt;
  }

 private:
  std::vector<std::string> texts_;
  std::string text_;
};

enum class Silence : std::uint8_t { closed, timed_out };

/// Listens until the child has returned (the result), or has closed its pipe or let the deadline pass (why).
Outcome listen(int pipe, Clock::time_point deadline, std::string& step, Silence& silence) {
  Story story;
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd entry{.fd = pipe, .events = POLLIN, .revents = 0};
    const int ready = left > 0 ? poll(&entry, 1, static_cast<int>(left)) : 0;
    if (ready < 0 && errno == EINTR) continue;
    silence = Silence::timed_out;
    if (ready <= 0) return std::nullopt;
    char bytes[512];
    const ssize_t count = read(pipe, bytes, sizeof(bytes));
    if (count < 0 && errno == EINTR) continue;
    silence = Silence::closed;
    if (count <= 0) return std::nullopt;
    story.add({bytes, static_cast<std::size_t>(count)});
    if (const Outcome outcome = story.outcome(step)) return outcome;
  }
}

int reap(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

std::string ending(int status) {
  if (!WIFSIGNALED(status)) return fmt::format("exit status {}", WEXITSTATUS(status));
  const char* const name = sigabbrev_np(WTERMSIG(status));
  return name != nullptr ? fmt::format("SIG{}", name) : fmt::format("signal {}", WTERMSIG(status));
}

std::string time_text(std::uint64_t milliseconds) {
  return milliseconds % 1000 == 0 ? fmt::format("{} s", milliseconds / 1000) : fmt::format("{} ms", milliseconds);
}

/// Closes the pipe's end and leaves no child behind, however long it would go on. A child that closed the pipe is about
/// to end by itself, and how it ends is what we want to know, unless it has only closed what is not its own.
int end_child(pid_t child, Silence silence, Clock::time_point deadline) {
  siginfo_t ended{};
  while (silence == Silence::closed && Clock::now() < deadline) {
    ended.si_pid = 0;
    if (waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOHANG | WNOWAIT) != 0 || ended.si_pid != 0) break;
    poll(nullptr, 0, 1);
  }
  kill(child, SIGKILL);
  return reap(child);
}

}  // namespace

ring::Result<void> probe_in_child(const std::string& attempt, std::uint64_t timeout_ms,
                                  const std::function<ring::Result<void>(const StepTeller& tell)>& work) {
  const Clock::time_point deadline = Clock::now() + std::chrono::milliseconds(timeout_ms);
  int pipe[2];
  if (pipe2(pipe, O_CLOEXEC) != 0) return ring::errno_error(attempt, errno);
  // What is buffered here would be written once more by a child that exits.
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    close(pipe[0]);
    work_in_child(pipe[1], work);
  }
  const int fork_errno = errno;
  close(pipe[1]);
  std::string step = "it";
  Silence silence = Silence::timed_out;
  Outcome outcome;
  if (child > 0) outcome = listen(pipe[0], deadline, step, silence);
  close(pipe[0]);
  if (child < 0) return ring::errno_error(attempt, fork_errno);
  const int status = end_child(child, outcome ? Silence::timed_out : silence, deadline);
  if (outcome) return *outcome;
  const bool ended_itself = silence == Silence::closed && !(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  return ring::error(attempt,
                     ended_itself ? fmt::format("{} ended with {}", step, ending(status))
                                  : fmt::format("{} did not return within {}", step, time_text(timeout_ms)),
                     "it must return, and leave the process as it is");
}

}  // namespace ringside::harness
