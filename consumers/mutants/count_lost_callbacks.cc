// SPDX-License-Identifier: Apache-2.0
//
// `read_into` that counts PERF_RECORD_LOST records instead of the records that each accounts for.
#include "consumers/mutants/mutants.h"
#include "consumers/read_into.h"

namespace ringside::consumers::mutant {
namespace {

struct CountLostCallbacks : PerfSteps {
  static constexpr std::uint64_t report(std::uint64_t /*count*/) { return 1; }
};

}  // namespace

const ringside_consumer& count_lost_callbacks() {
  static constexpr ringside_consumer table = ReadInto<CountLostCallbacks>::table(
      "count_lost_callbacks", "read_into that reports one lost record for each PERF_RECORD_LOST");
  return table;
}

}  // namespace ringside::consumers::mutant
