// SPDX-License-Identifier: Apache-2.0
//
// Errors as one line of text.
#include "ring/result.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace ringside::ring {

std::string errno_name(int code) {
  const char* name = strerrorname_np(code);
  return name != nullptr ? std::string(name) : fmt::format("{}", code);
}

tl::unexpected<Error> errno_error(std::string attempt, int code, std::string remedy) {
  return tl::unexpected(Error{std::move(attempt), errno_name(code), std::move(remedy), code});
}

tl::unexpected<Error> error(std::string attempt, std::string reason, std::string remedy) {
  return tl::unexpected(Error{std::move(attempt), std::move(reason), std::move(remedy), 0});
}

std::string to_string(const Error& error) {
  std::string line = error.attempt + ": " + error.reason;
  if (!error.remedy.empty()) line += "; " + error.remedy;
  // Reasons also come from other libraries, whose messages may end in or contain line feeds.
  std::replace(line.begin(), line.end(), '\n', ' ');
  return line;
}

std::ostream& operator<<(std::ostream& out, const Error& error) { return out << to_string(error); }

}  // namespace ringside::ring
