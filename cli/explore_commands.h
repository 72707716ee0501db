// SPDX-License-Identifier: Apache-2.0
//
// The commands about explored programs.
#pragma once

#include <string>

#include "cli/command_line.h"

namespace ringside::cli {

/// Explores programs and writes the report. Returns the exit status.
int explore(const Invocation& invocation);

/// Whether the text is what a failure of explore gave to repeat it, and not a file.
bool is_token(const std::string& text);

/// Repeats one failing execution and reports it.
int replay_token(const Invocation& invocation);

}  // namespace ringside::cli
