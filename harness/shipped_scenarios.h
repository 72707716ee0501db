// SPDX-License-Identifier: Apache-2.0
//
// The texts of scenarios/*.toml, compiled in (cmake/EmbedScenarios.cmake writes the source).
#pragma once

#include <span>
#include <string_view>
#include <utility>

namespace ringside::harness {

/// (path below the repository root, TOML text), in the order of the paths.
std::span<const std::pair<std::string_view, std::string_view>> shipped_scenario_texts();

}  // namespace ringside::harness
