// SPDX-License-Identifier: Apache-2.0
//
// System calls as a reader of rings makes them, taken apart for whoever answers them (answer_calls()).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "explore/explored.h"

namespace ringside::explore::programs {

/// An address as the result of a call.
long address_of(const void* place);

/// Writes what a call has for its caller; in a thread that is an access.
void give(void* to, const void* from, std::size_t size);

struct MmapCall {
  std::uint64_t size = 0;
  bool writes = false;
  std::uint64_t offset = 0;
};
/// If the call maps that descriptor, shared.
std::optional<MmapCall> as_mmap(const Call& call, int descriptor);

/// A bpf(2) call by its command, and the union that goes with it.
struct BpfCall {
  int command = 0;
  void* attr = nullptr;
};
std::optional<BpfCall> as_bpf(const Call& call);

/// If the call asks bpf(2) about that map: the union that says where the answer goes.
std::optional<void*> as_map_info(const Call& call, int map);

struct MapInfo {
  std::uint32_t type = 0;
  std::uint64_t max_entries = 0;
};
/// Answers it: 0, or an error.
long tell_map_info(void* attr, const MapInfo& info);

}  // namespace ringside::explore::programs
