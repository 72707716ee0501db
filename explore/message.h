// SPDX-License-Identifier: Apache-2.0
//
// What the processes of one search tell each other, through a socket each.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "explore/search.h"
#include "explore/task.h"

namespace ringside::explore {

struct Message {
  enum class Kind : char {
    // To a worker.
    tasks = 't',  ///< to be searched; the worker is idle
    give = 'g',   ///< others have nothing to do: hand back some of what is open
    stop = 's',   ///< hand back everything that is open
    // From a worker.
    given = 'o',   ///< of what was open; it goes on with the rest
    told = 'c',    ///< it has seen so much more
    done = 'd',    ///< so, too; with all that is open it is idle now
    anew = 'a',    ///< the program has words of several widths that nobody knew of: all is void
    failed = 'f',  ///< some execution fails; the worker ends
  };
  Kind kind = Kind::told;
  std::string text = {};
};

/// False when nobody is left to read it.
bool send(int socket, const Message& message);

/// Takes messages out of a stream of bytes.
class MessageStream {
 public:
  void add(std::string_view bytes) { bytes_ += bytes; }
  std::optional<Message> next();

 private:
  std::string bytes_;
};

/// Of what a worker says.
struct Account {
  Tally seen = {};  ///< since it last said so
  std::uint64_t mixed_words = 0;
  std::uint32_t notes = 0;  ///< SearchOptions::notes
  FailureKind kind = FailureKind::failed;
  std::optional<ring::DefectKind> defect = {};
  std::string what = {};
  std::string schedule = {};
  std::vector<Task> tasks = {};
};
/// Only one process of the same program reads what another one wrote: nothing can be wrong with it.
std::string to_text(const Account& account);
Account account_from(std::string_view text);

/// Lines to a worker: how many executions it may have, then tasks.
struct Assignment {
  std::uint64_t executions = 0;
  std::vector<Task> tasks = {};
};
std::string to_text(const Assignment& assignment);
Assignment assignment_from(std::string_view text);

}  // namespace ringside::explore
