// SPDX-License-Identifier: Apache-2.0
//
// The table of strategy `drain_cpu`; per_cpu_loop.h and per_cpu_reader.h have the ideas.
#include "consumers/per_cpu_loop.h"
#include "consumers/strategies.h"

namespace ringside::consumers {

const ringside_consumer& drain_cpu() {
  static constexpr ringside_consumer table = PerCpuLoop<PerfSteps, true>::table(
      "drain_cpu", "the ring of the CPU that epoll named, record by record as the caller asks");
  return table;
}

}  // namespace ringside::consumers
