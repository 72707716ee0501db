// SPDX-License-Identifier: Apache-2.0
//
// `drain_all` that takes two records for each wake-up and goes back to sleep without a look, as who waits
// level-triggered on a BPF ring may: there the records that are left keep the descriptor ready. A perf ring's readiness
// is taken by the wait that tells it (KERNEL-RINGS 4.1), and what is left lies there until somebody writes again.
#include <algorithm>

#include "consumers/drain_all.h"
#include "consumers/mutants/mutants.h"

namespace ringside::consumers::mutant {
namespace {

struct SleepsWithoutLook : PerfSteps {
  static constexpr bool looks_before_sleep = false;
};

class DrainPartly : public DrainAll<SleepsWithoutLook> {
  using Base = DrainAll<SleepsWithoutLook>;

 public:
  using Base::Base;

  std::int64_t drain(std::uint64_t max_records) {
    if (has_taken_) return 0;
    const std::int64_t delivered = Base::drain(std::min<std::uint64_t>(max_records, 2));
    has_taken_ = delivered > 0;
    return delivered;
  }

  int wait(std::int64_t timeout_ns) {
    has_taken_ = false;
    return Base::wait(timeout_ns);
  }

 private:
  bool has_taken_ = false;  // since the last wait
};

}  // namespace

const ringside_consumer& drain_partly() {
  static constexpr ringside_consumer table =
      TableOf<DrainPartly>::make({.name = "drain_partly",
                                  .summary = "drain_all that takes two records for each wake-up",
                                  .ring_kind = RINGSIDE_PERF,
                                  .claims = RINGSIDE_CLAIM_REPORTS_LOSS});
  return table;
}

}  // namespace ringside::consumers::mutant
