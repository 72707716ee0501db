// SPDX-License-Identifier: Apache-2.0
//
// Strategies `peek_consume`, `guarded_peek` and `mutex_peek`: a reader that shows the next record where it lies (peek),
// moves past it afterwards (consume), and copies records out besides (read_into). All three share one position.
//
// The contract of `peek_consume`, which is that of the proposals: one thread; one consume for each peek, and nothing in
// between. Nobody checks it. Peek, read, consume on one thread, or peek on two, loses records and leaves views of bytes
// that are the producers' again.
//
// `guarded_peek` checks it: an in-flight flag is taken by peek and given back by consume; whoever comes in between, on
// whatever thread, is told `in_use`. `mutex_peek` lets others wait instead, and whoever comes in between on the same
// thread waits for himself.
#pragma once

#include <atomic>
#include <mutex>

#include "consumers/blocking_reader.h"
#include "consumers/read.h"
#include "consumers/reader_strategy.h"

namespace ringside::consumers {

/// Who may use the reader: guards of PeekReader.
struct NoGuard {
  static constexpr bool take() { return true; }
  static constexpr void give_back() {}
  static constexpr bool is_taken() { return true; }
};

class FlagGuard {
 public:
  /// (G1) acquire, pairs with G2: the position that the last holder left.
  bool take() { return !in_flight_.exchange(true, std::memory_order_acquire); }
  /// (G2) release, pairs with G1.
  void give_back() { in_flight_.store(false, std::memory_order_release); }
  /// (G3) relaxed: asked by the holder of itself.
  bool is_taken() const { return in_flight_.load(std::memory_order_relaxed); }

 private:
  std::atomic<bool> in_flight_{false};
};

class MutexGuard {
 public:
  bool take() {
    mutex_.lock();
    taken_ = true;
    return true;
  }
  void give_back() {
    taken_ = false;
    mutex_.unlock();
  }
  bool is_taken() const { return taken_; }

 private:
  std::mutex mutex_;
  bool taken_ = false;  // by the thread that asks
};

template <class Steps, class Poller, class Guard>
class PeekReader : public ReaderCalls<Steps, Poller> {
  using Base = ReaderCalls<Steps, Poller>;
  using Base::reader_;

 public:
  using Base::Base;

  /// Waits for the next record and shows it. It stays the next one, and the guard stays taken, until consume.
  Told peek(RecordView& view) {
    if (!guard_.take()) return Told::in_use;
    const Told told = reader_.next();
    if (told == Told::record) {
      view = reader_.view();
    } else {
      guard_.give_back();
    }
    return told;
  }

  /// Moves past the record that was peeked. False if the guard knows of none; without one, nobody knows.
  bool consume() {
    if (!guard_.is_taken()) return false;
    reader_.consume();
    guard_.give_back();
    return true;
  }

  /// Waits for the next record and copies it out.
  Told read_into(RecordCopy& record) {
    if (!guard_.take()) return Told::in_use;
    Told told = reader_.next();
    if (told == Told::record && !record.copy_from(reader_.view(), reader_.rings().reader())) told = Told::no_memory;
    if (told == Told::record) reader_.consume();
    guard_.give_back();
    return told;
  }

 private:
  Guard guard_;
};

template <class Steps, class Guard>
class Peek : public ReaderStrategy<Peek<Steps, Guard>> {
 public:
  Peek(const ringside_ring_set& rings, const ringside_host& host) : ReaderStrategy<Peek>(host), reader_(rings, host) {}

  int start() { return reader_.start(); }
  PeekReader<Steps, HostPoller, Guard>& reader() { return reader_; }

  Took take_one() {
    RecordView view;
    const Told told = reader_.peek(view);
    if (told != Told::record) return {.told = told};
    const bool stop = this->deliver(view);  // (C3) is the host's
    reader_.consume();
    return {.stop = stop};
  }

 private:
  PeekReader<Steps, HostPoller, Guard> reader_;
};

}  // namespace ringside::consumers
