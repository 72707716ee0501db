// SPDX-License-Identifier: Apache-2.0
//
// Strategy `batch_release`: the host reads each record where it lies; the position is stored once for every 64 records,
// and at the end of each pass, so that the line that it lies on is shared with the producers so much less often.
//
// The contract: a view is valid during the call, though its space comes back up to 63 records later; a ring that is
// smaller than the batch is handed back by half a ring, so that no producer waits for a batch that it cannot fill.
#pragma once

#include "consumers/ringbuf_consumer.h"

namespace ringside::consumers {

template <class Steps>
class BatchRelease : public RingbufConsumer<BatchRelease<Steps>, Steps> {
 public:
  static constexpr std::uint64_t batch_records = 64;

  using RingbufConsumer<BatchRelease, Steps>::RingbufConsumer;

  int hand_over(RingbufReader<Steps>& reader, std::uint32_t ring) {
    const int answer = this->deliver(ring, reader.payload(), reader.payload_bytes());  // (C3) is the host's
    reader.advance();
    const bool half_a_ring = reader.unpublished_bytes() >= reader.ring_bytes() / 2;
    if (++unpublished_ >= batch_records || half_a_ring) {
      reader.publish();
      unpublished_ = 0;
    }
    return answer;
  }

 private:
  std::uint64_t unpublished_ = 0;  // records of all rings since the last store; a pass stores what is left
};

}  // namespace ringside::consumers
