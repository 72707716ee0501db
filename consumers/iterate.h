// SPDX-License-Identifier: Apache-2.0
//
// Strategy `iterator`: the records as a range, `for (const RecordView& record : reader.records())`. Going on to the
// next record hands the last one's space back.
//
// The contract: one thread, one range at a time. A view is valid until the loop's body ends. The record at which a loop
// is left by break or return counts as read, and is handed back with the range. The range ends when there is no record
// until the deadline; why, `records.told()` says.
#pragma once

#include "consumers/blocking_reader.h"
#include "consumers/reader_strategy.h"

namespace ringside::consumers {

/// What a range's end is compared with.
struct NoMoreRecords {};

template <class Steps, class Poller>
class RecordRange {
 public:
  explicit RecordRange(BlockingReader<Steps, Poller>& reader) : reader_(reader) {}
  ~RecordRange() { hand_back(); }
  RecordRange(const RecordRange&) = delete;
  RecordRange& operator=(const RecordRange&) = delete;

  class Iterator {
   public:
    explicit Iterator(RecordRange& range) : range_(range) {}
    const RecordView& operator*() const { return range_.view_; }
    Iterator& operator++() {
      range_.go_on();
      return *this;
    }
    bool operator==(NoMoreRecords) const { return range_.told_ != Told::record; }

   private:
    RecordRange& range_;
  };

  Iterator begin() {
    go_on();
    return Iterator(*this);
  }
  NoMoreRecords end() const { return {}; }
  Told told() const { return told_; }

 private:
  void go_on() {
    hand_back();
    told_ = reader_.next();
    shown_ = told_ == Told::record;
    if (shown_) view_ = reader_.view();
  }
  void hand_back() {
    if (shown_) reader_.consume();
    shown_ = false;
  }

  BlockingReader<Steps, Poller>& reader_;
  RecordView view_;
  Told told_ = Told::record;
  bool shown_ = false;
};

template <class Steps, class Poller>
class IteratingReader : public ReaderCalls<Steps, Poller> {
  using Base = ReaderCalls<Steps, Poller>;
  using Base::reader_;

 public:
  using Base::Base;

  RecordRange<Steps, Poller> records() { return RecordRange<Steps, Poller>(reader_); }
};

template <class Steps>
class Iterate : public ReaderStrategy<Iterate<Steps>> {
 public:
  Iterate(const ringside_ring_set& rings, const ringside_host& host)
      : ReaderStrategy<Iterate>(host), reader_(rings, host) {}

  int start() { return reader_.start(); }
  IteratingReader<Steps, HostPoller>& reader() { return reader_; }

  /// A whole loop a drain, left by break where the host has enough.
  std::int64_t drain(std::uint64_t max_records) {
    reader_.set_deadline(already_past);
    const auto round = reader_.rings().one_round();
    auto records = reader_.records();
    std::uint64_t delivered = 0;
    for (const RecordView& record : records) {
      ++delivered;
      if (this->deliver(record) || delivered == max_records) break;  // (C3) is the host's
    }
    return answer_of_drain(delivered, error_of(records.told()));
  }

  Took take_one() {
    auto records = reader_.records();
    for (const RecordView& record : records) return {.stop = this->deliver(record)};
    return {.told = records.told()};
  }

 private:
  IteratingReader<Steps, HostPoller> reader_;
};

}  // namespace ringside::consumers
