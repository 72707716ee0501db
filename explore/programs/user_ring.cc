// SPDX-License-Identifier: Apache-2.0
#include "explore/programs/user_ring.h"

#include <sys/epoll.h>

#include <cstring>
#include <span>
#include <utility>

#include "explore/explored_memory.h"
#include "ring/layout.h"
#include "sim/ring_memory.h"
#include "sim/user_ringbuf_drain.h"

namespace ringside::explore::programs {
namespace {

namespace rb = ring::ringbuf;

struct Stage {
  sim::RingbufMemory memory = sim::RingbufMemory::create(sim::page_size_bytes(), sim::UserMapping::kernels).value();
  sim::UserRingbufState state;
  UserPlan plan;
  int descriptor = -1;
  std::uint32_t drained = 0;  ///< the sample that must come next
};

Stage& stage() {
  static Stage the_stage;
  return the_stage;
}

bool is_discarded(const UserPlan& plan, std::uint32_t sample) { return (plan.discards >> sample & 1) != 0; }

/// As an earlier lap left it: drained samples everywhere, so that whoever looks too early finds something.
void fill_with_old_samples(const sim::UserRingbufState& state) {
  for (std::uint64_t at = 0; at < state.size; at += 16) {
    const std::uint64_t old[2] = {8, 77};
    std::memcpy(state.data + at, old, sizeof old);
  }
}

void pass_discarded(Stage& here) {
  while (here.drained < here.plan.samples && is_discarded(here.plan, here.drained)) ++here.drained;
}

void begin(const UserPlan& plan) {
  Stage& here = stage();
  here.plan = plan;
  here.state = {.consumer_pos = reinterpret_cast<std::uint64_t*>(here.memory.kernel_consumer_page()),
                .producer_pos = reinterpret_cast<std::uint64_t*>(here.memory.kernel_producer_page()),
                .data = here.memory.kernel_data(),
                .size = here.memory.data_size()};
  *here.state.consumer_pos = *here.state.producer_pos = plan.start;
  fill_with_old_samples(here.state);
  here.drained = 0;
  pass_discarded(here);
  here.descriptor = open_source([] {
    const sim::UserRingbufState& state = stage().state;
    const std::uint64_t consumed = ExploredMemory::load_acquire(state.consumer_pos);
    const std::uint64_t used = ExploredMemory::load_acquire(state.producer_pos) - consumed;
    return used < state.size ? std::uint32_t{EPOLLOUT} : 0;
  });
}

/// The program's callback of the drain.
int take(std::span<const std::byte> sample) {
  Stage& here = stage();
  if (sample.size() != here.plan.size) fail(DefectKind::torn, "a sample is drained with a size that it does not have");
  plain_read(sample.data(), sample.size());
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  std::memcpy(&first, sample.data(), sizeof first);
  std::memcpy(&last, sample.data() + sample.size() - sizeof last, sizeof last);
  if (first != last) fail(DefectKind::torn, "a sample is drained whose end is not its own");
  if (first >= here.plan.samples) fail(DefectKind::phantom, "a sample is drained that nobody wrote");
  if (first < here.drained) fail(DefectKind::duplicate, "a sample is drained twice");
  if (first > here.drained) fail(DefectKind::lost, "a sample is drained before the next one");
  ++here.drained;
  pass_discarded(here);
  return 0;
}

/// Until all are drained: whenever a sample that is not BUSY lies there.
void drain_all() {
  Stage& here = stage();
  const sim::UserRingbufState& state = here.state;
  std::uint64_t end = here.plan.start + here.plan.samples * rb::span_of(here.plan.size);
  while (*state.consumer_pos != end) {
    const std::uint64_t position = *state.consumer_pos;
    await(state.producer_pos, sizeof position, Order::acquire, [position](std::uint64_t at) { return at > position; });
    await(state.length_word(position), sizeof(std::uint32_t), Order::relaxed,
          [](std::uint64_t header) { return !rb::is_busy(static_cast<std::uint32_t>(header)); });
    sim::UserRingbufDrain<ExploredMemory> drain(here.state, 0);
    drain.run(take);
    if (drain.result() < 0) fail(DefectKind::protocol, "the drain refuses what the producer wrote");
    if (drain.wants_wakeup()) wake_source(here.descriptor);
  }
}

}  // namespace

UserPages user_pages() {
  const sim::RingbufMemory& memory = stage().memory;
  return {memory.kernel_consumer_page(), memory.kernel_producer_page(), memory.kernel_data(), memory.data_size()};
}

const UserPlan& user_plan() { return stage().plan; }

int user_ring_descriptor() { return stage().descriptor; }

Program user_program(const UserPlan& plan, std::function<void()> producer) {
  const sim::RingbufMemory& memory = stage().memory;
  std::byte* const data = memory.kernel_data();
  return {.begin = [plan] { begin(plan); },
          .threads = {std::move(producer), drain_all},
          .end =
              [] {
                if (stage().drained != stage().plan.samples) fail(DefectKind::lost, "a sample is never drained");
              },
          .aliases = {{.begin = data + memory.data_size(), .size_bytes = memory.data_size(), .same_as = data}},
          .names = {{memory.kernel_consumer_page(), 8, "consumer_pos"},
                    {memory.kernel_producer_page(), 8, "producer_pos"},
                    {data, memory.data_size(), "data"},
                    {&stage().state.busy, sizeof stage().state.busy, "drain flag"}},
          .thread_names = {"producer", "kernel"}};
}

}  // namespace ringside::explore::programs
