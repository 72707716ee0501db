// SPDX-License-Identifier: Apache-2.0
#include "explore/programs/perf_ring.h"

#include <array>
#include <cstring>
#include <utility>

#include "explore/explored_memory.h"

namespace ringside::explore::programs {
namespace {

constexpr std::size_t data_bytes = 64;

struct Stage {
  std::uint64_t data_head = 0;
  std::uint64_t data_tail = 0;
  alignas(8) std::array<std::byte, data_bytes> data{};

  // Of the CPU alone.
  Leaving leaving = Leaving::publishes_first;
  std::uint64_t head = 0;
  std::uint32_t nest = 0;
  std::uint32_t written = 0;
  bool interrupted = false;

  std::uint64_t delivered = 0;  ///< payloads, a bit each
};

Stage stage;

void fill_with_old_records() {
  for (std::size_t at = 0; at < data_bytes; at += perf_record_bytes) {
    const std::uint64_t old[2] = {perf_record_bytes << 48 | 9, 77};
    std::memcpy(&stage.data[at], old, sizeof old);
  }
}

void output();

/// A place where the interrupt may come.
void interruptible() {
  if (stage.interrupted || choose(2) == 0) return;
  stage.interrupted = true;
  output();
}

void publish(std::uint64_t head) {
  ExploredMemory::write_barrier();
  ExploredMemory::store_relaxed(&stage.data_head, head);
}

void leave() {
  if (stage.nest > 1) {  // 2.6.1: an inner writer never publishes
    --stage.nest;
    return;
  }
  if (stage.leaving == Leaving::drops_nest_first) {
    const std::uint64_t head = stage.head;
    stage.nest = 0;
    interruptible();
    return publish(head);
  }
  std::uint64_t head = 0;
  do {
    stage.nest = 1;
    head = stage.head;
    publish(head);
    stage.nest = 0;
    interruptible();
  } while (stage.head != head);
}

void output() {
  ++stage.nest;
  const std::uint64_t position = stage.head % data_bytes;
  stage.head += perf_record_bytes;
  interruptible();
  const std::uint64_t record[2] = {perf_record_bytes << 48 | 9, stage.written++};
  ExploredMemory::write_bytes(&stage.data[position], record, sizeof record);
  leave();
}

/// Two records: if the interrupt does not come before, then right behind.
void produce() {
  output();
  if (stage.interrupted) return;
  stage.interrupted = true;
  output();
}

}  // namespace

PerfView perf_ring() { return {&stage.data_head, &stage.data_tail, stage.data.data(), data_bytes - 1}; }

void deliver_perf(std::uint64_t payload) {
  if (payload >= perf_records) fail(DefectKind::phantom, "a record that nobody wrote is delivered");
  if ((stage.delivered >> payload & 1) != 0) fail(DefectKind::duplicate, "a record is delivered twice");
  stage.delivered |= std::uint64_t{1} << payload;
}

void wait_perf(std::uint64_t tail) {
  await(&stage.data_head, 8, Order::relaxed, [tail](std::uint64_t head) { return head != tail; });
}

Program perf_program(Leaving leaving, std::function<void()> consumer) {
  return {.begin =
              [leaving] {
                stage = Stage{};
                stage.leaving = leaving;
                fill_with_old_records();
              },
          .threads = {produce, std::move(consumer)},
          .end = {},
          .unread = [] { return stage.data_head != stage.data_tail; },
          .kernel_threads = {0},
          .rings = {{.name = "the ring",
                     .consumed = &stage.data_tail,
                     .produced = &stage.data_head,
                     .data = stage.data.data(),
                     .size_bytes = data_bytes}},
          .names = {{&stage.data_head, 8, "data_head"},
                    {&stage.data_tail, 8, "data_tail"},
                    {stage.data.data(), data_bytes, "data"}},
          .thread_names = {"kernel", "consumer"}};
}

}  // namespace ringside::explore::programs
