// SPDX-License-Identifier: Apache-2.0
#include "harness/user_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "harness/resources.h"
#include "harness/user_drains.h"
#include "harness/workload.h"
#include "ring/layout.h"
#include "ring/record.h"

namespace ringside::harness {

namespace {

using ring::DefectKind;
using ring::RecordState;

// A wait may return late by so much before that is a defect.
constexpr std::int64_t deadline_slack_ns = 1'000'000;
// Drains in a row that move nothing, after which none will.
constexpr std::uint64_t still_drains = 3;
// Waits in a row that returned ready though there was no room, after which a producer is said to spin.
constexpr std::uint64_t most_idle_rounds = 64;
// Timeouts in a row after which an application gives up.
constexpr std::uint64_t most_timeouts = 1000;
// Yields and waits within one call after which it is said to spin for ever.
constexpr std::uint64_t most_host_calls = 1'000'000;
// Deliveries beyond all that can be after which a drain will not come to an end by itself.
constexpr std::uint64_t most_excess = 100'000;
// The most that a yield takes on the virtual clock: less than the slack of a deadline.
constexpr std::int64_t yield_ns = 100'000;
constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

/// The books of one source: its ledger, and the numbers that its next records get.
struct Source {
  ring::SourceLedger ledger;
  std::uint64_t next_committed = 0;
  std::uint64_t next_doomed = 0;
  std::uint64_t next_draft = 0;
  std::uint64_t announced = 0;  // numbers below it may be seen
  struct Held {
    std::byte* payload;
    std::uint32_t size;
  };
  std::optional<Held> held;
};

class UserSession {
 public:
  UserSession(UserWorld& world, const UserSessionOptions& options)
      : world_(world),
        options_(options),
        scenario_(*options.scenario),
        producer_(*options.producer),
        workload_(scenario_, ring::RingKind::user_ringbuf, options.records),
        sources_(workload_.source_count()),
        judge_(judge_options()),
        drains_(world, scenario_, options.seed, judge_, *options.heartbeat) {
    host_ = {.abi_version = RINGSIDE_PRODUCER_ABI,
             .struct_size = sizeof(ringside_producer_host),
             .context = this,
             .wait = [](void* self, std::int64_t timeout_ns) { return as(self).host_wait(timeout_ns); },
             .now_ns = [](void* self) { return as(self).host_now(); },
             .yield = [](void* self) { as(self).host_yield(); }};
  }

  ring::Result<ring::Verdict> run();

 private:
  static UserSession& as(void* self) { return *static_cast<UserSession*>(self); }

  ring::JudgeOptions judge_options() {
    return {.kind = ring::RingKind::user_ringbuf,
            .source_count = workload_.source_count(),
            .max_records_per_source = workload_.most_records(),
            .reserved_so_far = [this](std::uint32_t source) { return sources_[source].announced; }};
  }

  // The application's side: what calls the producer.
  bool open();
  void produce();
  void carry_out(const ring::Operation& operation, bool retry);
  int try_once(const ring::Operation& operation);
  int send(const ring::Operation& operation);
  int reserve(const ring::Operation& operation);
  void finish_sample(std::uint16_t source, std::byte* payload, std::uint32_t size, RecordState state);
  void settle(std::uint16_t source);
  bool wait_for_room(std::uint32_t size);
  void check_wait(int told, std::uint32_t size, std::int64_t deadline);
  void idle_round();
  void drain_rest();
  void close();
  ring::Verdict finish();

  // The host's side: what the producer calls.
  int host_wait(std::int64_t timeout_ns);
  int asleep_for_ever();
  std::int64_t host_now();
  void host_yield();
  void count_host_call();

