// SPDX-License-Identifier: Apache-2.0
//
// `drain_all` that reads the head of one ring, as who was woken by that ring might, and calls what it finds the batch
// of all: what lies in the others without a wake-up stays there.
#include "consumers/drain_all.h"
#include "consumers/mutants/mutants.h"

namespace ringside::consumers::mutant {
namespace {

struct DrainOneRing : PerfSteps {
  static constexpr bool reads_every_head = false;
};

}  // namespace

const ringside_consumer& drain_one_ring() {
  static constexpr ringside_consumer table =
      DrainAll<DrainOneRing>::table("drain_one_ring", "drain_all that looks at one ring for its batch of all");
  return table;
}

}  // namespace ringside::consumers::mutant
