// SPDX-License-Identifier: Apache-2.0
#include "sim/kernel_version.h"

#include <algorithm>
#include <cassert>
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

ring::Result<KernelVersion> running_kernel_version(std::string_view release, std::string_view version) {
  constexpr std::string_view mark = " Debian ";
  auto named = parse_kernel_version(release);
  const std::size_t place = version.find(mark);
  if (!named || place == std::string_view::npos) return named;
  const auto built = parse_kernel_version(version.substr(place + mark.size()));
  const bool same_series = built && built->major == named->major && built->minor == named->minor;
  return same_series ? built : named;
}

namespace {

using ring::RingKind;

constexpr KernelVersion since_5_2[] = {{5, 2, 0}};
constexpr KernelVersion since_5_8[] = {{5, 8, 0}};
constexpr KernelVersion since_oversize[] = {{5, 13, 0}, {5, 10, 37}, {5, 11, 21}, {5, 12, 4}};
constexpr KernelVersion since_5_19[] = {{5, 19, 0}};
constexpr KernelVersion since_format_lost[] = {{6, 0, 0}, {5, 10, 0}};
constexpr KernelVersion since_6_1[] = {{6, 1, 0}};
constexpr KernelVersion since_6_3[] = {{6, 3, 0}};
constexpr KernelVersion since_pending_pos[] = {{6, 10, 0}, {5, 10, 0}, {5, 15, 0}, {6, 1, 0}, {6, 6, 0}, {6, 9, 0}};
constexpr KernelVersion since_6_12[] = {{6, 12, 0}};
constexpr KernelVersion since_6_16[] = {{6, 16, 0}};
constexpr KernelVersion since_unsplit[] = {{6, 17, 0}, {5, 10, 0}, {6, 1, 0}, {6, 12, 0}, {6, 16, 0}};
constexpr KernelVersion since_6_19[] = {{6, 19, 0}};
constexpr KernelVersion since_redirected[] = {{6, 19, 0}, {6, 18, 0}};
constexpr KernelVersion since_7_2[] = {{7, 2, 0}};
constexpr KernelVersion since_7_3[] = {{7, 3, 0}};

constexpr VersionRule table[] = {
    {"ringbuf", "6", "BPF_MAP_TYPE_RINGBUF exists", "no such map can be created", since_5_8, "", VersionRuleId::ringbuf,
     RingKind::ringbuf, true},
    {"ringbuf_oversize", "1.5.2", "a span larger than the ring fails",
     "it succeeds when consumer_pos lies far enough ahead (CVE-2021-3489)", since_oversize, "",
     VersionRuleId::ringbuf_oversize, RingKind::ringbuf, true},
    {"ringbuf_read_only_pages", "1.3", "a read-only mapping cannot be made writable",
     "mprotect makes the producer's pages writable", since_oversize, "", VersionRuleId::ringbuf_read_only_pages,
     RingKind::ringbuf, false},
    {"ringbuf_dynptr", "1.7", "bpf_ringbuf_reserve_dynptr and its kin exist", "programs that call them do not load",
     since_5_19, "", VersionRuleId::ringbuf_dynptr, RingKind::ringbuf, false},
    {"ringbuf_pending_pos", "1.5.6",
     "a reservation never passes the oldest BUSY record, and pending_pos tells where it is",
     "only consumer_pos counts (CVE-2024-41009), and the producer page reads 0 at byte 8", since_pending_pos,
     "the stable series got it in mid 2024 at patch levels that are not known; 5.10.262 and 6.1.192 have it",
     VersionRuleId::ringbuf_pending_pos, RingKind::ringbuf, true},
    {"ringbuf_raw_lock", "6", "reserve takes a raw spinlock", "it takes one that sleeps on PREEMPT_RT", since_6_12,
     "read in the patch; the release is inferred", VersionRuleId::ringbuf_raw_lock, RingKind::ringbuf, false},
    {"ringbuf_resilient_lock", "5.5",
     "reserve takes a resilient lock in every context, and fails on a deadlock or a time-out",
     "it spins in tasks and interrupts, and tries once in NMIs", since_6_16, "6.16.3 has it, 6.12.118 has not",
     VersionRuleId::ringbuf_resilient_lock, RingKind::ringbuf, true},
    {"ringbuf_no_exec", "1.3", "a mapping with PROT_EXEC is EPERM", "it is allowed", since_6_16,
     "6.16.12 refuses it, 6.12.118 allows it; which release in between began to is not known",
     VersionRuleId::ringbuf_no_exec, RingKind::ringbuf, false},
    {"ringbuf_overwrite", "1.11",
     "BPF_F_RB_OVERWRITE makes a ring that gives up its oldest records; overwrite_pos and query 4 tell where it is",
     "the flag is EINVAL, query 4 returns 0", since_6_19, "", VersionRuleId::ringbuf_overwrite, RingKind::ringbuf,
     true},
    {"ringbuf_walk_unequal", "1.5.6", "the walk of pending_pos ends where it equals producer_pos",
     "it ends where it is not below producer_pos", since_7_2, "7.2.13 has it, 7.0.13 has not",
     VersionRuleId::ringbuf_walk_unequal, RingKind::ringbuf, true},
    {"ringbuf_overwrite_available", "1.11",
     "AVAIL_DATA of an overwrite ring is the lesser of what lies behind consumer_pos and behind overwrite_pos",
     "it counts from the greater of the two positions", since_7_3, "7.2.13 has it not",
     VersionRuleId::ringbuf_overwrite_available, RingKind::ringbuf, true},
    {"perf_nest_counter", "5.2", "data_head never goes backward", "it can in a small window between nested writers",
     since_5_2, "the release is inferred", VersionRuleId::perf_nest_counter, RingKind::perf, false},
    {"perf_format_lost", "2.7", "PERF_FORMAT_LOST tells what an event has lost", "the format is EINVAL",
     since_format_lost, "stable series have it, too, 5.10.262 among them, at patch levels that are not known",
     VersionRuleId::perf_format_lost, RingKind::perf, false},
    {"perf_sample_sizes", "2.8", "sizes of samples are computed in 64 bits beforehand; what is written is the same",
     "they are computed while the header is made", since_6_3, "about 6.3, as read in the source",
     VersionRuleId::perf_sample_sizes, RingKind::perf, false},
    {"perf_poll_error", "4.1", "poll tells POLLERR for a revoked event and for a pinned one in error",
     "it tells nothing of them", since_6_16, "6.16 has it, 5.17 has not", VersionRuleId::perf_poll_error,
     RingKind::perf, false},
    {"perf_pages_at_mmap", "2.1", "mmap maps all pages of the ring", "they are mapped as they are touched", since_6_16,
     "6.16 has it, 5.17 has not", VersionRuleId::perf_pages_at_mmap, RingKind::perf, false},
    {"perf_unsplit_mapping", "2.1", "a part of a mapping cannot be unmapped", "a mapping can be split", since_unsplit,
     "the fix is of mid 2025; 5.10.262, 6.1.192, 6.12.118, 6.16.12 and 6.18.44 have it, patch levels are not known",
     VersionRuleId::perf_unsplit_mapping, RingKind::perf, false},
    {"perf_redirected_mmap", "2.1", "to map an event whose output goes to another ring is EBUSY", "it is allowed",
     since_redirected, "the fix is of January 2026; 6.18.44 and 6.19.14 have it, 6.12.118 has not",
     VersionRuleId::perf_redirected_mmap, RingKind::perf, true},
    {"user_ringbuf", "3", "BPF_MAP_TYPE_USER_RINGBUF exists", "no such map can be created", since_6_1, "",
     VersionRuleId::user_ringbuf, RingKind::user_ringbuf, false},
};

}  // namespace

