// SPDX-License-Identifier: Apache-2.0
//
// `user_reserve` that does not look at consumer_pos: it writes over samples that wait for the kernel.
#include "consumers/mutants/mutants.h"
#include "consumers/user_producer.h"

namespace ringside::consumers::mutant {
namespace {

struct AlwaysFits : UserSteps {
  static bool fits(std::uint64_t /*size*/, std::uint64_t /*used*/, std::uint64_t /*span*/) { return true; }
};

}  // namespace

const ringside_producer& forget_space() {
  static constexpr ringside_producer table =
      UserReserve<AlwaysFits>::table("forget_space", "user_reserve that never finds the ring full");
  return table;
}

}  // namespace ringside::consumers::mutant
