// SPDX-License-Identifier: Apache-2.0
//
// The part that every reader library has below its calls: wait for the next record of a ring until a deadline, a
// flush, or a close from another thread. What each of these means exactly:
//
//   deadline   Records that lie there are returned however late it is. Only when a look made behind the deadline found
//              none is `timeout` told, once; the next call waits for the same deadline again, and so tells it again.
//              A deadline that has passed already makes a call that never sleeps.
//   flush      As a deadline that passes now: the records that lie there, then `flushed`, once for all flushes since.
//   close      The call under way ends with `closed`, whatever lies in the ring, and so do all later ones.
//
// A BUSY record at the head is no record yet. The reader sleeps on it: its commit is what wakes (KERNEL-RINGS 4.4).
#pragma once

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <utility>

#include "consumers/poller.h"
#include "consumers/rings_in_turn.h"
#include "consumers/wait.h"

namespace ringside::consumers {

/// What a reader's call came to.
enum class Told : std::uint8_t {
  record,       ///< there is one
  timeout,      ///< none lay there behind the deadline
  flushed,      ///< none lay there behind a flush
  closed,       ///< the reader is closed
  in_use,       ///< another call holds the reader
  uncommitted,  ///< none lies there, and sleeping on records that were read and not committed would be in vain
  awake,        ///< woken again and again for nothing: the caller may want to see to other things
  cancelled,    ///< the host's run is over
  broken,       ///< a length or a position that cannot be true: nothing behind it can be found
  no_memory,    ///< for the record's copy; the record stays
};

/// The negative errno of a drain that ends so; 0 for an end that is none of its errors.
inline int error_of(Told told) {
  switch (told) {
    case Told::broken:
      return -EBADMSG;
    case Told::no_memory:
      return -ENOMEM;
    case Told::in_use:
      return -EBUSY;
    default:
      return 0;
  }
}

/// No deadline; and one that has passed.
inline constexpr std::int64_t no_deadline = -1;
inline constexpr std::int64_t already_past = 0;

/// A record where it lies: valid until it is consumed.
struct RecordView {
  std::uint32_t ring = 0;
  const std::byte* data = nullptr;
  std::uint64_t size = 0;       ///< bytes
  std::uint64_t remaining = 0;  ///< bytes of the ring behind it that were published when it was found, headers included
};

/// `Rings` finds records: RingsInTurn, of BPF rings unless it is said otherwise.
/// Threads: set_deadline, flush and close by any; the others by one at a time, which is what its users see to.
template <class Steps, class Poller, class Rings = RingsInTurn<Steps>>
class BlockingReader {
 public:
  BlockingReader(const ringside_ring_set& rings, const ringside_host& host) : set_(rings), poller_(rings, host) {}

  int start() { return rings_.start(set_); }

  /// Of the calls from now on, and of the call under way from its next wake-up on. A timeout that was not told yet is
  /// another deadline's and is dropped.
  void set_deadline(std::int64_t deadline_ns) {
    // (R1) relaxed: the number alone.
    deadline_ns_.store(deadline_ns, std::memory_order_relaxed);
  }
  void flush() { poller_.flush(); }
  void close() {
    // (R2) release, pairs with the acquire in closed(): who sees it sees what the closing thread did before.
    closed_.store(true, std::memory_order_release);
    poller_.close();
  }
  std::int64_t now_ns() const { return poller_.now_ns(); }

  /// Waits for the next record, and hands back what was passed over before it sleeps. Whatever was read must have been
  /// handed back before the call.
  Told next() {
    return wait_for([this] { return rings_.find(); }, [this] { return Steps::looks_before_sleep && rings_.look(); });
  }

  /// The next record if there is one, while records are out that were read and not committed: hands nothing back, and
  /// tells `uncommitted` instead of sleeping on them.
  Told next_behind_views() {
    switch (find_behind_views()) {
      case Found::record:
        return Told::record;
      case Found::broken:
        return Told::broken;
      default:
        return Told::uncommitted;
    }
  }
  Found find_behind_views() {
    return rings_.find([](auto& /*reader*/) {});
  }

