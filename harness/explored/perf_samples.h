// SPDX-License-Identifier: Apache-2.0
//
// What the explored programs about perf rings have in common: a ring as the contract has it, and the reading of a
// sample that carries its number at both ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "explore/programs/perf_event.h"
#include "ring/consumer.h"

namespace ringside::harness::explored {

/// The ring of CPU 0.
inline ringside_ring as_mapped(const explore::programs::PerfEventPages& pages) {
  return {.kind = RINGSIDE_PERF,
          .cpu = 0,
          .fd = -1,
          .page_size = 4096,
          .data_size = pages.size,
          .consumer_page = pages.control,
          .producer_page = nullptr,
          .data = pages.data};
}

/// The number of a sample of which `written` bytes were put out; fails where it was not put out so.
inline std::uint64_t read_sample(const void* bytes, std::uint64_t size, std::uint32_t written) {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
  if (size < written || size >= written + 8)
    explore::fail(ring::DefectKind::torn, "a record is delivered with a size that it does not have");
  std::memcpy(&first, bytes, sizeof first);
  std::memcpy(&last, static_cast<const std::byte*>(bytes) + written - sizeof last, sizeof last);
  if (first != last) explore::fail(ring::DefectKind::torn, "a record is delivered whose end is not its own");
  return first;
}

}  // namespace ringside::harness::explored
