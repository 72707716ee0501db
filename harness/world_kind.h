// SPDX-License-Identifier: Apache-2.0
//
// Where a ring is: rebuilt in userspace, the running kernel's, or the explorer's, which tries every execution.
#pragma once

#include <cstdint>
#include <string_view>

namespace ringside::harness {

enum class WorldKind : std::uint8_t { model, kernel, explored };
/// `model`, `kernel`, `explored`.
std::string_view name_of(WorldKind world);

}  // namespace ringside::harness
