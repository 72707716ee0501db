// SPDX-License-Identifier: Apache-2.0
//
// A searching process: a copy of the one that makes it, with memory of its own.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "explore/message.h"

namespace ringside::explore {

/// Ended with its owner, if it has not ended before.
class Worker {
 public:
  /// Idle at first. `others` are the sockets of those made before, which are none of its business. Throws
  /// std::system_error if there can be no such process.
  Worker(const Program& program, const SearchOptions& options, const std::vector<Task>& widths,
         const std::vector<int>& others);
  Worker(Worker&& other) noexcept;
  Worker& operator=(Worker&&) = delete;
  ~Worker();

  int socket() const { return socket_; }
  /// False if it is no more.
  bool send(const Message& message) const { return explore::send(socket_, message); }
  /// What it has said by now, when there is something to read; false if that was its end.
  bool receive(std::vector<Message>& messages);
  /// Of one that is no more: `by signal 9`.
  std::string how_it_ended();
  /// Ends it; what time it took of a processor, in seconds.
  double end();

 private:
  int wait();

  pid_t process_ = -1;
  int socket_ = -1;
  double cpu_seconds_ = 0;
  MessageStream stream_;
};

}  // namespace ringside::explore
