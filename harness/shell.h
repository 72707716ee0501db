// SPDX-License-Identifier: Apache-2.0
//
// Words for a shell, so that a printed command line can be pasted.
#pragma once

#include <string>
#include <string_view>

namespace ringside::harness {

/// The word as a POSIX shell must be given it: as it is when it is harmless, else in single quotes.
std::string shell_quoted(std::string_view word);

}  // namespace ringside::harness
