// SPDX-License-Identifier: Apache-2.0
//
// One perf output from its start to its end, one step at a time: space, LOST record, header, fields, payload, counting,
// publishing (KERNEL-RINGS 2.4 to 2.9).
#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "ring/layout.h"
#include "sim/memory.h"
#include "sim/perf_begin.h"
#include "sim/perf_end.h"
#include "sim/perf_state.h"

namespace ringside::sim {

/// The most bytes that a record's header can tell, which counts in eights [2.8].
inline constexpr std::uint64_t largest_record = 65528;

/// The values of a sample's fields other than its payload.
struct PerfSampleValues {
  std::uint64_t ip = 0;
  std::uint32_t pid = 0;
  std::uint32_t tid = 0;
  std::uint64_t time_ns = 0;
  std::uint64_t addr = 0;
  std::uint32_t cpu = 0;
  std::uint64_t period = 1;
};

/// What one output writes.
struct PerfRecord {
  std::uint32_t type = ring::perf::type_sample;
  std::uint16_t misc = 1;              ///< cpu mode: 1 kernel, 2 user
  std::span<const std::byte> payload;  ///< samples: the raw data; others: the body, a multiple of 8 bytes
  PerfSampleValues values = {};
  std::optional<std::uint16_t> false_size = std::nullopt;  ///< a fault: what header.size says instead of the truth
};

/// A few little-endian fields put together before they are copied into the ring.
class PerfFields {
 public:
  template <class T>
  void put(T value) {
    assert(size_ + sizeof(value) <= bytes_.size());
    std::memcpy(bytes_.data() + size_, &value, sizeof(value));
    size_ += sizeof(value);
  }
  void clear() { size_ = 0; }
  std::span<const std::byte> bytes() const { return {bytes_.data(), size_}; }

 private:
  std::array<std::byte, 88> bytes_;  // header, nine fields and raw_size at most
  std::size_t size_ = 0;
};

/// The fields of a sample before RAW [2.8].
inline void put_sample_fields(PerfFields& out, const PerfEventState& event, const PerfSampleValues& values) {
  const std::uint64_t type = event.attr.sample_type;
  if ((type & sample_identifier) != 0) out.put(event.id);
  if ((type & sample_ip) != 0) out.put(values.ip);
  if ((type & sample_tid) != 0) out.put(values.pid), out.put(values.tid);
  if ((type & sample_time) != 0) out.put(values.time_ns);
  if ((type & sample_addr) != 0) out.put(values.addr);
  if ((type & sample_id) != 0) out.put(event.id);
  if ((type & sample_stream_id) != 0) out.put(event.id);
  if ((type & sample_cpu) != 0) out.put(values.cpu), out.put(std::uint32_t{0});
  if ((type & sample_period) != 0) out.put(values.period);
}

/// The id trailer of any other record [2.7].
inline void put_id_trailer(PerfFields& out, const PerfEventState& event, const PerfSampleValues& values) {
  const std::uint64_t type = event.attr.sample_type;
  if ((type & sample_tid) != 0) out.put(values.pid), out.put(values.tid);
  if ((type & sample_time) != 0) out.put(values.time_ns);
  if ((type & sample_id) != 0) out.put(event.id);
  if ((type & sample_stream_id) != 0) out.put(event.id);
  if ((type & sample_cpu) != 0) out.put(values.cpu), out.put(std::uint32_t{0});
  if ((type & sample_identifier) != 0) out.put(event.id);
}

/// Bytes of a whole record, LOST records before it apart: more than header.size can tell when it is oversize [2.8].
inline std::uint64_t record_bytes(const PerfEventState& event, const PerfRecord& record) {
  if (record.type != ring::perf::type_sample) {
    assert(record.payload.size() % 8 == 0);
    return ring::perf::header_bytes + record.payload.size() +
           (event.attr.sample_id_all ? id_trailer_bytes(event.attr.sample_type) : 0);
  }
  PerfFields fields;
  put_sample_fields(fields, event, record.values);
  const bool raw = (event.attr.sample_type & sample_raw) != 0;
  return ring::perf::header_bytes + fields.bytes().size() + (raw ? ring::round_up_8(record.payload.size() + 4) : 0);
}

template <class Memory>
class PerfOutput {
 public:
  /// The record and its payload must stay as they are until the output has ended.
  PerfOutput(PerfRingState& ring, PerfEventState& event, const PerfRecord& record)
      : ring_(&ring),
        event_(&event),
        record_(&record),
        total_(record_bytes(event, record)),
        // 2.8: only 16 bits of the size are reserved; all of the record is written nevertheless.
        begin_(ring, event, static_cast<std::uint16_t>(total_)),
        end_(ring, 0) {}
  PerfOutput(PerfRingState& ring, PerfEventState& event, PerfRecord&& record) = delete;
  // Points into itself while it copies.
  PerfOutput(const PerfOutput&) = delete;
  PerfOutput& operator=(const PerfOutput&) = delete;

