// SPDX-License-Identifier: Apache-2.0
#include "explore/programs/overwrite_ring.h"

#include <array>
#include <cstring>
#include <utility>

#include "explore/explored_memory.h"
#include "sim/ring_memory.h"
#include "sim/ringbuf_commit.h"
#include "sim/ringbuf_reserve.h"

namespace ringside::explore::programs {
namespace {

constexpr std::uint64_t data_bytes = 64;

/// A reader may look at any byte of the data at any time.
struct SharedData : ExploredMemory {
  template <class T>
  static void store_plain(T* place, T value) {
    store_relaxed(place, value);
  }
  static void write_bytes(std::byte* to, const std::uint64_t* from, std::size_t words) {
    for (std::size_t word = 0; word < words; ++word) {
      store_relaxed(reinterpret_cast<std::uint64_t*>(to) + word, from[word]);
    }
  }
};

struct Stage {
  sim::RingbufMemory memory = sim::RingbufMemory::create(sim::page_size_bytes(), sim::UserMapping::kernels).value();
  sim::RingbufState state;
  std::uint64_t last = 0;       ///< delivered
  std::uint64_t delivered = 0;  ///< a bit each
};

/// The one ring of the process; programs follow one another.
Stage& stage() {
  static Stage the_stage;
  return the_stage;
}

void begin() {
  Stage& here = stage();
  auto* const producer_page = reinterpret_cast<std::uint64_t*>(here.memory.kernel_producer_page());
  here.state = {.consumer_pos = reinterpret_cast<std::uint64_t*>(here.memory.kernel_consumer_page()),
                .producer_pos = producer_page,
                .pending_pos = producer_page + 1,
                .overwrite_pos = producer_page + 2,
                .data = here.memory.kernel_data(),
                .size = data_bytes,  // no record runs over its end
                .page_size = sim::page_size_bytes(),
                .rules = sim::ringbuf_rules(sim::default_kernel_version)};
  here.state.overwrite = true;
  *here.state.consumer_pos = 0;
  std::memset(producer_page, 0, 3 * sizeof *producer_page);
  std::memset(here.state.data, 0, data_bytes);
  here.last = here.delivered = 0;
}

void output(std::uint64_t number) {
  Stage& here = stage();
  sim::RingbufReserve<SharedData> reserve(here.state, overwrite_record_size);
  reserve.run();
  if (reserve.failure() != sim::ReserveFailure::none) fail("an overwrite ring has no room");
  const std::array<std::uint64_t, 3> words{number, number, number};
  static_assert(sizeof words == overwrite_record_size);
  SharedData::write_bytes(here.state.payload(reserve.position()), words.data(), words.size());
  sim::RingbufCommit<SharedData>(here.state, reserve.position(), sim::Fate::submit, 0).run();
}

}  // namespace

RingView overwrite_ring() {
  const sim::RingbufState& state = stage().state;
  return {state.consumer_pos, state.producer_pos, state.data, state.mask()};
}

void deliver_overwrite(std::uint64_t number) {
  Stage& here = stage();
  if (number == 0 || number > 63) fail(DefectKind::phantom, "a record is delivered that nobody wrote");
  if ((here.delivered >> number & 1) != 0) fail(DefectKind::duplicate, "a record is delivered twice");
  if (number < here.last) fail(DefectKind::reordered, "a record is delivered after a later one");
  here.delivered |= std::uint64_t{1} << number;
  here.last = number;
}

Program overwrite_program(std::uint32_t records, std::function<void()> reader) {
  const Stage& here = stage();
  const std::byte* const producer_page = here.memory.kernel_producer_page();
  return {.begin = begin,
          .threads = {[records] {
                        for (std::uint64_t number = 1; number <= records; ++number) output(number);
                      },
                      std::move(reader)},
          .end = {},
          .names = {{here.memory.kernel_consumer_page(), 8, "consumer_pos"},
                    {producer_page, 8, "producer_pos"},
                    {producer_page + 8, 8, "pending_pos"},
                    {producer_page + 16, 8, "overwrite_pos"},
                    {here.memory.kernel_data(), data_bytes, "data"},
                    {&here.state.lock, sizeof here.state.lock, "lock"}},
          .thread_names = {"producer", "reader"}};
}

}  // namespace ringside::explore::programs
