// SPDX-License-Identifier: Apache-2.0
//
// What holds for the model whatever is asked of it: random scripts of operations in all contexts of one or two CPUs,
// interleaved step by step, with a faithful reader that drains at random moments in between.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <cstring>
#include <ostream>
#include <vector>

#include "ring/judge.h"
#include "ring/record.h"
#include "sim/machine.h"
#include "sim/perf_ring.h"
#include "sim/ringbuf.h"
#include "sim/test_reader.h"

namespace ringside::sim {
namespace {

using ring::Action;
using ring::Operation;
using ring::RingKind;
using test::Reader;

constexpr std::uint32_t contexts = 4;

/// One thing that happens in a script.
struct Move {
  enum class Kind : std::uint8_t { begin, steps, drain } kind = Kind::begin;
  std::uint16_t cpu = 0;
  Context context = Context::task;
  Action action = Action::output;
  std::uint8_t flags = 0;
  std::uint32_t size = 0;
  std::uint32_t nested = 0;
  std::uint32_t count = 0;  ///< of steps
};

std::ostream& operator<<(std::ostream& out, const Move& move) {
  switch (move.kind) {
    case Move::Kind::steps:
      return out << move.count << " steps";
    case Move::Kind::drain:
      return out << "drain";
    case Move::Kind::begin:
      break;
  }
  return out << "cpu " << move.cpu << ' ' << move.context << ' ' << move.action << ' ' << move.size << " flags "
             << int{move.flags} << " nested " << move.nested;
}

struct Script {
  MachineOptions options;
  std::vector<Move> moves;
};

std::ostream& operator<<(std::ostream& out, const Script& script) {
  const MachineOptions& options = script.options;
  out << name_of(options.kind) << ", " << options.cpus << " CPUs, " << options.data_size << " bytes from "
      << options.start_position << ", kernel " << options.kernel << ", wakeup_events " << options.wakeup_events
      << ", watermark " << options.watermark_bytes << ", seed " << options.seed << ':';
  for (const Move& move : script.moves) out << "\n  " << move;
  return out;
}

rc::Gen<std::uint32_t> gen_size() {
  return rc::gen::weightedOneOf<std::uint32_t>({{6, rc::gen::inRange<std::uint32_t>(0, 120)},
                                                {2, rc::gen::inRange<std::uint32_t>(500, 2100)},
                                                {1, rc::gen::inRange<std::uint32_t>(4000, 9000)}});
}

rc::Gen<Move> gen_move(bool flags) {
  return rc::gen::build<Move>(
      rc::gen::set(&Move::kind, rc::gen::weightedElement<Move::Kind>(
                                    {{4, Move::Kind::begin}, {4, Move::Kind::steps}, {1, Move::Kind::drain}})),
      rc::gen::set(&Move::cpu, rc::gen::inRange<std::uint16_t>(0, 2)),
      rc::gen::set(&Move::context, rc::gen::element(Context::task, Context::softirq, Context::hardirq, Context::nmi)),
      rc::gen::set(&Move::action, rc::gen::element(Action::submit, Action::submit, Action::discard, Action::output,
                                                   Action::output, Action::hold)),
      rc::gen::set(&Move::flags, flags ? rc::gen::inRange<std::uint8_t>(0, 4) : rc::gen::just<std::uint8_t>(0)),
      rc::gen::set(&Move::size, gen_size()),
      rc::gen::set(&Move::nested, rc::gen::weightedElement<std::uint32_t>({{6, 0}, {1, 1}, {1, 3}})),
      rc::gen::set(&Move::count, rc::gen::inRange<std::uint32_t>(1, 60)));
}

rc::Gen<Script> gen_script(RingKind kind, bool flags = true) {
  const auto options = rc::gen::map(
      rc::gen::tuple(rc::gen::inRange<std::uint32_t>(1, 3), rc::gen::element<std::uint64_t>(4096, 8192),
                     rc::gen::element<std::uint64_t>(0, 4088, (std::uint64_t{1} << 32) - 64, 0 - std::uint64_t{64}),
                     rc::gen::inRange<std::uint32_t>(0, 4), rc::gen::element<std::uint32_t>(0, 0, 100, 4096),
                     rc::gen::arbitrary<std::uint64_t>()),
      [kind](const auto& drawn) {
        MachineOptions made;
        made.kind = kind;
        std::tie(made.cpus, made.data_size, made.start_position, made.wakeup_events, made.watermark_bytes, made.seed) =
            drawn;
        made.sources = contexts * made.cpus;
        // Over 2^64 only 7.2 and newer go on (KERNEL-RINGS 6).
        made.kernel = made.seed % 2 == 0 || made.start_position > (std::uint64_t{1} << 33) ? KernelVersion{7, 2}
                                                                                           : KernelVersion{6, 12};
        return made;
      });
  return rc::gen::build<Script>(
      rc::gen::set(&Script::options, options),
      rc::gen::set(&Script::moves, rc::gen::scale(4, rc::gen::container<std::vector<Move>>(gen_move(flags)))));
}

/// Carries out a script. Every context of every CPU is a source of its own.
class Execution {
 public:
  explicit Execution(const MachineOptions& options)
      : machine_(std::move(*Machine::create(options))), options_(options), holding_(options.sources) {
    ring::JudgeOptions judge;
    judge.kind = options.kind;
    judge.source_count = options.sources;
    judge.reserved_so_far = [this](std::uint32_t source) { return machine_->reserved_so_far(source); };
    judge_ = std::make_unique<ring::Judge>(judge);
    for (std::uint32_t ring = 0; ring < machine_->ring_count(); ++ring) {
      readers_.emplace_back(machine_->user_view(ring));
    }
  }

