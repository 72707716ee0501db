// SPDX-License-Identifier: Apache-2.0
//
// The readiness verbs on the kernel's side: poll(2) of each descriptor, and the script's epoll sets.
//
// What they tell:
//   poll        result 1 when any bit is set, else 0; details: the bits, of all that can be asked for
//   epoll_add, epoll_modify, epoll_remove
//               result 0 or a negative errno (-EEXIST, -ENOENT)
//   epoll_wait  result: how many items are ready; details: tag and events of each, in the order of the kernel
//   look()      details: the bits of each descriptor, then for each set the count, tags and events
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "conform/script.h"
#include "conform/side.h"
#include "conform/verbs.h"
#include "real/handle.h"
#include "ring/result.h"

namespace ringside::conform {

/// Whether a verb is one of readiness: KernelReadiness and ModelReadiness carry it out.
bool is_readiness(Verb verb);

/// The descriptor that a readiness verb names: perf's event, 0 for the other kinds.
std::size_t descriptor_of(ring::RingKind kind, const Op& op);

/// Not thread-safe. Fresh epoll sets for one script. The descriptors are the caller's and must stay open as long.
class KernelReadiness {
 public:
  /// `descriptors`: the only one, or perf's events a and b; their index is the tag that epoll_wait tells. `interest`:
  /// EPOLLIN or EPOLLOUT, what every item asks for. Errors: EMFILE and the like.
  static ring::Result<KernelReadiness> create(std::vector<int> descriptors, std::uint32_t interest);

  /// Carries out `poll` and the epoll verbs. Errors: what no ring can be the cause of (EBADF, ENOMEM).
  ring::Result<Outcome> apply(ring::RingKind kind, const Op& op);
  /// Side::look.
  ring::Result<Outcome> look();
  /// poll(2) of one descriptor.
  ring::Result<Outcome> poll(std::size_t descriptor);

 private:
  KernelReadiness() = default;
  ring::Result<Outcome> control(ring::RingKind kind, const Op& op);
  ring::Result<Outcome> wait(std::size_t set);

  std::vector<int> descriptors_;
  std::uint32_t interest_ = 0;
  std::array<real::Fd, static_cast<std::size_t>(epoll_sets)> sets_;
};

}  // namespace ringside::conform
