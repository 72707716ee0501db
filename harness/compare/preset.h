// SPDX-License-Identifier: Apache-2.0
//
// Comparisons that others have published, asked again: `ringside compare --preset NAME`.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/compare/compare.h"

namespace ringside::harness {

/// `zero-copy-debate`.
std::vector<std::string> preset_names();
/// What such a comparison is of; nothing for an unknown name.
std::optional<CompareOptions> preset_options(std::string_view name);

/// The published figures beside those of this run, and what their method does not show. Empty where the report is of no
/// preset.
std::string preset_text(const CompareReport& report, const TextStyle& style);

}  // namespace ringside::harness
