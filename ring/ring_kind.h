// SPDX-License-Identifier: Apache-2.0
//
// The kinds of ring that Ringside knows.
#pragma once

#include <cstdint>
#include <string_view>

namespace ringside::ring {

/// `user_ringbuf` is the one whose producer is the user and whose consumer is the kernel.
enum class RingKind : std::uint8_t { ringbuf = 1, perf = 2, user_ringbuf = 4 };
/// `ringbuf`, `perf`, `user_ringbuf`.
std::string_view name_of(RingKind kind);

}  // namespace ringside::ring
