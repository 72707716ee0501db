// SPDX-License-Identifier: Apache-2.0
//
// Strategy `callback`: the host reads each record where it lies, during the call, and the space is handed back when the
// call returns, also when it asked to stop. No copy and no token; the host must not keep the bytes.
#pragma once

#include "consumers/ringbuf_consumer.h"

namespace ringside::consumers {

template <class Steps>
class Callback : public RingbufConsumer<Callback<Steps>, Steps> {
 public:
  using RingbufConsumer<Callback, Steps>::RingbufConsumer;

  int hand_over(RingbufReader<Steps>& reader, std::uint32_t ring) { return this->show(reader, ring); }
};

}  // namespace ringside::consumers
