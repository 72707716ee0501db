// SPDX-License-Identifier: Apache-2.0
//
// What a producer is told to do, one record at a time: the unit that the model steps through and that BPF programs
// execute. Both worlds take the same operations.
#pragma once

#include <cstdint>
#include <ostream>

namespace ringside::ring {

enum class Action : std::uint8_t {
  submit,          ///< ringbuf: reserve, write, submit
  discard,         ///< ringbuf: reserve, write, discard
  output,          ///< ringbuf: bpf_ringbuf_output; perf: bpf_perf_event_output
  hold,            ///< ringbuf: reserve, write a draft, leave it BUSY until this source's next settle
  settle_submit,   ///< ringbuf: finish and submit the record that this source holds
  settle_discard,  ///< ringbuf: finish and discard it
};

inline constexpr std::uint8_t flag_no_wakeup = 1;     ///< BPF_RB_NO_WAKEUP
inline constexpr std::uint8_t flag_force_wakeup = 2;  ///< BPF_RB_FORCE_WAKEUP

/// One operation of one source. Plain data.
struct Operation {
  Action action = Action::submit;
  std::uint8_t flags = 0;  ///< ringbuf wake-up flags
  std::uint16_t source = 0;
  std::uint16_t cpu = 0;            ///< where it runs
  std::uint16_t nested_source = 0;  ///< source of the nested records
  std::uint32_t size = 0;           ///< bytes of the record
  std::uint32_t nested = 0;         ///< records that hardirq context on the same CPU puts out while this one is open
  std::uint32_t nested_size = 0;    ///< bytes of each

  friend bool operator==(const Operation&, const Operation&) = default;
};
std::ostream& operator<<(std::ostream& out, Action action);
std::ostream& operator<<(std::ostream& out, const Operation& operation);

}  // namespace ringside::ring
