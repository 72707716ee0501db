// SPDX-License-Identifier: Apache-2.0
//
// libbpf's perf_buffer__new_raw(), perf_buffer__consume() and perf_buffer__poll() against the model's perf output: set
// up in begin, read in a thread.
#include <linux/perf_event.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <utility>

#include "explore/explored.h"
#include "explore/programs/perf_event.h"
#include "libbpf.h"

namespace ringside::explore::programs {
namespace {

perf_buffer* reader;

bpf_perf_event_ret deliver_event(void*, int, perf_event_header* event) {
  constexpr std::size_t raw_offset = sizeof(perf_event_header) + sizeof(std::uint32_t);
  std::uint32_t word = 0;
  std::memcpy(&word, reinterpret_cast<const char*>(event) + raw_offset, sizeof word);
  if (event->type != PERF_RECORD_SAMPLE) fail(DefectKind::phantom, "a record that nobody wrote is delivered");
  deliver_sample(word);
  return LIBBPF_PERF_EVENT_CONT;
}

Program program_of(const PerfEventPlan& plan, std::function<void()> read) {
  Program program = perf_event_program(plan, std::move(read));
  program.begin = [empty = std::move(program.begin)] {
    empty();
    perf_event_attr attr{};
    attr.size = sizeof attr;
    attr.type = PERF_TYPE_SOFTWARE;
    attr.config = PERF_COUNT_SW_BPF_OUTPUT;
    attr.sample_type = PERF_SAMPLE_RAW;
    attr.sample_period = attr.wakeup_events = 1;
    reader = perf_buffer__new_raw(open_perf_map(), 1, &attr, deliver_event, nullptr, nullptr);
    if (reader == nullptr) fail("perf_buffer__new_raw");
  };
  return program;
}

/// Waits for a record by looking at the ring, so that no call is made in vain.
template <std::uint32_t records>
void consume() {
  while (samples_delivered() < records) {
    wait_samples();
    perf_buffer__consume(reader);
  }
}

template <std::uint32_t records>
void poll() {
  while (samples_delivered() < records) perf_buffer__poll(reader, -1);
}

constexpr std::uint64_t page = 4096;
constexpr auto consume_2 = [] { consume<2>(); };
constexpr auto consume_4 = [] { consume<4>(); };
constexpr auto consume_8 = [] { consume<8>(); };
constexpr auto poll_2 = [] { poll<2>(); };

// The second sample lies across the end of the data.
const Registered consume_wrap{"perf_consume_2_wrap", program_of({.records = 2, .start = page - 24}, consume_2)};
const Registered consume_more{"perf_consume_4_wrap", program_of({.records = 4, .start = page - 40}, consume_4)};
const Registered consume_most{"perf_consume_8_wrap", program_of({.records = 8, .start = page - 40}, consume_8)};
// The ring holds one such sample: the next one overwrites it, and lies across the end.
const Registered consume_full{"perf_consume_full",
                              program_of({.records = 2, .size = page / 2 + 4, .waits_for_space = true}, consume_2)};
// Three of five fit.
constexpr auto consume_5 = [] { consume<5>(); };
const Registered consume_full_5{"perf_consume_5_full",
                                program_of({.records = 5, .size = page / 4 + 4, .waits_for_space = true}, consume_5)};
const Registered poll_both{"perf_poll_2", program_of({.records = 2, .wakes = true}, poll_2)};

}  // namespace
}  // namespace ringside::explore::programs
