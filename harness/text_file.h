// SPDX-License-Identifier: Apache-2.0
//
// Files that a user names on the command line.
#pragma once

#include <string>

#include "ring/result.h"

namespace ringside::harness {

/// The text of a regular file of 1 byte to 1 MiB. `what` names it in an error (`scenario file`), `remedy` says what
/// would be right. Errors: what the file system says; a directory, FIFO or device, told before it is opened, since it
/// may block or never end; an empty or too large file.
ring::Result<std::string> read_text_file(const std::string& path, const std::string& what, const std::string& remedy);

}  // namespace ringside::harness
