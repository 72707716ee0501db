// SPDX-License-Identifier: Apache-2.0
//
// Strategy `copy`, the Read and ReadInto of reader libraries: each record is copied into one reused buffer and its
// space handed back before the host sees it, so that a slow host never holds the ring. Edge-triggered; sleeps on BUSY.
#pragma once

#include <bit>
#include <cstddef>
#include <cstring>
#include <memory>
#include <utility>

#include "consumers/ringbuf_consumer.h"

namespace ringside::consumers {

template <class Steps>
class Copy : public RingbufConsumer<Copy<Steps>, Steps> {
 public:
  using RingbufConsumer<Copy, Steps>::RingbufConsumer;

  int start() {
    if (!grow(4096)) return -ENOMEM;
    return RingbufConsumer<Copy, Steps>::start();
  }

  int hand_over(RingbufReader<Steps>& reader, std::uint32_t ring) {
    const std::uint64_t size = reader.payload_bytes();
    if (size > buffer_bytes_ && !grow(size)) return -ENOMEM;
    std::memcpy(buffer_.get(), reader.payload(),
                Steps::contiguous(size, reader.payload_offset(), reader.ring_bytes()));  // (C3)
    reader.advance();
    reader.publish();  // (C4): from here on the bytes are ours alone
    return this->deliver(ring, buffer_.get(), size);
  }

 private:
  /// Makes the buffer hold `size` bytes; on failure the old one stays.
  bool grow(std::uint64_t size) {
    const std::uint64_t rounded = std::bit_ceil(size);
    std::unique_ptr<std::byte[]> larger = allocate<std::byte>(rounded);
    if (larger == nullptr) return false;
    buffer_ = std::move(larger);
    buffer_bytes_ = rounded;
    return true;
  }

  std::unique_ptr<std::byte[]> buffer_;
  std::uint64_t buffer_bytes_ = 0;
};

}  // namespace ringside::consumers
