// SPDX-License-Identifier: Apache-2.0
//
// Kernel versions, and what the model does differently for them (KERNEL-RINGS 6).
#pragma once

#include <compare>
#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>

#include "ring/result.h"

namespace ringside::sim {

/// A kernel release. Without a patch level ("6.12") it stands for the newest release of its series.
struct KernelVersion {
  static constexpr std::uint16_t newest_patch = UINT16_MAX;

  std::uint16_t major = 0;
  std::uint16_t minor = 0;
  std::uint16_t patch = newest_patch;

  friend constexpr auto operator<=>(const KernelVersion&, const KernelVersion&) = default;
};
/// `6.12` or `6.12.118`.
std::ostream& operator<<(std::ostream& out, const KernelVersion& version);
std::string to_string(const KernelVersion& version);

/// Reads `6.12`, `6.12.118` or `6.18.44-fc-v857` (what follows the numbers is ignored, as uname gives it).
ring::Result<KernelVersion> parse_kernel_version(std::string_view text);

inline constexpr KernelVersion default_kernel_version{6, 18};

/// How reserve takes its lock in NMI context (KERNEL-RINGS 5.5).
enum class NmiLock : std::uint8_t {
  try_once,   ///< one attempt; fails whoever holds it
  resilient,  ///< waits for another CPU, fails when its own CPU holds it
};

/// The rules of the BPF ring buffer that differ between kernels (KERNEL-RINGS 6). Plain data: a test may mix its own.
struct RingbufRules {
  bool has_ringbuf = true;           ///< BPF_MAP_TYPE_RINGBUF exists (5.8)
  bool refuses_oversize = true;      ///< 1.5.2: a span larger than the ring fails (CVE-2021-3489)
  bool has_pending_pos = true;       ///< 1.5.6: reserve never passes the oldest BUSY record (CVE-2024-41009)
  bool walks_while_unequal = false;  ///< 1.5.6: the walk ends at q == p instead of q >= p (7.2)
  bool has_overwrite = false;        ///< BPF_F_RB_OVERWRITE, overwrite_pos and query 4 (6.19)
  bool available_is_least = false;   ///< 1.11: AVAIL_DATA of an overwrite ring is the lesser difference (7.3)
  NmiLock nmi_lock = NmiLock::resilient;

  friend bool operator==(const RingbufRules&, const RingbufRules&) = default;
};

/// The rules of that kernel. The fix of CVE-2024-41009 went into 6.10 and into the stable series 5.10, 5.15, 6.1, 6.6
/// and 6.9, at patch levels that the specification does not name: every release of those series counts as fixed.
RingbufRules ringbuf_rules(const KernelVersion& version);

}  // namespace ringside::sim
