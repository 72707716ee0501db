// SPDX-License-Identifier: Apache-2.0
//
// `read_into` that passes over PERF_RECORD_LOST as over any record it does not know: its losses are silent.
#include "consumers/mutants/mutants.h"
#include "consumers/read_into.h"

namespace ringside::consumers::mutant {
namespace {

struct ForgetLost : PerfSteps {
  static constexpr std::uint64_t report(std::uint64_t /*count*/) { return 0; }
};

}  // namespace

const ringside_consumer& forget_lost() {
  static constexpr ringside_consumer table =
      ReadInto<ForgetLost>::table("forget_lost", "read_into that never reports a loss");
  return table;
}

}  // namespace ringside::consumers::mutant
