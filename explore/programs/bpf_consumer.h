// SPDX-License-Identifier: Apache-2.0
//
// A consumer of a BPF ring as anybody might write it, in plain C++. What a broken one gets wrong is a parameter.
#pragma once

#include <atomic>
#include <cstring>

#include "explore/programs/bpf_ring.h"

namespace ringside::explore::programs {

struct Orders {
  std::memory_order producer_pos = std::memory_order_acquire;
  std::memory_order header = std::memory_order_acquire;
  std::memory_order consumer_pos = std::memory_order_release;
  bool fence = false;  ///< a full one after each store of consumer_pos
};

template <Orders orders>
class BpfConsumer {
 public:
  BpfConsumer(const RingView& ring, std::uint64_t position) : ring_(ring), position_(position) {}

  std::uint64_t position() const { return position_; }
  std::uint32_t delivered() const { return delivered_; }

  /// Delivers what is there.
  void drain() {
    while (true) {
      const std::uint64_t produced = std::atomic_ref(*ring_.producer_pos).load(orders.producer_pos);
      if (position_ == produced) return;
      std::byte* const record = ring_.data + (position_ & ring_.mask);
      auto& word = *reinterpret_cast<std::uint32_t*>(record);
      const std::uint32_t header = std::atomic_ref(word).load(orders.header);
      if ((header & busy_bit) != 0) return;
      std::uint64_t payload = 0;
      std::memcpy(&payload, record + header_bytes, sizeof payload);
      position_ += header_bytes + header;
      std::atomic_ref(*ring_.consumer_pos).store(position_, orders.consumer_pos);
      if (orders.fence) std::atomic_thread_fence(std::memory_order_seq_cst);
      deliver(payload);
      ++delivered_;
    }
  }

 private:
  RingView ring_;
  std::uint64_t position_;
  std::uint32_t delivered_ = 0;
};

/// Until every record is delivered, by looking at the ring.
template <Orders orders>
void poll_all() {
  BpfConsumer<orders> consumer(ring(), first_position());
  while (consumer.delivered() < records_in_all()) {
    const std::uint32_t before = consumer.delivered();
    retry([&] {
      consumer.drain();
      return consumer.delivered() != before;
    });
  }
}

/// Until every record is delivered; sleeps in between as `wait` does.
template <Orders orders>
void sleep_all(void (*wait)()) {
  BpfConsumer<orders> consumer(ring(), first_position());
  while (true) {
    consumer.drain();
    if (consumer.delivered() == records_in_all()) return;
    wait();
  }
}

}  // namespace ringside::explore::programs
