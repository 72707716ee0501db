// SPDX-License-Identifier: Apache-2.0
//
// `drain_all` with the claim that users ask for: every ring is empty when the call returns. A record that comes behind
// the last look at its ring refutes it, and no look can be the last thing that is done.
#include "consumers/drain_all.h"
#include "consumers/mutants/mutants.h"

namespace ringside::consumers::mutant {
namespace {

struct DrainClaimsEmpty : PerfSteps {
  static constexpr std::uint32_t batch_claim = RINGSIDE_BATCH_EMPTY;
};

}  // namespace

const ringside_consumer& drain_claims_empty() {
  static constexpr ringside_consumer table =
      DrainAll<DrainClaimsEmpty>::table("drain_claims_empty", "drain_all that claims empty rings");
  return table;
}

}  // namespace ringside::consumers::mutant
