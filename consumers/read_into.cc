// SPDX-License-Identifier: Apache-2.0
//
// The table of strategy `read_into`, of both kinds of rings; read.h and read_into.h have the ideas.
#include "consumers/read_into.h"

#include "consumers/either_kind.h"
#include "consumers/read.h"
#include "consumers/strategies.h"

namespace ringside::consumers {
namespace {

constexpr ringside_consumer of_ringbuf = Read<RingbufSteps, false>::table("read_into", "");
constexpr ringside_consumer of_perf = ReadInto<PerfSteps>::table("read_into", "");

}  // namespace

const ringside_consumer& read_into() {
  static constexpr ringside_consumer table = EitherKind<of_ringbuf, of_perf>::table(
      "read_into", "each record is copied into one reused buffer and its space handed back");
  return table;
}

}  // namespace ringside::consumers
