// SPDX-License-Identifier: Apache-2.0
//
// The names of the defects.
#include "ring/defect.h"

#include <algorithm>
#include <cassert>

namespace ringside::ring {

namespace {

constexpr std::array<std::string_view, defect_kind_count> names = {
    "lost",
    "loss_miscounted",
    "duplicate",
    "reordered",
    "torn",
    "phantom",
    "out_of_bounds",
    "position_regressed",
    "position_overrun",
    "use_after_release",
    "data_race",
    "uninitialised_read",
    "missed_wakeup",
    "busy_spin",
    "deadlock",
    "hang",
    "deadline_missed",
    "early_timeout",
    "unbounded_drain",
    "batch_incomplete",
    "leak",
    "crash",
    "protocol",
};
static_assert(names.back() == "protocol" && static_cast<std::size_t>(DefectKind::protocol) + 1 == names.size(),
              "one name a kind, in the order of the kinds");

}  // namespace

std::string_view name_of(DefectKind kind) {
  const auto index = static_cast<std::size_t>(kind);
  assert(index < names.size());
  return names[index];
}

std::optional<DefectKind> defect_kind_of(std::string_view name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return std::nullopt;
  return static_cast<DefectKind>(found - names.begin());
}

std::ostream& operator<<(std::ostream& out, DefectKind kind) { return out << name_of(kind); }

std::ostream& operator<<(std::ostream& out, const Defect& defect) {
  out << defect.kind;
  if (defect.count != 1) out << " x" << defect.count;
  return out << ": " << defect.detail;
}

}  // namespace ringside::ring
