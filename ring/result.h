// SPDX-License-Identifier: Apache-2.0
//
// Operating errors as values. Every fallible call of Ringside returns Result<T>; an Error says what was attempted, on
// what, why it failed and, where we know, what would be right. Programmer errors assert instead.
#pragma once

#include <cerrno>
#include <ostream>
#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace ringside::ring {

/// One operating error. Printed as `<attempt>: <reason>; <remedy>` on one line.
struct Error {
  std::string attempt;  ///< verb and object: `map consumer page of ring "events"`
  std::string reason;   ///< why: an errno name such as `EPERM`, or a sentence
  std::string remedy;   ///< what would be right; may be empty
  int code = 0;         ///< the errno behind it, 0 if there is none

  friend bool operator==(const Error&, const Error&) = default;
};

template <class T>
using Result = tl::expected<T, Error>;

/// The symbolic name of an errno value (`EPERM`), or its decimal digits when the C library knows no name.
std::string errno_name(int code);

/// An Error from an errno value: `attempt: ENAME`.
tl::unexpected<Error> errno_error(std::string attempt, int code, std::string remedy = {});

/// An Error whose reason is a sentence and that has no errno behind it.
tl::unexpected<Error> error(std::string attempt, std::string reason, std::string remedy = {});

/// The error as one line, without a line feed.
std::string to_string(const Error& error);
std::ostream& operator<<(std::ostream& out, const Error& error);

}  // namespace ringside::ring
