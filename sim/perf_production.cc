// SPDX-License-Identifier: Apache-2.0
#include "sim/perf_production.h"

#include <cassert>
#include <cerrno>

#include "ring/record.h"

namespace ringside::sim {

namespace {

// Puts the payload together. One that cannot be read back carries the number of no committed record.
std::span<const std::byte> compose(SourceState& source, const ring::Operation& operation, bool malformed,
                                   Scratch& scratch) {
  if (scratch.size() < operation.size) scratch.resize(operation.size);
  const std::span<std::byte> payload(scratch.data(), operation.size);
  if (!payload.empty()) {
    const auto state = malformed ? ring::RecordState::draft : ring::RecordState::committed;
    const std::uint64_t sequence = malformed ? source.next_draft++ : source.next_committed();
    ring::write_record(payload, {operation.source, state, operation.size, sequence});
  }
  return payload;
}

}  // namespace

PerfProduction::PerfProduction(PerfRingModel& ring, SourceJournal& journal, SourceState& source,
                               const ring::Operation& operation, std::uint32_t level,
                               std::optional<std::uint16_t> false_size, const PerfSampleValues& values,
                               Scratch& scratch)
    : journal_(&journal),
      source_(&source),
      operation_(operation),
      busy_(level >= perf_output_levels),
      malformed_(operation.size > ring::perf::max_payload),
      record_{.payload = compose(source, operation, malformed_, scratch), .values = values, .false_size = false_size},
      output_(ring.state(), ring.event(), record_) {
  assert(operation.action == ring::Action::output && "perf rings take output only");
  ++source.ledger.attempts;
}

StepResult PerfProduction::step() {
  if (busy_) return refuse();
  if (output_.about_to_publish()) begin_commit();
  const StepResult taken = output_.step();
  if (taken == StepResult::done) close_books();
  return taken;
}

void PerfProduction::run() {
  if (busy_) {
    refuse();
    return;
  }
  output_.run([this] { begin_commit(); });
  close_books();
}

StepResult PerfProduction::refuse() {
  source_->fail(EBUSY);
  result_ = -EBUSY;
  return StepResult::done;
}

void PerfProduction::begin_commit() {
  journal_->note(output_.position(), operation_.source);
  if (!malformed_ && operation_.size > 0) source_->begin_commit();
}

void PerfProduction::close_books() {
  result_ = output_.result();
  if (result_ != 0) return source_->fail(-result_);
  if (malformed_) {
    ++source_->ledger.malformed;
    return;
  }
  ++source_->ledger.committed;
  if (operation_.size == 0) ++source_->ledger.empty;
}

}  // namespace ringside::sim
