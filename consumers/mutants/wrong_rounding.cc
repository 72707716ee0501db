// SPDX-License-Identifier: Apache-2.0
//
// `copy` whose span is wrong for records of 1 to 7 bytes only: it rounds their payload down to nothing, so that it
// takes the payload for the next header. A ring of longer records never shows it.
#include "consumers/copy.h"
#include "consumers/mutants/mutants.h"

namespace ringside::consumers::mutant {
namespace {

struct WrongRounding : RingbufSteps {
  static constexpr std::uint64_t span_of(std::uint32_t header) {
    return ring::ringbuf::length_of(header) < 8 ? ring::ringbuf::header_bytes : ring::ringbuf::span_of(header);
  }
};

}  // namespace

const ringside_consumer& wrong_rounding() {
  static constexpr ringside_consumer table =
      Copy<WrongRounding>::table("wrong_rounding", "copy that rounds records of 1 to 7 bytes down");
  return table;
}

}  // namespace ringside::consumers::mutant