  /// As next(), by other ways to find and to look: `find()` returns a Found, `look()` is made before each sleep and
  /// says whether to find again.
  template <class Find, class Look>
  Told wait_for(Find&& find, Look&& look) {
    for (int fruitless = 0; fruitless < Steps::most_wakeups; ++fruitless) {
      // (R2)
      if (closed_.load(std::memory_order_acquire)) return Told::closed;
      const Found found = find();
      if (found == Found::record) return Told::record;
      if (found == Found::broken) return Told::broken;
      // (R1)
      const std::int64_t deadline_ns = deadline_ns_.load(std::memory_order_relaxed);
      if (const Told untold = take_untold(deadline_ns); untold != Told::record) return untold;
      if (deadline_ns == already_past) return Told::timeout;
      if (look()) continue;
      if (const Told told = sleep(deadline_ns); told != Told::record) return told;
    }
    return Told::awake;
  }

  /// The record that next() told of.
  RecordView view() {
    const RingbufReader<Steps>& reader = rings_.reader();
    return {rings_.ring(), reader.payload(), reader.payload_bytes(), reader.behind_record()};
  }
  /// Steps behind it and hands its space back.
  void consume() {
    rings_.reader().advance();
    rings_.reader().publish();  // (C4): from here on its bytes are the producers'
  }

  /// Bytes of all rings between consumer_pos and producer_pos as they stand: headers, discarded and BUSY records
  /// included. For any thread, while the rings are mapped.
  std::uint64_t available_bytes() const {
    std::uint64_t bytes = 0;
    for (std::uint32_t ring = 0; ring < set_.ring_count; ++ring) bytes += RingbufView(set_.rings[ring]).unread();
    return bytes;
  }
  /// Data bytes of all rings, each counted once though it is mapped twice.
  std::uint64_t buffer_size() const {
    std::uint64_t bytes = 0;
    for (std::uint32_t ring = 0; ring < set_.ring_count; ++ring) bytes += set_.rings[ring].data_size;
    return bytes;
  }

  Rings& rings() { return rings_; }
  Poller& poller() { return poller_; }

 private:
  /// What is to be told now that nothing was found; `record` for nothing.
  Told take_untold(std::int64_t deadline_ns) {
    const Told untold = std::exchange(untold_, Told::record);
    return untold == Told::timeout && deadline_ns != missed_ns_ ? Told::record : untold;
  }

  /// `record` to look again: woken, or to be told something only if nothing lies there.
  Told sleep(std::int64_t deadline_ns) {
    switch (poller_.wait(deadline_ns)) {
      case Woken::ready:
      case Woken::interrupted:
        return Told::record;
      case Woken::timeout:
        if (!Steps::looks_at_timeout) return Told::timeout;
        untold_ = Told::timeout;
        missed_ns_ = deadline_ns;
        return Told::record;
      case Woken::flushed:
        untold_ = Told::flushed;
        return Told::record;
      case Woken::closed:
        return Told::closed;
      case Woken::cancelled:
        return Told::cancelled;
      case Woken::failed:
        break;
    }
    return Told::broken;
  }

  const ringside_ring_set& set_;
  Poller poller_;
  Rings rings_;
  std::atomic<std::int64_t> deadline_ns_{no_deadline};
  std::atomic<bool> closed_{false};
  Told untold_ = Told::record;  // timeout or flushed, to be told when the rings are found empty; else record
  std::int64_t missed_ns_ = 0;  // the deadline of that timeout
};

/// What the readers of BPF rings have in common: the calls that go straight to the blocking reader below.
template <class Steps, class Poller>
class ReaderCalls {
 public:
  ReaderCalls(const ringside_ring_set& rings, const ringside_host& host) : reader_(rings, host) {}

  int start() { return reader_.start(); }
  void set_deadline(std::int64_t deadline_ns) { reader_.set_deadline(deadline_ns); }
  void flush() { reader_.flush(); }
  /// Ends the waits; does not wait for views.
  void close() { reader_.close(); }
  std::int64_t now_ns() const { return reader_.now_ns(); }
  /// For who reads round by round; the one thread that reads.
  RingsInTurn<Steps>& rings() { return reader_.rings(); }

 protected:
  BlockingReader<Steps, Poller> reader_;
};

}  // namespace ringside::consumers