  Machine& machine() { return *machine_; }

  /// The operation that a move begins, or nothing when its context cannot enter now.
  std::optional<Operation> operation_of(const Move& move) {
    const auto cpu = static_cast<std::uint16_t>(move.cpu % options_.cpus);
    if (!machine_->can_enter(cpu, move.context)) return std::nullopt;
    const bool perf = options_.kind == RingKind::perf;
    const auto fit = [perf](std::uint32_t size) {
      return perf && size < RINGSIDE_RECORD_HEADER_BYTES ? 0 : size;  // short ones cannot be judged there
    };
    Operation operation;
    operation.cpu = cpu;
    operation.source = static_cast<std::uint16_t>(contexts * cpu + static_cast<std::uint16_t>(move.context));
    operation.action = perf ? Action::output : move.action;
    operation.flags = move.flags;
    operation.size = fit(move.size);
    if (move.context < Context::hardirq) {
      operation.nested = move.nested;
      operation.nested_size = fit(move.size / 2);
      operation.nested_source =
          static_cast<std::uint16_t>(contexts * cpu + static_cast<std::uint16_t>(Context::hardirq));
      if (holding_[operation.nested_source]) operation.nested = 0;
    }
    if (holding_[operation.source]) {
      operation.action = move.size % 2 == 0 ? Action::settle_submit : Action::settle_discard;
      operation.nested = 0;
    }
    // A hardirq that holds a record between two interrupts could not put out nested ones.
    if (operation.action == Action::hold && move.context == Context::hardirq) operation.action = Action::submit;
    holding_[operation.source] = operation.action == Action::hold;
    return operation;
  }

  template <class AfterStep>
  void make(const Move& move, AfterStep&& after_step) {
    switch (move.kind) {
      case Move::Kind::begin:
        if (const auto operation = operation_of(move)) machine_->begin(operation->cpu, move.context, *operation);
        break;
      case Move::Kind::steps:
        for (std::uint32_t i = 0; i < move.count && machine_->step_any(); ++i) after_step();
        break;
      case Move::Kind::drain:
        drain();
        break;
    }
  }

  void drain() {
    for (std::uint32_t ring = 0; ring < readers_.size(); ++ring) {
      readers_[ring].drain([&](std::span<const std::byte> bytes) { judge_->deliver(ring, bytes); },
                           [&](std::uint64_t count) {
                             told_ += count;
                             judge_->report_lost(ring, count);
                           });
    }
  }

  /// Lets everything end; held records are submitted.
  template <class AfterStep>
  void finish(AfterStep&& after_step) {
    while (machine_->step_any()) after_step();
    for (std::uint16_t source = 0; source < holding_.size(); ++source) {
      if (!holding_[source]) continue;
      holding_[source] = false;
      const auto cpu = static_cast<std::uint16_t>(source / contexts);
      machine_->begin(cpu, Context::task, {.action = Action::settle_submit, .source = source, .cpu = cpu});
      while (machine_->step_any()) after_step();
    }
  }

  ring::Verdict verdict() { return judge_->finish(machine_->ledger(), machine_->records_left()); }
  std::uint64_t told() const { return told_; }

