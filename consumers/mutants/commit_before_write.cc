// SPDX-License-Identifier: Apache-2.0
//
// `user_reserve` whose samples are not BUSY while they are written: the kernel drains what lay there before.
#include "consumers/mutants/mutants.h"
#include "consumers/user_producer.h"

namespace ringside::consumers::mutant {
namespace {

struct NeverBusy : UserSteps {
  static std::uint32_t header_of_reserved(std::uint32_t size) { return size; }
};

}  // namespace

const ringside_producer& commit_before_write() {
  static constexpr ringside_producer table =
      UserReserve<NeverBusy>::table("commit_before_write", "user_reserve that commits a sample before it is written");
  return table;
}

}  // namespace ringside::consumers::mutant
