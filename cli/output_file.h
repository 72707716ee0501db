// SPDX-License-Identifier: Apache-2.0
//
// Where a report goes. A file appears whole or not at all: it is written beside its place and then renamed, so that
// nobody reads half a report and a run that dies leaves the last one standing.
#pragma once

#include <string>
#include <string_view>

#include "ring/result.h"

namespace ringside::cli {

class OutputFile {
 public:
  /// Standard output for an empty path. Looks whether the place can be written, without leaving anything there, so that
  /// a mistake shows before a long run and not after it. A place that is no regular file (a pipe, /dev/null) is written
  /// directly.
  static ring::Result<OutputFile> prepare(const std::string& path);

  ring::Result<void> write(std::string_view text) const;

  bool is_standard_output() const { return path_.empty(); }

 private:
  OutputFile(std::string path, bool renames) : path_(std::move(path)), renames_(renames) {}

  std::string path_;  ///< with links resolved; empty: standard output
  bool renames_;      ///< a regular file or nothing is there: write beside it and rename
};

}  // namespace ringside::cli
