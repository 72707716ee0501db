// SPDX-License-Identifier: Apache-2.0
//
// `ringside compare`.
#pragma once

#include "cli/command_line.h"

namespace ringside::cli {

/// As run() in cli/commands.h.
int compare(const Invocation& invocation);

}  // namespace ringside::cli
