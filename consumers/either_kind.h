// SPDX-License-Identifier: Apache-2.0
//
// One name for two rings: a consumer that reads BPF rings by one table and perf rings by another.
#pragma once

#include "consumers/consumer_table.h"

namespace ringside::consumers {

/// Both armed alike, and neither with views to release.
template <const ringside_consumer& ringbuf, const ringside_consumer& perf>
class EitherKind {
 public:
  static constexpr ringside_consumer table(const char* name, const char* summary) {
    ringside_consumer both = ringbuf;
    both.name = name;
    both.summary = summary;
    both.ring_kinds = ringbuf.ring_kinds | perf.ring_kinds;
    both.claims = ringbuf.claims | perf.claims;
    both.open = open;
    both.drain = [](void* state, std::uint64_t most) { return as(state).table.drain(as(state).state, most); };
    both.wait = [](void* state, std::int64_t timeout_ns) { return as(state).table.wait(as(state).state, timeout_ns); };
    both.release = nullptr;
    both.close = [](void* state) {
      const std::unique_ptr<Opened> opened(&as(state));
      opened->table.close(opened->state);
    };
    return both;
  }

 private:
  struct Opened {
    const ringside_consumer& table;
    void* state = nullptr;
  };

  static Opened& as(void* state) { return *static_cast<Opened*>(state); }

  static int open(const ringside_ring_set* rings, const ringside_host* host, void** state) {
    const ringside_consumer& table = rings->kind == RINGSIDE_PERF ? perf : ringbuf;
    std::unique_ptr<Opened> opened(new (std::nothrow) Opened{.table = table});
    if (opened == nullptr) return -ENOMEM;
    const int result = table.open(rings, host, &opened->state);
    if (result == 0) *state = opened.release();
    return result;
  }
};

}  // namespace ringside::consumers