 private:
  std::unique_ptr<Machine> machine_;
  MachineOptions options_;
  std::vector<bool> holding_;
  std::unique_ptr<ring::Judge> judge_;
  std::vector<Reader> readers_;
  std::uint64_t told_ = 0;
};

/// Checks positions and space after every step.
class Watch {
 public:
  explicit Watch(Machine& machine) : machine_(&machine), last_(machine.ring_count()) {
    for (std::uint32_t ring = 0; ring < last_.size(); ++ring) last_[ring] = look(ring);
  }

  void operator()() {
    for (std::uint32_t ring = 0; ring < last_.size(); ++ring) {
      const Positions now = look(ring);
      RC_ASSERT(static_cast<std::int64_t>(now.producer - last_[ring].producer) >= 0);
      RC_ASSERT(static_cast<std::int64_t>(now.pending - last_[ring].pending) >= 0);
      const std::uint64_t size = machine_->user_view(ring).data_size;
      RC_ASSERT(now.producer - now.consumer <= size - 8);
      RC_ASSERT(now.producer - now.pending <= size - 8);
      RC_ASSERT(now.producer % 8 == 0);
      last_[ring] = now;
    }
  }

 private:
  struct Positions {
    std::uint64_t consumer = 0;
    std::uint64_t producer = 0;  ///< perf: the kernel's own head
    std::uint64_t pending = 0;   ///< perf: data_head
  };

  Positions look(std::uint32_t ring) const {
    if (machine_->user_view(ring).kind == RINGSIDE_RINGBUF) {
      const RingbufModel& model = machine_->ringbuf();
      return {model.consumer_pos(), model.producer_pos(), model.pending_pos()};
    }
    const PerfRingModel& model = machine_->perf(ring);
    // What is reserved and not published yet takes space too.
    return {model.data_tail(), model.state().head, model.data_head()};
  }

  Machine* machine_;
  std::vector<Positions> last_;
};

void run(Execution& execution, const Script& script) {
  Watch watch(execution.machine());
  for (const Move& move : script.moves) execution.make(move, watch);
  execution.finish(watch);
}

void every_record_is_accounted_for(const Script& script) {
  Execution execution(script.options);
  run(execution, script);
  execution.drain();
  const ring::Verdict verdict = execution.verdict();
  RC_LOG() << verdict;
  RC_ASSERT(verdict.clean());
  RC_ASSERT(verdict.accounting.left == 0u);
  RC_TAG(verdict.accounting.delivered > 10 ? "more than ten delivered" : "few delivered");
}

RC_GTEST_PROP(SimRingbuf, AFaithfulReaderBetweenAnyStepsGetsExactlyWhatWasCommitted, ()) {
  every_record_is_accounted_for(*gen_script(RingKind::ringbuf));
}

RC_GTEST_PROP(SimPerf, AFaithfulReaderBetweenAnyStepsGetsExactlyWhatWasCommitted, ()) {
  every_record_is_accounted_for(*gen_script(RingKind::perf));
}

RC_GTEST_PROP(SimPerf, LostRecordsAndUntoldLossesAreTheFailures, ()) {
  const Script script = *gen_script(RingKind::perf);
  Execution execution(script.options);
  run(execution, script);
  execution.drain();
  std::uint64_t failed = 0;
  std::uint64_t busy = 0;  // refused by the helper: no loss of the ring's
  std::uint64_t format_lost = 0;
  const ring::ProducerLedger ledger = execution.machine().ledger();
  for (const ring::SourceLedger& source : ledger.sources) {
    failed += source.failed_total();
    busy += source.failed.contains(EBUSY) ? source.failed.at(EBUSY) : 0;
  }
  std::uint64_t untold = 0;
  for (const std::uint64_t losses : ledger.unreported_losses) untold += losses;
  for (std::uint32_t ring = 0; ring < execution.machine().ring_count(); ++ring) {
    format_lost += execution.machine().perf(ring).event().lost_samples;
  }
  RC_ASSERT(execution.told() + untold == failed - busy);
  RC_ASSERT(format_lost == failed - busy);
}

// 4.4, and its like for perf with wakeup_events 1: a reader that drains whenever epoll says so, and only then, misses
// nothing.
void no_wakeup_is_missed(Script script, Trigger trigger) {
  if (script.options.kind == RingKind::perf) script.options.data_size = 1 << 18;  // nothing is lost
  script.options.wakeup_events = 1;
  script.options.watermark_bytes = 0;
  Execution execution(script.options);
  RC_ASSERT(execution.machine().arm(trigger).has_value());
  std::array<ringside_ready, 2> ready{};
  const auto drain_when_told = [&] {
    if (execution.machine().epoll().poll_ready(ready) > 0) execution.drain();
  };
  for (const Move& move : script.moves) {
    if (move.kind != Move::Kind::drain) execution.make(move, drain_when_told);
  }
  execution.finish(drain_when_told);
  drain_when_told();
  // A perf output that fails can swallow the wake-up of an interrupt's (see sim/perf_begin.h), as the kernel's does.
  std::uint64_t failed = 0;
  for (const ring::SourceLedger& source : execution.machine().ledger().sources) failed += source.failed_total();
  if (script.options.kind == RingKind::perf) RC_PRE(failed == 0);
  RC_ASSERT(!execution.machine().any_deliverable());
}

RC_GTEST_PROP(SimRingbuf, WithoutFlagsAReaderThatDrainsWhenToldMissesNothing, ()) {
  no_wakeup_is_missed(*gen_script(RingKind::ringbuf, false), *rc::gen::element(Trigger::level, Trigger::edge));
}

RC_GTEST_PROP(SimPerf, WithWakeupEventsOneAReaderThatDrainsWhenToldMissesNothing, ()) {
  no_wakeup_is_missed(*gen_script(RingKind::perf, false), *rc::gen::element(Trigger::level, Trigger::edge));
}

/// All that a run leaves behind: every byte that the user can see, and the books.
struct Remains {
  std::vector<std::vector<std::byte>> pages;
  ring::ProducerLedger ledger;
  std::vector<std::uint64_t> wakeups;
  std::int64_t now_ns = 0;

