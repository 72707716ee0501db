// SPDX-License-Identifier: Apache-2.0
//
// Strategy `prefetch_view`: `callback` that asks the machine for the header 16 records ahead, guessing that they are
// all as long as this one. A walk from header to header is one cache miss a record, each behind the last; a right guess
// has 16 of them under way at once. A wrong one fetches bytes of the ring that nobody looks at: a prefetch reads
// nothing.
//
// The contract: that of `callback`. The host reads the record where it lies, during the call.
#pragma once

#include "consumers/ringbuf_consumer.h"

namespace ringside::consumers {

template <class Steps>
class PrefetchView : public RingbufConsumer<PrefetchView<Steps>, Steps> {
 public:
  static constexpr std::uint64_t records_ahead = 16;

  using RingbufConsumer<PrefetchView, Steps>::RingbufConsumer;

  int hand_over(RingbufReader<Steps>& reader, std::uint32_t ring) {
    reader.prefetch(records_ahead);
    return this->show(reader, ring);
  }
};

}  // namespace ringside::consumers
