// SPDX-License-Identifier: Apache-2.0
#include "cli/values.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <span>

#include "harness/compare/preset.h"
#include "harness/nearest.h"
#include "harness/text_layout.h"

namespace ringside::cli {
namespace {

tl::unexpected<BadValue> bad(std::string_view text, std::string_view reason, std::string remedy) {
  return tl::unexpected(BadValue{fmt::format("\"{}\" {}", harness::one_line(text), reason), std::move(remedy)});
}

/// All of `digits` as a number, or nothing when a character is no digit of the base or the number needs over 64 bits.
std::optional<std::uint64_t> whole_number(std::string_view digits, int base) {
  std::uint64_t number = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stop, failure] = std::from_chars(digits.data(), end, number, base);
  if (digits.empty() || failure != std::errc{} || stop != end) return std::nullopt;
  return number;
}

std::optional<std::uint64_t> product(std::optional<std::uint64_t> a, std::uint64_t b) {
  std::uint64_t result = 0;
  if (!a || __builtin_mul_overflow(*a, b, &result)) return std::nullopt;
  return result;
}

std::uint64_t multiplier_of(char suffix) {
  switch (suffix) {
    case 'k':
    case 'K':
      return 1'000;
    case 'm':
    case 'M':
      return 1'000'000;
    case 'g':
    case 'G':
      return 1'000'000'000;
    default:
      return 1;
  }
}

tl::unexpected<BadValue> unknown_name(std::string_view text, std::span<const std::string> valid) {
  return bad(text, "is not known", harness::suggestion(text, valid));
}

}  // namespace

Value<std::uint64_t> parse_count(std::string_view text) {
  // As many as a scenario's file may ask for.
  constexpr std::uint64_t most = 1'000'000'000'000;
  const std::uint64_t multiplier = text.empty() ? 1 : multiplier_of(text.back());
  const std::string_view digits = multiplier == 1 ? text : text.substr(0, text.size() - 1);
  const std::optional<std::uint64_t> count = product(whole_number(digits, 10), multiplier);
  if (!count || *count == 0 || *count > most) {
    return bad(text, "is no count", "write a number from 1 to 1000G (10^12), such as 5000, 64K, 100M or 2G");
  }
  return *count;
}

Value<std::uint64_t> parse_bytes(std::string_view text) {
  constexpr std::uint64_t most = std::uint64_t{1} << 40;
  const std::size_t unit_at = std::min(text.find_first_not_of("0123456789"), text.size());
  std::string_view unit = text.substr(unit_at);
  if (unit.ends_with("iB")) unit.remove_suffix(2);
  const unsigned shift = unit == "K" || unit == "k"   ? 10
                         : unit == "M" || unit == "m" ? 20
                         : unit == "G" || unit == "g" ? 30
                                                      : 0;
  const bool known = unit.empty() || shift != 0;
  const auto bytes =
      known ? product(whole_number(text.substr(0, unit_at), 10), std::uint64_t{1} << shift) : std::nullopt;
  if (!bytes || *bytes == 0 || *bytes > most) {
    return bad(text, "is no number of bytes", "write 1 to 1024G, such as 4096, 64K, 64M or 1G");
  }
  return *bytes;
}

Value<harness::Touch> parse_touch(std::string_view text) {
  static const std::vector<std::string> valid{"none", "line", "all", "copy"};
  const auto touch = harness::touch_of(text);
  if (!touch) return unknown_name(text, valid);
  return *touch;
}

Value<harness::CompareOptions> parse_preset(std::string_view text) {
  const auto options = harness::preset_options(text);
  if (!options) return unknown_name(text, harness::preset_names());
  return *options;
}

Value<std::uint64_t> parse_seed(std::string_view text) {
  const bool hexadecimal = text.starts_with("0x") || text.starts_with("0X");
  const std::optional<std::uint64_t> seed = hexadecimal ? whole_number(text.substr(2), 16) : whole_number(text, 10);
  if (!seed) return bad(text, "is no seed", "write a number of 64 bits, such as 42 or 0x9f3a");
  return *seed;
}

Value<std::uint64_t> parse_duration_ms(std::string_view text) {
  constexpr std::uint64_t longest_ms = 24ull * 60 * 60 * 1000;
  const std::size_t unit_at = std::min(text.find_first_not_of("0123456789"), text.size());
  const std::string_view unit = text.substr(unit_at);
  std::uint64_t unit_ms = 0;
  if (unit == "ms") unit_ms = 1;
  if (unit == "s" || unit.empty()) unit_ms = 1000;
  if (unit == "m") unit_ms = 60'000;
  const std::optional<std::uint64_t> duration = product(whole_number(text.substr(0, unit_at), 10), unit_ms);
  if (!duration || *duration == 0 || *duration > longest_ms) {
    return bad(text, "is no time", "write 1ms to 24 hours, such as 500ms, 10s or 2m");
  }
  return *duration;
}

Value<std::vector<harness::WorldKind>> parse_worlds(std::string_view text) {
  using harness::WorldKind;
  static const std::vector<std::string> valid{"model", "kernel", "both", "explored"};
  if (text == "both") return std::vector{WorldKind::model, WorldKind::kernel};
  for (const WorldKind world : {WorldKind::model, WorldKind::kernel, WorldKind::explored}) {
    if (text == harness::name_of(world)) return std::vector{world};
  }
  return unknown_name(text, valid);
}

Value<ring::RingKind> parse_ring(std::string_view text) {
  static const std::vector<std::string> valid{"ringbuf", "perf", "user_ringbuf"};
  for (const ring::RingKind kind : {ring::RingKind::ringbuf, ring::RingKind::perf, ring::RingKind::user_ringbuf}) {
    if (text == ring::name_of(kind)) return kind;
  }
  return unknown_name(text, valid);
}

Value<harness::ReportFormat> parse_format(std::string_view text) {
  static const std::vector<std::string> valid{"table", "json", "junit"};
  if (const std::optional<harness::ReportFormat> format = harness::report_format_of(text)) return *format;
  return unknown_name(text, valid);
}

Value<bool> parse_switch(std::string_view text) {
  if (text == "1" || text == "true" || text == "yes" || text == "on") return true;
  if (text == "0" || text == "false" || text == "no" || text == "off") return false;
  return bad(text, "is neither on nor off", "write 1 or 0");
}

Value<std::vector<std::string>> split_names(const std::vector<std::string>& texts) {
  std::vector<std::string> names;
  for (const std::string& text : texts) {
    std::size_t begin = 0;
    while (begin <= text.size()) {
      const std::size_t end = std::min(text.find(',', begin), text.size());
      const std::string name = text.substr(begin, end - begin);
      if (name.empty()) return bad(text, "holds an empty name", "write names with one comma between them");
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
      begin = end + 1;
    }
  }
  return names;
}

}  // namespace ringside::cli
