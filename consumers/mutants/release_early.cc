// SPDX-License-Identifier: Apache-2.0
//
// `zero_copy` that hands a record's space back when it hands the view out: a producer may write under the view.
#include "consumers/mutants/mutants.h"
#include "consumers/zero_copy.h"

namespace ringside::consumers::mutant {
namespace {

struct ReleaseEarly : RingbufSteps {
  static constexpr bool keeps_views_reserved = false;
};

}  // namespace

const ringside_consumer& release_early() {
  static constexpr ringside_consumer table = ZeroCopy<ReleaseEarly>::table(
      "release_early", "zero_copy that publishes its position before the view is released");
  return table;
}

}  // namespace ringside::consumers::mutant
