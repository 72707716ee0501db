// SPDX-License-Identifier: Apache-2.0
//
// Readers of BPF rings used as their contracts forbid, each in a program as small as it can be, beside the reader that
// makes the same use harmless. What the debates about zero-copy reading are about, by name: the first failure of each
// program is the interleaving in question.
//
// Threads note what they read, each in a place of its own; the end of an execution puts it together.
#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <string>
#include <type_traits>

#include "consumers/epoll_poller.h"
#include "consumers/lease.h"
#include "consumers/peek.h"
#include "consumers/read.h"
#include "consumers/token_commit.h"
#include "consumers/visit.h"
#include "explore/programs/bpf_map.h"
#include "harness/explored/host.h"

namespace ringside::harness::explored {
namespace {

using consumers::already_past;
using consumers::FlagGuard;
using consumers::MutexGuard;
using consumers::NoGuard;
using consumers::RecordCopy;
using consumers::RecordView;
using consumers::RingbufSteps;
using consumers::Told;
using explore::Registered;
using explore::programs::RingPlan;
using ring::DefectKind;
namespace programs = explore::programs;

using Edge = consumers::EpollPoller<RINGSIDE_EDGE>;
using Level = consumers::EpollPoller<RINGSIDE_LEVEL>;

// ------------------------------------------------------------------------------------------------ what was read

constexpr std::size_t most_readers = 3;

/// The payloads that one thread has seen.
struct Notes {
  std::array<std::uint64_t, 8> seen;
  std::size_t count;
};
std::array<Notes, most_readers> notes;

void note(std::size_t reader, const void* data) {
  Notes& mine = notes[reader];
  if (mine.count < mine.seen.size()) std::memcpy(&mine.seen[mine.count++], data, sizeof(std::uint64_t));
}
void note(std::size_t reader, const RecordCopy& record) { note(reader, record.bytes.get()); }

/// Each record was read once, or lies in the ring still. Plain C++, when no thread runs any more.
void account(const RingPlan& plan) {
  constexpr std::uint64_t first_payload = 1000;
  std::array<int, 8> times{};
  for (const Notes& each : notes) {
    for (std::size_t index = 0; index < each.count; ++index) {
      const std::uint64_t record = each.seen[index] - first_payload;
      if (record >= plan.records) explore::fail(DefectKind::phantom, "something is read that nobody wrote");
      ++times[record];
    }
  }
  const std::uint64_t span = ring::ringbuf::span_of(plan.size);
  const std::uint64_t consumed = (*programs::ring().consumer_pos - plan.start) / span;
  for (std::uint32_t record = 0; record < plan.records; ++record) {
    if (times[record] > 1) explore::fail(DefectKind::duplicate, "a record is read twice");
    if (times[record] == 0 && record < consumed) explore::fail(DefectKind::lost, "a record is handed back unread");
  }
}

// ------------------------------------------------------------------------------------------------ programs

/// The one ring, as readers are given it.
struct Rings {
  ringside_ring ring;
  ringside_ring_set set;
  ringside_host host;
};
Rings rings;

void map_ring() {
  rings.ring = as_mapped(programs::ring());
  rings.ring.fd = programs::open_ring_map();
  rings.set = {};
  rings.set.kind = RINGSIDE_RINGBUF;
  rings.set.ring_count = 1;
  rings.set.rings = &rings.ring;
}

/// The reader that the threads of a program share.
template <class Reader>
Reader*& shared() {
  static Reader* reader = nullptr;
  return reader;
}

template <class Reader>
void open_shared() {
  shared<Reader>() = new Reader(rings.set, rings.host);
  if (shared<Reader>()->start() != 0) explore::fail("the reader does not open the ring");
}

/// The model's producer and these threads, for which `open` makes what they share.
explore::Program program_of(RingPlan plan, void (*open)(), std::initializer_list<void (*)()> readers) {
  plan.wakes = true;
  explore::Program program = programs::bpf_program(plan, *readers.begin());
  program.threads.insert(program.threads.end(), readers.begin() + 1, readers.end());
  const char* const names[] = {"reader A", "reader B", "reader C"};
  program.thread_names.pop_back();
  program.thread_names.insert(program.thread_names.end(), names, names + readers.size());
  program.begin = [begin = program.begin, open] {
    begin();
    notes = {};
    map_ring();
    open();
  };
  program.end = [plan] { account(plan); };
  return program;
}

constexpr RingPlan two{.records = 2, .one_is_there = true};
// The ring holds one such record: the next one overwrites it.
constexpr RingPlan full{.records = 2, .size = 2048, .one_is_there = true, .waits_for_space = true};

// ------------------------------------------------------------------------------------------------ peek

template <class Guard>
using Peeker = consumers::PeekReader<RingbufSteps, Edge, Guard>;
template <class Guard>
Peeker<Guard>& peeker() {
  return *shared<Peeker<Guard>>();
}

/// Peek, read, consume on one thread: read takes what was peeked, and consume moves past what nobody saw.
template <class Guard>
void peek_read_consume() {
  RecordView view;
  RecordCopy copy;
  if (peeker<Guard>().peek(view) != Told::record) return;
  if (peeker<Guard>().read_into(copy) == Told::record) {
    note(0, copy);
  } else {
    note(0, view.data);
  }
  peeker<Guard>().consume();
  if (peeker<Guard>().peek(view) != Told::record) return;
  note(0, view.data);
  peeker<Guard>().consume();
}

/// The same, and the view is looked at when read has handed its bytes back.
template <class Guard>
void peek_read_look() {
  RecordView view;
  RecordCopy copy;
  if (peeker<Guard>().peek(view) != Told::record) return;
  if (peeker<Guard>().read_into(copy) == Told::in_use) note(0, view.data);
  std::uint64_t payload = 0;
  std::memcpy(&payload, view.data, sizeof payload);
  peeker<Guard>().consume();
}

template <class Guard, std::size_t reader>
void peek_consume_once() {
  RecordView view;
  if (peeker<Guard>().peek(view) != Told::record) return;
  note(reader, view.data);
  peeker<Guard>().consume();
}

template <class Guard, std::size_t reader>
void read_once() {
  RecordCopy copy;
  if (peeker<Guard>().read_into(copy) == Told::record) note(reader, copy);
}

template <class Guard>
void consume_twice() {
  peek_consume_once<Guard, 0>();
  peeker<Guard>().consume();
  peek_consume_once<Guard, 0>();
}

/// No guard knows of a view that is kept.
void view_over_consume() {
  RecordView view;
  if (peeker<FlagGuard>().peek(view) != Told::record) return;
  peeker<FlagGuard>().consume();
  note(0, view.data);
}

/// Of threads that wait for themselves no wake-up is to be expected.
explore::Program without_wakeups(explore::Program program) {
  program.unread = {};
  return program;
}

template <class Guard>
explore::Program peeking(const RingPlan& plan, std::initializer_list<void (*)()> readers) {
  explore::Program program = program_of(plan, open_shared<Peeker<Guard>>, readers);
  return std::is_same_v<Guard, MutexGuard> ? without_wakeups(program) : program;
}

/// What is misused, under each guard.
struct Misused {
  template <class Guard>
  struct Under {
    explicit Under(const std::string& guard)
        : peek_read_consume_(guard + "_peek_read_consume", peeking<Guard>(two, {peek_read_consume<Guard>})),
          peek_read_look_(guard + "_peek_read_look", peeking<Guard>(full, {peek_read_look<Guard>})),
          read_between_(guard + "_peek_read_threads",
                        peeking<Guard>(two, {peek_consume_once<Guard, 0>, read_once<Guard, 1>})),
          two_peekers_(guard + "_two_peekers",
                       peeking<Guard>(two, {peek_consume_once<Guard, 0>, peek_consume_once<Guard, 1>})),
          consume_twice_(guard + "_consume_twice", peeking<Guard>(two, {consume_twice<Guard>})) {}

