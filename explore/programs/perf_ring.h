// SPDX-License-Identifier: Apache-2.0
//
// What the shipped programs about perf rings have in common: one CPU's writer with an interrupt that writes, too, in
// miniature (KERNEL-RINGS 2.4, 2.6, 5.2), every shared access a step. It is not instrumented; consumers are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "explore/explored.h"

namespace ringside::explore::programs {

/// In which order the outermost writer leaves.
enum class Leaving : std::uint8_t {
  publishes_first,  ///< data_head is stored, then nest dropped, then head looked at again: kernels since 5.2
  drops_nest_first  ///< an interrupt in between publishes its own record, and the older head is stored after it (F2)
};

struct PerfView {
  std::uint64_t* data_head = nullptr;
  std::uint64_t* data_tail = nullptr;
  std::byte* data = nullptr;
  std::uint64_t mask = 0;
};

inline constexpr std::uint64_t perf_record_bytes = 16;
inline constexpr std::uint64_t perf_header_bytes = 8;
inline constexpr std::uint32_t perf_records = 2;  ///< one of them the interrupt's, wherever that comes

/// Of the program that is explored now.
PerfView perf_ring();
/// Fails when nobody wrote that record, or it was delivered before.
void deliver_perf(std::uint64_t payload);
/// poll until data_head is another. Orders nothing.
void wait_perf(std::uint64_t tail);

Program perf_program(Leaving leaving, std::function<void()> consumer);

}  // namespace ringside::explore::programs
