// SPDX-License-Identifier: Apache-2.0
//
// `copy` that takes the data for mapped once: of a record that crosses the ring's end it copies the bytes before the
// end and leaves the rest of its buffer as the last record left it.
#include <algorithm>

#include "consumers/copy.h"
#include "consumers/mutants/mutants.h"

namespace ringside::consumers::mutant {
namespace {

struct BreakAtEnd : RingbufSteps {
  static constexpr std::uint64_t contiguous(std::uint64_t size, std::uint64_t offset, std::uint64_t ring_size) {
    return std::min(size, ring_size - offset);
  }
};

}  // namespace

const ringside_consumer& break_at_end() {
  static constexpr ringside_consumer table =
      Copy<BreakAtEnd>::table("break_at_end", "copy that stops copying at the ring's end");
  return table;
}

}  // namespace ringside::consumers::mutant
