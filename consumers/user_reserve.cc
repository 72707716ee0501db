// SPDX-License-Identifier: Apache-2.0
//
// The table of producer `user_reserve`; user_producer.h has the idea.
#include "consumers/user_producer.h"

#include "consumers/strategies.h"

namespace ringside::consumers {

const ringside_producer& user_reserve() {
  static constexpr ringside_producer table = UserReserve<UserSteps>::table(
      "user_reserve", "writes each sample where it lies in the user ring, and ends it with its header");
  return table;
}

}  // namespace ringside::consumers
