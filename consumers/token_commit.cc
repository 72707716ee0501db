// SPDX-License-Identifier: Apache-2.0
//
// The table of strategy `token_commit`; token_commit.h has the idea.
#include "consumers/token_commit.h"

#include "consumers/strategies.h"

namespace ringside::consumers {

const ringside_consumer& token_commit() {
  static constexpr ringside_consumer table = TokenConsumer<RingbufSteps>::table(
      "token_commit", "records in place with tokens that are committed in any order");
  return table;
}

}  // namespace ringside::consumers
