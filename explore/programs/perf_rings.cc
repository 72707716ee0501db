// SPDX-License-Identifier: Apache-2.0
//
// Perf rings of one CPU whose interrupt writes, too: data_head loaded too weakly (CASES D2), and data_head that steps
// backwards (CASES F2).
#include <atomic>
#include <cstring>

#include "explore/programs/perf_ring.h"

namespace ringside::explore::programs {
namespace {

/// How a consumer compares its tail with the head it loaded.
enum class Until : std::uint8_t { equal, behind };

class PerfConsumer {
 public:
  PerfConsumer(std::memory_order head, Until until) : order_(head), until_(until) {}

  std::uint64_t tail() const { return tail_; }

  void drain() {
    const PerfView ring = perf_ring();
    const std::uint64_t head = std::atomic_ref(*ring.data_head).load(order_);
    while (is_there(head)) {
      std::uint64_t payload = 0;
      std::memcpy(&payload, ring.data + (tail_ & ring.mask) + perf_header_bytes, sizeof payload);
      deliver_perf(payload);
      tail_ += perf_record_bytes;
    }
    std::atomic_ref(*ring.data_tail).store(tail_, std::memory_order_release);
  }

 private:
  bool is_there(std::uint64_t head) const {
    return until_ == Until::equal ? head != tail_ : static_cast<std::int64_t>(head - tail_) > 0;
  }

  std::memory_order order_;
  Until until_;
  std::uint64_t tail_ = 0;
};

void consume_all(std::memory_order head) {
  PerfConsumer consumer(head, Until::behind);
  while (consumer.tail() < perf_records * perf_record_bytes) {
    wait_perf(consumer.tail());
    consumer.drain();
  }
}

/// Two looks, whatever is there: a head that steps backwards may leave the last record unseen.
void look_twice(Until until) {
  PerfConsumer consumer(std::memory_order_acquire, until);
  consumer.drain();
  consumer.drain();
}

constexpr auto acquired = [] { consume_all(std::memory_order_acquire); };
constexpr auto relaxed = [] { consume_all(std::memory_order_relaxed); };
constexpr auto until_equal = [] { look_twice(Until::equal); };
constexpr auto until_behind = [] { look_twice(Until::behind); };

const Registered head_acquired{"d2_data_head_acquired", perf_program(Leaving::publishes_first, acquired)};
const Registered head_relaxed{"d2_data_head_relaxed", perf_program(Leaving::publishes_first, relaxed)};
const Registered backwards_equal{"f2_backwards_until_equal", perf_program(Leaving::drops_nest_first, until_equal)};
const Registered backwards_behind{"f2_backwards_until_behind", perf_program(Leaving::drops_nest_first, until_behind)};
const Registered forwards_equal{"f2_forwards_until_equal", perf_program(Leaving::publishes_first, until_equal)};

}  // namespace
}  // namespace ringside::explore::programs
