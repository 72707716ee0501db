// SPDX-License-Identifier: Apache-2.0
#include "harness/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

#include "harness/batch_check.h"
#include "harness/held_view.h"
#include "harness/injected_faults.h"
#include "harness/missing_rings.h"
#include "harness/pace.h"
#include "harness/pause_check.h"
#include "harness/resources.h"
#include "harness/stamped.h"
#include "harness/swap_check.h"
#include "harness/time_check.h"
#include "harness/unclaimed_loss.h"
#include "harness/view_check.h"
#include "ring/layout.h"
#include "ring/result.h"

namespace ringside::harness {

namespace {
using ring::Defect;
using ring::DefectKind;

// A wait may return late by so much before that is a defect.
constexpr std::int64_t deadline_slack_ns = 1'000'000;
// Free drive: the longest uninterrupted sleep, so that the end of the producers is noticed.
constexpr std::int64_t slice_ns = 20'000'000;
// Free drive: so many slices asleep with a committed record at the head, while nothing moves in any ring, are for ever.
constexpr std::uint64_t most_still_slices = 100;
// Rounds of "ready", then nothing to drain, after which a consumer is said to spin.
constexpr std::uint64_t idle_rounds_stepped = 64;
constexpr std::uint64_t idle_rounds_free = 100'000;
// Timeouts within one call of the consumer's, after the producers have ended, that count as sleeping for ever.
constexpr std::uint64_t most_timeouts = 1000;
// The most that a yield takes on the virtual clock: less than the slack of a deadline.
constexpr std::int64_t yield_ns = 100'000;
// Deliveries beyond all that can be after which a consumer will not come to an end by itself.
constexpr std::uint64_t most_excess = 100'000;
// Yields within one call after which it is said to spin for ever.
constexpr std::uint64_t most_yields = 1'000'000;

/// Wake-ups in a row that brought nothing, by what lay at the head when the consumer came back.
struct IdleRounds {
  std::uint64_t at_busy = 0;  ///< a BUSY record: it keeps whoever waits level-triggered awake
  std::uint64_t at_else = 0;  ///< nothing that explains them

  std::uint64_t all() const { return at_busy + at_else; }
};

class Session {
 public:
  Session(World& world, const SessionOptions& options)
      : world_(world),
        options_(options),
        scenario_(*options.scenario),
        consumer_(*options.consumer),
        stepped_(scenario_.drive == Drive::stepped),
        pace_(world, scenario_, options.seed),
        views_(world),
        batch_(world),
        judge_(judge_options()),
        time_check_(world, consumer_, scenario_, judge_),
        faults_(scenario_.faults) {
    host_ = {
        .abi_version = RINGSIDE_CONSUMER_ABI,
        .struct_size = sizeof(ringside_host),
        .context = this,
        .deliver = [](void* self, const ringside_record* record) { return as(self).deliver(*record); },
        .lost = [](void* self, std::uint32_t ring, std::uint64_t count) { as(self).lost(ring, count); },
        .wait = [](void* self, ringside_ready* ready, std::uint32_t most,
                   std::int64_t timeout_ns) { return as(self).host_wait({ready, most}, -1, timeout_ns); },
        .wait_fd = [](void* self, int fd, std::int64_t timeout_ns) { return as(self).host_wait({}, fd, timeout_ns); },
        .now_ns = [](void* self) { return as(self).host_now(); },
        .yield = [](void* self) { as(self).yield(); },
        .adopt = [](void* self, const ringside_ring* ring) { return as(self).adopt(*ring); },
        .batch_begin = [](void* self) { as(self).batch_begin(); },
        .batch_end = [](void* self, std::uint32_t claim) { as(self).batch_end(claim); },
        .pause = [](void* self, std::uint32_t ring, int on) { return as(self).pause(ring, on != 0); },
        .sleep = [](void* self, std::int64_t ns) { return as(self).sleep(ns); },
        .quiesce = [](void* self, std::uint32_t ring) { return as(self).quiesce(ring); }};
  }

  ring::Result<ring::Verdict> run();

 private:
  static Session& as(void* self) { return *static_cast<Session*>(self); }

  ring::JudgeOptions judge_options() const {
    return {.kind = options_.kind,
            .source_count = world_.source_count(),
            .max_records_per_source = options_.most_records,
            .reserved_so_far = [this](std::uint32_t source) { return world_.reserved_so_far(source); }};
  }

