// SPDX-License-Identifier: Apache-2.0
//
// Strategies `parse_for_cpu` and `drain_cpu`: the caller's loop around PerCpuReader, as an application with an epoll
// set of its own has to write it. It reads the rings that epoll named and no others, remembers those that it left
// records in, and looks at all of them when a sleep ends by its deadline. Before it ends it reads every ring once more
// (B7): a drain that is asked for twice without a sleep between them is taken for that.
#pragma once

#include "consumers/drain.h"
#include "consumers/per_cpu_reader.h"
#include "consumers/wait.h"

namespace ringside::consumers {

/// `pulls`: by drain_cpu, else by parse_for_cpu.
template <class Steps, bool pulls>
class PerCpuLoop {
 public:
  static constexpr std::uint32_t ring_kind = RINGSIDE_PERF;
  static constexpr ringside_consumer table(const char* name, const char* summary) {
    return TableOf<PerCpuLoop>::make(
        {.name = name, .summary = summary, .ring_kind = ring_kind, .claims = RINGSIDE_CLAIM_REPORTS_LOSS});
  }

  PerCpuLoop(const ringside_ring_set& rings, const ringside_host& host) : rings_(rings), host_(host) {}

  int start() {
    const int result = reader_.start(rings_);
    if (result < 0) return result;
    due_ = allocate<bool>(reader_.count());
    ready_ = allocate<ringside_ready>(reader_.count());
    if (due_ == nullptr || ready_ == nullptr) return -ENOMEM;
    all_are_due();  // of what came before the epoll set was armed no wake-up tells
    return 0;
  }

  std::int64_t drain(std::uint64_t max_records) {
    if (read_in_vain_ && Steps::reads_all_at_the_end) all_are_due();
    const std::int64_t delivered = drain_in_turn(
        reader_.count(), next_ring_, max_records,
        [this](std::uint32_t ring, std::uint64_t most) { return drain_if_due(ring, most); }, Steps::answer_of_drain);
    read_in_vain_ = delivered <= 0;  // an error of one ring says nothing of the others
    return delivered;
  }

  int wait(std::int64_t timeout_ns) {
    read_in_vain_ = false;
    return wait_until<Steps>(
        Deadline(host_, timeout_ns), [this] { return any_is_due(); },
        [this](const Deadline& deadline) { return sleep(deadline); });
  }

 private:
  void all_are_due() {
    for (std::uint32_t ring = 0; ring < reader_.count(); ++ring) due_[ring] = true;
  }
  bool any_is_due() const {
    return std::any_of(due_.get(), due_.get() + reader_.count(), [](bool due) { return due; });
  }

  /// In the caller's own epoll set. What it names is due; behind the deadline, whatever lies in any ring.
  int sleep(const Deadline& deadline) {
    const int woken = host_.wait(host_.context, ready_.get(), reader_.count(), deadline.remaining_ns());
    const std::uint32_t named = woken > 0 ? static_cast<std::uint32_t>(woken) : 0;
    for (std::uint32_t entry = 0; entry < named; ++entry) due_[ready_[entry].ring] = true;
    if (woken == 0 && Steps::looks_at_timeout) look_at_all();
    return woken;
  }
  void look_at_all() {
    for (std::uint32_t ring = 0; ring < reader_.count(); ++ring) due_[ring] |= reader_.look(looked_at(ring));
  }
  std::int32_t looked_at(std::uint32_t ring) const {
    return Steps::minds_holes ? cpu_of(ring) : static_cast<std::int32_t>(ring);
  }

  Drained drain_if_due(std::uint32_t ring, std::uint64_t max_records) {
    if (!due_[ring]) return {};
    Drained drained;
    due_[ring] = pulls ? pull(ring, max_records, drained) : parse(ring, max_records, drained);
    if (!Steps::remembers_the_rest) due_[ring] = false;
    return drained;
  }

  /// Both say whether the ring is still due.
  bool parse(std::uint32_t ring, std::uint64_t max_records, Drained& drained) {
    const auto parsed = reader_.parse_for_cpu(cpu_of(ring), [&](const PerfItem& record) {
      hand_over(ring, record, drained);
      return drained.stopped || drained.delivered == max_records;
    });
    drained.error = parsed.error;
    return parsed.left || parsed.error != 0;
  }
  bool pull(std::uint32_t ring, std::uint64_t max_records, Drained& drained) {
    auto records = reader_.drain_cpu(cpu_of(ring));
    while (!drained.stopped && drained.delivered < max_records) {
      const PerfItem* record = records.next();
      if (record == nullptr) break;
      hand_over(ring, *record, drained);
    }
    drained.error = records.error();
    return records.left() || drained.error != 0;
  }

  void hand_over(std::uint32_t ring, const PerfItem& record, Drained& drained) {
    drained.stopped = hand_to_host(host_, ring, record);
    if (std::holds_alternative<PerfSample>(record)) ++drained.delivered;
  }

  std::int32_t cpu_of(std::uint32_t ring) const { return reader_.perf_fds()[ring].cpu; }

  const ringside_ring_set& rings_;
  const ringside_host& host_;
  PerCpuReader<Steps> reader_;
  std::unique_ptr<bool[]> due_;  // epoll named the ring, or records were left in it
  std::unique_ptr<ringside_ready[]> ready_;
  std::uint32_t next_ring_ = 0;
  bool read_in_vain_ = false;  // since the last sleep
};

}  // namespace ringside::consumers
