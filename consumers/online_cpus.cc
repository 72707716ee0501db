// SPDX-License-Identifier: Apache-2.0
//
// Reads the kernel's CPU lists: ranges and single numbers, with gaps where CPUs are offline.
#include "consumers/online_cpus.h"

#include <charconv>
#include <fstream>
#include <string>

namespace ringside::consumers {
namespace {

/// Far above any kernel's NR_CPUS: a bound for what a damaged list may ask for.
constexpr int most_cpus = 65536;

std::optional<int> parse_cpu(std::string_view text) {
  int cpu = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), cpu);
  if (error != std::errc{} || end != text.data() + text.size() || cpu < 0 || cpu >= most_cpus) return std::nullopt;
  return cpu;
}

}  // namespace

std::optional<std::vector<int>> parse_cpu_list(std::string_view text) {
  while (text.ends_with('\n')) text.remove_suffix(1);
  std::vector<int> cpus;
  for (bool more = true; more;) {
    const std::size_t comma = text.find(',');
    const std::string_view range = text.substr(0, comma);
    more = comma != std::string_view::npos;
    if (more) text.remove_prefix(comma + 1);

    const std::size_t dash = range.find('-');
    const std::optional<int> first = parse_cpu(range.substr(0, dash));
    const std::optional<int> last = dash == std::string_view::npos ? first : parse_cpu(range.substr(dash + 1));
    if (!first || !last || *last < *first) return std::nullopt;
    for (int cpu = *first; cpu <= *last; ++cpu) cpus.push_back(cpu);
  }
  return cpus;
}

std::optional<std::vector<int>> online_cpus() {
  std::ifstream file("/sys/devices/system/cpu/online");
  std::string text;
  if (!std::getline(file, text)) return std::nullopt;
  return parse_cpu_list(text);
}

}  // namespace ringside::consumers