  // The application's side: what calls the consumer.
  bool open();
  void read_until_over();
  void draw_bounds();
  std::int64_t drain();
  bool refuses_broken(std::int64_t count) const {
    return count == -EBADMSG && !scenario_.faults.broken_sizes.empty() && pace_.producers_done();
  }
  int wait();
  void after_timeout(std::int64_t deadline);
  void release_down_to(std::size_t keep);
  void release(std::size_t index);
  void drain_rest();
  void close();
  void check_leak(const char* after);
  ring::Verdict finish();

  // The host's side: what the consumer calls.
  int deliver(const ringside_record& record);
  void judge(const ringside_record& record);
  void lost(std::uint32_t ring, std::uint64_t count);
  int host_wait(std::span<ringside_ready> ready, int fd, std::int64_t timeout_ns);
  std::int64_t host_now();
  void yield();
  int adopt(const ringside_ring& ring);
  void batch_begin();
  void batch_end(std::uint32_t claim);
  int pause(std::uint32_t ring, bool on);
  int sleep(std::int64_t ns);
  int quiesce(std::uint32_t ring);

  int wait_stepped(std::span<ringside_ready> ready, int fd, std::int64_t deadline);
  int wait_free(std::span<ringside_ready> ready, int fd, std::int64_t deadline);
  bool begin_wait();
  std::optional<int> injected(std::optional<int> fault);
  int probe(std::span<ringside_ready> ready, int fd, std::int64_t timeout_ns) {
    return fd >= 0 ? world_.wait_fd(fd, timeout_ns) : world_.wait(ready, timeout_ns);
  }
  int nothing_more_to_come(std::int64_t deadline);
  int asleep_for_ever(const char* why);

  // Truth.
  void idle_round();
  bool committed_waits() const;
  bool any_at_head(AtHead what) const;
  std::vector<RingPositions> all_positions() const;
  void check_positions();
  void check_held();
  std::uint32_t stamp_bytes() const { return world_.rings().stamp_bytes; }
  void accuse(DefectKind kind, std::uint32_t ring, std::string detail, std::uint64_t count = 1);
  void accuse(std::optional<Defect> found) {
    if (found) judge_.accuse(std::move(*found));
  }
  /// Nothing more is to be read: the run has come to its end, or the world has failed.
  bool over() const { return over_ || pace_.fault().has_value(); }
  void enter(const char* call);
  void leave();
  void abandon();

  World& world_;
  const SessionOptions& options_;
  const Scenario& scenario_;
  const ringside_consumer& consumer_;
  const bool stepped_;
  Pace pace_;
  ViewCheck views_;
  BatchCheck batch_;
  PauseCheck pauses_;
  ring::Judge judge_;
  TimeCheck time_check_;
  ringside_host host_{};
  void* state_ = nullptr;

  std::vector<HeldView> held_;
  std::vector<std::uint64_t> left_;  // per source, when the consumer was closed

