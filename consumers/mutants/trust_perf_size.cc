// SPDX-License-Identifier: Apache-2.0
//
// `drain_all` that believes raw_size. An output of 65525 to 65532 bytes leaves a record of 8 bytes whose raw_size,
// outside it, says 65532 (KERNEL-RINGS 2.8): the view that this one hands out reaches far beyond data_head. What it
// copies is cut to its buffer, so that it stays within mapped memory and can be judged.
#include "consumers/drain_all.h"
#include "consumers/mutants/mutants.h"

namespace ringside::consumers::mutant {
namespace {

struct TrustPerfSize : PerfSteps {
  static constexpr bool fits(std::uint64_t /*bytes*/, std::uint64_t /*record_bytes*/) { return true; }
};

}  // namespace

const ringside_consumer& trust_perf_size() {
  static constexpr ringside_consumer table =
      DrainAll<TrustPerfSize>::table("trust_perf_size", "drain_all that hands out as many bytes as raw_size says");
  return table;
}

}  // namespace ringside::consumers::mutant
