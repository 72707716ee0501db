// SPDX-License-Identifier: Apache-2.0
#include "sim/ringbuf_production.h"

#include <cassert>
#include <cerrno>
#include <cstring>
#include <utility>

namespace ringside::sim {

using ring::Action;

namespace {

bool settles(Action action) { return action == Action::settle_submit || action == Action::settle_discard; }

}  // namespace

RingbufProduction::RingbufProduction(RingbufModel& ring, SourceJournal& journal, SourceState& source,
                                     const ring::Operation& operation, LockAttempt attempt, bool stepped,
                                     Scratch& scratch, const Stamping& stamping)
    : ring_(&ring),
      journal_(&journal),
      source_(&source),
      scratch_(&scratch),
      operation_(operation),
      reserve_(ring.state(), operation.size + ring::stamp_bytes(stamping.when), attempt),
      size_(operation.size),
      stamping_(stamping),
      stepped_(stepped) {
  if (settles(operation.action)) {
    phase_ = Phase::nothing;
    if (const auto held = std::exchange(source.held, std::nullopt)) {
      position_ = held->position;
      size_ = held->size;
      phase_ = stepped ? Phase::first_half : Phase::whole;
    }
    return;
  }
  assert(!source.held && "a source that holds a record only settles it");
  ++source.ledger.attempts;
  // 1.7: output looks at its flags before anything else; submit and discard ignore what they do not know.
  const bool unknown_flags = (operation.flags & ~(ring::flag_no_wakeup | ring::flag_force_wakeup)) != 0;
  if (stamping_.when == ring::Stamp::before) phase_ = Phase::take_stamp;
  if (operation.action == Action::output && unknown_flags) phase_ = Phase::refuse;
}

StepResult RingbufProduction::step() {
  switch (phase_) {
    case Phase::refuse:
      source_->fail(EINVAL);
      result_ = -EINVAL;
      return finish();
    case Phase::nothing:
      return finish();
    case Phase::take_stamp:
      stamp_ns_ = stamping_.clock->tick();
      phase_ = Phase::reserve;
      return StepResult::more;
    case Phase::reserve:
      return reserve();
    case Phase::stamp:
      write_stamp();
      return StepResult::more;
    case Phase::draft:
      return draft();
    case Phase::first_half:
      return write_half(true);
    case Phase::second_half:
      return write_half(false);
    case Phase::whole:
      if (size_ > 0) ring::write_record(payload(), identity());
      start_commit();
      return StepResult::more;
    case Phase::commit:
      return commit();
    case Phase::done:
      break;
  }
  assert(false && "a step after the last one");
  return StepResult::done;
}

void RingbufProduction::run() {
  if (phase_ == Phase::take_stamp) step();
  if (phase_ == Phase::reserve) {
    reserve_.run();
    end_reserve();
  }
  while (phase_ != Phase::commit && phase_ != Phase::done) step();
  if (phase_ == Phase::done) return;
  count_commit();
  commit_->run();
  close_books();
  finish();
}

bool RingbufProduction::discards() const {
  return operation_.action == Action::discard || operation_.action == Action::settle_discard;
}

ring::RecordIdentity RingbufProduction::identity() const {
  const auto state = discards() ? ring::RecordState::doomed : ring::RecordState::committed;
  return {operation_.source, state, size_, discards() ? source_->next_doomed : source_->next_committed()};
}

std::span<std::byte> RingbufProduction::payload() const {
  return {ring_->state().payload(position_) + ring::stamp_bytes(stamping_.when), size_};
}

StepResult RingbufProduction::reserve() {
  reserve_begun_ = true;
  const StepResult taken = reserve_.step();
  return taken == StepResult::done ? end_reserve() : taken;
}

StepResult RingbufProduction::end_reserve() {
  if (reserve_.failure() != ReserveFailure::none) {
    // 1.7: output says -EAGAIN, reserve only NULL, which the ledger counts as ENOSPC; neither says why.
    const int code = operation_.action == Action::output ? EAGAIN : ENOSPC;
    source_->fail(code);
    result_ = -code;
    return finish();
  }
  position_ = reserve_.position();
  journal_->note(position_, operation_.source);
  ++source_->ledger.open;
  phase_ = Phase::stamp;
  if (stamping_.when == ring::Stamp::none) begin_record();
  // An old kernel grants a span larger than the ring to a consumer that lies (CVE-2021-3489). Its payload lies outside
  // the ring, in memory that this model does not have: it stays unwritten.
  if (size_ > ring_->state().size) start_commit();
  return StepResult::more;
}

/// The record is BUSY: whoever looks now sees that, and waits.
void RingbufProduction::write_stamp() {
  if (stamping_.when == ring::Stamp::inside) stamp_ns_ = stamping_.clock->tick();
  std::byte bytes[sizeof stamp_ns_];
  std::memcpy(bytes, &stamp_ns_, sizeof bytes);
  PlainMemory::write_bytes(ring_->state().payload(position_), bytes, sizeof bytes);
  begin_record();
}

void RingbufProduction::begin_record() {
  // A program that outputs has its record ready; one that reserves writes it in place.
  const bool drafts = operation_.action == Action::hold || (stepped_ && operation_.action != Action::output);
  phase_ = drafts ? Phase::draft : stepped_ ? Phase::first_half : Phase::whole;
}

StepResult RingbufProduction::draft() {
  if (size_ > 0) {
    ring::write_record(payload(), {operation_.source, ring::RecordState::draft, size_, source_->next_draft++});
  }
  if (operation_.action == Action::hold) {
    source_->held = HeldRecord{position_, size_};
    return finish();
  }
  phase_ = Phase::first_half;
  return StepResult::more;
}

StepResult RingbufProduction::write_half(bool first) {
  const std::size_t half = size_ / 2;
  if (first) {
    scratch_->resize(size_);
    if (size_ > 0) ring::write_record(*scratch_, identity());
    if (half > 0) PlainMemory::write_bytes(payload().data(), scratch_->data(), half);
    phase_ = Phase::second_half;
    return StepResult::more;
  }
  if (size_ > half) PlainMemory::write_bytes(payload().data() + half, scratch_->data() + half, size_ - half);
  start_commit();
  return StepResult::more;
}

void RingbufProduction::start_commit() {
  commit_.emplace(ring_->state(), position_, discards() ? Fate::discard : Fate::submit, operation_.flags);
  phase_ = Phase::commit;
}

StepResult RingbufProduction::commit() {
  const bool publishes = commit_->about_to_publish();
  if (publishes) count_commit();
  const StepResult taken = commit_->step();
  if (publishes) close_books();
  return taken == StepResult::done ? finish() : taken;
}

void RingbufProduction::count_commit() {
  if (!discards() && size_ > 0) source_->begin_commit();
}

void RingbufProduction::close_books() {
  --source_->ledger.open;
  if (discards()) {
    ++source_->ledger.discarded;
    if (size_ > 0) ++source_->next_doomed;
    return;
  }
  ++source_->ledger.committed;
  if (size_ == 0) ++source_->ledger.empty;
}

StepResult RingbufProduction::finish() {
  phase_ = Phase::done;
  return StepResult::done;
}

}  // namespace ringside::sim