  StepResult step() {
    switch (phase_) {
      case Phase::begin:
        return begin();
      case Phase::lost_record:
      case Phase::header:
      case Phase::payload:
      case Phase::padding:
      case Phase::trailer:
      case Phase::late_lost_record:
        return copy();
      case Phase::count:
        return count();
      case Phase::end:
        return end();
      case Phase::done:
        break;
    }
    assert(false && "a step after the last one");
    return StepResult::done;
  }

  /// Takes all remaining steps; calls `written` when the record is written and the next step is to count it.
  template <class Written>
  void run(Written&& written) {
    if (phase_ == Phase::begin && refuses_oversize()) refuse_oversize();
    if (phase_ == Phase::begin) {
      begin_.run();
      end_begin();
    }
    if (phase_ == Phase::lost_record) copy_all();
    if (phase_ == Phase::header) copy_all();
    if (phase_ == Phase::payload) copy_all();
    if (Memory::breaks(Rule::perf_stale_padding) && phase_ == Phase::padding) copy_all();
    if (phase_ == Phase::trailer) copy_all();
    if (Memory::breaks(Rule::perf_lost_order) && phase_ == Phase::late_lost_record) copy_all();
    if (phase_ == Phase::count) {
      written();
      count();
    }
    if (phase_ == Phase::end) end_.run();
    phase_ = Phase::done;
  }
  void run() {
    run([] {});
  }

  /// After the last step: 0 or -ENOSPC.
  int result() const { return result_; }
  /// After the last step: the event's irq-work is to be queued.
  bool wants_wakeup() const { return end_.wants_wakeup(); }
  /// The record is written; the steps from here on count and publish it.
  bool about_to_publish() const { return phase_ == Phase::count; }
  /// Where the output stands after the step that was taken last.
  PerfPoint point() const {
    if (phase_ == Phase::begin) return begin_.point();
    return phase_ == Phase::end ? end_.point() : PerfPoint::none;
  }
  /// Where the record's header stands: after the LOST record, if there is one. Valid once written.
  std::uint64_t position() const { return position_; }

 private:
  // Two of them take place in broken models only: padding that is cleared, and a LOST record after the record.
  enum class Phase : std::uint8_t {
    begin,
    lost_record,
    header,
    payload,
    padding,
    trailer,
    late_lost_record,
    count,
    end,
    done
  };

  bool is_sample() const { return record_->type == ring::perf::type_sample; }

  bool has_raw() const { return (event_->attr.sample_type & sample_raw) != 0; }

  StepResult begin() {
    if (refuses_oversize()) return refuse_oversize();
    return begin_.step() == StepResult::done ? end_begin() : StepResult::more;
  }

  // What a broken model does instead of 2.8.
  bool refuses_oversize() const { return Memory::breaks(Rule::perf_oversize) && total_ > largest_record; }
  StepResult refuse_oversize() {
    result_ = -E2BIG;
    return finish();
  }

  StepResult end_begin() {
    if (begin_.result() == PerfBegin::refused) {
      result_ = -ENOSPC;
      return finish();
    }
    end_ = PerfOutputEnd<Memory>(*ring_, begin_.wakeup_before());
    if (begin_.result() == PerfBegin::lost) {
      result_ = -ENOSPC;
      return go(Phase::end);
    }
    cursor_ = begin_.position();
    const bool first = begin_.announces_loss() && !Memory::breaks(Rule::perf_lost_order);
    prepare(first ? Phase::lost_record : Phase::header);
    return StepResult::more;
  }

  // Lays out the bytes of a phase; an empty one is passed over.
  void prepare(Phase phase) {
    fields_.clear();
    rest_ = {};
    phase_ = phase;
    switch (phase) {
      case Phase::lost_record:
        put_lost_record();
        break;
      case Phase::header:
        position_ = cursor_;
        put_header();
        break;
      case Phase::payload:
        if (!is_sample() || has_raw()) rest_ = record_->payload;
        break;
      case Phase::padding:
        put_padding();
        break;
      case Phase::trailer:
        if (!is_sample() && event_->attr.sample_id_all) put_id_trailer(fields_, *event_, record_->values);
        break;
      case Phase::late_lost_record:
        if (begin_.announces_loss()) put_lost_record();
        break;
      default:
        return;
    }
    if (!fields_.bytes().empty()) rest_ = fields_.bytes();
    if (rest_.empty()) prepare(after(phase));
  }

