// SPDX-License-Identifier: Apache-2.0
#include "explore/programs/bpf_ring.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "explore/explored_memory.h"
#include "ring/layout.h"
#include "sim/ring_memory.h"
#include "sim/ringbuf_commit.h"
#include "sim/ringbuf_reserve.h"

namespace ringside::explore::programs {
namespace {

namespace rb = ring::ringbuf;
constexpr std::size_t page_bytes = 4096;

/// The kernel's exchange stands between two full barriers. To C++ a sequentially consistent update alone orders no
/// other access behind it; where nothing hangs on that, the search does without the fences.
struct FencedMemory : ExploredMemory {
  template <class T>
  static T exchange_full(T* place, T value) {
    atomic_fence(Order::seq_cst);
    const T old = ExploredMemory::exchange_full(place, value);
    atomic_fence(Order::seq_cst);
    return old;
  }
};

/// Where nobody sleeps, nothing hangs on whether the consumer has caught up.
struct SilentMemory : ExploredMemory {
  static bool points_at(const std::uint64_t*, std::uint64_t, std::uint64_t) { return false; }
};

/// The one ring of the process; programs follow one another.
struct Stage {
  sim::RingbufMemory memory = sim::RingbufMemory::create(sim::page_size_bytes(), sim::UserMapping::kernels).value();
  sim::RingbufState state;
  RingPlan plan;
  std::uint32_t wake = 0;           ///< a wake-up that nobody has taken
  std::optional<int> source;        ///< what is told of wake-ups instead
  std::vector<std::uint64_t> next;  ///< by producer: the record that must come next
};

Stage& stage() {
  static Stage the_stage;
  return the_stage;
}

bool is_discarded(const RingPlan& plan, std::uint64_t record) { return (plan.discards >> record & 1) != 0; }

/// The first of a producer's records from that one on which is not discarded.
std::uint64_t submitted_from(const RingPlan& plan, std::uint64_t record) {
  while (record < plan.records && is_discarded(plan, record)) ++record;
  return record;
}

std::uint64_t payload_of(std::size_t producer, std::uint32_t record) { return 1000 * (producer + 1) + record; }

/// As an earlier lap left it: committed records everywhere, so that whoever looks too early finds something.
void fill_with_old_records(const sim::RingbufState& state) {
  for (std::uint64_t at = 0; at < state.size; at += 16) {
    const std::uint64_t old[2] = {8, 7};
    std::memcpy(state.data + at, old, sizeof old);
  }
}

void begin(const RingPlan& plan) {
  Stage& here = stage();
  here.plan = plan;
  here.state = {.consumer_pos = reinterpret_cast<std::uint64_t*>(here.memory.kernel_consumer_page()),
                .producer_pos = reinterpret_cast<std::uint64_t*>(here.memory.kernel_producer_page()),
                .pending_pos = reinterpret_cast<std::uint64_t*>(here.memory.kernel_producer_page()) + 1,
                .overwrite_pos = reinterpret_cast<std::uint64_t*>(here.memory.kernel_producer_page()) + 2,
                .data = here.memory.kernel_data(),
                .size = here.memory.data_size(),
                .page_size = sim::page_size_bytes(),
                .rules = sim::ringbuf_rules(sim::default_kernel_version)};
  sim::RingbufState& state = here.state;
  state.rules.has_pending_pos = plan.pending_walk;
  *state.consumer_pos = *state.producer_pos = *state.pending_pos = plan.start;
  fill_with_old_records(state);
  here.wake = 0;
  here.source.reset();
  here.next.assign(plan.producers, submitted_from(plan, 0));
  if (!plan.one_is_there) return;
  const std::uint64_t payload = payload_of(0, 0);
  std::memcpy(state.data + (plan.start & state.mask()), &plan.size, sizeof plan.size);
  std::memcpy(state.payload(plan.start), &payload, sizeof payload);
  *state.producer_pos = plan.start + rb::span_of(plan.size);
}

void wake(Stage& here) {
  if (here.source) return wake_source(*here.source);
  atomic_store(&here.wake, sizeof here.wake, 1, Order::release);
}

void fill(std::byte* begin, std::uint64_t payload, const RingPlan& plan) {
  std::array<std::byte, page_bytes> bytes;
  std::fill_n(bytes.begin(), plan.size, std::byte{0});
  const std::size_t first = std::min<std::size_t>(plan.size, sizeof payload);
  const std::size_t last = std::min<std::size_t>(plan.size - first, sizeof payload);
  std::memcpy(bytes.data(), &payload, first);
  std::memcpy(&bytes[plan.size - last], &payload, last);
  ExploredMemory::write_bytes(begin, bytes.data(), plan.size - (plan.fills_last ? 0 : last));
}

void commit(std::uint64_t position, sim::Fate fate) {
  Stage& here = stage();
  if (!here.plan.wakes) return sim::RingbufCommit<SilentMemory>(here.state, position, fate, here.plan.flags).run();
  sim::RingbufCommit<FencedMemory> commit(here.state, position, fate, here.plan.flags);
  commit.run();
  if (commit.wants_wakeup()) wake(here);
}

void output(std::size_t producer, std::uint32_t record) {
  Stage& here = stage();
  const std::uint64_t payload = payload_of(producer, record);
  if (here.plan.waits_for_space) {
    const std::uint64_t after = *here.state.producer_pos + rb::span_of(here.plan.size);
    await(here.state.consumer_pos, 8, Order::acquire,
          [&](std::uint64_t consumed) { return after - consumed <= here.state.mask(); });
  }
  sim::RingbufReserve<ExploredMemory> reserve(here.state, here.plan.size);
  reserve.run();
  if (reserve.failure() != sim::ReserveFailure::none) fail("the ring is too small for this program");
  if (is_discarded(here.plan, record)) return commit(reserve.position(), sim::Fate::discard);
  fill(here.state.payload(reserve.position()), payload, here.plan);
  if (here.plan.holds_last && record + 1 == here.plan.records) return;
  commit(reserve.position(), sim::Fate::submit);
}

/// What the consumer's position says of it, once nothing moves any more.
bool lies_unread() {
  const sim::RingbufState& state = stage().state;
  for (std::uint64_t position = *state.consumer_pos; position != *state.producer_pos;) {
    const std::uint32_t header = *state.length_word(position);
    if (rb::is_busy(header)) return false;
    if (!rb::is_discarded(header)) return true;
    position += rb::span_of(header);
  }
  return false;
}

void name_records(const Stage& here, const RingPlan& plan, std::vector<Name>& names) {
  const std::uint64_t all = plan.producers * plan.records;
  for (std::uint64_t record = 0; record < all; ++record) {
    const std::uint64_t position = (plan.start + record * rb::span_of(plan.size)) & (here.memory.data_size() - 1);
    std::byte* const header = here.memory.kernel_data() + position;
    names.push_back({header, 4, fmt::format("record {} header", record + 1)});
    names.push_back({header + header_bytes, plan.size, fmt::format("record {} payload", record + 1)});
  }
}

std::vector<Name> names_of(const RingPlan& plan) {
  Stage& here = stage();
  const std::byte* const producer_page = here.memory.kernel_producer_page();
  std::vector<Name> names{{here.memory.kernel_consumer_page(), 8, "consumer_pos"},
                          {producer_page, 8, "producer_pos"},
                          {producer_page + 8, 8, "pending_pos"},
                          {producer_page + 16, 8, "overwrite_pos"},
                          {here.memory.kernel_data(), here.memory.data_size(), "data"},
                          {&here.wake, sizeof here.wake, "wake-up"},
                          {&here.state.lock, sizeof here.state.lock, "lock"}};
  // Of one place only one record may have the name.
  if (plan.producers * plan.records * rb::span_of(plan.size) <= here.memory.data_size())
    name_records(here, plan, names);
  return names;
}

}  // namespace

RingView ring() {
  const sim::RingbufState& state = stage().state;
  return {state.consumer_pos, state.producer_pos, state.data, state.mask()};
}

std::uint64_t first_position() { return stage().plan.start; }

std::uint32_t records_in_all() {
  const RingPlan& plan = stage().plan;
  std::uint32_t each = 0;
  for (std::uint32_t record = 0; record < plan.records; ++record) each += is_discarded(plan, record) ? 0u : 1u;
  return static_cast<std::uint32_t>(plan.producers) * each;
}

std::uint32_t record_size() { return stage().plan.size; }

void deliver(std::uint64_t payload) {
  Stage& here = stage();
  const std::uint64_t producer = payload / 1000 - 1;
  const std::uint64_t record = payload % 1000;
  if (producer >= here.next.size() || record >= here.plan.records) {
    fail(DefectKind::phantom, "a record that nobody wrote is delivered");
  }
  const std::uint64_t next = here.next[producer];
  if (is_discarded(here.plan, record)) fail(DefectKind::phantom, "a record is delivered that its producer discarded");
  if (record < next) fail(DefectKind::duplicate, "a record is delivered twice");
  if (record > next) fail(DefectKind::lost, "a record is delivered before its producer's next one");
  here.next[producer] = submitted_from(here.plan, here.next[producer] + 1);
}

void wait_readable(std::uint64_t position) {
  const sim::RingbufState& state = stage().state;
  // As the kernel's, which looks behind its own barriers.
  await(state.producer_pos, 8, Order::acquire, [position](std::uint64_t produced) { return produced > position; });
  await(state.length_word(position), 4, Order::relaxed, [](std::uint64_t header) { return (header & busy_bit) == 0; });
}

void wait_edge() {
  Stage& here = stage();
  await(&here.wake, sizeof here.wake, Order::acquire, [](std::uint64_t woken) { return woken != 0; });
  atomic_store(&here.wake, sizeof here.wake, 0, Order::relaxed);
}

void wait_level() {
  const sim::RingbufState& state = stage().state;
  while (true) {
    // The kernel's locks, of the wait queue and of epoll, are taken and given back before the positions are looked at.
    atomic_fence(Order::seq_cst);
    const std::uint64_t consumed = atomic_load(state.consumer_pos, 8, Order::acquire);
    if (atomic_load(state.producer_pos, 8, Order::acquire) != consumed) return;
    wait_edge();
  }
}

void wake_by(int source) { stage().source = source; }

Program bpf_program(const RingPlan& plan, std::function<void()> consumer) {
  Program program;
  program.begin = [plan] { begin(plan); };
  for (std::size_t producer = 0; producer < plan.producers; ++producer) {
    program.threads.emplace_back([plan, producer] {
      for (std::uint32_t record = plan.one_is_there ? 1 : 0; record < plan.records; ++record) {
        output(producer, record);
      }
    });
    program.kernel_threads.push_back(producer);
    program.thread_names.push_back(plan.producers == 1 ? "producer" : fmt::format("producer {}", producer + 1));
  }
  program.threads.push_back(std::move(consumer));
  program.thread_names.emplace_back("consumer");
  program.end = [plan] {
    for (const std::uint64_t next : stage().next) {
      if (next != plan.records) fail(DefectKind::lost, "a record is delivered by nobody");
    }
  };
  program.unread = lies_unread;
  const sim::RingbufMemory& memory = stage().memory;
  std::byte* const data = memory.kernel_data();
  program.aliases = {{.begin = data + memory.data_size(), .size_bytes = memory.data_size(), .same_as = data}};
  program.rings = {{.name = "the ring",
                    .consumed = memory.kernel_consumer_page(),
                    .produced = memory.kernel_producer_page(),
                    .data = data,
                    .size_bytes = memory.data_size()}};
  program.names = names_of(plan);
  return program;
}

}  // namespace ringside::explore::programs
