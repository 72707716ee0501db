// SPDX-License-Identifier: Apache-2.0
//
// Strategy `read_into` on perf rings: BlockingPerfReader, whose contract it is judged against. A drain is calls whose
// deadline has passed, a wait is a look with the host's deadline.
#pragma once

#include "consumers/blocking_perf_reader.h"
#include "consumers/perf_poller.h"
#include "consumers/reader_strategy.h"

namespace ringside::consumers {

template <class Steps, class Poller = HostPerfPoller>
class ReadInto : public ReaderStrategy<ReadInto<Steps, Poller>> {
 public:
  static constexpr std::uint32_t ring_kind = RINGSIDE_PERF;
  static constexpr ringside_consumer table(const char* name, const char* summary) {
    return TableOf<ReadInto>::make(
        {.name = name, .summary = summary, .ring_kind = ring_kind, .claims = RINGSIDE_CLAIM_REPORTS_LOSS});
  }

  ReadInto(const ringside_ring_set& rings, const ringside_host& host)
      : ReaderStrategy<ReadInto>(host), host_(host), reader_(rings, host) {}

  int start() { return reader_.start(); }
  BlockingPerfReader<Steps, Poller>& reader() { return reader_; }

  /// Reports the losses that lie before the next sample, and delivers that.
  Took take_one() {
    while (true) {
      const Told told = reader_.read_into(record_);
      if (told != Told::record) return {.told = told};
      if (const auto* sample = std::get_if<PerfSample>(&record_.what))
        return {.stop = this->deliver(record_.ring, sample->data, sample->size)};
      host_.lost(host_.context, record_.ring, std::get_if<PerfLoss>(&record_.what)->count);
    }
  }

  /// Delivers nothing.
  int wait(std::int64_t timeout_ns) {
    reader_.set_deadline(this->deadline_behind(timeout_ns));
    return this->answer_of(reader_.wait());
  }

 private:
  const ringside_host& host_;
  BlockingPerfReader<Steps, Poller> reader_;
  PerfRecord record_;
};

}  // namespace ringside::consumers
