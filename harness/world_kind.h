// SPDX-License-Identifier: Apache-2.0
//
// Where a ring is: rebuilt in userspace, or the running kernel's.
#pragma once

#include <cstdint>
#include <string_view>

namespace ringside::harness {

enum class WorldKind : std::uint8_t { model, kernel };
/// `model`, `kernel`.
std::string_view name_of(WorldKind world);

}  // namespace ringside::harness
