// SPDX-License-Identifier: Apache-2.0
//
// Operations as text.
#include "ring/operation.h"

#include <array>
#include <cassert>
#include <string_view>

namespace ringside::ring {

namespace {

constexpr std::array<std::string_view, 6> action_names = {"submit", "discard",       "output",
                                                          "hold",   "settle_submit", "settle_discard"};
static_assert(static_cast<std::size_t>(Action::settle_discard) + 1 == action_names.size());

bool takes_a_size(Action action) { return action != Action::settle_submit && action != Action::settle_discard; }

}  // namespace

std::ostream& operator<<(std::ostream& out, Action action) {
  const auto index = static_cast<std::size_t>(action);
  assert(index < action_names.size());
  return out << action_names[index];
}

std::ostream& operator<<(std::ostream& out, const Operation& operation) {
  out << operation.action;
  if (takes_a_size(operation.action)) out << ' ' << operation.size << " bytes";
  out << " by source " << operation.source << " on cpu " << operation.cpu;
  if ((operation.flags & flag_no_wakeup) != 0) out << ", no wakeup";
  if ((operation.flags & flag_force_wakeup) != 0) out << ", forced wakeup";
  if (operation.nested != 0) {
    out << ", interrupted by " << operation.nested << " records of " << operation.nested_size << " bytes by source "
        << operation.nested_source;
  }
  return out;
}

}  // namespace ringside::ring
