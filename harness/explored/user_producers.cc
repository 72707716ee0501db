// SPDX-License-Identifier: Apache-2.0
//
// The producers of user ring buffers and their mutants, as they stand in consumers/, over every execution beside the
// model's drains. Each sleeps in epoll whenever its sample has no room.
#include <sys/epoll.h>

#include <cerrno>
#include <cstring>

#include "consumers/mutants/mutants.h"
#include "consumers/mutants/ordering.h"
#include "consumers/strategies.h"
#include "explore/programs/user_ring.h"
#include "harness/explored/host.h"
#include "ring/producer.h"

namespace ringside::harness::explored {
namespace {

using explore::Registered;
using explore::programs::UserPlan;
namespace programs = explore::programs;

using Table = const ringside_producer& (*)();

ringside_producer_host host() {
  return {.abi_version = RINGSIDE_PRODUCER_ABI,
          .struct_size = sizeof(ringside_producer_host),
          .context = nullptr,
          .wait =
              [](void*, std::int64_t timeout_ns) {
                const int woken = sleep_in_epoll(timeout_ns).count;
                return woken > 0 ? 1 : woken;
              },
          .now_ns = [](void*) { return virtual_now_ns(); },
          .yield = [](void*) {}};
}

void write(void* payload, std::uint64_t number, std::uint32_t size) {
  std::memcpy(payload, &number, sizeof number);
  std::memcpy(static_cast<std::byte*>(payload) + size - sizeof number, &number, sizeof number);
}

void produce_all(Table table) {
  const programs::UserPages pages = programs::user_pages();
  const UserPlan& plan = programs::user_plan();
  const ringside_user_ring ring{.fd = -1,
                                .page_size = 4096,
                                .data_size = pages.data_size,
                                .consumer_page = pages.consumer_page,
                                .producer_page = pages.producer_page,
                                .data = pages.data};
  const ringside_producer_host the_host = host();
  const ringside_producer& producer = table();
  void* state = nullptr;
  if (producer.open(&ring, &the_host, &state) != 0)
    explore::fail(DefectKind::protocol, "the producer does not open the ring");
  for (std::uint32_t sample = 0; sample < plan.samples; ++sample) {
    void* payload = nullptr;
    int error = 0;
    while ((error = producer.reserve(state, plan.size, &payload)) == -ENOSPC) {
      if (producer.wait(state, plan.size, -1) < 0) explore::fail(DefectKind::protocol, "wait tells an error");
    }
    if (error != 0) explore::fail(DefectKind::protocol, "reserve tells an error");
    write(payload, sample, plan.size);
    const bool discarded = (plan.discards >> sample & 1) != 0;
    producer.commit(state, payload, discarded ? RINGSIDE_DISCARD_SAMPLE : RINGSIDE_SUBMIT_SAMPLE);
  }
  producer.close(state);
}

explore::Program over_ring(const UserPlan& plan, Table table) {
  return armed(user_program(plan, [table] { produce_all(table); }), programs::user_ring_descriptor, EPOLLOUT,
               table().trigger);
}

constexpr std::uint64_t page = 4096;
constexpr UserPlan two{.samples = 2};
constexpr UserPlan wrapping{.samples = 2, .size = 16, .start = page - 24};
// The ring holds one such sample.
constexpr UserPlan full{.samples = 2, .size = page / 2};
constexpr UserPlan discarding{.samples = 3, .discards = 0b010};

const Registered reserve_two{"user_reserve_2", over_ring(two, consumers::user_reserve)};
const Registered reserve_wrapping{"user_reserve_wrap", over_ring(wrapping, consumers::user_reserve)};
const Registered reserve_full{"user_reserve_full", over_ring(full, consumers::user_reserve)};
const Registered reserve_discarding{"user_reserve_discard", over_ring(discarding, consumers::user_reserve)};

namespace mutant = consumers::mutant;
const Registered commit_before_write{"commit_before_write", over_ring(two, mutant::commit_before_write)};
const Registered forget_space{"forget_space", over_ring(full, mutant::forget_space)};
const Registered consumer_pos_relaxed{"user_consumer_pos_relaxed", over_ring(full, mutant::user_consumer_pos_relaxed)};
const Registered producer_pos_relaxed{"user_producer_pos_relaxed", over_ring(two, mutant::user_producer_pos_relaxed)};
const Registered header_relaxed{"user_header_relaxed", over_ring(two, mutant::user_header_relaxed)};

}  // namespace
}  // namespace ringside::harness::explored
