// SPDX-License-Identifier: Apache-2.0
//
// The values of flags: text to number, name or list. Every error names the text and what would be right; the caller
// adds whose value it was.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "harness/compare/compare.h"
#include "harness/report.h"
#include "harness/run_result.h"
#include "ring/judge.h"
#include "ring/result.h"

namespace ringside::cli {

/// A value that cannot be read: the reason and the remedy of the error to be.
struct BadValue {
  std::string reason;
  std::string remedy;

  friend bool operator==(const BadValue&, const BadValue&) = default;
};

template <class T>
using Value = tl::expected<T, BadValue>;

/// `100`, `64K`, `100M`, `2G`: decimal digits and a decimal multiplier (K = 1000, either case); 1 to 10^12.
Value<std::uint64_t> parse_count(std::string_view text);

/// Decimal, or hexadecimal after `0x`; 0 to 2^64-1.
Value<std::uint64_t> parse_seed(std::string_view text);

/// `500ms`, `10s`, `2m`, or digits alone for seconds; 1 ms to 24 hours. Gives milliseconds.
Value<std::uint64_t> parse_duration_ms(std::string_view text);

/// `model`, `kernel`, or `both`.
Value<std::vector<harness::WorldKind>> parse_worlds(std::string_view text);

/// `4096`, `64K`, `1M`, `1G`: decimal digits and a binary multiplier (K = 1024, either case, also `KiB`); 1 to 2^40.
Value<std::uint64_t> parse_bytes(std::string_view text);

/// `none`, `line`, `all`, `copy`.
Value<harness::Touch> parse_touch(std::string_view text);

/// The name of a published comparison (harness/compare/preset.h): what that is of.
Value<harness::CompareOptions> parse_preset(std::string_view text);

/// `ringbuf`, `perf`.
Value<ring::RingKind> parse_ring(std::string_view text);

/// `table`, `json`, `junit`.
Value<harness::ReportFormat> parse_format(std::string_view text);

/// `1`, `true`, `yes`, `on` and their opposites; what the environment may say of a flag without a value.
Value<bool> parse_switch(std::string_view text);

/// The parts of every text between commas, each once, in order of first appearance. An empty part is an error.
Value<std::vector<std::string>> split_names(const std::vector<std::string>& texts);

}  // namespace ringside::cli
