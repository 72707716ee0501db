// SPDX-License-Identifier: Apache-2.0
//
// libbpf's ring_buffer__new(), ring_buffer__consume() and ring_buffer__poll() against the model's producers: set up in
// begin, read in a thread.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <utility>

#include "explore/explored.h"
#include "explore/programs/bpf_map.h"
#include "explore/programs/bpf_ring.h"
#include "libbpf.h"

namespace ringside::explore::programs {
namespace {

ring_buffer* reader;
std::uint32_t delivered;
const std::uint64_t* kept;

int deliver_record(void*, void* data, std::size_t) {
  std::uint64_t payload = 0;
  std::memcpy(&payload, data, sizeof payload);
  deliver(payload);
  ++delivered;
  return 0;
}

/// Broken: a record is looked at when the next one is there, and its space has been handed back by then.
int keep_record(void*, void* data, std::size_t) {
  if (kept != nullptr) deliver(*kept);
  kept = static_cast<const std::uint64_t*>(data);
  ++delivered;
  return 0;
}

/// A program whose reader stands ready before anything happens.
Program program_of(const RingPlan& plan, ring_buffer_sample_fn callback, std::function<void()> read) {
  Program program = bpf_program(plan, std::move(read));
  program.begin = [callback, empty = std::move(program.begin)] {
    empty();
    reader = ring_buffer__new(open_ring_map(), callback, nullptr, nullptr);
    if (reader == nullptr) fail("ring_buffer__new");
  };
  return program;
}

void consume() {
  while (delivered < records_in_all()) retry([] { return ring_buffer__consume(reader) != 0; });
}
constexpr auto consume_when_readable = [] { consume(); };

constexpr auto consume_again_and_again = [] {
  while (delivered < records_in_all()) ring_buffer__consume(reader);
};

/// A call in vain meets a record that is still BUSY: epoll tells at once of a ring that is not empty.
constexpr auto poll = [] {
  while (delivered < records_in_all()) ring_buffer__poll(reader, -1);
};

constexpr std::uint64_t page = 4096;

const Registered consume_1x1{"consume_1x1", program_of({.records = 1}, deliver_record, consume_when_readable)};
const Registered consume_1x2{"consume_1x2", program_of({.records = 2}, deliver_record, consume_when_readable)};
const Registered consume_1x3{"consume_1x3", program_of({.records = 3}, deliver_record, consume_when_readable)};
const Registered consume_1x4{"consume_1x4", program_of({.records = 4}, deliver_record, consume_when_readable)};
const Registered consume_1x5{"consume_1x5", program_of({.records = 5}, deliver_record, consume_when_readable)};
const Registered consume_1x6{"consume_1x6", program_of({.records = 6}, deliver_record, consume_when_readable)};
const Registered consume_1x8{"consume_1x8", program_of({.records = 8}, deliver_record, consume_when_readable)};
const Registered consume_1x9{"consume_1x9", program_of({.records = 9}, deliver_record, consume_when_readable)};
const Registered consume_4x1{"consume_4x1", program_of({.producers = 4}, deliver_record, consume_when_readable)};
const Registered consume_2x1{"consume_2x1", program_of({.producers = 2}, deliver_record, consume_when_readable)};
const Registered consume_2x2{"consume_2x2",
                             program_of({.producers = 2, .records = 2}, deliver_record, consume_when_readable)};
// The second record's payload lies across the end of the data.
const Registered consume_wrap{"consume_wrap",
                              program_of({.records = 2, .start = page - 24}, deliver_record, consume_when_readable)};
// The ring holds one such record: the next one overwrites it.
constexpr RingPlan full{.records = 2, .size = page / 2, .waits_for_space = true};
const Registered consume_full{"consume_full", program_of(full, deliver_record, consume_when_readable)};

const Registered spin_1x2{"spin_1x2", program_of({.records = 2}, deliver_record, consume_again_and_again)};
const Registered spin_1x3{"spin_1x3", program_of({.records = 3}, deliver_record, consume_again_and_again)};
const Registered spin_2x1{"spin_2x1", program_of({.producers = 2}, deliver_record, consume_again_and_again)};

const Registered poll_1x1{"poll_1x1", program_of({.records = 1, .wakes = true}, deliver_record, poll)};
const Registered poll_1x2{"poll_1x2", program_of({.records = 2, .wakes = true}, deliver_record, poll)};
// Nobody is woken, as with BPF_RB_NO_WAKEUP.
const Registered poll_unwoken{"poll_unwoken", program_of({.records = 1}, deliver_record, poll)};

/// And the last record at the end.
constexpr auto consume_late = [] {
  consume();
  deliver(*kept);
};
const Registered kept_1x2{"kept_1x2", program_of({.records = 2}, keep_record, consume_late)};
const Registered kept_full{"kept_full", program_of(full, keep_record, consume_late)};

}  // namespace
}  // namespace ringside::explore::programs
