// SPDX-License-Identifier: Apache-2.0
//
// From a reader with calls of its own (read, peek, visit, lease, ...) to the contract of ring/consumer.h: a drain is
// calls whose deadline has passed, a wait is one call with the host's deadline. So the deadlines that a reader promises
// are judged with everything else.
#pragma once

#include <cstdint>

#include "consumers/blocking_reader.h"
#include "consumers/consumer_table.h"

namespace ringside::consumers {

/// What one call of a reader came to: whether there was a record, and whether the host then said stop.
struct Took {
  Told told = Told::record;
  bool stop = false;
};

/// `Strategy` derives from this and has `int start()`, `auto& reader()` with set_deadline, now_ns and rings, and
/// `Took take_one()`, which delivers the next record and hands its space back. A drain is one round of the rings.
template <class Strategy>
class ReaderStrategy {
 public:
  static constexpr std::uint32_t ring_kind = RINGSIDE_RINGBUF;
  static constexpr ringside_consumer table(const char* name, const char* summary) {
    return TableOf<Strategy>::make(
        {.name = name, .summary = summary, .ring_kind = ring_kind, .claims = RINGSIDE_CLAIM_SLEEPS_ON_BUSY});
  }

  explicit ReaderStrategy(const ringside_host& host) : host_(host) {}

  std::int64_t drain(std::uint64_t max_records) {
    auto& reader = self().reader();
    reader.set_deadline(already_past);
    const auto round = reader.rings().one_round();
    std::uint64_t delivered = 0;
    Took took;
    while (delivered < max_records && !took.stop) {
      took = self().take_one();
      if (took.told != Told::record) break;
      ++delivered;
    }
    return answer_of_drain(delivered, error_of(took.told));
  }

  /// Delivers one record, at most.
  int wait(std::int64_t timeout_ns) {
    self().reader().set_deadline(deadline_behind(timeout_ns));
    return answer_of(self().take_one().told);
  }

 protected:
  /// The deadline of a wait that begins now.
  std::int64_t deadline_behind(std::int64_t timeout_ns) {
    return timeout_ns < 0 ? no_deadline : self().reader().now_ns() + timeout_ns;
  }
  /// What a wait tells the host.
  static int answer_of(Told told) {
    switch (told) {
      case Told::timeout:
        return RINGSIDE_WAIT_TIMEOUT;
      case Told::cancelled:
        return -ECANCELED;
      default:
        return RINGSIDE_WAIT_READY;  // of an error, too: drain tells it
    }
  }

  /// Delivers `size` bytes at `data`: valid during the call, or until the token's release if it is not 0. True to stop.
  bool deliver(std::uint32_t ring, const std::byte* data, std::uint64_t size, std::uint64_t token = 0) {
    const ringside_record record{.ring = ring, .reserved = 0, .data = data, .size = size, .token = token, .time_ns = 0};
    return host_.deliver(host_.context, &record) > 0;
  }
  bool deliver(const RecordView& view, std::uint64_t token = 0) {
    return deliver(view.ring, view.data, view.size, token);
  }

 private:
  Strategy& self() { return static_cast<Strategy&>(*this); }

  const ringside_host& host_;
};

}  // namespace ringside::consumers
