// SPDX-License-Identifier: Apache-2.0
//
// `overwrite_snapshot` that takes an overwrite ring for an ordinary one: it knows consumer_pos alone. Lapped, it reads
// on in the middle of newer records, and starts over at producer_pos once a length makes no sense.
#include "consumers/mutants/mutants.h"
#include "consumers/overwrite_snapshot.h"

namespace ringside::consumers::mutant {
namespace {

struct IgnoresPos : OverwriteSteps {
  static constexpr bool knows_overwrite_pos = false;
};

}  // namespace

const ringside_consumer& overwrite_ignores_pos() {
  static constexpr ringside_consumer table = OverwriteSnapshot<IgnoresPos>::table(
      "overwrite_ignores_pos", "overwrite_snapshot that knows nothing of overwrite_pos");
  return table;
}

}  // namespace ringside::consumers::mutant
