// SPDX-License-Identifier: Apache-2.0
//
// Reading a text from its front: what is recognised is taken off.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <string_view>
#include <system_error>

namespace ringside::explore {

/// A number without a sign; false if there is none that fits.
template <class T>
bool take_number(std::string_view& text, T& number, int base = 10) {
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (fault != std::errc{}) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

inline bool take(std::string_view& text, char mark) {
  if (text.empty() || text.front() != mark) return false;
  text.remove_prefix(1);
  return true;
}

/// What stands before the next mark, or all; the mark goes, too.
inline std::string_view take_until(std::string_view& text, char mark) {
  const std::size_t end = std::min(text.find(mark), text.size());
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return part;
}

/// The whole text as a number.
template <class T>
bool is_number(std::string_view text, T& number, int base = 10) {
  return take_number(text, number, base) && text.empty();
}

}  // namespace ringside::explore
