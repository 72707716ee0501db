// SPDX-License-Identifier: Apache-2.0
//
// Strategy `read_into`, as perf readers of the Read and ReadInto kind work: each sample is copied into one reused
// buffer and data_tail stored at once, before the host sees the sample.
#pragma once

#include "consumers/perf_consumer.h"

namespace ringside::consumers {

template <class Steps>
class ReadInto : public PerfConsumer<ReadInto<Steps>, Steps> {
 public:
  using PerfConsumer<ReadInto, Steps>::PerfConsumer;

  int hand_over(PerfReader<Steps>& reader, std::uint32_t ring) {
    const std::uint64_t size = reader.copy_raw(this->buffer(), sample_buffer_bytes);
    reader.advance();
    reader.publish();  // (D): from here on the bytes are ours alone
    return this->deliver(ring, this->buffer(), size);
  }
};

}  // namespace ringside::consumers
