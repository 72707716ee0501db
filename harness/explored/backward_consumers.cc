// SPDX-License-Identifier: Apache-2.0
//
// The reader of rings that are written backward and its mutants, as they stand in consumers/, over every execution
// beside the model's writer, which laps it.
#include "consumers/mutants/backward.h"
#include "consumers/strategies.h"
#include "explore/programs/backward_ring.h"
#include "harness/explored/host.h"
#include "harness/explored/perf_samples.h"

namespace ringside::harness::explored {
namespace {

using explore::Registered;
namespace programs = explore::programs;

std::uint64_t read(const void* bytes, std::uint64_t size) {
  return read_sample(bytes, size, programs::backward_plan().size);
}

constexpr Judge judge{
    .read = read,
    .delivered = [](std::uint64_t number) { programs::deliver_backward(static_cast<std::uint32_t>(number)); },
    .lost = programs::deliver_backward_lost,
    .pause = programs::pause_backward_ring,
    .quiesce = programs::quiesce_backward_ring};

/// Two dumps, whatever is there.
void dump_twice(ConsumerTable table) {
  Host host(table(), as_mapped(programs::backward_ring_pages()), judge);
  host.drain();
  host.drain();
}

/// Four records lie in the ring whole, and a part of another.
explore::Program over_ring(std::uint32_t records, ConsumerTable table) {
  return programs::backward_program({.records = records}, [table] { dump_twice(table); });
}

const Registered whole{"overwritable_2", over_ring(2, consumers::overwritable)};
const Registered lapped{"overwritable_6", over_ring(6, consumers::overwritable)};

namespace mutant = consumers::mutant;
const Registered unpaused{"backward_unpaused", over_ring(6, mutant::backward_unpaused)};
const Registered not_quiet{"backward_not_quiet", over_ring(6, mutant::backward_not_quiet)};
const Registered quiet_first{"backward_quiet_first", over_ring(6, mutant::backward_quiet_first)};
const Registered goes_on_first{"backward_goes_on_first", over_ring(6, mutant::backward_goes_on_first)};
const Registered half_record{"backward_half_record", over_ring(6, mutant::backward_half_record)};
const Registered two_laps{"backward_two_laps", over_ring(6, mutant::backward_two_laps)};
const Registered again{"backward_again", over_ring(2, mutant::backward_again)};
const Registered newest_first{"backward_newest_first", over_ring(2, mutant::backward_newest_first)};

}  // namespace
}  // namespace ringside::harness::explored
