// SPDX-License-Identifier: Apache-2.0
//
// `ringside conform` and `ringside replay`: the commands that hold the model to the running kernel.
#pragma once

#include "cli/command_line.h"

namespace ringside::cli {

/// As run() in cli/commands.h.
int conform(const Invocation& invocation);
int replay(const Invocation& invocation);

}  // namespace ringside::cli
