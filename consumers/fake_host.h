// SPDX-License-Identifier: Apache-2.0
//
// A host and rings made by hand, for the tests beside the strategies: rings are plain memory that a test fills step by
// step, and the host writes down what it is told. Nothing here runs on its own; what shall happen while a consumer
// delivers or sleeps is a function that the test gives.
#pragma once

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <memory>
#include <utility>
#include <vector>

#include "ring/consumer.h"
#include "ring/layout.h"

namespace ringside::consumers::testing {

using Bytes = std::vector<std::uint8_t>;

/// `size` bytes that tell record `number` from its neighbours: byte i is number * 31 + i + 1.
inline Bytes payload(std::uint32_t number, std::size_t size) {
  Bytes bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::uint8_t>(number * 31 + i + 1);
  return bytes;
}

/// A BPF ring made of plain memory; writing into it keeps both halves of the data alike, as the double mapping does.
class FakeRingbuf {
 public:
  explicit FakeRingbuf(std::uint64_t size, std::uint64_t start = 0)
      : size_(size), data_(2 * size / 8), consumer_page_(512), producer_page_(512) {
    consumer_page_[0] = producer_page_[0] = start;
  }

  ringside_ring ring() {
    return {.kind = RINGSIDE_RINGBUF,
            .cpu = -1,
            .fd = -1,
            .page_size = 4096,
            .data_size = size_,
            .consumer_page = consumer_page_.data(),
            .producer_page = producer_page_.data(),
            .data = data_.data()};
  }

  /// Reserves a BUSY record of that length word and returns its position.
  std::uint64_t reserve(std::uint32_t length) {
    const std::uint64_t position = producer_pos();
    set_header(position, length | ring::ringbuf::busy_bit);
    producer_page_[0] += ring::ringbuf::span_of(length);
    return position;
  }
  void write(std::uint64_t position, const Bytes& bytes) {
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      const std::uint64_t offset = (position + ring::ringbuf::header_bytes + i) & (size_ - 1);
      raw()[offset] = raw()[offset + size_] = bytes[i];
    }
  }
  void commit(std::uint64_t position) { set_header(position, header(position) & ~ring::ringbuf::busy_bit); }
  void discard(std::uint64_t position) {
    set_header(position, (header(position) & ~ring::ringbuf::busy_bit) | ring::ringbuf::discard_bit);
  }
  void put(const Bytes& bytes) {
    const std::uint64_t position = reserve(static_cast<std::uint32_t>(bytes.size()));
    write(position, bytes);
    commit(position);
  }
  void put_discarded(std::uint32_t length) { discard(reserve(length)); }

  std::uint32_t header(std::uint64_t position) const {
    std::uint32_t word;
    std::memcpy(&word, raw() + (position & (size_ - 1)), sizeof(word));
    return word;
  }
  void set_header(std::uint64_t position, std::uint32_t word) {
    const std::uint64_t offset = position & (size_ - 1);
    std::memcpy(raw() + offset, &word, sizeof(word));
    std::memcpy(raw() + offset + size_, &word, sizeof(word));
  }
  std::uint64_t consumer_pos() const { return consumer_page_[0]; }
  std::uint64_t producer_pos() const { return producer_page_[0]; }
  std::uint64_t overwrite_pos() const { return producer_page_[2]; }
  void set_overwrite_pos(std::uint64_t position) { producer_page_[2] = position; }
  void set_producer_pos(std::uint64_t position) { producer_page_[0] = position; }
  void set_consumer_pos(std::uint64_t position) { consumer_page_[0] = position; }

 private:
  std::uint8_t* raw() { return reinterpret_cast<std::uint8_t*>(data_.data()); }
  const std::uint8_t* raw() const { return reinterpret_cast<const std::uint8_t*>(data_.data()); }

  std::uint64_t size_;
  std::vector<std::uint64_t> data_;
  std::vector<std::uint64_t> consumer_page_;
  std::vector<std::uint64_t> producer_page_;
};

