// SPDX-License-Identifier: Apache-2.0
//
// Strategy `time_merge` and its mutants, as they stand in consumers/, over every execution beside two CPUs that stamp
// their records: what a merge without hold-back promises, and under which conditions.
#include <cstring>

#include "consumers/mutants/time_merge.h"
#include "consumers/strategies.h"
#include "explore/programs/stamped_rings.h"
#include "harness/explored/host.h"

namespace ringside::harness::explored {
namespace {

using explore::Registered;
using explore::programs::StampedPlan;
namespace programs = explore::programs;
namespace mutant = consumers::mutant;

constexpr unsigned stamp_shift = 32;

/// Its stamp above its number.
std::uint64_t read(const void* bytes, std::uint64_t size) {
  std::uint64_t words[2];
  if (size != sizeof words) explore::fail(DefectKind::torn, "a record is delivered with a size that it does not have");
  std::memcpy(words, bytes, sizeof words);
  return words[0] << stamp_shift | words[1];
}

constexpr Judge judge{.read = read,
                      .delivered =
                          [](std::uint64_t said) {
                            programs::deliver_stamped(said & ((std::uint64_t{1} << stamp_shift) - 1),
                                                      said >> stamp_shift);
                          },
                      .lost =
                          [](std::uint64_t /*count*/) {
                            explore::fail(DefectKind::loss_miscounted, "a BPF ring loses nothing that was reserved");
                          }};

/// So many rounds; what comes later is looked at in the end.
template <int rounds>
void merge(ConsumerTable table) {
  const auto views = programs::stamped_rings();
  const ringside_ring rings[2] = {as_mapped(views[0]), as_mapped(views[1])};
  Host host(table(), rings, judge, nullptr, sizeof(std::uint64_t));
  for (int round = 0; round < rounds; ++round) host.drain();
}

explore::Program over_rings(const StampedPlan& plan, ConsumerTable table, void (*consume)(ConsumerTable)) {
  return stamped_program(plan, [table, consume] { consume(table); });
}

constexpr StampedPlan inside{};
constexpr StampedPlan two{.records = 2, .ticks = 2};
constexpr StampedPlan without_barrier{.barrier = false};
constexpr StampedPlan before{.stamp = ring::Stamp::before};

const Registered merge_inside{"merge_inside", over_rings(inside, consumers::time_merge, merge<1>)};
const Registered merge_inside_twice{"merge_inside_twice", over_rings(inside, consumers::time_merge, merge<2>)};
const Registered merge_inside_2{"merge_inside_2", over_rings(two, consumers::time_merge, merge<1>)};
const Registered merge_no_barrier{"merge_no_barrier", over_rings(without_barrier, consumers::time_merge, merge<1>)};
const Registered merge_before{"merge_before", over_rings(before, consumers::time_merge, merge<1>)};

const Registered ignores_busy{"merge_ignores_busy", over_rings(inside, mutant::merge_ignores_busy, merge<1>)};
const Registered positions_first{"merge_positions_first", over_rings(inside, mutant::merge_positions_first, merge<1>)};
const Registered without_bound{"merge_without_bound", over_rings(inside, mutant::merge_without_bound, merge<1>)};
const Registered by_arrival{"merge_by_arrival", over_rings(inside, mutant::merge_by_arrival, merge<1>)};
const Registered without_fence{"merge_without_fence", over_rings(inside, mutant::merge_without_fence, merge<1>)};

}  // namespace
}  // namespace ringside::harness::explored