std::span<const VersionRule> version_rules() { return table; }

const VersionRule& version_rule(VersionRuleId id) {
  const VersionRule& rule = table[static_cast<std::size_t>(id)];
  assert(rule.id == id && "the table is in the order of the enumeration");
  return rule;
}

bool holds(const VersionRule& rule, const KernelVersion& version) {
  const auto later = [&](const KernelVersion& first) {
    return version.major == first.major && version.minor == first.minor && version >= first;
  };
  return version >= rule.since.front() || std::ranges::any_of(rule.since.subspan(1), later);
}

bool holds(VersionRuleId id, const KernelVersion& version) { return holds(version_rule(id), version); }

RingbufRules ringbuf_rules(const KernelVersion& version) {
  const auto has = [&](VersionRuleId id) { return holds(id, version); };
  return RingbufRules{
      .has_ringbuf = has(VersionRuleId::ringbuf),
      .refuses_oversize = has(VersionRuleId::ringbuf_oversize),
      .has_pending_pos = has(VersionRuleId::ringbuf_pending_pos),
      .walks_while_unequal = has(VersionRuleId::ringbuf_walk_unequal),
      .has_overwrite = has(VersionRuleId::ringbuf_overwrite),
      .available_is_least = has(VersionRuleId::ringbuf_overwrite_available),
      .nmi_lock = has(VersionRuleId::ringbuf_resilient_lock) ? NmiLock::resilient : NmiLock::try_once,
  };
}

}  // namespace ringside::sim