  friend bool operator==(const Remains&, const Remains&) = default;
};

Remains remains_of(Machine& machine) {
  Remains remains;
  const auto keep = [&](const void* begin, std::uint64_t size) {
    const auto* bytes = static_cast<const std::byte*>(begin);
    remains.pages.emplace_back(bytes, bytes + size);
  };
  for (std::uint32_t ring = 0; ring < machine.ring_count(); ++ring) {
    const ringside_ring view = machine.user_view(ring);
    keep(view.consumer_page, view.page_size);
    if (view.producer_page != nullptr) keep(view.producer_page, view.page_size);
    keep(view.data, view.data_size);
    remains.wakeups.push_back(machine.wakeups(ring));
  }
  remains.ledger = machine.ledger();
  remains.now_ns = machine.clock().now_ns();
  return remains;
}

RC_GTEST_PROP(SimMachine, TheSameSeedGivesTheSameBytes, ()) {
  Script script = *gen_script(*rc::gen::element(RingKind::ringbuf, RingKind::perf));
  script.options.faults.lock_failures_ppm = 100'000;
  script.options.faults.stall_every = 3;
  script.options.faults.stall_turns = 5;
  Execution first(script.options);
  Execution second(script.options);
  run(first, script);
  run(second, script);
  RC_ASSERT(remains_of(first.machine()) == remains_of(second.machine()));
}

RC_GTEST_PROP(SimMachine, FromEndToEndAndStepByStepLeaveTheSame, ()) {
  const Script script = *gen_script(*rc::gen::element(RingKind::ringbuf, RingKind::perf));
  Execution stepped(script.options);
  Execution whole(script.options);
  for (Move move : script.moves) {
    move.nested = 0;  // where nested records come in is drawn when stepped
    if (move.kind == Move::Kind::drain) {
      stepped.drain();
      whole.drain();
    } else if (move.kind == Move::Kind::begin) {
      const Operation operation = stepped.operation_of(move).value();
      stepped.machine().begin(operation.cpu, move.context, operation);
      stepped.finish([] {});
      whole.machine().run(operation, move.context);
      if (operation.action == Action::hold) {  // finish has settled it
        whole.machine().run({.action = Action::settle_submit, .source = operation.source, .cpu = operation.cpu});
      }
    }
  }
  Remains step_by_step = remains_of(stepped.machine());
  step_by_step.now_ns = 0;  // only steps take virtual time
  Remains end_to_end = remains_of(whole.machine());
  RC_ASSERT(step_by_step.ledger == end_to_end.ledger);
  RC_ASSERT(step_by_step.pages == end_to_end.pages);
}

/// KERNEL-RINGS 1.5 and 1.6 once more, as sums over a list of records, against which the helpers are held while a
/// consumer tells the truth or lies.
class ReferenceRingbuf {
 public:
  explicit ReferenceRingbuf(std::uint64_t size) : size_(size) {}

