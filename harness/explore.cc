// SPDX-License-Identifier: Apache-2.0
#include "harness/explore.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <sstream>
#include <system_error>
#include <utility>

#include "harness/nearest.h"
#include "harness/report_formats.h"
#include "harness/run_result_json.h"
#include "harness/shell.h"
#include "harness/subprocess.h"
#include "ring/signals.h"

namespace ringside::harness {
namespace {

using Result = ring::Result<std::vector<explore::ProgramReport>>;

constexpr int refused_status = 2;  ///< of a program's front: what it was asked cannot be done

/// What the child reported; its status says whether there is anything.
Result reports_of(const std::string& path, const std::vector<std::string>& arguments) {
  const ring::Result<ProcessOutput> output = output_of(path, arguments, "name an explored program's file");
  if (!output) return tl::unexpected(output.error());
  const bool ended = WIFEXITED(output->status) && WEXITSTATUS(output->status) <= 1;
  if (ended) return explore::reports_from_json(output->text);
  auto error = ring::error(fmt::format("explore with {}", path), how_it_ended(*output), "what it wrote above says why");
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
    const ring::Result<ProcessOutput> listed =
        output_of(entry.path().string(), {"--list"}, "name an explored program's file");
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
