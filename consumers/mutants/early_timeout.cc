// SPDX-License-Identifier: Apache-2.0
//
// `copy` that tells a timeout without a last look: a record committed with NO_WAKEUP while it slept lies in the ring at
// that moment (KERNEL-RINGS 4.2).
#include "consumers/copy.h"
#include "consumers/mutants/mutants.h"

namespace ringside::consumers::mutant {
namespace {

struct EarlyTimeout : RingbufSteps {
  static constexpr bool looks_at_timeout = false;
};

}  // namespace

const ringside_consumer& early_timeout() {
  static constexpr ringside_consumer table =
      Copy<EarlyTimeout>::table("early_timeout", "copy that tells a timeout without looking at the ring");
  return table;
}

}  // namespace ringside::consumers::mutant
