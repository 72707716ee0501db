// SPDX-License-Identifier: Apache-2.0
//
// Strategies `read` and `read_into`, the safe readers of the libraries: each record is copied out and its space handed
// back before the caller sees it, so no record outlives its bytes. `read` makes a fresh buffer for each, `read_into`
// uses the caller's again.
//
// The contract: any number of threads may call anything at any time. Records are read one at a time, in ring order,
// each by one caller. While one thread waits in a read, the others' reads wait for it, but set_deadline, flush, close,
// available_bytes and buffer_size return at once; once close has returned, nothing touches the ring any more.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <mutex>

#include "consumers/blocking_reader.h"
#include "consumers/reader_strategy.h"

namespace ringside::consumers {

/// A record's copy, in a buffer that only grows.
struct RecordCopy {
  std::unique_ptr<std::byte[]> bytes;
  std::uint64_t capacity = 0;   ///< bytes
  std::uint64_t size = 0;       ///< bytes
  std::uint64_t remaining = 0;  ///< as RecordView's
  std::uint32_t ring = 0;

  /// Makes room for `wanted` bytes, and some even for none, so that there is a place to copy to; false when there is no
  /// memory, and the old room stays.
  bool reserve(std::uint64_t wanted) {
    if (bytes != nullptr && wanted <= capacity) return true;
    std::unique_ptr<std::byte[]> larger = allocate<std::byte>(wanted + 1);
    if (larger == nullptr) return false;
    bytes = std::move(larger);
    capacity = wanted;
    return true;
  }

  /// Copies the record at the reader's position; false when there is no memory.
  template <class Steps>
  bool copy_from(const RecordView& view, const RingbufReader<Steps>& reader) {
    if (!reserve(view.size)) return false;
    std::memcpy(bytes.get(), view.data, Steps::contiguous(view.size, reader.payload_offset(), reader.ring_bytes()));
    size = view.size;
    remaining = view.remaining;
    ring = view.ring;
    return true;
  }
};

template <class Steps, class Poller>
class CopyingReader : public ReaderCalls<Steps, Poller> {
  using Base = ReaderCalls<Steps, Poller>;
  using Base::reader_;

 public:
  using Base::Base;

  int start() {
    mapped_ = true;
    return reader_.start();
  }

  /// Waits for the next record and copies it. `record` is as it was unless the answer is `record`.
  Told read_into(RecordCopy& record) {
    const std::lock_guard reading(reading_);
    const Told told = reader_.next();
    if (told != Told::record) return told;
    if (!record.copy_from(reader_.view(), reader_.rings().reader())) return Told::no_memory;  // (C3)
    reader_.consume();
    return Told::record;
  }
  /// The same into a buffer of its own.
  Told read(RecordCopy& record) {
    RecordCopy fresh;
    const Told told = read_into(fresh);
    if (told == Told::record) record = std::move(fresh);
    return told;
  }

  /// Returns when no call touches the ring any more, at once if it is closed already. Not from within a call.
  void close() {
    reader_.close();
    const std::lock_guard reading(reading_);
    const std::lock_guard mapping(mapping_);
    mapped_ = false;
  }

  /// As BlockingReader's; 0 once the reader is closed.
  std::uint64_t available_bytes() const {
    const std::lock_guard mapping(mapping_);
    return mapped_ ? reader_.available_bytes() : 0;
  }
  std::uint64_t buffer_size() const { return reader_.buffer_size(); }

 private:
  std::mutex reading_;          // held while a thread waits
  mutable std::mutex mapping_;  // held for an instant
  bool mapped_ = false;
};

/// `read` or `read_into`, as the buffer is new or not.
template <class Steps, bool fresh>
class Read : public ReaderStrategy<Read<Steps, fresh>> {
 public:
  Read(const ringside_ring_set& rings, const ringside_host& host) : ReaderStrategy<Read>(host), reader_(rings, host) {}

  int start() { return reader_.start(); }
  CopyingReader<Steps, HostPoller>& reader() { return reader_; }

  Took take_one() {
    const Told told = fresh ? reader_.read(record_) : reader_.read_into(record_);
    if (told != Told::record) return {.told = told};
    return {.stop = this->deliver(record_.ring, record_.bytes.get(), record_.size)};
  }

 private:
  CopyingReader<Steps, HostPoller> reader_;
  RecordCopy record_;
};

}  // namespace ringside::consumers
