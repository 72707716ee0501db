// SPDX-License-Identifier: Apache-2.0
#include "sim/kernel_version.h"

#include <charconv>
#include <sstream>

namespace ringside::sim {

std::ostream& operator<<(std::ostream& out, const KernelVersion& version) {
  out << version.major << '.' << version.minor;
  if (version.patch != KernelVersion::newest_patch) out << '.' << version.patch;
  return out;
}

std::string to_string(const KernelVersion& version) {
  std::ostringstream out;
  out << version;
  return out.str();
}

namespace {

// Reads one number off the front of `text`; false when there is none.
bool take_number(std::string_view& text, std::uint16_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

bool take_dot(std::string_view& text) {
  if (!text.starts_with('.')) return false;
  text.remove_prefix(1);
  return true;
}

}  // namespace

ring::Result<KernelVersion> parse_kernel_version(std::string_view text) {
  KernelVersion version;
  std::string_view rest = text;
  if (!take_number(rest, version.major) || !take_dot(rest) || !take_number(rest, version.minor)) {
    return ring::error("read kernel version \"" + std::string(text) + "\"", "it does not start with two numbers",
                       "write it as 6.18 or 6.18.44");
  }
  if (take_dot(rest) && !take_number(rest, version.patch)) {
    return ring::error("read kernel version \"" + std::string(text) + "\"", "no number follows the second dot",
                       "write it as 6.18 or 6.18.44");
  }
  return version;
}

namespace {

constexpr KernelVersion since(std::uint16_t major, std::uint16_t minor, std::uint16_t patch = 0) {
  return {major, minor, patch};
}

constexpr bool of_series(const KernelVersion& version, std::uint16_t major, std::uint16_t minor) {
  return version.major == major && version.minor == minor;
}

// CVE-2021-3489: 5.10.37, 5.11.21, 5.12.4, 5.13.
bool refuses_oversize(const KernelVersion& version) {
  return (of_series(version, 5, 10) && version >= since(5, 10, 37)) ||
         (of_series(version, 5, 11) && version >= since(5, 11, 21)) || version >= since(5, 12, 4);
}

// CVE-2024-41009: 6.10 and the stable series of its day.
bool has_pending_pos(const KernelVersion& version) {
  return version >= since(6, 10) || of_series(version, 5, 10) || of_series(version, 5, 15) ||
         of_series(version, 6, 1) || of_series(version, 6, 6) || of_series(version, 6, 9);
}

}  // namespace

RingbufRules ringbuf_rules(const KernelVersion& version) {
  return RingbufRules{
      .has_ringbuf = version >= since(5, 8),
      .refuses_oversize = refuses_oversize(version),
      .has_pending_pos = has_pending_pos(version),
      .walks_while_unequal = version >= since(7, 2),
      .has_overwrite = version >= since(6, 19),
      .available_is_least = version >= since(7, 3),
      .nmi_lock = version >= since(6, 16) ? NmiLock::resilient : NmiLock::try_once,
  };
}

}  // namespace ringside::sim