  bool reserve(std::uint64_t length, std::uint64_t consumer) {
    const std::uint64_t span = (length + 8 + 7) / 8 * 8;
    if (span > size_) return false;
    std::uint64_t oldest_busy = producer_;
    for (const Record& record : records_) {
      if (record.busy && record.position >= pending_) {
        oldest_busy = record.position;
        break;
      }
    }
    pending_ = oldest_busy;
    const std::uint64_t next = producer_ + span;
    if (next - consumer > size_ - 1 || next - pending_ > size_ - 1) return false;
    records_.push_back({producer_, true});
    producer_ = next;
    return true;
  }
  void commit(std::uint64_t position) {
    for (Record& record : records_) {
      if (record.position == position) record.busy = false;
    }
  }
  bool wakes(std::uint64_t position, std::uint64_t consumer, std::uint64_t flags) const {
    if ((flags & 2) != 0) return true;
    return (flags & 1) == 0 && consumer % size_ == position % size_;
  }
  std::uint64_t producer() const { return producer_; }
  std::uint64_t pending() const { return pending_; }

 private:
  struct Record {
    std::uint64_t position;
    bool busy;
  };
  std::uint64_t size_;
  std::uint64_t producer_ = 0;
  std::uint64_t pending_ = 0;
  std::vector<Record> records_;
};

struct Call {
  enum class Kind : std::uint8_t { reserve, commit, consume, lie } kind = Kind::reserve;
  std::uint32_t size = 0;
  std::uint8_t flags = 0;
  std::int32_t offset = 0;
};

std::ostream& operator<<(std::ostream& out, const Call& call) {
  return out << "call " << static_cast<int>(call.kind) << " size " << call.size << " flags " << int{call.flags}
             << " offset " << call.offset;
}

}  // namespace
}  // namespace ringside::sim

namespace rc {
template <>
struct Arbitrary<ringside::sim::Call> {
  static Gen<ringside::sim::Call> arbitrary() {
    using ringside::sim::Call;
    return gen::build<Call>(
        gen::set(
            &Call::kind,
            gen::weightedElement<Call::Kind>(
                {{6, Call::Kind::reserve}, {5, Call::Kind::commit}, {2, Call::Kind::consume}, {1, Call::Kind::lie}})),
        gen::set(&Call::size, ringside::sim::gen_size()), gen::set(&Call::flags, gen::inRange<std::uint8_t>(0, 8)),
        gen::set(&Call::offset, gen::inRange<std::int32_t>(-5000, 5000)));
  }
};
}  // namespace rc

namespace ringside::sim {
namespace {

RC_GTEST_PROP(SimRingbuf, HelpersDoWhatTheRulesSayWhateverTheConsumerSays, (const std::vector<Call>& calls)) {
  auto model = std::move(*RingbufModel::create({}));
  ReferenceRingbuf reference(4096);
  auto* consumer_pos = static_cast<std::uint64_t*>(model->memory().user_consumer_page());
  std::vector<RingbufModel::Reservation> open;
  for (const Call& call : calls) {
    switch (call.kind) {
      case Call::Kind::reserve: {
        const auto reservation = model->reserve(call.size);
        RC_ASSERT(reservation.has_value() == reference.reserve(call.size, *consumer_pos));
        if (reservation) open.push_back(*reservation);
        break;
      }
      case Call::Kind::commit: {
        if (open.empty()) break;
        const std::size_t which = call.size % open.size();
        const std::uint64_t before = model->wait_queue().wakeups();
        model->submit(open[which], call.flags);
        reference.commit(open[which].position);
        const bool woke = model->wait_queue().wakeups() != before;
        RC_ASSERT(woke == reference.wakes(open[which].position, *consumer_pos, call.flags));
        open.erase(open.begin() + static_cast<std::ptrdiff_t>(which));
        break;
      }
      case Call::Kind::consume:
        *consumer_pos = model->producer_pos();
        break;
      case Call::Kind::lie:
        *consumer_pos = model->producer_pos() + static_cast<std::uint64_t>(std::int64_t{call.offset});
        break;
    }
    RC_ASSERT(model->producer_pos() == reference.producer());
    RC_ASSERT(model->pending_pos() == reference.pending());
  }
}

}  // namespace
}  // namespace ringside::sim