/// A perf ring made of plain memory, mapped once.
class FakePerf {
 public:
  explicit FakePerf(std::uint64_t size, std::uint64_t start = 0) : size_(size), data_(size / 8), control_(512) {
    set_head(start);
    set_tail(start);
  }

  ringside_ring ring(std::int32_t cpu = 0, int fd = -1) {
    return {.kind = RINGSIDE_PERF,
            .cpu = cpu,
            .fd = fd,
            .page_size = 4096,
            .data_size = size_,
            .consumer_page = control_.data(),
            .producer_page = nullptr,
            .data = data_.data()};
  }

  /// A sample as the kernel writes it; the payload is padded with 0xee. Returns its position.
  std::uint64_t put(const Bytes& bytes) {
    Bytes raw = bytes;
    raw.resize(ring::perf::raw_size(bytes.size()), 0xee);
    return put_sample(static_cast<std::uint16_t>(ring::perf::sample_bytes(bytes.size())),
                      static_cast<std::uint32_t>(raw.size()), raw);
  }
  /// A sample that says of itself whatever the test likes; the head moves by `record_bytes`.
  std::uint64_t put_sample(std::uint16_t record_bytes, std::uint32_t raw_size, const Bytes& raw) {
    Bytes record(ring::perf::header_bytes + 4 + raw.size());
    const ring::perf::RecordHeader header{ring::perf::type_sample, 0, record_bytes};
    std::memcpy(record.data(), &header, sizeof(header));
    std::memcpy(record.data() + 8, &raw_size, sizeof(raw_size));
    std::copy(raw.begin(), raw.end(), record.begin() + 12);
    return put_record(record, record_bytes);
  }
  /// A sample of a ring whose samples carry their time.
  std::uint64_t put_at(std::uint64_t time_ns, const Bytes& bytes) {
    Bytes raw = bytes;
    raw.resize(ring::perf::raw_size(bytes.size()), 0xee);
    const auto raw_size = static_cast<std::uint32_t>(raw.size());
    const auto record_bytes = static_cast<std::uint16_t>(ring::perf::sample_bytes(bytes.size()) + sizeof(time_ns));
    Bytes record(ring::perf::header_bytes + sizeof(time_ns) + sizeof(raw_size) + raw.size());
    const ring::perf::RecordHeader header{ring::perf::type_sample, 0, record_bytes};
    std::memcpy(record.data(), &header, sizeof(header));
    std::memcpy(record.data() + 8, &time_ns, sizeof(time_ns));
    std::memcpy(record.data() + 16, &raw_size, sizeof(raw_size));
    std::copy(raw.begin(), raw.end(), record.begin() + 20);
    return put_record(record, record_bytes);
  }
  std::uint64_t put_lost(std::uint64_t count, std::uint16_t record_bytes = ring::perf::lost_bytes) {
    Bytes record(ring::perf::lost_bytes);
    const ring::perf::RecordHeader header{ring::perf::type_lost, 0, record_bytes};
    std::memcpy(record.data(), &header, sizeof(header));
    std::memcpy(record.data() + 16, &count, sizeof(count));
    return put_record(record, record_bytes);
  }
  std::uint64_t put_other(std::uint32_t type, std::uint16_t record_bytes) {
    Bytes record(ring::perf::header_bytes);
    const ring::perf::RecordHeader header{type, 0, record_bytes};
    std::memcpy(record.data(), &header, sizeof(header));
    return put_record(record, record_bytes);
  }

  std::uint64_t head() const { return control_[ring::perf::data_head_offset / 8]; }
  std::uint64_t tail() const { return control_[ring::perf::data_tail_offset / 8]; }
  void set_head(std::uint64_t head) { control_[ring::perf::data_head_offset / 8] = head; }
  void set_tail(std::uint64_t tail) { control_[ring::perf::data_tail_offset / 8] = tail; }

