// SPDX-License-Identifier: Apache-2.0
//
// Strategies `session`, `session_watermark` and `session_merge`: PerfSession as the harness drives it. The first two
// have the order of what was visible and claim none; the third holds back and claims the order of time. The first
// sleeps for a fixed time, the others in epoll with the watermark that the ring set has: so they stand where the newest
// records come in, and their order is put to the test there.
#pragma once

#include "consumers/perf_session.h"

namespace ringside::consumers {

/// `claims` beside the reporting of losses.
template <class Steps, SessionOrder order, bool sleeps_in_epoll, std::uint32_t claims>
class Session {
 public:
  static constexpr std::uint32_t ring_kind = RINGSIDE_PERF;
  static constexpr ringside_consumer table(const char* name, const char* summary) {
    return TableOf<Session>::make(
        {.name = name, .summary = summary, .ring_kind = ring_kind, .claims = RINGSIDE_CLAIM_REPORTS_LOSS | claims});
  }

  Session(const ringside_ring_set& rings, const ringside_host& host)
      : host_(host), session_(rings, host, options(rings)) {}

  int start() { return session_.start(); }

  std::int64_t drain(std::uint64_t max_records) {
    return session_.read(max_records, [this](const SessionRecord& record) {
      told_ns_ = Steps::told(record.time_ns, told_ns_);
      return hand_to_host(host_, record.ring, record.what, told_ns_);
    });
  }
  int wait(std::int64_t timeout_ns) { return session_.sleep_until_ready(Deadline(host_, timeout_ns)); }

 private:
  static SessionOptions options(const ringside_ring_set& rings) {
    SessionBuilder builder;
    if (sleeps_in_epoll) builder.watermark(rings.watermark_bytes);
    return builder.options();
  }

  const ringside_host& host_;
  PerfSession<Steps, order> session_;
  std::uint64_t told_ns_ = 0;
};

}  // namespace ringside::consumers
