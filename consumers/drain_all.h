// SPDX-License-Identifier: Apache-2.0
//
// Strategy `drain_all`: when one ring is ready, everything that lies in any ring is handed over as one batch. The heads
// are read before the first sample, so the batch ends however fast the producers are. A sample is shown where it lies,
// and copied only if it runs over the ring's end; data_tail is stored once a ring.
#pragma once

#include "consumers/perf_consumer.h"

namespace ringside::consumers {

template <class Steps>
class DrainAll : public PerfConsumer<DrainAll<Steps>, Steps> {
 public:
  using PerfConsumer<DrainAll, Steps>::PerfConsumer;

  int hand_over(PerfReader<Steps>& reader, std::uint32_t ring) {
    const std::byte* raw = reader.raw_in_place();
    std::uint64_t size = reader.raw_bytes();
    if (raw == nullptr) {
      size = reader.copy_raw(this->buffer(), sample_buffer_bytes);
      raw = this->buffer();
    }
    const int answer = this->deliver(ring, raw, size);
    reader.advance();
    return answer;
  }
};

}  // namespace ringside::consumers
