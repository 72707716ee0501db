// SPDX-License-Identifier: Apache-2.0
//
// What this machine can run, what it lacks, and the command that brings it. Everything is tried, nothing is guessed
// from version numbers; each trial leaves nothing behind.
#pragma once

#include <ostream>
#include <string>
#include <vector>

namespace ringside::real {

/// One thing that a run on kernel rings may need.
struct Capability {
  std::string name;     ///< stable, [a-z0-9_]+: `bpf_load`
  std::string summary;  ///< what it is for, one line
  bool present = false;
  bool required = false;  ///< without it no kernel ring can be run at all
  std::string detail;     ///< present: what was found; missing: why, with the errno's name
  std::string remedy;     ///< missing: the command that brings it

  friend bool operator==(const Capability&, const Capability&) = default;
};
std::ostream& operator<<(std::ostream& out, const Capability& capability);

/// Tries all of them: `kernel_release`, `cap_bpf`, `cap_perfmon`, `cap_sys_resource`, `cap_ipc_lock`, `bpf_load`,
/// `ringbuf_map`, `ringbuf_overwrite` (kernel 6.19), `ringbuf_program` (dynptr, bpf_loop), `perf_event_open`,
/// `perf_cpu_clock`, `userfaultfd`, `btf`, `bpffs`, `memlock`. Takes some milliseconds.
std::vector<Capability> capabilities();

/// The first required one that is missing, or nullptr: kernel rings can be run.
const Capability* first_missing(const std::vector<Capability>& capabilities);

}  // namespace ringside::real
