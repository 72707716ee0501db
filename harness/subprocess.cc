// SPDX-License-Identifier: Apache-2.0
#include "harness/subprocess.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "ring/signals.h"

namespace ringside::harness {

namespace {

/// What the child writes, until it ends. What asks us to end is handed on to it: it tells what it has by then.
std::string text_of(int descriptor, pid_t child) {
  constexpr int patience_ms = 200;  // a signal may come right before the wait
  std::string text;
  bool told = false;
  while (true) {
    if (ring::interrupted_by() != 0 && !std::exchange(told, true)) kill(child, ring::interrupted_by());
    pollfd ready{.fd = descriptor, .events = POLLIN, .revents = 0};
    if (poll(&ready, 1, patience_ms) <= 0) continue;
    std::array<char, 65536> part;
    const ssize_t count = read(descriptor, part.data(), part.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return text;
    text.append(part.data(), static_cast<std::size_t>(count));
  }
}

}  // namespace

ring::Result<ProcessOutput> output_of(const std::string& path, std::vector<std::string> arguments, const char* remedy) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return ring::errno_error("make a pipe", errno);
  arguments.insert(arguments.begin(), path);
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  pid_t child = 0;
  const int fault = posix_spawn(&child, path.c_str(), &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  ProcessOutput output;
  if (fault == 0) output.text = text_of(ends[0], child);
  close(ends[0]);
  if (fault != 0) return ring::errno_error(fmt::format("run {}", path), fault, remedy);
  while (waitpid(child, &output.status, 0) < 0 && errno == EINTR) {
  }
  return output;
}

std::string how_it_ended(const ProcessOutput& output) {
  return WIFSIGNALED(output.status) ? fmt::format("it was ended by SIG{}", sigabbrev_np(WTERMSIG(output.status)))
                                    : fmt::format("it ended with status {}", WEXITSTATUS(output.status));
}

}  // namespace ringside::harness