 private:
  std::uint64_t put_record(const Bytes& record, std::uint64_t moves) {
    const std::uint64_t position = head();
    auto* raw = reinterpret_cast<std::uint8_t*>(data_.data());
    for (std::size_t i = 0; i < record.size(); ++i) raw[(position + i) & (size_ - 1)] = record[i];
    set_head(position + moves);
    return position;
  }

  std::uint64_t size_;
  std::vector<std::uint64_t> data_;
  std::vector<std::uint64_t> control_;
};

/// One delivery as the host saw it.
struct Delivery {
  std::uint32_t ring = 0;
  Bytes bytes;
  const std::uint8_t* place = nullptr;
  std::uint64_t token = 0;
  std::uint64_t time_ns = 0;
};

/// Writes down what a consumer tells. Tokens are kept, not released.
class FakeHost {
 public:
  FakeHost() {
    host_.abi_version = RINGSIDE_CONSUMER_ABI;
    host_.struct_size = sizeof(host_);
    host_.context = this;
    host_.deliver = [](void* context, const ringside_record* record) { return self(context).take(*record); };
    host_.lost = [](void* context, std::uint32_t ring, std::uint64_t count) {
      self(context).losses.push_back({ring, count});
    };
    host_.wait = [](void* context, ringside_ready* ready, std::uint32_t, std::int64_t timeout_ns) {
      ready[0] = {self(context).woken_ring, RINGSIDE_POLLIN};
      return self(context).sleep(timeout_ns);
    };
    host_.wait_fd = [](void* context, int fd, std::int64_t timeout_ns) {
      return self(context).sleep_on_fd(fd, timeout_ns);
    };
    host_.now_ns = [](void* context) { return self(context).now_ns; };
    host_.yield = [](void* context) {
      ++self(context).yields;
      ++self(context).now_ns;  // some time passes
      if (self(context).during_yield) self(context).during_yield();
    };
    host_.pause = [](void* context, std::uint32_t ring, int on) {
      self(context).pauses.push_back({ring, on != 0});
      return self(context).pause_answer;
    };
    host_.quiesce = [](void* context, std::uint32_t ring) {
      self(context).quiesced.push_back(ring);
      if (self(context).during_quiesce) self(context).during_quiesce();
      return self(context).quiesce_answer;
    };
    host_.sleep = [](void* context, std::int64_t ns) {
      if (self(context).sleeps == most_sleeps) return -ECANCELED;
      return std::min(self(context).sleep(ns), 0);
    };
    host_.adopt = [](void* context, const ringside_ring* ring) {
      self(context).adopted.push_back(*ring);
      return self(context).adopt_answer;
    };
    host_.batch_begin = [](void* context) {
      ++self(context).batches_begun;
      if (self(context).during_batch_begin) self(context).during_batch_begin();
    };
    host_.batch_end = [](void* context, std::uint32_t claim) { self(context).claims.push_back(claim); };
  }
  FakeHost(const FakeHost&) = delete;
  FakeHost& operator=(const FakeHost&) = delete;

  const ringside_host* table() const { return &host_; }
  /// Makes it a host from before batches.
  void knows_no_batches() {
    host_.struct_size = offsetof(ringside_host, batch_begin);
    host_.batch_begin = nullptr;
    host_.batch_end = nullptr;
  }

  struct Loss {
    std::uint32_t ring;
    std::uint64_t count;
    friend bool operator==(const Loss&, const Loss&) = default;
  };

