// SPDX-License-Identifier: Apache-2.0
//
// Kernel versions, and the rules that not every kernel has (KERNEL-RINGS 5.5 and 6): one table, from which the models
// take what they do differently.
#pragma once

#include <compare>
#include <cstdint>
#include <ostream>
#include <span>
#include <string>
#include <string_view>

#include "ring/result.h"
#include "ring/ring_kind.h"

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

/// The version of a running kernel, from the release and the version that uname gives. Debian's older releases name an
/// interface (6.1.0-57-amd64); what was built stands in the version (#1 SMP Debian 6.1.192-3 (2026-11-26)).
ring::Result<KernelVersion> running_kernel_version(std::string_view release, std::string_view version);

inline constexpr KernelVersion default_kernel_version{6, 18};

/// The rules that hold from some release on, in the order of version_rules().
enum class VersionRuleId : std::uint8_t {
  ringbuf,
  ringbuf_oversize,
  ringbuf_read_only_pages,
  ringbuf_dynptr,
  ringbuf_pending_pos,
  ringbuf_raw_lock,
  ringbuf_resilient_lock,
  ringbuf_no_exec,
  ringbuf_overwrite,
  ringbuf_walk_unequal,
  ringbuf_overwrite_available,
  perf_nest_counter,
  perf_format_lost,
  perf_sample_sizes,
  perf_poll_error,
  perf_pages_at_mmap,
  perf_unsplit_mapping,
  perf_redirected_mmap,
  user_ringbuf,
};

/// One of them. Plain data with the life of the program.
struct VersionRule {
  std::string_view name;     ///< stable: `ringbuf_pending_pos`
  std::string_view section;  ///< of KERNEL-RINGS
  std::string_view holds;    ///< what is so where the rule holds, one sentence
  std::string_view before;   ///< what is so where it does not
  /// The first release that has it: the mainline one, then those of older series that got it later, each for its series
  /// alone. A series whose patch level is not known stands with 0.
  std::span<const KernelVersion> since;
  std::string_view evidence;  ///< what is not certain about `since`; may be empty
  VersionRuleId id;
  ring::RingKind kind;
  bool modelled;  ///< whether a model with a KernelVersion does otherwise where the rule does not hold
};

/// The table. Thread-safe.
std::span<const VersionRule> version_rules();
const VersionRule& version_rule(VersionRuleId id);
/// Whether that kernel has it.
bool holds(const VersionRule& rule, const KernelVersion& version);
bool holds(VersionRuleId id, const KernelVersion& version);

/// How reserve takes its lock in NMI context (KERNEL-RINGS 5.5).
enum class NmiLock : std::uint8_t {
  try_once,   ///< one attempt; fails whoever holds it
  resilient,  ///< waits for another CPU, fails when its own CPU holds it
};

/// What the model of the BPF ring buffer does differently for kernels. Plain data: a test may mix its own.
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

/// The rules of that kernel, by the table.
RingbufRules ringbuf_rules(const KernelVersion& version);

}  // namespace ringside::sim
