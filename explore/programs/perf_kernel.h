// SPDX-License-Identifier: Apache-2.0
//
// What the programs over the model's own perf output (sim/perf_output.h) have in common: its memory policy, and a look
// at a ring before and after an execution.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "explore/explored_memory.h"
#include "ring/layout.h"
#include "sim/perf_state.h"

namespace ringside::explore::programs {

/// The one relaxed load of the kernel's is that of data_tail. What it decides, whether the data may be written, is a
/// control dependency, which counts as acquire.
struct KernelMemory : ExploredMemory {
  template <class T>
  static T load_relaxed(const T* place) {
    return load_acquire(place);
  }
};

/// As on x86, where the poll flag is stored behind data_head: the one relaxed store of 32 bits is the flag's.
struct OrderedFlagMemory : KernelMemory {
  using KernelMemory::store_relaxed;
  static void store_relaxed(std::uint32_t* flag, std::uint32_t value) { store_release(flag, value); }
};

/// As an earlier lap left it: samples everywhere, so that whoever looks too early finds something.
inline void fill_with_old_samples(const sim::PerfRingState& state) {
  for (std::uint64_t at = 0; at < state.size; at += 16) {
    const ring::perf::RecordHeader header{ring::perf::type_sample, 1, 16};
    const std::uint32_t raw[2] = {4, 77};
    std::memcpy(state.data + at, &header, sizeof header);
    std::memcpy(state.data + at + sizeof header, raw, sizeof raw);
  }
}

/// What a ring holds between tail and head.
struct Left {
  std::uint64_t samples = 0;
  std::uint64_t lost = 0;  ///< as LOST records tell
};

/// In end.
inline Left left_in_ring(const sim::PerfRingState& ring) {
  Left left;
  ring::perf::RecordHeader header;
  for (std::uint64_t at = *ring.data_tail; at != *ring.data_head; at += header.size) {
    std::memcpy(&header, ring.data + (at & ring.mask()), sizeof header);
    if (header.type != ring::perf::type_lost) {
      ++left.samples;
      continue;
    }
    std::uint64_t told = 0;
    std::memcpy(&told, ring.data + ((at + 16) & ring.mask()), sizeof told);
    left.lost += told;
  }
  return left;
}

}  // namespace ringside::explore::programs
