// SPDX-License-Identifier: Apache-2.0
//
// The commands themselves.
#pragma once

#include "cli/command_line.h"

namespace ringside::cli {

/// Does what was asked and returns the exit status. Writes the report to standard output or its file, and everything
/// else (progress, remarks, the one line of an error) to standard error.
int run(const Invocation& invocation);

/// `ringside: ` and the error, in one line on standard error.
void print_error(const ring::Error& error);

}  // namespace ringside::cli