  std::vector<Delivery> deliveries;
  std::vector<Loss> losses;
  std::vector<ringside_ring> adopted;
  std::vector<std::pair<std::uint32_t, bool>> pauses;
  int pause_answer = 0;
  std::vector<std::uint32_t> quiesced;
  int quiesce_answer = 0;
  int adopt_answer = 0;
  int batches_begun = 0;
  std::vector<std::uint32_t> claims;  ///< of the batches that were ended
  std::int64_t now_ns = 1'000;
  int sleeps = 0;
  int yields = 0;
  /// deliver answers 1 when this many records have come (0: never).
  std::size_t stop_after = 0;
  /// The one ring that wait names when it returns 1.
  std::uint32_t woken_ring = 0;
  /// Runs inside deliver, after the record was written down.
  std::function<void()> during_delivery;
  /// Runs inside quiesce.
  std::function<void()> during_quiesce;
  /// Runs inside batch_begin.
  std::function<void()> during_batch_begin;
  /// Runs inside yield.
  std::function<void()> during_yield;
  /// What wait returns, and sleep if it is an error; by default the time passes and nothing happens.
  std::function<int(std::int64_t timeout_ns)> during_sleep;

 private:
  /// Asleep without a deadline and with nothing to come, a run ends.
  static constexpr int most_sleeps = 1000;

  static FakeHost& self(void* context) { return *static_cast<FakeHost*>(context); }

  int take(const ringside_record& record) {
    const auto* place = static_cast<const std::uint8_t*>(record.data);
    deliveries.push_back({record.ring, Bytes(place, place + record.size), place, record.token, record.time_ns});
    if (during_delivery) during_delivery();
    return deliveries.size() == stop_after ? 1 : 0;
  }

  int sleep(std::int64_t timeout_ns) {
    ++sleeps;
    if (during_sleep) return during_sleep(timeout_ns);
    if (timeout_ns < 0) return -ECANCELED;  // nobody will ever wake it
    now_ns += timeout_ns;
    return 0;
  }

  /// Real descriptors: one poll, which eats a perf flag no more than once (KERNEL-RINGS 4.1); time does not pass.
  int sleep_on_fd(int fd, std::int64_t timeout_ns) {
    ++sleeps;
    pollfd item{.fd = fd, .events = POLLIN, .revents = 0};
    const int ready = poll(&item, 1, 0);
    if (ready != 0) return ready > 0 ? 1 : -errno;
    if (during_sleep) return during_sleep(timeout_ns);
    if (timeout_ns > 0) now_ns += timeout_ns;
    return timeout_ns < 0 ? -ECANCELED : 0;
  }

  ringside_host host_{};
};

/// An open consumer over rings that outlive it. Closes itself.
class OpenConsumer {
 public:
  OpenConsumer(const ringside_consumer& consumer, FakeHost& host, std::vector<ringside_ring> rings)
      : consumer_(consumer), rings_(std::move(rings)) {
    set_.kind = rings_.empty() ? consumer.ring_kinds : rings_.front().kind;
    set_.ring_count = static_cast<std::uint32_t>(rings_.size());
    set_.rings = rings_.data();
    set_.map_fd = -1;
    open_result_ = consumer_.open(&set_, host.table(), &state_);
  }
  OpenConsumer(const ringside_consumer& consumer, FakeHost& host, const ringside_ring_set& set)
      : consumer_(consumer), set_(set) {
    open_result_ = consumer_.open(&set_, host.table(), &state_);
  }
  ~OpenConsumer() { close(); }
  OpenConsumer(const OpenConsumer&) = delete;
  OpenConsumer& operator=(const OpenConsumer&) = delete;

  int open_result() const { return open_result_; }
  std::int64_t drain(std::uint64_t max_records = 1'000'000) { return consumer_.drain(state_, max_records); }
  int wait(std::int64_t timeout_ns = 1'000'000) { return consumer_.wait(state_, timeout_ns); }
  int release(std::uint64_t token) { return consumer_.release(state_, token); }
  void close() {
    if (state_ != nullptr) consumer_.close(state_);
    state_ = nullptr;
  }

 private:
  const ringside_consumer& consumer_;
  std::vector<ringside_ring> rings_;
  ringside_ring_set set_{};
  void* state_ = nullptr;
  int open_result_ = 0;
};

}  // namespace ringside::consumers::testing
