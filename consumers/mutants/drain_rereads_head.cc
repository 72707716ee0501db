// SPDX-License-Identifier: Apache-2.0
//
// `drain_all` without the snapshot: it reads data_head again whenever it has come to it, and goes on while there is
// more. Producers that fill the space as it is handed back keep it in one call for as long as they last.
#include "consumers/drain_all.h"
#include "consumers/mutants/mutants.h"

namespace ringside::consumers::mutant {
namespace {

struct DrainRereadsHead : PerfSteps {
  static constexpr bool rereads_head = true;
  static constexpr std::uint64_t most(std::uint64_t /*max_records*/) { return UINT64_MAX; }
};

}  // namespace

const ringside_consumer& drain_rereads_head() {
  static constexpr ringside_consumer table = DrainAll<DrainRereadsHead>::table(
      "drain_rereads_head", "drain_all that follows the head for as long as it moves");
  return table;
}

}  // namespace ringside::consumers::mutant
