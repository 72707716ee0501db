// SPDX-License-Identifier: Apache-2.0
#include "harness/shell.h"

namespace ringside::harness {

std::string shell_quoted(std::string_view word) {
  constexpr std::string_view harmless = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./,=:+@%";
  if (!word.empty() && word.find_first_not_of(harmless) == std::string_view::npos) return std::string{word};
  std::string quoted = "'";
  for (const char letter : word) quoted += letter == '\'' ? std::string{"'\\''"} : std::string(1, letter);
  return quoted + "'";
}

}  // namespace ringside::harness
