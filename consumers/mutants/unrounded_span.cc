// SPDX-License-Identifier: Apache-2.0
//
// `user_reserve` that forgets the padding: the next header lies at no multiple of 8, and no drain goes on.
#include "consumers/mutants/mutants.h"
#include "consumers/user_producer.h"

namespace ringside::consumers::mutant {
namespace {

struct NoPadding : UserSteps {
  static std::uint64_t span_of(std::uint32_t size) { return size + ring::ringbuf::header_bytes; }
};

}  // namespace

const ringside_producer& unrounded_span() {
  static constexpr ringside_producer table =
      UserReserve<NoPadding>::table("unrounded_span", "user_reserve that takes no padding");
  return table;
}

}  // namespace ringside::consumers::mutant
