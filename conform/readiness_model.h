// SPDX-License-Identifier: Apache-2.0
//
// The readiness verbs on the model's side: poll of each source, and the script's epoll sets over sim::Epoll. What they
// tell has the same shape as KernelReadiness::apply (conform/readiness_kernel.h), so that the two can be compared.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "conform/script.h"
#include "conform/side.h"
#include "conform/verbs.h"
#include "sim/readiness.h"
#include "sim/rule.h"

namespace ringside::conform {

/// Not thread-safe. The sources must outlive it.
class ModelReadiness {
 public:
  /// `sources`: one for each descriptor, in order: the only one, or perf's events a and b; their index is the tag that
  /// epoll_wait tells. `interest`: sim::poll_in or sim::poll_out, what every item asks for. `broken`: an epoll_ rule.
  ModelReadiness(std::vector<sim::PollSource*> sources, std::uint32_t interest, sim::Rule broken);

  /// Carries out `poll` and the epoll verbs.
  Outcome apply(ring::RingKind kind, const Op& op);
  /// Side::look.
  Outcome look();

 private:
  Outcome poll(std::size_t source);
  Outcome wait(std::size_t set);

  std::vector<sim::PollSource*> sources_;
  std::uint32_t interest_;
  std::array<std::unique_ptr<sim::Epoll>, static_cast<std::size_t>(epoll_sets)> sets_;
};

}  // namespace ringside::conform
