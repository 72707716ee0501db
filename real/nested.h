// SPDX-License-Identifier: Apache-2.0
//
// The interrupt that produces: a software cpu-clock event on one CPU with our hardirq program on it. Internal to real/.
#pragma once

#include <cstdint>
#include <memory>

#include "real/program.h"
#include "ring/result.h"

struct bpf_link;

namespace ringside::real {

/// The event, attached and disabled. While enabled it ticks on its CPU every 50 us, and each tick carries out the
/// order in ringside_shared::nested, if there is one.
class NestedEvent {
 public:
  /// EPERM without CAP_PERFMON, ENODEV for a CPU that is not online.
  static ring::Result<NestedEvent> attach(const std::shared_ptr<Program>& program, std::uint32_t cpu);
  ~NestedEvent();
  NestedEvent(NestedEvent&& other) noexcept;
  NestedEvent& operator=(NestedEvent&&) = delete;

  ring::Result<void> enable();
  void disable();

 private:
  NestedEvent(std::shared_ptr<Program> program, bpf_link* link, int fd)
      : program_(std::move(program)), link_(link), fd_(fd) {}

  std::shared_ptr<Program> program_;  // outlives the link
  bpf_link* link_;
  int fd_;  // the link's
};

}  // namespace ringside::real
