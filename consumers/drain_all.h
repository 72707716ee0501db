// SPDX-License-Identifier: Apache-2.0
//
// Strategy `drain_all`: when one ring is ready, everything that lies in any ring is handed over as one batch. The heads
// are read before the first sample, so the batch ends however fast the producers are. A sample is shown where it lies,
// and copied only if it runs over the ring's end; data_tail is stored once a ring.
//
// Its claim of a batch that nothing cut short: all that was committed before it began is in it. That the rings are
// empty when it ends, nobody can claim: between the last look at a ring and the end there is always room for a record.
#pragma once

#include "consumers/batch.h"
#include "consumers/perf_consumer.h"

namespace ringside::consumers {

template <class Steps>
class DrainAll : public PerfConsumer<DrainAll<Steps>, Steps> {
 public:
  using PerfConsumer<DrainAll, Steps>::PerfConsumer;

  std::int64_t drain(std::uint64_t max_records) {
    if (Steps::begins_batch_before_heads) begin_batch(this->host());
    const int error = this->read_heads();
    if (!Steps::begins_batch_before_heads) begin_batch(this->host());
    const std::int64_t delivered = this->drain_to_heads(max_records);
    if (error == 0 && this->read_to_heads()) end_batch(this->host(), Steps::batch_claim);
    return delivered == 0 ? error : delivered;
  }

  int hand_over(PerfReader<Steps>& reader, std::uint32_t ring) {
    const PerfSample sample = reader.sample(this->buffer());
    const int answer = this->deliver(ring, sample.data, sample.size);
    reader.advance();
    return answer;
  }
};

}  // namespace ringside::consumers
