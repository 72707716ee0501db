// SPDX-License-Identifier: Apache-2.0
//
// Which CPUs are online, for a reader that opens one perf ring on each.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace ringside::consumers {

/// The CPUs of a kernel CPU list (`0-2,5`), in its order; nothing if the text is no such list or names none.
std::optional<std::vector<int>> parse_cpu_list(std::string_view text);

/// The CPUs that are online now, or nothing if the kernel does not say.
std::optional<std::vector<int>> online_cpus();

}  // namespace ringside::consumers
