// SPDX-License-Identifier: Apache-2.0
//
// `copy` that does not pass over discarded records: it delivers what its producer took back.
#include "consumers/copy.h"
#include "consumers/mutants/mutants.h"

namespace ringside::consumers::mutant {
namespace {

struct IgnoreDiscard : RingbufSteps {
  static constexpr bool passes_over(std::uint32_t /*header*/) { return false; }
};

}  // namespace

const ringside_consumer& ignore_discard() {
  static constexpr ringside_consumer table =
      Copy<IgnoreDiscard>::table("ignore_discard", "copy that delivers discarded records");
  return table;
}

}  // namespace ringside::consumers::mutant
