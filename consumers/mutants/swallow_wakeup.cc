// SPDX-License-Identifier: Apache-2.0
//
// `user_reserve` that polls for a while before it sleeps, and sleeps though the poll found the ring ready: it has taken
// the one wake-up there was.
#include "consumers/mutants/mutants.h"
#include "consumers/user_producer.h"

namespace ringside::consumers::mutant {
namespace {

class SwallowWakeup : public UserReserve<UserSteps> {
 public:
  SwallowWakeup(const ringside_user_ring& ring, const ringside_producer_host& host)
      : UserReserve<UserSteps>(ring, host), host_(&host) {}

  int wait(std::uint32_t /*size*/, std::int64_t timeout_ns) {
    for (int tries = 0; tries < most_tries; ++tries) {
      const int ready = host_->wait(host_->context, 0);
      if (ready < 0) return ready;
      if (ready > 0) break;
      host_->yield(host_->context);
    }
    const int woken = host_->wait(host_->context, timeout_ns);
    return woken > 0 ? RINGSIDE_WAIT_READY : woken;
  }

  static constexpr ringside_producer table(const char* name, const char* summary) {
    return ProducerTableOf<SwallowWakeup>::make({.name = name, .summary = summary});
  }

 private:
  static constexpr int most_tries = 64;

  const ringside_producer_host* host_;
};

}  // namespace

const ringside_producer& swallow_wakeup() {
  static constexpr ringside_producer table =
      SwallowWakeup::table("swallow_wakeup", "user_reserve that sleeps on a wake-up it has taken");
  return table;
}

}  // namespace ringside::consumers::mutant