    Registered peek_read_consume_;
    Registered peek_read_look_;
    Registered read_between_;
    Registered two_peekers_;
    Registered consume_twice_;
  };

  Under<NoGuard> unguarded{"unguarded"};
  Under<FlagGuard> flag{"flag"};
  Under<MutexGuard> mutex{"mutex"};
};
const Misused misused;
const Registered kept_view{"view_over_consume", peeking<FlagGuard>(full, {view_over_consume})};

// ------------------------------------------------------------------------------------------------ close

/// True while the ring is mapped: the owner's word for munmap, which writes all of it.
bool mapped;

template <class Reader>
void open_mapped() {
  open_shared<Reader>();
  mapped = true;
}

/// Closes the reader, and unmaps the ring when close has returned.
template <class Reader>
void close_and_unmap() {
  shared<Reader>()->close();
  mapped = false;
}

void touch_ring() {
  if (!mapped) explore::fail(DefectKind::use_after_release, "the ring is read after it was unmapped");
}

using Copying = consumers::CopyingReader<RingbufSteps, Edge>;
using Leasing = consumers::LeaseReader<RingbufSteps, Edge>;
using Visiting = consumers::VisitingReader<RingbufSteps, Edge>;

/// Waits for records until it is closed.
void read_until_closed() {
  RecordCopy copy;
  while (shared<Copying>()->read_into(copy) == Told::record) note(0, copy);
}

void ask_while_closing() {
  if (shared<Copying>()->available_bytes() > shared<Copying>()->buffer_size()) explore::fail("more than a ring");
}

/// What a flush promises, from another thread.
void read_until_flushed() {
  RecordCopy copy;
  Told told = Told::record;
  while (told == Told::record) {
    told = shared<Copying>()->read_into(copy);
    if (told == Told::record) note(0, copy);
  }
  if (told != Told::flushed) explore::fail("a read ends that nobody flushed");
}
void flush() { shared<Copying>()->flush(); }

void lease_once() {
  shared<Leasing>()->with_lease([](auto& lease) {
    RecordView view;
    if (lease.read_sample(view) != Told::record) return;
    touch_ring();
    note(0, view.data);
  });
}

void close_in_lease() {
  shared<Leasing>()->with_lease([](auto&) { shared<Leasing>()->close(); });
}

void peek_and_touch() {
  RecordView view;
  if (peeker<FlagGuard>().peek(view) != Told::record) return;
  touch_ring();
  note(0, view.data);
  peeker<FlagGuard>().consume();
}

void visit_and_touch() {
  bool touched = false;
  shared<Visiting>()->visit(
      [](const RecordView& view) {
        touch_ring();
        note(0, view.data);
        return true;
      },
      touched);
}

const Registered close_read{"close_during_read",
                            program_of(two, open_mapped<Copying>, {read_until_closed, close_and_unmap<Copying>})};
const Registered flush_read{"flush_during_read", program_of(two, open_shared<Copying>, {read_until_flushed, flush})};
const Registered close_ask{"close_during_available_bytes",
                           program_of(two, open_mapped<Copying>, {ask_while_closing, close_and_unmap<Copying>})};
const Registered close_lease{"close_during_lease",
                             program_of(two, open_mapped<Leasing>, {lease_once, close_and_unmap<Leasing>})};
const Registered close_inside{"close_in_lease",
                              without_wakeups(program_of(two, open_mapped<Leasing>, {close_in_lease}))};
const Registered close_peek{"close_during_peek", program_of(two, open_mapped<Peeker<FlagGuard>>,
                                                            {peek_and_touch, close_and_unmap<Peeker<FlagGuard>>})};
const Registered close_visit{"close_during_visit",
                             program_of(two, open_mapped<Visiting>, {visit_and_touch, close_and_unmap<Visiting>})};

// ------------------------------------------------------------------------------------------------ tokens

struct AnyOrder : RingbufSteps {
  static constexpr std::uint64_t frontier(std::uint64_t oldest, std::uint64_t committed) {
    return oldest > committed ? oldest : committed;
  }
};

/// The second record is committed before the first, whose view is looked at then.
template <class Steps>
void commit_out_of_order() {
  consumers::TokenReader<Steps, Edge> reader(rings.set, rings.host);
  if (reader.start() != 0) explore::fail("the reader does not open the ring");
  std::array<RecordView, 2> views;
  std::array<std::uint64_t, 2> tokens{};
  for (std::size_t record = 0; record < 2; ++record) {
    explore::retry([&] { return reader.read(views[record], tokens[record]) == Told::record; });
  }
  note(0, views[1].data);
  reader.commit(tokens[1]);
  note(0, views[0].data);
  reader.commit(tokens[0]);
}

void share_nothing() {}
constexpr RingPlan two_to_come{.records = 2};
const Registered ordered{"tokens_out_of_order",
                         program_of(two_to_come, share_nothing, {commit_out_of_order<RingbufSteps>})};
const Registered any_order{"tokens_in_any_order",
                           program_of(two_to_come, share_nothing, {commit_out_of_order<AnyOrder>})};

// ------------------------------------------------------------------------------------------------ lease

struct SleepsUncommitted : RingbufSteps {
  static constexpr bool sleeps_uncommitted = true;
  static constexpr int most_wakeups = 1;
};

/// Reads the one record, does not commit it, and reads again: epoll tells of the same bytes again and again (Q1).
template <class Steps>
void read_again_uncommitted() {
  consumers::LeaseReader<Steps, Level> reader(rings.set, rings.host);
  if (reader.start() != 0) explore::fail("the reader does not open the ring");
  reader.with_lease([](auto& lease) {
    RecordView view;
    if (lease.read_sample(view) == Told::record) note(0, view.data);
    while (lease.read_sample(view) == Told::awake) {
    }
  });
}

constexpr RingPlan one{.records = 1, .one_is_there = true};
const Registered lease_again{"lease_uncommitted",
                             program_of(one, share_nothing, {read_again_uncommitted<RingbufSteps>})};
const Registered lease_spins{"lease_sleeps_uncommitted",
                             program_of(one, share_nothing, {read_again_uncommitted<SleepsUncommitted>})};

// ------------------------------------------------------------------------------------------------ two readers

/// A reader of its own on the ring that another one reads, too.
template <std::size_t reader>
void read_on_its_own() {
  Copying mine(rings.set, rings.host);
  if (mine.start() != 0) return;
  mine.set_deadline(already_past);
  RecordCopy copy;
  if (mine.read_into(copy) == Told::record) note(reader, copy);
}
const Registered two_readers{"two_readers", program_of(two, share_nothing, {read_on_its_own<0>, read_on_its_own<1>})};

// ------------------------------------------------------------------------------------------------ drain

/// More than lay there when the drain began.
void drain_until_empty() {
  Copying& reader = *shared<Copying>();
  reader.set_deadline(already_past);
  const std::uint64_t there = reader.available_bytes() / ring::ringbuf::span_of(programs::record_size());
  RecordCopy copy;
  for (std::uint64_t read = 0; reader.read_into(copy) == Told::record; ++read) {
    if (read == there) explore::fail(DefectKind::unbounded_drain, "a drain reads what came after it had begun");
    note(0, copy);
  }
}

/// What lay there when the round began, and no more.
void drain_a_round() {
  Copying& reader = *shared<Copying>();
  reader.set_deadline(already_past);
  RecordCopy copy;
  const auto round = reader.rings().one_round();
  const std::uint64_t there = reader.rings().reader().snapshot() - programs::first_position();
  const std::uint64_t records = there / ring::ringbuf::span_of(programs::record_size());
  for (std::uint64_t read = 0; reader.read_into(copy) == Told::record; ++read) {
    if (read == records) explore::fail(DefectKind::unbounded_drain, "a drain reads what came after it had begun");
    note(0, copy);
  }
}

constexpr RingPlan three{.records = 3, .one_is_there = true};
const Registered endless{"drain_until_empty", program_of(three, open_shared<Copying>, {drain_until_empty})};
const Registered bounded{"drain_a_round", program_of(three, open_shared<Copying>, {drain_a_round})};

}  // namespace
}  // namespace ringside::harness::explored
