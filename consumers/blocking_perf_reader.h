// SPDX-License-Identifier: Apache-2.0
//
// A perf reader of the Read and ReadInto kind, with everything that such a library lets its callers do.
//
// The contract: any number of threads may call anything at any time. Records are read one at a time, each by one
// caller; those of one ring in their order, those of several in no order.
//
//   a record   is a sample or a loss (perf_record.h). A sample is copied into the caller's buffer, which only grows,
//              and its space handed back before the caller sees it.
//   a wake-up  says that something came and not where: after it all rings' heads are read (A4). So does the end of a
//              sleep by deadline or flush.
//   deadline   What lies in any ring is returned however late it is. Only when a look behind the deadline found nothing
//              is `timeout` told, once; the next call waits for the same deadline again, and so tells it again. A
//              deadline that has passed already makes a call that never sleeps.
//   flush      As a deadline that passes now: what lies in the rings, then `flushed`, once for all flushes since.
//   pause      What is put out meanwhile is lost, and told as a loss beside the first record behind resume. What lay in
//              the rings stays to be read. Neither call waits for a reader that sleeps.
//   close      The call under way ends with `closed`, whatever lies in the rings, and so do all later ones; once close
//              has returned, nothing touches the rings any more.
//   remaining  Bytes of the record's own ring behind it that were published when it was found.
#pragma once

#include <cstdint>
#include <mutex>

#include "consumers/blocking_reader.h"
#include "consumers/perf_record.h"
#include "consumers/perf_view.h"
#include "consumers/read.h"

namespace ringside::consumers {

/// One record of a ring; a sample lies in the record's own buffer.
struct PerfRecord {
  PerfItem what;
  std::uint32_t ring = 0;
  std::int32_t cpu = 0;  ///< whose ring it is; rings are not numbered by CPUs
  std::uint64_t remaining = 0;
  RecordCopy buffer;
};

template <class Steps>
using PerfRingsInTurn = RingsInTurn<Steps, PerfReader<Steps>>;

template <class Steps, class Poller>
class BlockingPerfReader {
 public:
  BlockingPerfReader(const ringside_ring_set& rings, const ringside_host& host) : set_(rings), reader_(rings, host) {}

  int start() { return reader_.start(); }

  /// Waits for the next record. `record` is as it was unless the answer is `record`.
  Told read_into(PerfRecord& record) {
    const std::lock_guard reading(reading_);
    const Told told = find();
    if (told != Told::record) return told;
    PerfReader<Steps>& ring = rings().reader();
    if (Steps::tells_loss_apart && ring.is_loss()) {
      record.what = PerfLoss{.count = ring.lost()};
    } else {
      const std::uint64_t size = ring.is_loss() ? 0 : ring.raw_bytes();
      if (!record.buffer.reserve(size)) return Told::no_memory;
      ring.copy_raw(record.buffer.bytes.get(), size);
      record.what = PerfSample{.data = record.buffer.bytes.get(), .size = size};
    }
    record.ring = rings().ring();
    record.cpu = set_.rings[record.ring].cpu;
    record.remaining = ring.behind_record();
    ring.advance();
    ring.publish();  // (D): from here on the bytes are the producer's
    return Told::record;
  }
  /// Waits until there is a record, and leaves it where it is.
  Told wait() {
    const std::lock_guard reading(reading_);
    return find();
  }

  void set_deadline(std::int64_t deadline_ns) { reader_.set_deadline(deadline_ns); }
  void flush() { reader_.flush(); }
  void close() {
    reader_.close();
    const std::lock_guard reading(reading_);
  }
  /// Stops the output into all rings, or lets it go on: 0, or the first error, and then as much as could be done is.
  int pause() { return pause_all(true); }
  int resume() { return pause_all(false); }

  std::int64_t now_ns() const { return reader_.now_ns(); }
  std::uint64_t buffer_size() const { return reader_.buffer_size(); }
  /// For who reads round by round; the one thread that reads.
  PerfRingsInTurn<Steps>& rings() { return reader_.rings(); }

 private:
  /// The last thing before each sleep is a look at all heads, and a record behind it sets the flag that ends the sleep:
  /// there is no second look.
  Told find() {
    return reader_.wait_for([this] { return rings().find(); }, [] { return false; });
  }

  int pause_all(bool paused) {
    const std::lock_guard pausing(pausing_);
    int error = 0;
    for (std::uint32_t ring = 0; ring < set_.ring_count; ++ring) {
      const int result = reader_.poller().pause(ring, paused);
      if (result < 0 && error == 0) error = result;
    }
    return error;
  }

  const ringside_ring_set& set_;
  BlockingReader<Steps, Poller, PerfRingsInTurn<Steps>> reader_;
  std::mutex reading_;  // held while a thread waits
  std::mutex pausing_;  // never held while anybody waits, so that neither pause nor resume waits for long
};

}  // namespace ringside::consumers
