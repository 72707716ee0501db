// SPDX-License-Identifier: Apache-2.0
//
// What `copy` and `callback` share: readers for every ring of the set, drained in turn, and a wait that looks. They
// differ in how one record is handed over.
#pragma once

#include <memory>

#include "consumers/consumer_table.h"
#include "consumers/ringbuf_view.h"
#include "consumers/wait.h"

namespace ringside::consumers {

/// `Strategy` derives from this and has `int hand_over(RingbufReader<Steps>&, std::uint32_t ring)`, which delivers the
/// record found, steps behind it and publishes: 0, 1 to stop, or a negative errno with the record not consumed.
template <class Strategy, class Steps>
class RingbufConsumer {
 public:
  static constexpr std::uint32_t ring_kind = RINGSIDE_RINGBUF;
  static constexpr ringside_consumer table(const char* name, const char* summary) {
    return TableOf<Strategy>::make(
        {.name = name, .summary = summary, .ring_kind = ring_kind, .claims = RINGSIDE_CLAIM_SLEEPS_ON_BUSY});
  }
  /// Armed level-triggered: whatever lies there keeps it awake, a BUSY record, too.
  static constexpr ringside_consumer level_table(const char* name, const char* summary) {
    return TableOf<Strategy>::make(
        {.name = name, .summary = summary, .ring_kind = ring_kind, .trigger = RINGSIDE_LEVEL});
  }

  RingbufConsumer(const ringside_ring_set& rings, const ringside_host& host) : rings_(rings), host_(host) {}
  ~RingbufConsumer() {
    if constexpr (!Steps::publishes_in_drain) publish_all();  // what was read since the last wait
  }
  RingbufConsumer(const RingbufConsumer&) = delete;
  RingbufConsumer& operator=(const RingbufConsumer&) = delete;

  int start() {
    if (rings_.ring_count == 0) return -EINVAL;
    readers_ = allocate<RingbufReader<Steps>>(rings_.ring_count);
    if (readers_ == nullptr) return -ENOMEM;
    for (std::uint32_t ring = 0; ring < rings_.ring_count; ++ring) {
      if (!readers_[ring].start(rings_.rings[ring])) return -EBADMSG;
    }
    return 0;
  }

  std::int64_t drain(std::uint64_t max_records) {
    return drain_in_turn(rings_.ring_count, next_ring_, max_records, [this](std::uint32_t ring, std::uint64_t most) {
      Strategy& strategy = static_cast<Strategy&>(*this);
      const Drained drained =
          drain_ringbuf(readers_[ring], most, [&](auto& reader) { return strategy.hand_over(reader, ring); });
      // Discarded records behind the last one, and whatever the strategy has kept.
      if constexpr (Steps::publishes_in_drain && Steps::publishes_passed) readers_[ring].publish();
      return drained;
    });
  }

  int wait(std::int64_t timeout_ns) {
    if constexpr (!Steps::publishes_in_drain) publish_all();
    return wait_until<Steps>(
        Deadline(host_, timeout_ns), [this] { return look(); },
        [this](const Deadline& deadline) { return sleep_on_rings(host_, deadline); }, Steps::most_wakeups);
  }

 protected:
  /// Delivers `size` bytes at `data`, valid during the call: 1 to stop, else 0.
  int deliver(std::uint32_t ring, const std::byte* data, std::uint64_t size) {
    const ringside_record record{.ring = ring, .reserved = 0, .data = data, .size = size, .token = 0, .time_ns = 0};
    return host_.deliver(host_.context, &record) > 0 ? 1 : 0;
  }

  /// Delivers the record that was found where it lies, and hands its space back: the answer.
  int show(RingbufReader<Steps>& reader, std::uint32_t ring) {
    const int answer = deliver(ring, reader.payload(), reader.payload_bytes());  // (C3) is the host's
    reader.advance();
    if constexpr (Steps::publishes_in_drain) reader.publish();  // (C4): the bytes are the producers' again
    return answer;
  }

  bool look() {
    bool found = false;
    for (std::uint32_t ring = 0; ring < rings_.ring_count; ++ring) {
      RingbufReader<Steps>& reader = readers_[ring];
      found |= reader.look([&reader] { reader.publish(); });
    }
    return found;
  }

  const ringside_host& host() const { return host_; }
  RingbufReader<Steps>& first_reader() { return readers_[0]; }

 private:
  void publish_all() {
    if (readers_ == nullptr) return;  // open has failed
    for (std::uint32_t ring = 0; ring < rings_.ring_count; ++ring) readers_[ring].publish();
  }

  const ringside_ring_set& rings_;
  const ringside_host& host_;
  std::unique_ptr<RingbufReader<Steps>[]> readers_;
  std::uint32_t next_ring_ = 0;
};

}  // namespace ringside::consumers
