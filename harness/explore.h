// SPDX-License-Identifier: Apache-2.0
//
// `ringside explore`: explored programs are files of their own (ringside_add_explored), run one after the other as
// child processes; what they report is put together here.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "explore/report.h"
#include "harness/report.h"
#include "harness/text_layout.h"
#include "ring/result.h"

namespace ringside::harness {

/// A file and the programs that it explores, by name.
struct ExploredFile {
  std::string path;
  std::vector<std::string> programs;
};

/// Where the shipped ones lie: `explored` beside the running command.
std::string explored_folder();
/// Of that folder, by path; none where there is no such folder. A file that does not list its programs is an error.
ring::Result<std::vector<ExploredFile>> explored_files(const std::string& folder);

/// One child to be: a file, and what it is asked for.
struct ExploreTask {
  std::string path;
  std::vector<std::string> programs;
  bool shipped = true;  ///< found by its programs' names; otherwise by the path that the user named
};
/// What the words name: programs of shipped files, or files by a path (a word with a slash). No words: all that ship.
ring::Result<std::vector<ExploreTask>> plan_explore(const std::vector<std::string>& words,
                                                    const std::vector<ExploredFile>& shipped);

/// One child after the other with these options (explore/front.h) besides; their reports, each with the `ringside
/// replay` line that repeats its failure. A signal (interrupted_by) is handed on to the child under way, which reports
/// what it has seen; the rest is left out. What a child refuses, and has said why, is an error with code EINVAL.
ring::Result<std::vector<explore::ProgramReport>> run_explore(const std::vector<ExploreTask>& tasks,
                                                              const std::vector<std::string>& options);

/// What the token is of: the file given, or else the shipped one that has a program of its name.
ring::Result<ExploreTask> task_of_token(const std::string& token, const std::string& path,
                                        const std::vector<ExploredFile>& shipped);

/// Repeats the failure that the token names, by the file given or else the shipped one.
ring::Result<explore::ProgramReport> replay_explored(const std::string& token, const std::string& path,
                                                     const std::vector<ExploredFile>& shipped);

/// One `ringside explore`, or one replay by a token.
struct ExploreReport {
  ReportContext context;
  std::vector<explore::ProgramReport> programs;
  std::size_t planned = 0;
  double duration_seconds = 0;
  int interrupted_by = 0;
  bool html = false;  ///< render() writes the page whatever format it is given

  std::size_t failed() const;
};

/// As the reports of report.h; junit is not among the formats and gives the table.
std::string render(const ExploreReport& report, ReportFormat format, const TextStyle& style);
std::string verdict_line(const ExploreReport& report, const TextStyle& style);

}  // namespace ringside::harness