  // Truth.
  void enter(const char* call);
  void leave();
  void check_positions();
  void check_answer(const char* call, int answer, std::uint32_t size, bool had_room);
  bool check_payload(const std::byte* payload, std::uint32_t size);
  bool has_room(std::uint32_t size) const;
  bool sends_now(const ring::Operation& operation);
  void write(std::byte* payload, const ring::RecordIdentity& identity);
  std::vector<std::uint64_t> left() const;
  ring::ProducerLedger ledger() const;
  void accuse(DefectKind kind, std::string detail, std::uint64_t count = 1) {
    judge_.accuse({.kind = kind, .count = count, .detail = std::move(detail)});
  }
  bool over() const { return over_ || drains_.fault().has_value() || has_excess(); }
  bool has_excess() const { return judge_.deliveries() > 2 * workload_.planned_records() + most_excess; }

  UserWorld& world_;
  const UserSessionOptions& options_;
  const Scenario& scenario_;
  const ringside_producer& producer_;
  Workload workload_;
  std::vector<Source> sources_;
  ring::Judge judge_;
  UserDrains drains_;
  ringside_producer_host host_{};
  void* state_ = nullptr;

  std::vector<std::byte> scratch_;
  Resources kept_;  // what open took and close has not given back
  std::vector<std::uint64_t> left_;
  bool over_ = false;
  bool lied_ = false;         // the operation under way had an error that was none: to try again may never end
  std::uint32_t wanted_ = 0;  // size that the wait under way is for
  std::uint64_t producer_seen_ = 0;
  std::uint64_t waits_ = 0;
  std::uint64_t host_calls_ = 0;  // within the call under way
  std::uint64_t idle_rounds_ = 0;
  std::uint64_t idle_consumer_ = 0;  // consumer_pos when the idle rounds began
  bool injected_ = false;            // a fault of the scenario's ended a wait within the call
};

// ---------------------------------------------------------------------------------------------------- truth

void UserSession::enter(const char* call) {
  // Relaxed, as all of the heartbeat: nothing is ordered by it.
  options_.heartbeat->beats.fetch_add(1, std::memory_order_relaxed);
  options_.heartbeat->inside.store(call, std::memory_order_relaxed);
  host_calls_ = 0;
  injected_ = false;
}

void UserSession::leave() {
  options_.heartbeat->beats.fetch_add(1, std::memory_order_relaxed);
  options_.heartbeat->inside.store("between calls", std::memory_order_relaxed);
  check_positions();
}

void UserSession::check_positions() {
  const std::uint64_t consumer = drains_.consumer_pos();
  const std::uint64_t producer = drains_.producer_pos();
  if (static_cast<std::int64_t>(producer - producer_seen_) < 0) {
    accuse(DefectKind::position_regressed,
           fmt::format("producer position went back from {} to {}", producer_seen_, producer));
  }
  producer_seen_ = producer;
  if (static_cast<std::int64_t>(producer - consumer) > static_cast<std::int64_t>(world_.ring().data_size)) {
    accuse(DefectKind::position_overrun,
           fmt::format("producer position {} is {} bytes ahead of the consumer's in a ring of {}", producer,
                       producer - consumer, world_.ring().data_size));
  }
}

bool UserSession::has_room(std::uint32_t size) const {
  const std::uint64_t used = drains_.producer_pos() - drains_.consumer_pos();
  return used <= world_.ring().data_size && world_.ring().data_size - used >= ring::ringbuf::span_of(size);
}

/// An error is a statement about the ring. `had_room`: before the call; drains only make more.
void UserSession::check_answer(const char* call, int answer, std::uint32_t size, bool had_room) {
  const bool fits_ever = ring::ringbuf::span_of(size) <= world_.ring().data_size && size <= RINGSIDE_LARGEST_SAMPLE;
  const bool true_answer = (answer == -ENOSPC && fits_ever && !had_room) || (answer == -E2BIG && !fits_ever);
  if (answer == 0 || true_answer) return;
  lied_ = true;
  accuse(DefectKind::protocol,
         fmt::format("{} of {} bytes failed with {}, with {} of {} bytes in use", call, size, ring::errno_name(-answer),
                     drains_.producer_pos() - drains_.consumer_pos(), world_.ring().data_size));
}

/// A payload within our own mapping must lie in what is reserved; one elsewhere is of a mapping of the producer's own.
bool UserSession::check_payload(const std::byte* payload, std::uint32_t size) {
  if (payload == nullptr) {
    accuse(DefectKind::protocol, "reserve told success without a payload");
    return false;
  }
  const ringside_user_ring& ring = world_.ring();
  const auto* const data = static_cast<const std::byte*>(ring.data);
  if (payload < data || payload >= data + 2 * ring.data_size) return true;
  const auto offset = static_cast<std::uint64_t>(payload - data);
  const std::uint64_t header = (offset - ring::ringbuf::header_bytes) & (ring.data_size - 1);
  const std::uint64_t behind = (header - drains_.consumer_pos()) & (ring.data_size - 1);
  const std::uint64_t reserved = drains_.producer_pos() - drains_.consumer_pos();
  if (offset + size <= 2 * ring.data_size && (reserved > ring.data_size || behind + 8 + size <= reserved)) return true;
  accuse(DefectKind::out_of_bounds,
         fmt::format("a payload of {} bytes at offset {} lies outside what is reserved, {} bytes from {} on", size,
                     offset, reserved, drains_.consumer_pos()));
  return offset + size <= 2 * ring.data_size;
}

// ---------------------------------------------------------------------------------------------------- host side

void UserSession::count_host_call() {
  options_.heartbeat->beats.fetch_add(1, std::memory_order_relaxed);
  if (++host_calls_ < most_host_calls) return;
  accuse(DefectKind::busy_spin, fmt::format("one call yielded and waited {} times without an end", host_calls_));
  options_.abandon(judge_.finish(ledger(), left()));
}

std::int64_t UserSession::host_now() {
  count_host_call();
  drains_.turn();
  return drains_.now_ns();
}

void UserSession::host_yield() {
  count_host_call();
  drains_.advance(drains_.now_ns() + yield_ns);
}

int UserSession::host_wait(std::int64_t timeout_ns) {
  count_host_call();
  ++waits_;
  check_positions();
  drains_.turn();
  if (over()) return -ECANCELED;
  const auto every = [this](std::uint64_t n) { return n > 0 && waits_ % n == 0; };
  injected_ = every(scenario_.faults.eintr_every) || every(scenario_.faults.spurious_every);
  if (injected_) return every(scenario_.faults.eintr_every) ? -EINTR : 1;
  const std::int64_t deadline = timeout_ns < 0 ? never : drains_.now_ns() + timeout_ns;
  drains_.expect_progress();
  while (!over()) {
    if (const int ready = world_.ready(); ready != 0) return ready;
    if (drains_.now_ns() >= deadline) return 0;
    if (deadline == never && drains_.fruitless() >= still_drains) return asleep_for_ever();
    drains_.advance(deadline);
  }
  return -ECANCELED;
}

/// Nobody but the producer can make a drain find something, and it sleeps.
int UserSession::asleep_for_ever() {
  over_ = true;
  if (has_room(wanted_)) {
    accuse(DefectKind::missed_wakeup,
           fmt::format("asleep for ever, waiting for {} bytes of room, and {} of {} bytes are in use", wanted_,
                       drains_.producer_pos() - drains_.consumer_pos(), world_.ring().data_size));
  } else {
    accuse(DefectKind::protocol,
           fmt::format("the ring stands still at position {} with {} bytes in use, and its producer waits for room",
                       drains_.consumer_pos(), drains_.producer_pos() - drains_.consumer_pos()));
  }
  return -ECANCELED;
}

// ---------------------------------------------------------------------------------------------------- application

bool UserSession::open() {
  producer_seen_ = drains_.producer_pos();
  const Resources before = held_resources();
  enter("open");
  const int error = producer_.open(&world_.ring(), &host_, &state_);
  leave();
  kept_ = held_resources() - before;
  if (error == 0) return true;
  accuse(DefectKind::protocol, fmt::format("open failed with {}", ring::errno_name(-error)));
  return false;
}

/// Writes a record in two pieces, so that a drain that comes too early finds something to be convicted of.
void UserSession::write(std::byte* payload, const ring::RecordIdentity& identity) {
  if (identity.length == 0) return;
  scratch_.resize(identity.length);
  ring::write_record(scratch_, identity);
  const std::size_t half = identity.length / 2;
  std::memcpy(payload, scratch_.data(), half);
  drains_.dawdle();
  std::memcpy(payload + half, scratch_.data() + half, identity.length - half);
}

/// Gives the record its final bytes and ends its sample.
void UserSession::finish_sample(std::uint16_t source, std::byte* payload, std::uint32_t size, RecordState state) {
  Source& books = sources_[source];
  const bool discards = state == RecordState::doomed;
  write(payload, {.source = source,
                  .state = state,
                  .length = size,
                  .sequence = discards ? books.next_doomed : books.next_committed});
  if (!discards && size > 0) books.announced = books.next_committed + 1;
  enter("commit");
  const int error = producer_.commit(state_, payload, discards ? RINGSIDE_DISCARD_SAMPLE : RINGSIDE_SUBMIT_SAMPLE);
  leave();
  if (error != 0) accuse(DefectKind::protocol, fmt::format("commit failed with {}", ring::errno_name(-error)));
  --books.ledger.open;
  if (discards) {
    ++books.ledger.discarded;
    if (size > 0) ++books.next_doomed;
    return;
  }
  ++books.ledger.committed;
  if (size == 0) {
    ++books.ledger.empty;
  } else {
    ++books.next_committed;
  }
}

void UserSession::settle(std::uint16_t source) {
  const auto held = std::exchange(sources_[source].held, std::nullopt);
  if (held) finish_sample(source, held->payload, held->size, RecordState::committed);
}

int UserSession::send(const ring::Operation& operation) {
  Source& books = sources_[operation.source];
  scratch_.resize(operation.size);
  if (operation.size > 0) {
    ring::write_record(scratch_, {.source = operation.source,
                                  .state = RecordState::committed,
                                  .length = operation.size,
                                  .sequence = books.next_committed});
    books.announced = books.next_committed + 1;
  }
  const bool had_room = has_room(operation.size);
  enter("send");
  const int answer = producer_.send(state_, scratch_.data(), operation.size);
  leave();
  check_answer("send", answer, operation.size, had_room);
  if (answer != 0) return answer;
  ++books.ledger.committed;
  if (operation.size == 0) {
    ++books.ledger.empty;
  } else {
    ++books.next_committed;
  }
  return 0;
}

int UserSession::reserve(const ring::Operation& operation) {
  Source& books = sources_[operation.source];
  void* payload = nullptr;
  const bool had_room = has_room(operation.size);
  enter("reserve");
  const int answer = producer_.reserve(state_, operation.size, &payload);
  leave();
  check_answer("reserve", answer, operation.size, had_room);
  if (answer != 0) return answer;
  ++books.ledger.open;
  auto* const bytes = static_cast<std::byte*>(payload);
  if (!check_payload(bytes, operation.size)) {
    over_ = true;  // nobody knows what a write there would hit
    return 0;
  }
  drains_.dawdle();
  const bool holds = operation.action == ring::Action::hold;
  if (holds || drains_.random().chance(50)) {
    write(bytes, {.source = operation.source,
                  .state = RecordState::draft,
                  .length = operation.size,
                  .sequence = operation.size > 0 ? books.next_draft++ : 0});
  }
  if (holds) {
    books.held = Source::Held{bytes, operation.size};
  } else {
    finish_sample(operation.source, bytes, operation.size,
                  operation.action == ring::Action::discard ? RecordState::doomed : RecordState::committed);
  }
  return 0;
}

/// Whether this operation goes by send: where the producer has nothing else, and now and then where it has both.
bool UserSession::sends_now(const ring::Operation& operation) {
  if (producer_.send == nullptr) return false;
  return producer_.reserve == nullptr || (operation.action == ring::Action::submit && drains_.random().chance(25));
}

int UserSession::try_once(const ring::Operation& operation) {
  return sends_now(operation) ? send(operation) : reserve(operation);
}

void UserSession::carry_out(const ring::Operation& operation, bool retry) {
  if (operation.action == ring::Action::settle_submit || operation.action == ring::Action::settle_discard) {
    return settle(operation.source);
  }
  Source& books = sources_[operation.source];
  ++books.ledger.attempts;
  lied_ = false;
  for (;;) {
    const int answer = try_once(operation);
    if (answer == 0) break;
    // A sample that is held keeps its room for ever while we sleep.
    const bool holds = std::any_of(sources_.begin(), sources_.end(), [](const Source& one) { return one.held; });
    if (answer == -ENOSPC && !lied_ && retry && !holds && !over() && wait_for_room(operation.size)) continue;
    ++books.ledger.failed[-answer];
    break;
  }
  idle_rounds_ = 0;
}

/// A timeout or an error is a statement about the ring and the clock.
void UserSession::check_wait(int told, std::uint32_t size, std::int64_t deadline) {
  if (told == RINGSIDE_WAIT_TIMEOUT) {
    if (scenario_.producer.timeout_ns < 0) {
      accuse(DefectKind::protocol, "wait told a timeout though it had no deadline");
      over_ = true;
    } else if (drains_.now_ns() < deadline) {
      accuse(DefectKind::early_timeout,
             fmt::format("a timeout told {} ns before its deadline", deadline - drains_.now_ns()));
      drains_.skip_to(deadline);  // a producer that never waits must not stop the clock
    } else if (drains_.now_ns() > deadline + deadline_slack_ns) {
      accuse(DefectKind::deadline_missed,
             fmt::format("a timeout told {} ns after its deadline", drains_.now_ns() - deadline));
    } else if (has_room(size)) {
      accuse(DefectKind::early_timeout, fmt::format("a timeout told while there was room for {} bytes", size));
    }
    return;
  }
  if (told == RINGSIDE_WAIT_READY || told == -EINTR) return;
  accuse(DefectKind::protocol, fmt::format("wait failed with {}", ring::errno_name(-told)));
  over_ = true;
}

/// Whether another try is worth while.
bool UserSession::wait_for_room(std::uint32_t size) {
  for (std::uint64_t timeouts = 0; timeouts < most_timeouts;) {
    const std::int64_t deadline = drains_.now_ns() + scenario_.producer.timeout_ns;
    wanted_ = size;
    enter("wait");
    const int told = producer_.wait(state_, size, scenario_.producer.timeout_ns);
    leave();
    if (over()) return false;
    check_wait(told, size, deadline);
    if (over()) return false;
    if (told == RINGSIDE_WAIT_TIMEOUT) {
      ++timeouts;
      continue;
    }
    if (told == RINGSIDE_WAIT_READY && !injected_ && !has_room(size)) idle_round();
    return true;
  }
  return false;
}

/// The producer woke up and there is no room. Often enough in a row, while no drain gave any back, that is a spin.
void UserSession::idle_round() {
  const std::uint64_t consumer = drains_.consumer_pos();
  if (consumer != idle_consumer_) idle_rounds_ = 0;
  if (idle_rounds_ == 0) drains_.expect_progress();
  idle_consumer_ = consumer;
  if (++idle_rounds_ < most_idle_rounds) return;
  if (idle_rounds_ == most_idle_rounds) {
    if ((producer_.claims & RINGSIDE_CLAIM_SLEEPS_WHEN_FULL) == 0) {
      judge_.note("room that is too small for a sample keeps it awake: every wait returns at once until a drain");
    } else {
      accuse(DefectKind::busy_spin,
             fmt::format("{} waits in a row returned ready without room for {} bytes", idle_rounds_, wanted_));
    }
  }
  // Enough of it while drains find nothing, and the ring will never give room.
  if (idle_rounds_ >= 2 * most_idle_rounds && drains_.fruitless() >= still_drains) {
    asleep_for_ever();
  } else {
    drains_.advance(never);
  }
}

void UserSession::produce() {
  while (!over()) {
    std::vector<std::size_t> due;
    std::int64_t next = never;
    for (std::size_t index = 0; index < workload_.sources().size(); ++index) {
      const SourceWorkload& source = workload_.sources()[index];
      if (source.done()) continue;
      if (source.due_ns() <= drains_.now_ns()) {
        due.push_back(index);
      } else {
        next = std::min(next, source.due_ns());
      }
    }
    if (due.empty()) {
      if (next == never) return;
      drains_.advance(next);
      continue;
    }
    const std::size_t index = due[drains_.random().below(due.size())];
    SourceWorkload& source = workload_.sources()[index];
    do {
      carry_out(source.take(drains_.now_ns()), scenario_.sources[index].retry);
    } while (source.in_burst() && !over());
    drains_.turn();
  }
}

/// The producer has ended: what it sent must come out by drains alone.
void UserSession::drain_rest() {
  drains_.expect_progress();
  while (drains_.fruitless() < still_drains && !drains_.fault() && !has_excess()) drains_.advance(never);
  if (has_excess()) {
    accuse(DefectKind::phantom, fmt::format("the kernel drained {} samples where at most {} were sent, and no end",
                                            judge_.deliveries(), workload_.planned_records()));
  }
}

void UserSession::close() {
  left_ = left();
  enter("close");
  const Resources before = held_resources();
  producer_.close(state_);
  options_.heartbeat->inside.store("after close", std::memory_order_relaxed);
  kept_ = kept_ + (held_resources() - before);
  if (kept_.descriptors > 0 || kept_.ring_mappings > 0) {
    accuse(DefectKind::leak, fmt::format("{} descriptors and {} ring mappings are left after close", kept_.descriptors,
                                         kept_.ring_mappings));
  }
}

/// Per source: committed samples still in the ring, as far as its headers make sense.
std::vector<std::uint64_t> UserSession::left() const {
  std::vector<std::uint64_t> counts(sources_.size());
  const ringside_user_ring& ring = world_.ring();
  const auto* const data = static_cast<const std::byte*>(ring.data);
  const std::uint64_t producer = drains_.producer_pos();
  std::uint64_t at = drains_.consumer_pos();
  while (at % 8 == 0 && static_cast<std::int64_t>(producer - at) > 0) {
    const std::byte* const place = data + (at & (ring.data_size - 1));
    // Acquire: the payload of a committed sample is read next.
    const std::uint32_t header = __atomic_load_n(reinterpret_cast<const std::uint32_t*>(place), __ATOMIC_ACQUIRE);
    const std::uint64_t span = ring::ringbuf::span_of(header);
    if (span > producer - at || span > ring.data_size) break;
    if (!ring::ringbuf::is_busy(header) && !ring::ringbuf::is_discarded(header)) {
      const std::span bytes(place + ring::ringbuf::header_bytes, ring::ringbuf::length_of(header));
      const auto reading = ring::read_record(bytes, 0, [](std::uint16_t, RecordState) { return std::uint64_t{0}; });
      const std::uint32_t source = reading.identity.source;
      ++counts[source < counts.size() ? source : 0];
    }
    at += span;
  }
  return counts;
}

ring::ProducerLedger UserSession::ledger() const {
  ring::ProducerLedger all;
  for (const Source& source : sources_) all.sources.push_back(source.ledger);
  return all;
}

ring::Verdict UserSession::finish() {
  std::uint64_t total = 0;
  for (const std::uint64_t count : left_) total += count;
  if (total > 0) accuse(DefectKind::lost, "samples stay in the ring though drains find none", total);
  return judge_.finish(ledger(), left_);
}

ring::Result<ring::Verdict> UserSession::run() {
  if (open()) {
    produce();
    for (std::size_t source = 0; source < sources_.size(); ++source) settle(static_cast<std::uint16_t>(source));
    drain_rest();
    if (drains_.fault()) return tl::unexpected(*drains_.fault());
    close();
  }
  return finish();
}

}  // namespace

ring::Result<ring::Verdict> run_user_session(UserWorld& world, const UserSessionOptions& options) {
  assert(options.heartbeat != nullptr && options.abandon);
  assert(options.producer->reserve != nullptr || options.producer->send != nullptr);
  return UserSession(world, options).run();
}

}  // namespace ringside::harness
