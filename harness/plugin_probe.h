// SPDX-License-Identifier: Apache-2.0
//
// Foreign code is met first in a forked child: one that exits, crashes or never returns there is an error that names
// it, and not the end of ringside.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "ring/result.h"

namespace ringside::harness {

/// Tells the parent what begins now, in words that can stand before "ended with SIGSEGV": "its entry".
using StepTeller = std::function<void(const char* step)>;

/// Runs `work` in a child whose standard output is standard error, and returns what it returned. A child that ends
/// before it returned, or that did not return within `timeout_ms` milliseconds, is an error with that `attempt`, the
/// step told last and how it ended. The child is gone when this returns. Errors: those of `work`; EMFILE, EAGAIN and
/// the like when there can be no pipe or child. Not thread-safe: forks.
ring::Result<void> probe_in_child(const std::string& attempt, std::uint64_t timeout_ms,
                                  const std::function<ring::Result<void>(const StepTeller& tell)>& work);

}  // namespace ringside::harness
