// SPDX-License-Identifier: Apache-2.0
#include "harness/explore.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <sstream>
#include <system_error>
#include <utility>

#include "harness/nearest.h"
#include "harness/report_formats.h"
#include "harness/run_result_json.h"
#include "harness/shell.h"
#include "ring/io.h"
#include "ring/signals.h"

namespace ringside::harness {
namespace {

using Result = ring::Result<std::vector<explore::ProgramReport>>;

constexpr int refused_status = 2;  ///< of a program's front: what it was asked cannot be done

struct Output {
  int status = 0;  ///< as waitpid gives it
  std::string text;
};

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

/// Runs the file to its end; what it writes to standard error goes to ours.
ring::Result<Output> output_of(const std::string& path, std::vector<std::string> arguments) {
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
  Output output;
  if (fault == 0) output.text = text_of(ends[0], child);
  close(ends[0]);
  if (fault != 0) return ring::errno_error(fmt::format("run {}", path), fault, "name an explored program's file");
  while (waitpid(child, &output.status, 0) < 0 && errno == EINTR) {
  }
  return output;
}

/// What the child reported; its status says whether there is anything.
Result reports_of(const std::string& path, const std::vector<std::string>& arguments) {
  const ring::Result<Output> output = output_of(path, arguments);
  if (!output) return tl::unexpected(output.error());
  const bool ended = WIFEXITED(output->status) && WEXITSTATUS(output->status) <= 1;
  if (ended) return explore::reports_from_json(output->text);
  const std::string how = WIFSIGNALED(output->status)
                              ? fmt::format("it was ended by SIG{}", sigabbrev_np(WTERMSIG(output->status)))
                              : fmt::format("it ended with status {}", WEXITSTATUS(output->status));
  auto error = ring::error(fmt::format("explore with {}", path), how, "what it wrote above says why");
  const bool refused = WIFEXITED(output->status) && WEXITSTATUS(output->status) == refused_status;
  if (refused) error.value().code = EINVAL;
  return error;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

void add_replay(explore::ProgramReport& report, const ExploreTask& task) {
  if (!report.failure || report.failure->token.empty()) return;
  report.failure->replay = "ringside replay " + shell_quoted(report.failure->token);
  if (!task.shipped) report.failure->replay += " --program " + shell_quoted(task.path);
}

}  // namespace

std::string explored_folder() {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? "" : (self.parent_path() / "explored").string();
}

ring::Result<std::vector<ExploredFile>> explored_files(const std::string& folder) {
  std::vector<ExploredFile> files;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const bool runs = entry.is_regular_file(error) && access(entry.path().c_str(), X_OK) == 0;
    if (!runs) continue;
    const ring::Result<Output> listed = output_of(entry.path().string(), {"--list"});
    if (!listed) return tl::unexpected(listed.error());
    if (listed->status != 0) {
      return ring::error(fmt::format("list the programs of {}", entry.path().string()),
                         fmt::format("it ended with status {}", listed->status), "build it anew");
    }
    files.push_back({entry.path().string(), lines_of(listed->text)});
  }
  std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
  return files;
}

ring::Result<std::vector<ExploreTask>> plan_explore(const std::vector<std::string>& words,
                                                    const std::vector<ExploredFile>& shipped) {
  std::vector<ExploreTask> tasks;
  std::vector<std::string> known;
  for (const ExploredFile& file : shipped) {
    known.insert(known.end(), file.programs.begin(), file.programs.end());
    if (words.empty()) tasks.push_back({file.path, file.programs, true});
  }
  for (const std::string& word : words) {
    if (word.find('/') != std::string::npos) {
      tasks.push_back({word, {}, false});
      continue;
    }
    const auto file = std::find_if(shipped.begin(), shipped.end(), [&](const ExploredFile& one) {
      return std::find(one.programs.begin(), one.programs.end(), word) != one.programs.end();
    });
    if (file == shipped.end()) {
      return ring::error(fmt::format("find program \"{}\"", one_line(word)), "no shipped program has that name",
                         known.empty() ? "name a file by its path" : suggestion(word, known));
    }
    if (!tasks.empty() && tasks.back().shipped && tasks.back().path == file->path) {
      tasks.back().programs.push_back(word);
    } else {
      tasks.push_back({file->path, {word}, true});
    }
  }
  if (tasks.empty()) {
    return ring::error("find the shipped programs", fmt::format("there is none in {}", explored_folder()),
                       "name a file that ringside_add_explored() made, by its path");
  }
  return tasks;
}

Result run_explore(const std::vector<ExploreTask>& tasks, const std::vector<std::string>& options) {
  std::vector<explore::ProgramReport> all;
  for (const ExploreTask& task : tasks) {
    std::vector<std::string> arguments = task.programs;
    arguments.insert(arguments.end(), options.begin(), options.end());
    arguments.insert(arguments.end(), {"--format", "json"});
    Result reports = reports_of(task.path, arguments);
    if (!reports && ring::interrupted_by() != 0) return all;
    if (!reports) return reports;
    for (explore::ProgramReport& report : *reports) {
      add_replay(report, task);
      all.push_back(std::move(report));
    }
    if (ring::interrupted_by() != 0) return all;
  }
  return all;
}

ring::Result<ExploreTask> task_of_token(const std::string& token, const std::string& path,
                                        const std::vector<ExploredFile>& shipped) {
  if (!path.empty()) return ExploreTask{path, {}, false};
  const auto planned = plan_explore({token.substr(0, token.find('/'))}, shipped);
  if (!planned) return tl::unexpected(planned.error());
  return planned->front();
}

ring::Result<explore::ProgramReport> replay_explored(const std::string& token, const std::string& path,
                                                     const std::vector<ExploredFile>& shipped) {
  const ring::Result<ExploreTask> task = task_of_token(token, path, shipped);
  if (!task) return tl::unexpected(task.error());
  Result reports = reports_of(task->path, {"--replay", token, "--format", "json"});
  if (!reports) return tl::unexpected(reports.error());
  if (reports->size() != 1) return ring::error("replay " + token, "the program reported nothing", "build it anew");
  add_replay(reports->front(), *task);
  return reports->front();
}

std::size_t ExploreReport::failed() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(programs, [](const auto& program) { return program.verdict == explore::Verdict::failed; }));
}

std::string render(const ExploreReport& report, ReportFormat format, const TextStyle& style) {
  if (report.html) return explore::html_of(report.programs);
  if (format == ReportFormat::json) {
    nlohmann::ordered_json json = json_document("ringside-explore/1", report);
    json["programs"] = explore::json_programs(report.programs);
    return dump(json, 2) + '\n';
  }
  std::string text = heading(report.context, style) + '\n';
  for (const explore::ProgramReport& program : report.programs) {
    text += explore::text_of(program, style);
    if (program.failure) text += '\n';
  }
  return text + "\n" + report.context.command_line + "\n" + verdict_line(report, style) + '\n';
}

std::string verdict_line(const ExploreReport& report, const TextStyle& style) {
  const auto is = [&](explore::Verdict verdict) {
    return std::ranges::count_if(report.programs, [&](const auto& program) { return program.verdict == verdict; });
  };
  std::string text = interruption(report.interrupted_by, report.programs.size(), report.planned, "program");
  text += fmt::format("{}: {} proved, {} bounded, {} failed; {}", counted(report.programs.size(), "program"),
                      is(explore::Verdict::proved), is(explore::Verdict::bounded), report.failed(),
                      duration_text(report.duration_seconds));
  return paint(style, report.failed() != 0 ? Tone::bad : Tone::good, text);
}

}  // namespace ringside::harness
