// SPDX-License-Identifier: Apache-2.0
//
// The table of strategy `parse_for_cpu`; per_cpu_loop.h and per_cpu_reader.h have the ideas.
#include "consumers/per_cpu_loop.h"
#include "consumers/strategies.h"

namespace ringside::consumers {

const ringside_consumer& parse_for_cpu() {
  static constexpr ringside_consumer table = PerCpuLoop<PerfSteps, false>::table(
      "parse_for_cpu", "the ring of the CPU that epoll named, by a callback for each record");
  return table;
}

}  // namespace ringside::consumers
