// SPDX-License-Identifier: Apache-2.0
//
// `overwrite_snapshot` that does not look at overwrite_pos again when it has copied a record: producers that lapped it
// meanwhile have written into what it copied.
#include "consumers/mutants/mutants.h"
#include "consumers/overwrite_snapshot.h"

namespace ringside::consumers::mutant {
namespace {

struct NoSecondLook : OverwriteSteps {
  static constexpr bool looks_again = false;
};

}  // namespace

const ringside_consumer& overwrite_no_second_look() {
  static constexpr ringside_consumer table = OverwriteSnapshot<NoSecondLook>::table(
      "overwrite_no_second_look", "overwrite_snapshot that does not look at overwrite_pos again after a copy");
  return table;
}

}  // namespace ringside::consumers::mutant
