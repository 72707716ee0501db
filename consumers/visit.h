// SPDX-License-Identifier: Apache-2.0
//
// Strategies `visit` and `take`: the reader calls the user's function with each record where it lies.
//
// The contract of `visit`: one thread. The view is valid until the function returns; then the record is consumed,
// whatever the function returned, and its answer is passed up. A function that fails has had its record.
//
// The contract of `take`: the same, but the function only looks at the record and says whether it wants a copy. The
// copy is made after it returned and before the space is handed back, into a buffer of the caller's, so that what is
// not wanted is never copied and what is wanted is kept.
//
// Neither function may call its own reader.
#pragma once

#include "consumers/blocking_reader.h"
#include "consumers/read.h"
#include "consumers/reader_strategy.h"

namespace ringside::consumers {

template <class Steps, class Poller>
class VisitingReader : public ReaderCalls<Steps, Poller> {
  using Base = ReaderCalls<Steps, Poller>;
  using Base::reader_;

 public:
  using Base::Base;

  /// Waits for the next record and calls `function(view)`, whose result goes to `answer`. `answer` is as it was unless
  /// the result is `record`.
  template <class Function, class Answer>
  Told visit(Function&& function, Answer& answer) {
    const Told told = reader_.next();
    if (told != Told::record) return told;
    answer = function(reader_.view());  // (C3)
    reader_.consume();
    return Told::record;
  }

  /// Waits for the next record and calls `wanted(view)`; if that is true, copies the record. `copied` says whether.
  /// Without memory for the copy the record stays.
  template <class Wanted>
  Told take(Wanted&& wanted, RecordCopy& record, bool& copied) {
    const Told told = reader_.next();
    if (told != Told::record) return told;
    const RecordView view = reader_.view();
    copied = wanted(view);  // (C3)
    if (copied && !record.copy_from(view, reader_.rings().reader())) return Told::no_memory;
    reader_.consume();
    return Told::record;
  }
};

template <class Steps>
class Visit : public ReaderStrategy<Visit<Steps>> {
 public:
  Visit(const ringside_ring_set& rings, const ringside_host& host)
      : ReaderStrategy<Visit>(host), reader_(rings, host) {}

  int start() { return reader_.start(); }
  VisitingReader<Steps, HostPoller>& reader() { return reader_; }

  Took take_one() {
    Took took;
    took.told = reader_.visit([this](const RecordView& view) { return this->deliver(view); }, took.stop);
    return took;
  }

 private:
  VisitingReader<Steps, HostPoller> reader_;
};

/// Wants copies of small records and looks at large ones in place: below some 128 bytes copying is the faster (Q6).
template <class Steps>
class Take : public ReaderStrategy<Take<Steps>> {
 public:
  static constexpr std::uint64_t most_copied_bytes = 128;

  Take(const ringside_ring_set& rings, const ringside_host& host) : ReaderStrategy<Take>(host), reader_(rings, host) {}

  int start() { return record_.reserve(most_copied_bytes) ? reader_.start() : -ENOMEM; }
  VisitingReader<Steps, HostPoller>& reader() { return reader_; }

  Took take_one() {
    Took took;
    bool copied = false;
    const auto wanted = [&](const RecordView& view) {
      if (view.size <= most_copied_bytes) return true;
      took.stop = this->deliver(view);
      return false;
    };
    took.told = reader_.take(wanted, record_, copied);
    if (took.told == Told::record && copied) {
      took.stop = this->deliver(record_.ring, record_.bytes.get(), record_.size);
    }
    return took;
  }

 private:
  VisitingReader<Steps, HostPoller> reader_;
  RecordCopy record_;
};

}  // namespace ringside::consumers