  Resources kept_;  // what open took and close has not given back
  bool over_ = false;
  std::uint64_t allowed_ = 0;    // records that the call under way may deliver
  std::uint64_t stop_at_ = 0;    // the record at which deliver says stop; above allowed_: never
  std::uint64_t delivered_ = 0;  // records that it has delivered
  std::uint64_t yields_ = 0;
  std::uint64_t timeouts_ = 0;
  std::uint64_t told_lost_ = 0;
  bool slept_ = false;     // the wait returned at its deadline or later
  bool injected_ = false;  // a fault of the scenario's ended a wait within the call
  InjectedFaults faults_;
  IdleRounds idle_rounds_;
  std::vector<std::uint64_t> idle_positions_;  // of the consumer, when the idle rounds began
};

// ---------------------------------------------------------------------------------------------------- truth

void Session::accuse(DefectKind kind, std::uint32_t ring, std::string detail, std::uint64_t count) {
  judge_.accuse(Defect{.kind = kind, .ring = ring, .count = count, .detail = std::move(detail)});
}

void Session::enter(const char* call) {
  options_.heartbeat->beats.fetch_add(1, std::memory_order_relaxed);
  options_.heartbeat->inside.store(call, std::memory_order_relaxed);
  views_.begin_call();
  delivered_ = 0;
  yields_ = 0;
  timeouts_ = 0;
  injected_ = false;
  slept_ = false;
}

void Session::leave() {
  options_.heartbeat->beats.fetch_add(1, std::memory_order_relaxed);
  options_.heartbeat->inside.store("between calls", std::memory_order_relaxed);
  check_positions();
  check_held();
  if (state_ != nullptr) accuse(check_counters(world_, judge_.deliveries() + told_lost_, false));
}

void Session::check_positions() {
  if (auto wrong = views_.check_positions()) {
    const bool fatal = wrong->kind == DefectKind::position_overrun;
    judge_.accuse(std::move(*wrong));
    // Past the producer nothing can be told apart any more, and no producer may ever find space again.
    if (fatal) over_ = true;
  }
}

bool Session::any_at_head(AtHead what) const {
  for (std::uint32_t index = 0; index < world_.ring_count(); ++index) {
    if (world_.at_head(index) == what) return true;
  }
  return false;
}

/// Who keeps the order of stamps waits for a BUSY record, which may be older than what is committed in other rings.
bool Session::committed_waits() const {
  const bool held_up = stamp_bytes() > 0 && time_check_.claimed() && any_at_head(AtHead::busy);
  return !held_up && any_at_head(AtHead::committed);
}

/// The consumer woke up and delivered nothing. Often enough in a row, and without having passed so much as a discarded
/// record, that is a spin.
void Session::idle_round() {
  auto positions = views_.consumer_positions();
  if (positions != idle_positions_) {
    idle_positions_ = std::move(positions);
    idle_rounds_ = {};
  }
  const std::uint64_t limit = stepped_ ? idle_rounds_stepped : idle_rounds_free;
  // Each round by its own head: the record that kept it awake may be committed by the time of the last.
  const bool busy = any_at_head(AtHead::busy);
  const std::uint64_t rounds = ++(busy ? idle_rounds_.at_busy : idle_rounds_.at_else);
  if (rounds == limit && (consumer_.claims & RINGSIDE_CLAIM_BUSY_POLLS) == 0) {
    if (busy && (consumer_.claims & RINGSIDE_CLAIM_SLEEPS_ON_BUSY) == 0) {
      judge_.note("a BUSY record at the head keeps it awake: every wait returns at once until the commit (case Q2)");
    } else {
      accuse(DefectKind::busy_spin, 0,
             fmt::format("{} waits in a row returned ready with nothing to deliver{}", rounds,
                         busy ? " while a BUSY record lay at the head" : ""));
    }
  }
  if (idle_rounds_.all() < limit) return;
  // In free drive, producers that find the ring full for as long wait for this consumer, and would for ever.
  const bool moved = stepped_ && pace_.advance();
  if (!moved && idle_rounds_.all() >= 2 * limit) over_ = true;
}

/// Ends a session whose consumer does not come back from its call.
void Session::abandon() { options_.abandon(judge_.finish(world_.ledger(), world_.left(), world_.overwritten())); }

// ---------------------------------------------------------------------------------------------------- host side

int Session::deliver(const ringside_record& record) {
  Heartbeat& heartbeat = *options_.heartbeat;
  // (H1) relaxed: progress for the watchdog's eyes; nothing is ordered by it.
  heartbeat.beats.store(heartbeat.beats.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  heartbeat.deliveries.store(judge_.deliveries() + 1, std::memory_order_relaxed);
  if (record.ring >= world_.ring_count()) {
    accuse(DefectKind::protocol, 0, fmt::format("delivered from ring {} of {}", record.ring, world_.ring_count()));
    return 1;
  }
  if (world_.rings().backward != 0) accuse(pauses_.delivered_backward(record.ring));
  ++delivered_;
  world_.delivered(record.ring);
  if (delivered_ == allowed_ + 1) {
    accuse(DefectKind::unbounded_drain, record.ring, fmt::format("one drain went on after {} records", allowed_));
  } else if (delivered_ == stop_at_ + 1) {
    accuse(DefectKind::unbounded_drain, record.ring,
           fmt::format("one drain went on after deliver said stop at record {} (case B6)", stop_at_));
  }
  if (delivered_ > allowed_ + most_excess) abandon();
  if (judge_.deliveries() > 2 * options_.planned + most_excess) {
    accuse(DefectKind::phantom, record.ring,
           fmt::format("{} deliveries of at most {} records, and no end", judge_.deliveries(), options_.planned));
    abandon();
  }
  auto wrong = views_.check(record);
  const bool readable = !wrong || wrong->kind == DefectKind::use_after_release;
  if (wrong) judge_.accuse(std::move(*wrong));
  if (readable) judge(record);
  pace_.turn();
  pace_.work();
  return delivered_ >= stop_at_ ? 1 : 0;
}

void Session::judge(const ringside_record& record) {
  const Stamped parts = part(record, stamp_bytes());
  if (!parts.whole) return accuse(DefectKind::torn, record.ring, "a record without room for its stamp");
  const auto reading = judge_.deliver(record.ring, parts.record);
  accuse(views_.check_ring(record.ring, reading));
  time_check_.delivered(record, parts, reading);
  if (record.token == 0) return;
  const std::size_t padding = options_.kind == ring::RingKind::perf ? 7 : 0;
  held_.push_back({record, reading, padding, parts.time_ns, views_.position_of(record)});
}

/// A view that is held keeps its space: no position may pass it.
void Session::check_held() {
  for (HeldView& view : held_) {
    if (!view.position) continue;
    const std::uint64_t consumer = world_.positions(view.record.ring).consumer;
    if (static_cast<std::int64_t>(consumer - *view.position) <= 0) continue;
    accuse(
        DefectKind::use_after_release, view.record.ring,
        fmt::format("consumer position {} passed a view at {} that is still held (case G1)", consumer, *view.position));
    view.position.reset();
  }
}

void Session::lost(std::uint32_t ring, std::uint64_t count) {
  options_.heartbeat->beats.fetch_add(1, std::memory_order_relaxed);
  if (ring >= world_.ring_count()) {
    accuse(DefectKind::protocol, 0, fmt::format("reported a loss of ring {} of {}", ring, world_.ring_count()));
  } else if (count == 0) {
    accuse(DefectKind::protocol, ring, "reported a loss of 0 records (case B5)");
  } else {
    judge_.report_lost(ring, count);
    told_lost_ += count;
  }
  pace_.turn();
}

std::int64_t Session::host_now() {
  pace_.turn();
  return pace_.now_ns();
}

void Session::yield() {
  options_.heartbeat->beats.fetch_add(1, std::memory_order_relaxed);
  if (++yields_ == most_yields) {
    accuse(DefectKind::busy_spin, 0, fmt::format("one call yielded {} times without an end", yields_));
    abandon();
  }
  if (!stepped_) return;
  if (pace_.step() != Moved::stepped) pace_.skip_time(pace_.now_ns() + yield_ns);
  while (world_.in_burst() && pace_.step() == Moved::stepped) {
  }
}

/// The producers may move before what is there is noted, and before the end is judged: never in between.
void Session::batch_begin() {
  pace_.turn();
  batch_.begin();
}

void Session::batch_end(std::uint32_t claim) {
  options_.heartbeat->beats.fetch_add(1, std::memory_order_relaxed);
  pace_.turn();
  accuse(batch_.end(claim));
}

/// The producers may move up to the pause, and run into it.
int Session::pause(std::uint32_t ring, bool on) {
  pace_.turn();
  const int error = world_.pause(ring, on);
  if (error != 0) return error;
  pauses_.note(ring, on);
  pace_.turn();
  return 0;
}

int Session::quiesce(std::uint32_t ring) {
  pace_.turn();
  return world_.quiesce(ring);
}

int Session::adopt(const ringside_ring& ring) {
  const int error = world_.adopt(ring);
  if (error != 0) {
    accuse(DefectKind::protocol, 0,
           fmt::format("adopt of cpu {} with {} data bytes: {}", ring.cpu, ring.data_size, ring::errno_name(-error)));
  }
  return error;
}

/// True if the run is over.
bool Session::begin_wait() {
  options_.heartbeat->beats.fetch_add(1, std::memory_order_relaxed);
  faults_.begin_wait();
  check_positions();
  pace_.turn();
  return over();
}

/// While producers run: after that, every wait is let alone so that the run comes to its end.
std::optional<int> Session::injected(std::optional<int> fault) {
  if (pace_.producers_done()) return std::nullopt;
  injected_ |= fault.has_value();
  return fault;
}

int Session::sleep(std::int64_t ns) {
  if (begin_wait()) return -ECANCELED;
  if (const auto fault = injected(faults_.of_sleep())) return *fault;
  for (const std::int64_t deadline = pace_.now_ns() + ns; !over() && pace_.now_ns() < deadline;) {
    options_.heartbeat->beats.fetch_add(1, std::memory_order_relaxed);
    if (pace_.sleep_towards(deadline) == Moved::done && !over()) return nothing_more_to_come(deadline);
  }
  return over() ? -ECANCELED : 0;
}

int Session::host_wait(std::span<ringside_ready> ready, int fd, std::int64_t timeout_ns) {
  if (begin_wait()) return -ECANCELED;
  if (const auto fault = injected(faults_.of_wait(ready, fd))) return *fault;
  const std::int64_t deadline = timeout_ns < 0 ? -1 : pace_.now_ns() + timeout_ns;
  return stepped_ ? wait_stepped(ready, fd, deadline) : wait_free(ready, fd, deadline);
}

/// Every producer has ended, nothing is ready: only the deadline can still come. Without one the run is over, and a
/// record that waits would wait for ever. A consumer that sleeps in slices within one call is cut off after many.
int Session::nothing_more_to_come(std::int64_t deadline) {
  if (deadline >= 0 && ++timeouts_ < most_timeouts) {
    pace_.skip_to(deadline);
    return 0;
  }
  return asleep_for_ever("every producer has ended");
}

/// The run is over; a record that waits in a ring would wait for ever.
int Session::asleep_for_ever(const char* why) {
  for (std::uint32_t index = 0; index < world_.ring_count(); ++index) {
    if (world_.at_head(index) != AtHead::committed) continue;
    const RingPositions at = world_.positions(index);
    accuse(DefectKind::missed_wakeup, index,
           fmt::format("asleep for ever, {}, and {} bytes of records lie at position {}", why,
                       at.producer - at.consumer, at.consumer));
  }
  over_ = true;
  return -ECANCELED;
}

int Session::wait_stepped(std::span<ringside_ready> ready, int fd, std::int64_t deadline) {
  while (!over()) {
    if (const int entries = probe(ready, fd, 0); entries != 0) return entries;
    const Moved moved = pace_.step();
    if (moved == Moved::done && !over()) return nothing_more_to_come(deadline);
    if (moved == Moved::waiting) {
      pace_.skip_time(deadline < 0 ? INT64_MAX : deadline);
      if (deadline >= 0 && pace_.now_ns() >= deadline) return 0;
    }
    options_.heartbeat->beats.fetch_add(1, std::memory_order_relaxed);
  }
  return -ECANCELED;
}

int Session::wait_free(std::span<ringside_ready> ready, int fd, std::int64_t deadline) {
  std::vector<RingPositions> stood;
  for (std::uint64_t still = 0;;) {
    const bool running = world_.producers_running();
    const std::int64_t left = deadline < 0 ? slice_ns : std::max<std::int64_t>(0, deadline - pace_.now_ns());
    if (const int entries = probe(ready, fd, running ? std::min(slice_ns, left) : 0); entries != 0) return entries;
    if (!running) return nothing_more_to_come(deadline);
    if (deadline >= 0 && pace_.now_ns() >= deadline) return 0;
    options_.heartbeat->beats.fetch_add(1, std::memory_order_relaxed);
    // Producers that try a full ring again and again never end: they wait for a consumer that nobody wakes.
    auto stands = all_positions();
    still = stands == stood && committed_waits() ? still + 1 : 0;
    stood = std::move(stands);
    if (deadline < 0 && still == most_still_slices) return asleep_for_ever("nothing moves in any ring");
  }
}

std::vector<RingPositions> Session::all_positions() const {
  std::vector<RingPositions> positions;
  for (std::uint32_t index = 0; index < world_.ring_count(); ++index) positions.push_back(world_.positions(index));
  return positions;
}

// ---------------------------------------------------------------------------------------------------- application

bool Session::open() {
  time_check_.begin(pace_);
  const Resources before = held_resources();
  enter("open");
  const int error = consumer_.open(&world_.rings(), &host_, &state_);
  leave();
  kept_ = held_resources() - before;
  if (error == 0) return true;
  check_leak("a failed open");
  accuse(DefectKind::protocol, 0, fmt::format("open failed with {}", ring::errno_name(-error)));
  return false;
}

/// Draws what this drain may deliver, and where deliver says stop: at that bound, before it, or never, so that a
/// consumer must keep both rules by themselves.
void Session::draw_bounds() {
  allowed_ = scenario_.consumer.max_records;
  stop_at_ = allowed_;
  if (!stepped_) return;
  if (pace_.random().chance(25)) allowed_ = 1 + pace_.random().below(std::min<std::uint64_t>(allowed_, 8));
  const std::uint64_t mode = pace_.random().below(3);
  stop_at_ = mode == 0   ? allowed_
             : mode == 1 ? 1 + pace_.random().below(std::min<std::uint64_t>(allowed_, 8))
                         : UINT64_MAX;
}

std::int64_t Session::drain() {
  draw_bounds();
  enter("drain");
  const std::int64_t count = consumer_.drain(state_, allowed_);
  leave();
  if (count < 0) {
    const auto hidden = fmt::format("drain returned an error and not that it delivered {} (case N8)", delivered_);
    if (delivered_ > 0) accuse(DefectKind::protocol, 0, hidden);
    const auto failed = fmt::format("drain failed with {}", ring::errno_name(static_cast<int>(-count)));
    if (!refuses_broken(count)) accuse(DefectKind::protocol, 0, failed);
    over_ = true;
  } else if (static_cast<std::uint64_t>(count) != delivered_) {
    accuse(DefectKind::protocol, 0,
           fmt::format("drain returned {} after it delivered {} (case B6)", count, delivered_));
  }
  return count;
}

/// A timeout is a statement about the rings: it is held against them.
void Session::after_timeout(std::int64_t deadline) {
  if (scenario_.consumer.timeout_ns < 0) {
    accuse(DefectKind::protocol, 0, "wait told a timeout though it had no deadline");
    over_ = true;
    return;
  }
  if (!stepped_) return;
  if (pace_.now_ns() < deadline) {
    accuse(DefectKind::early_timeout, 0,
           fmt::format("a timeout told {} ns before its deadline", deadline - pace_.now_ns()));
    pace_.skip_to(deadline);  // a consumer that never waits must not stop the clock
  } else if (pace_.now_ns() > deadline + deadline_slack_ns) {
    accuse(DefectKind::deadline_missed, 0,
           fmt::format("a timeout told {} ns after its deadline", pace_.now_ns() - deadline));
  }
}

/// One wait of the consumer's, and what it claimed held against the truth. Returns what it told.
int Session::wait() {
  const bool waited_before = committed_waits();
  const auto before = views_.consumer_positions();
  const std::int64_t deadline = pace_.now_ns() + scenario_.consumer.timeout_ns;
  allowed_ = scenario_.consumer.max_records;
  stop_at_ = allowed_;
  enter("wait");
  const int result = consumer_.wait(state_, scenario_.consumer.timeout_ns);
  leave();
  if (delivered_ > 0) idle_rounds_ = {};
  if (over()) return result;
  if (result == RINGSIDE_WAIT_TIMEOUT) {
    after_timeout(deadline);
    // In free drive a record may have come just now: only one that lay there from the first, untouched, is evidence.
    const bool untouched = stepped_ || (waited_before && before == views_.consumer_positions());
    if (untouched && committed_waits()) {
      accuse(DefectKind::early_timeout, 0, "a timeout told while committed records lay in the ring");
    }
    if (pace_.producers_done() && !committed_waits()) over_ = true;
  } else if (result == RINGSIDE_WAIT_READY) {
    // A wait that slept until its deadline and then says "look" is no spin, and at the end of a run it is the end.
    slept_ = stepped_ && scenario_.consumer.timeout_ns >= 0 && pace_.now_ns() >= deadline;
    if (slept_ && pace_.producers_done() && !committed_waits()) over_ = true;
  } else if (result == -ECANCELED) {
    accuse(DefectKind::protocol, 0, "wait told a cancelled run that was not");
    over_ = true;
  } else if (result < 0 && result != -EINTR) {
    accuse(DefectKind::protocol, 0, fmt::format("wait failed with {}", ring::errno_name(-result)));
    over_ = true;
  }
  return result;
}

void Session::release(std::size_t index) {
  const HeldView view = held_[index];
  held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(index));
  if (!view.unchanged(stamp_bytes())) {
    accuse(DefectKind::use_after_release, view.record.ring,
           fmt::format("a view of {} bytes changed while it was held", view.record.size));
  }
  enter("release");
  const int error = consumer_.release == nullptr ? -ENOSYS : consumer_.release(state_, view.record.token);
  leave();
  if (error != 0) {
    accuse(DefectKind::protocol, view.record.ring,
           fmt::format("release of token {} failed with {}", view.record.token, ring::errno_name(-error)));
  }
  pace_.turn();
}

void Session::release_down_to(std::size_t keep) {
  while (held_.size() > keep) release(keep == 0 ? 0 : pace_.random().below(held_.size()));
}

void Session::read_until_over() {
  while (!over()) {
    const std::int64_t count = drain();
    if (count > 0) idle_rounds_ = {};
    release_down_to(count > 0 ? scenario_.consumer.hold_views : 0);
    if (count != 0) continue;
    pace_.turn();
    if (over()) return;
    const int told = wait();
    if (told == RINGSIDE_WAIT_READY && delivered_ == 0 && !injected_ && !slept_) idle_round();
    if (injected_ && stepped_) pace_.advance();
  }
}

/// The producers have ended: what is left must come out by drains alone.
void Session::drain_rest() {
  for (std::int64_t empty = 0, count = 0; empty < 2;) {
    count = drain();
    if (count < 0 && !refuses_broken(count)) return;
    release_down_to(0);
    empty = count <= 0 ? empty + 1 : 0;
  }
}

void Session::close() {
  release_down_to(0);
  // What the consumer mapped itself goes with it: the last look at its rings is now.
  left_ = world_.left();
  enter("close");
  world_.forget_adopted();
  const Resources before = held_resources();
  consumer_.close(state_);
  options_.heartbeat->inside.store("after close", std::memory_order_relaxed);
  kept_ = kept_ + (held_resources() - before);
  check_leak("close");
  accuse(pauses_.at_close());
}

void Session::check_leak(const char* after) {
  if (kept_.descriptors <= 0 && kept_.ring_mappings <= 0) return;
  accuse(DefectKind::leak, 0,
         fmt::format("{} descriptors and {} ring mappings are left after {}", kept_.descriptors, kept_.ring_mappings,
                     after));
}

ring::Verdict Session::finish() {
  time_check_.finish();
  std::uint64_t total = 0;
  for (const std::uint64_t count : left_) total += count;
  if (total > 0) accuse(DefectKind::lost, 0, "committed records stay in the ring though drain finds none", total);
  for (auto& sentence : world_.not_observable()) judge_.not_observable(std::move(sentence));
  const ring::ProducerLedger ledger = world_.ledger();
  if ((consumer_.needs & RINGSIDE_OWNS_RINGS) != 0) {
    for (Defect& missing : missing_rings(ledger)) judge_.accuse(std::move(missing));
  }
  if (state_ != nullptr) accuse(check_counters(world_, judge_.deliveries() + told_lost_, true));
  ring::Verdict verdict = judge_.finish(ledger, left_, world_.overwritten());
  const bool claims_losses = (consumer_.claims & RINGSIDE_CLAIM_REPORTS_LOSS) != 0;
  if (!claims_losses && verdict.accounting.reported_lost == 0) unclaimed_loss_becomes_note(verdict);
  return verdict;
}

ring::Result<ring::Verdict> Session::run() {
  if (open()) {
    if (!stepped_) {
      if (auto started = world_.start(); !started) return tl::unexpected(started.error());
    }
    read_until_over();
    if (!stepped_) {
      if (auto joined = world_.end(); !joined) return tl::unexpected(joined.error());
    }
    while (stepped_ && !pace_.fault() && pace_.advance()) {
    }
    if (pace_.fault()) return tl::unexpected(*pace_.fault());
    drain_rest();
    if (auto flushed = world_.flush_losses(); !flushed) return tl::unexpected(flushed.error());
    time_check_.look();
    drain_rest();
    close();
  }
  return finish();
}

}  // namespace

ring::Result<ring::Verdict> run_session(World& world, const SessionOptions& options) {
  assert(options.heartbeat != nullptr && options.abandon);
  return Session(world, options).run();
}

}  // namespace ringside::harness
