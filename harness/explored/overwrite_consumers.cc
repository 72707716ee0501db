// SPDX-License-Identifier: Apache-2.0
//
// The reader of overwrite rings and its mutants, as they stand in consumers/, beside a producer that laps them.
#include <cstring>

#include "consumers/mutants/mutants.h"
#include "consumers/strategies.h"
#include "explore/programs/overwrite_ring.h"
#include "harness/explored/host.h"

namespace ringside::harness::explored {
namespace {

using explore::Registered;
namespace programs = explore::programs;

std::uint64_t read(const void* bytes, std::uint64_t size) {
  std::uint64_t words[3] = {};
  if (size != sizeof words) explore::fail(DefectKind::torn, "a record is delivered with a size that it does not have");
  std::memcpy(words, bytes, sizeof words);
  if (words[0] != words[1] || words[0] != words[2])
    explore::fail(DefectKind::torn, "a record is delivered in part overwritten");
  return words[0];
}

constexpr Judge judge{.read = read, .delivered = programs::deliver_overwrite, .lost = [](std::uint64_t) {}};

/// Two looks, whatever is there.
void look_twice(ConsumerTable table) {
  Host host(table(), as_mapped(programs::overwrite_ring()), judge);
  host.drain();
  host.drain();
}

explore::Program over_ring(ConsumerTable table) {
  return programs::overwrite_program(3, [table] { look_twice(table); });
}

const Registered snapshot{"overwrite_snapshot_3", over_ring(consumers::overwrite_snapshot)};

namespace mutant = consumers::mutant;
const Registered no_second_look{"overwrite_no_second_look", over_ring(mutant::overwrite_no_second_look)};
const Registered ignores_pos{"overwrite_ignores_pos", over_ring(mutant::overwrite_ignores_pos)};

}  // namespace
}  // namespace ringside::harness::explored
