// SPDX-License-Identifier: Apache-2.0
//
// A sender that keeps the error to itself: what had no room was sent, it says.
#include "consumers/mutants/mutants.h"
#include "consumers/user_producer.h"

namespace ringside::consumers::mutant {
namespace {

class DropWhenFull {
 public:
  DropWhenFull(const ringside_user_ring& ring, const ringside_producer_host& host) : right_(ring, host) {}
  int start() { return 0; }

  int send(const void* bytes, std::uint32_t size) {
    const int error = right_.send(bytes, size);
    return error == -ENOSPC ? 0 : error;
  }
  int wait(std::uint32_t size, std::int64_t timeout_ns) { return right_.wait(size, timeout_ns); }

  static constexpr ringside_producer table(const char* name, const char* summary) {
    return ProducerTableOf<DropWhenFull>::make({.name = name, .summary = summary});
  }

 private:
  UserReserve<UserSteps> right_;
};

}  // namespace

const ringside_producer& drop_when_full() {
  static constexpr ringside_producer table =
      DropWhenFull::table("drop_when_full", "sender that keeps it to itself when the ring is full");
  return table;
}

}  // namespace ringside::consumers::mutant