  static Phase after(Phase phase) {
    switch (phase) {
      case Phase::lost_record:
        return Phase::header;
      case Phase::header:
        return Phase::payload;
      case Phase::payload:
        return Memory::breaks(Rule::perf_stale_padding) ? Phase::padding : Phase::trailer;
      case Phase::padding:
        return Phase::trailer;
      case Phase::trailer:
        return Memory::breaks(Rule::perf_lost_order) ? Phase::late_lost_record : Phase::count;
      default:
        return Phase::count;
    }
  }

  void put_lost_record() {
    const std::uint64_t bytes = lost_record_bytes<Memory>(*event_);
    fields_.put(ring::perf::RecordHeader{ring::perf::type_lost, 0, static_cast<std::uint16_t>(bytes)});
    // 2.7: of the event that writes now, not of the losers
    fields_.put(Memory::breaks(Rule::perf_lost_id) ? ring_->owner_id : event_->id);
    fields_.put(ring_->lost);
    // Exchanged: what is lost from here on is the next LOST record's.
    if (!Memory::breaks(Rule::perf_lost_reset)) ring_->lost = 0;
    if (Memory::breaks(Rule::perf_lost_samples)) event_->lost_samples = 0;
    if (bytes != ring::perf::lost_bytes) put_id_trailer(fields_, *event_, record_->values);
  }

  void put_header() {
    const auto size = record_->false_size.value_or(static_cast<std::uint16_t>(total_));
    fields_.put(ring::perf::RecordHeader{record_->type, record_->misc, size});
    if (!is_sample()) return;
    put_sample_fields(fields_, *event_, record_->values);
    if (!has_raw()) return;
    const std::size_t bytes = record_->payload.size();
    const std::uint64_t raw_size = Memory::breaks(Rule::perf_raw_size) ? bytes : ring::perf::raw_size(bytes);
    fields_.put(static_cast<std::uint32_t>(raw_size));
  }

  void put_padding() {
    if (!is_sample() || !has_raw()) return;
    const std::size_t bytes = record_->payload.size();
    for (std::size_t i = bytes; i < ring::perf::raw_size(bytes); ++i) fields_.put(std::byte{0});
  }

  // 2.5: in order, page by page, one page's part a step. Padding is passed over and keeps what an earlier lap left.
  StepResult copy() {
    const std::uint64_t offset = cursor_ & ring_->mask();
    const std::size_t part = std::min<std::size_t>(rest_.size(), ring_->page_size - offset % ring_->page_size);
    Memory::write_bytes(ring_->data + offset, rest_.data(), part);
    cursor_ += part;
    rest_ = rest_.subspan(part);
    if (rest_.empty()) prepare(after(phase_));
    return StepResult::more;
  }

  void copy_all() {
    for (const Phase now = phase_; phase_ == now;) copy();
  }

  StepResult count() {
    // 2.9: samples only, by the attr of the event that writes; the comparison is one of ints.
    const PerfAttr& attr = event_->attr;
    const bool by_zero = Memory::breaks(Rule::perf_wakeup_events_zero) && !attr.watermark && attr.wakeup_events == 0;
    const bool counted = is_sample() || Memory::breaks(Rule::perf_samples_count);
    if (counted && (attr.counts_events() || by_zero)) {
      const auto wakeup_events = by_zero ? 1 : static_cast<std::int32_t>(attr.wakeup_events);
      ring_->events += 1;
      const bool enough = Memory::breaks(Rule::perf_wakeup_events_compare)
                              ? static_cast<std::uint32_t>(ring_->events) >= static_cast<std::uint32_t>(wakeup_events)
                              : static_cast<std::int32_t>(ring_->events) >= wakeup_events;
      if (enough) {
        ring_->events = Memory::breaks(Rule::perf_events_shared) ? 0 : ring_->events - wakeup_events;
        ring_->wakeup += 1;
      }
    }
    return go(Phase::end);
  }

  StepResult end() { return end_.step() == StepResult::done ? finish() : StepResult::more; }

  StepResult go(Phase phase) {
    phase_ = phase;
    return StepResult::more;
  }
  StepResult finish() {
    phase_ = Phase::done;
    return StepResult::done;
  }

  PerfRingState* ring_;
  PerfEventState* event_;
  const PerfRecord* record_;
  std::uint64_t total_;
  PerfOutputBegin<Memory> begin_;
  PerfOutputEnd<Memory> end_;
  PerfFields fields_;
  std::span<const std::byte> rest_;
  std::uint64_t cursor_ = 0;
  std::uint64_t position_ = 0;
  Phase phase_ = Phase::begin;
  int result_ = 0;
};

}  // namespace ringside::sim
