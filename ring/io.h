// SPDX-License-Identifier: Apache-2.0
//
// Whole texts through descriptors: what a system call cuts short or a signal interrupts goes on.
#pragma once

#include <string>
#include <string_view>

#include "ring/result.h"

namespace ringside::ring {

/// 0, or the errno of the write that failed.
int write_all(int descriptor, std::string_view text);

/// The file appears whole or not at all: it is written beside its place, and then put there.
Result<void> replace_file(const std::string& path, std::string_view text);

/// Until the end, or an error: what came before it.
std::string read_all(int descriptor);

}  // namespace ringside::ring
