// SPDX-License-Identifier: Apache-2.0
//
// A run as a JSON value, for the reports that embed runs in a document of their own. The line form is in run_result.h.
#pragma once

#include <nlohmann/json.hpp>

#include "harness/run_result.h"

namespace ringside::harness {

/// The run with every key in the order of the structure. A seed is a string ("0x9f3a000000000001"): it uses all 64
/// bits, and many JSON readers keep only 53 of a number.
nlohmann::ordered_json to_json(const RunResult& result);

/// `0x` and 16 hexadecimal digits.
std::string seed_text(std::uint64_t seed);

/// The value as text. Bytes that are no UTF-8 are replaced, so it never fails.
std::string dump(const nlohmann::ordered_json& value, int indent);

}  // namespace ringside::harness
