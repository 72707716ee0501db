// SPDX-License-Identifier: Apache-2.0
//
// Where code and static variables of the running process come from, as their symbols and debug information say.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace ringside::explore {

/// A place in the sources. Where the compiler put functions into one another it is the innermost one that lies outside
/// of the standard library and the system's headers.
struct SourcePlace {
  std::string file = {};  ///< relative to the working directory where it lies below it
  int line = 0;
  std::string function = {};  ///< without its parameters
  bool inner = false;         ///< of the system or of what explores: nobody who reads a failure has written it

  bool known() const { return line != 0; }
};

struct Symbol {
  std::string name = {};
  std::size_t offset = 0;      ///< of the address within it
  std::size_t size_bytes = 0;  ///< of the whole
};

/// Reads the process's files when it is made. Not thread-safe.
class Places {
 public:
  Places();
  Places(const Places&) = delete;
  Places& operator=(const Places&) = delete;
  ~Places();

  /// Of the call before that address. Not known where a file has no debug information.
  SourcePlace of_call(const void* return_address) const;
  /// The variable that holds the address.
  std::optional<Symbol> variable(std::uintptr_t address) const;
  /// The build id of the program, as `file` and `readelf -n` print it; empty where it was linked without.
  std::string build_id() const;

 private:
  struct Session;
  Session* session_;
};

}  // namespace ringside::explore
