// SPDX-License-Identifier: Apache-2.0
//
// Taking deliveries. A record that is proven, committed and the next of its source costs a few compares; everything
// else leaves that path at once.
#include "ring/judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

#include "ring/damaged_header.h"
#include "ring/judge_state.h"

namespace ringside::ring {

namespace {

/// A perf sample's raw bytes are padded by up to 7 [2.8]; a BPF ring tells the exact length [1.4].
std::size_t padding_of(RingKind kind) { return kind == RingKind::perf ? 7 : 0; }

std::string name_of_record(const RecordIdentity& identity) {
  return fmt::format("source {} record {}", identity.source, identity.sequence);
}

std::string damage_of(const RecordReading& reading, std::size_t delivered) {
  const std::uint64_t length = reading.identity.length;
  if (reading.first_wrong == length) return fmt::format("{} bytes were delivered, it has {}", delivered, length);
  if (reading.first_wrong == delivered) return fmt::format("cut short, {} of {} bytes", delivered, length);
  return fmt::format("byte {} is {:#04x}, should be {:#04x}", reading.first_wrong, reading.found, reading.expected);
}

std::string hex_of(std::span<const std::byte> bytes) {
  std::string text;
  for (const std::byte byte : bytes) text += fmt::format(" {:02x}", static_cast<unsigned>(byte));
  return text;
}

std::uint64_t saturating_sum(std::uint64_t a, std::uint64_t b) { return b > UINT64_MAX - a ? UINT64_MAX : a + b; }

void keep_once(std::vector<std::string>& sentences, std::string sentence) {
  if (std::find(sentences.begin(), sentences.end(), sentence) == sentences.end()) {
    sentences.push_back(std::move(sentence));
  }
}

}  // namespace

Placement SourceTrack::place(std::uint64_t number) {
  if (!came_ && number == next_) {
    ++next_;
    return Placement::in_order;
  }
  if (!came_) {
    if (number < next_) return Placement::repeated;
    came_ = std::make_unique<SequenceSet>(next_);
  }
  if (!came_->insert(number)) return Placement::repeated;
  if (number < next_) return Placement::late;
  next_ = number + 1;
  return Placement::in_order;
}

std::vector<Defect> DefectBook::found() const {
  std::vector<Defect> found;
  std::copy_if(entries_.begin(), entries_.end(), std::back_inserter(found),
               [](const Defect& entry) { return entry.count != 0; });
  return found;
}

bool JudgeState::may_exist(std::uint32_t source, std::uint64_t number) {
  SourceTrack& track = sources[source];
  if (number < track.bound) return true;
  if (!options.reserved_so_far) return false;
  track.bound = std::min(options.max_records_per_source, options.reserved_so_far(source));
  return number < track.bound;
}

void JudgeState::judge_committed(std::uint32_t ring, const RecordIdentity& identity) {
  const std::uint64_t number = identity.sequence;
  if (identity.source >= sources.size()) {
    defects.add(DefectKind::phantom, ring, identity.source, number, 1, [&] {
      return fmt::format("{}: there is no such source, only {}", name_of_record(identity), sources.size());
    });
    return;
  }
  if (!may_exist(identity.source, number)) {
    defects.add(DefectKind::phantom, ring, identity.source, number, 1, [&] {
      return fmt::format("{}: delivered when its source had reserved only {}", name_of_record(identity),
                         sources[identity.source].bound);
    });
    return;
  }
  SourceTrack& track = sources[identity.source];
  switch (track.place(number)) {
    case Placement::in_order:
      break;
    case Placement::late:
      defects.add(DefectKind::reordered, ring, identity.source, number, 1, [&] {
        return fmt::format("{}: delivered after record {}", name_of_record(identity), track.next() - 1);
      });
      break;
    case Placement::repeated:
      defects.add(DefectKind::duplicate, ring, identity.source, number, 1, [&] {
        return fmt::format("{}: delivered again, {} was due", name_of_record(identity), track.next());
      });
      break;
  }
}

void JudgeState::judge_suspect(std::uint32_t ring, std::span<const std::byte> bytes, const RecordReading& reading) {
  const RecordIdentity& identity = reading.identity;
  if (reading.kind == RecordReading::Kind::empty) {
    ++empties;
  } else if (reading.kind == RecordReading::Kind::alien) {
    judge_alien(ring, bytes);
  } else if (identity.state != RecordState::committed) {
    // Its bytes may change at any moment, so whether they hold says nothing.
    defects.add(DefectKind::phantom, ring, identity.source, identity.sequence, 1, [&] {
      return fmt::format(
          "{} of {} bytes: {}", name_of_record(identity), identity.length,
          identity.state == RecordState::draft ? "a record that is not committed yet" : "a discarded record");
    });
  } else {
    judge_torn(ring, identity, damage_of(reading, bytes.size()));
  }
}

void JudgeState::judge_alien(std::uint32_t ring, std::span<const std::byte> bytes) {
  if (bytes.size() >= RINGSIDE_RECORD_HEADER_BYTES) {
    const auto next_of = [this](std::uint32_t source) { return sources[source].next(); };
    const auto source_count = static_cast<std::uint32_t>(sources.size());
    if (const auto damage = recognise_damaged_header(bytes, padding, source_count, next_of)) {
      judge_torn(ring, damage->identity,
                 fmt::format("its header is damaged: byte {} is {:#04x}, should be {:#04x}", damage->first_wrong,
                             damage->found, damage->expected));
      return;
    }
  }
  defects.add(DefectKind::phantom, ring, 0, 0, 1, [&] {
    constexpr std::size_t shown = 16;
    if (bytes.empty()) return std::string("0 bytes, which no perf sample has");
    return fmt::format("{} bytes of no record:{}{}", bytes.size(), hex_of(bytes.first(std::min(shown, bytes.size()))),
                       bytes.size() > shown ? " ..." : "");
  });
}

void JudgeState::judge_torn(std::uint32_t ring, const RecordIdentity& identity, std::string damage) {
  defects.add(DefectKind::torn, ring, identity.source, identity.sequence, 1,
              [&] { return fmt::format("{}: {}", name_of_record(identity), damage); });
  // If it is clear which record it was, that one came, and is not lost as well. Without a bound on what exists, a
  // number ahead of all others is rather part of the damage.
  if (identity.source >= sources.size() || !may_exist(identity.source, identity.sequence)) return;
  const SourceTrack& track = sources[identity.source];
  const bool ahead_of_all = identity.sequence > track.next() && track.bound == UINT64_MAX;
  if (track.came(identity.sequence) || ahead_of_all) return;
  judge_committed(ring, identity);
}

Judge::Judge(JudgeOptions options) : state_(std::make_unique<State>()) {
  state_->padding = padding_of(options.kind);
  state_->sources.resize(options.source_count);
  if (!options.reserved_so_far) {
    for (SourceTrack& track : state_->sources) track.bound = options.max_records_per_source;
  }
  state_->options = std::move(options);
}

Judge::~Judge() = default;

RecordReading Judge::deliver(std::uint32_t ring, std::span<const std::byte> bytes) {
  State& state = *state_;
  assert(!state.finished);
  ++state.deliveries;
  state.delivered_bytes += bytes.size();
  const RecordReading reading = read_record(bytes, state.padding, [&](std::uint16_t source, RecordState record_state) {
    // Drafts and discarded records have their own numbers, which only their producer counts.
    const bool counted = record_state == RecordState::committed && source < state.sources.size();
    return counted ? state.sources[source].next() : 0;
  });
  if (reading.kind == RecordReading::Kind::proven && reading.identity.state == RecordState::committed) [[likely]] {
    if (!state.count_next(reading.identity)) state.judge_committed(ring, reading.identity);
  } else {
    state.judge_suspect(ring, bytes, reading);
  }
  return reading;
}

void Judge::report_lost(std::uint32_t ring, std::uint64_t count) {
  State& state = *state_;
  assert(!state.finished);
  if (count == 0) {
    state.defects.add(DefectKind::protocol, ring, 0, 0, 1,
                      [&] { return fmt::format("ring {}: lost(0) called", ring); });
    return;
  }
  std::uint64_t& total = state.reported_lost[ring];
  total = saturating_sum(total, count);
}

void Judge::accuse(Defect defect) {
  state_->defects.add(defect.kind, defect.ring, defect.source, defect.sequence, defect.count,
                      [&] { return std::move(defect.detail); });
}

void Judge::note(std::string sentence) { keep_once(state_->notes, std::move(sentence)); }

void Judge::not_observable(std::string sentence) { keep_once(state_->not_observable, std::move(sentence)); }

std::uint64_t Judge::deliveries() const { return state_->deliveries; }

std::size_t Judge::memory_bytes() const {
  const State& state = *state_;
  std::size_t total = sizeof(State) + state.sources.capacity() * sizeof(SourceTrack);
  for (const SourceTrack& track : state.sources) total += track.memory_bytes();
  for (const std::string& sentence : state.notes) total += sentence.capacity();
  for (const std::string& sentence : state.not_observable) total += sentence.capacity();
  return total;
}

}  // namespace ringside::ring
