// SPDX-License-Identifier: Apache-2.0
//
// `copy` that does not stop at a BUSY record: it delivers a draft that its producer may still rewrite or discard.
#include "consumers/copy.h"
#include "consumers/mutants/mutants.h"

namespace ringside::consumers::mutant {
namespace {

struct IgnoreBusy : RingbufSteps {
  static constexpr bool stops_at(std::uint32_t /*header*/) { return false; }
};

}  // namespace

const ringside_consumer& ignore_busy() {
  static constexpr ringside_consumer table =
      Copy<IgnoreBusy>::table("ignore_busy", "copy that reads a record before it is committed");
  return table;
}

}  // namespace ringside::consumers::mutant
