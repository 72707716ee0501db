// SPDX-License-Identifier: Apache-2.0
//
// A BPF ring buffer that is filled once, by the kernel's producer or the model's, and read as often as one likes: the
// records stay where they are, and who sets the consumer's position back to 0 finds all of them unread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "harness/world_kind.h"
#include "real/ringbuf.h"
#include "ring/consumer.h"
#include "ring/result.h"
#include "sim/machine.h"

namespace ringside::harness {

class FilledRing {
 public:
  /// Full of committed records of `record_bytes`, 8 or more, without wake-ups. Errors: what RingbufMap::create,
  /// Producers::load and sim::Machine::create say; EINVAL for a ring that holds no such record.
  static ring::Result<std::unique_ptr<FilledRing>> fill(WorldKind world, std::uint64_t ring_bytes,
                                                        std::uint32_t record_bytes);

  const ringside_ring_set& set() const { return set_; }
  std::uint64_t records() const { return records_; }
  /// Bytes of the ring that records lie in.
  std::uint64_t used_bytes() const { return used_bytes_; }
  /// The sum of the first words of all records, and that of all words; what a reader has read is held against them.
  std::uint64_t sum_of_first_words() const { return sum_of_first_words_; }
  std::uint64_t sum_of_words() const { return sum_of_words_; }

  /// All records are unread. No consumer may be open.
  void rewind();

 private:
  FilledRing() = default;
  ring::Result<void> fill_kernel(std::uint64_t ring_bytes, std::uint32_t record_bytes);
  ring::Result<void> fill_model(std::uint64_t ring_bytes, std::uint32_t record_bytes);
  void sum_up();

  std::optional<real::RingbufMap> map_;
  std::unique_ptr<sim::Machine> machine_;
  ringside_ring ring_{};
  ringside_ring_set set_{};
  std::uint64_t records_ = 0;
  std::uint64_t used_bytes_ = 0;
  std::uint64_t sum_of_first_words_ = 0;
  std::uint64_t sum_of_words_ = 0;
};

}  // namespace ringside::harness
