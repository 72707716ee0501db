// SPDX-License-Identifier: Apache-2.0
//
// What is left of a command's exhaustive searches, as a file: of each program what is open and what was counted, or,
// where it has come to its end, its report. The same program file, of the same build, goes on from there.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "explore/report.h"
#include "explore/task.h"
#include "ring/result.h"

namespace ringside::explore {

struct Checkpoint {
  /// What must be the same for the search to be the same.
  struct Terms {
    std::string build = {};
    std::string memory = {};
    std::size_t events = 0;  ///< of one execution, at most
    std::size_t shard = 0;
    std::size_t shards = 1;

    friend bool operator==(const Terms&, const Terms&) = default;
  };
  struct Part {
    std::string name = {};
    OpenSearch open = {};
    double seconds = 0;                       ///< that were spent
    std::optional<ProgramReport> ended = {};  ///< nothing is open

    friend bool operator==(const Part&, const Part&) = default;
  };

  Terms terms = {};
  std::vector<Part> programs = {};  ///< in the order of the command

  friend bool operator==(const Checkpoint&, const Checkpoint&) = default;
};

/// "ringside-checkpoint/1".
std::string to_text(const Checkpoint& checkpoint);
/// Errors: no such document.
ring::Result<Checkpoint> checkpoint_from(std::string_view text);

/// Whether a search on these terms may go on from that file. The error names what is another.
ring::Result<void> check_terms(const std::string& path, const Checkpoint::Terms& kept, const Checkpoint::Terms& asked);

}  // namespace ringside::explore
