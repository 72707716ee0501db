// SPDX-License-Identifier: Apache-2.0
//
// Strategy `ab_swap` and its mutants, as they stand in consumers/, over every execution beside a program that reads the
// side, counts itself and writes: what an A/B swap promises, and under which condition.
#include <cstring>

#include "consumers/ab_swap.h"
#include "consumers/mutants/mutants.h"
#include "consumers/strategies.h"
#include "explore/programs/ab_swap.h"
#include "harness/explored/host.h"
#include "harness/explored/perf_samples.h"

namespace ringside::harness::explored {
namespace {

using explore::Registered;
using explore::programs::SwapPlan;
namespace programs = explore::programs;
namespace mutant = consumers::mutant;

std::uint64_t read(const void* bytes, std::uint64_t size) {
  return read_sample(bytes, size, programs::swap_plan().size);
}

constexpr Judge judge{
    .read = read,
    .delivered = [](std::uint64_t number) { programs::deliver_attempt(static_cast<std::uint32_t>(number)); },
    .lost = programs::deliver_lost_attempts,
    .batch_end = [](std::uint32_t /*claim*/) { programs::end_batch_of_side(); }};

/// So many flips. The last one may come before the last program: what it then leaves is on its way.
template <int flips>
void flip(ConsumerTable table) {
  const programs::SwapPages pages = programs::swap_pages();
  const ringside_ring rings[2] = {as_mapped(pages.sides[0]), as_mapped(pages.sides[1])};
  Host host(table(), rings, judge, pages.words);
  for (int done = 0; done < flips; ++done) host.drain();
}

explore::Program over_swap(const SwapPlan& plan, ConsumerTable table, void (*consume)(ConsumerTable)) {
  return swap_program(plan, [table, consume] { consume(table); });
}

/// Looks once more, not eight times, so that a search ends.
struct Short : consumers::SwapSteps {
  static constexpr int repolls = 1;
};
const ringside_consumer& short_swap() {
  static constexpr ringside_consumer table = consumers::AbSwap<Short>::table("ab_swap", "ab_swap that looks twice");
  return table;
}

/// The condition under which a side is complete: who freezes it waits for the programs that may have chosen it.
struct Quiescent : Short {
  static constexpr bool claims_side = true;
  static void frozen() { programs::wait_for_programs(); }
};
const ringside_consumer& quiescent() {
  static constexpr ringside_consumer table = consumers::AbSwap<Quiescent>::table(
      "ab_swap_quiescent", "ab_swap that waits for programs when it has frozen a side");
  return table;
}

constexpr SwapPlan one{.attempts = 1};
constexpr SwapPlan two{.attempts = 2};
constexpr SwapPlan two_that_tell{.attempts = 2, .tell_when_over = true};
// One of the two fits.
constexpr SwapPlan full{.attempts = 2, .size = 2044};

const Registered swap_2{"ab_swap_2", over_swap(two, short_swap, flip<3>)};
const Registered swap_full{"ab_swap_full", over_swap(full, short_swap, flip<2>)};
const Registered swap_quiescent{"ab_swap_quiescent", over_swap(two_that_tell, quiescent, flip<3>)};
const Registered swap_straggler{"ab_swap_straggler", over_swap(one, mutant::ab_swap_claims_side, flip<1>)};
const Registered swap_no_repoll{"ab_swap_no_repoll", over_swap(one, mutant::ab_swap_no_repoll, flip<1>)};
const Registered swap_erased_count{"ab_swap_erased_count", over_swap(one, mutant::ab_swap_erases_count, flip<1>)};
const Registered swap_waits{"ab_swap_waits_for_count", over_swap(full, mutant::ab_swap_waits_for_count, flip<1>)};

}  // namespace
}  // namespace ringside::harness::explored
