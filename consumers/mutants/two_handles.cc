// SPDX-License-Identifier: Apache-2.0
//
// Two handles of one ring, as two threads would use them without a lock: each has read producer_pos before the other
// moved it, so every second sample is laid over one that the other handle has just reserved.
#include "consumers/mutants/mutants.h"
#include "consumers/user_producer.h"

namespace ringside::consumers::mutant {
namespace {

class TwoHandles {
 public:
  TwoHandles(const ringside_user_ring& ring, const ringside_producer_host& host)
      : view_(ring), right_(ring, host), read_before_(view_.load_producer_pos()) {}
  int start() { return 0; }

  int reserve(std::uint32_t size, void** payload) {
    const std::uint64_t now = view_.load_producer_pos();
    const bool late = (++reservations_ % every) == 0;
    // The late handle goes on with what it read before the other one reserved.
    if (late) view_.store_producer_pos(read_before_);
    const int error = right_.reserve(size, payload);
    if (late && error != 0) view_.store_producer_pos(now);
    read_before_ = now;
    return error;
  }
  int commit(void* payload, std::uint32_t fate) { return right_.commit(payload, fate); }
  int wait(std::uint32_t size, std::int64_t timeout_ns) { return right_.wait(size, timeout_ns); }

  static constexpr ringside_producer table(const char* name, const char* summary) {
    return ProducerTableOf<TwoHandles>::make({.name = name, .summary = summary});
  }

 private:
  static constexpr std::uint64_t every = 16;  // races are rare

  UserRingbufView view_;
  UserReserve<UserSteps> right_;
  std::uint64_t read_before_;
  std::uint64_t reservations_ = 0;
};

}  // namespace

const ringside_producer& two_handles() {
  static constexpr ringside_producer table =
      TwoHandles::table("two_handles", "two handles of one ring without a lock between them");
  return table;
}

}  // namespace ringside::consumers::mutant
