// SPDX-License-Identifier: Apache-2.0
//
// Which numbers of a stream have come, when they did not come in order: a bitmap in chunks. A chunk is made when its
// first number comes, grows with the highest, and gives its bits back when it is complete, so that the cost is one bit
// a number where the stream is broken and next to nothing where it is whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace ringside::ring {

/// A set of 64-bit numbers. Not thread-safe.
class SequenceSet {
 public:
  static constexpr std::uint64_t chunk_numbers = std::uint64_t{1} << 16;

  /// Starts with all numbers below `full_below`.
  explicit SequenceSet(std::uint64_t full_below);
  // It knows one of its chunks by address, which a move keeps and a copy does not.
  SequenceSet(SequenceSet&&) = default;
  SequenceSet& operator=(SequenceSet&&) = default;
  SequenceSet(const SequenceSet&) = delete;
  SequenceSet& operator=(const SequenceSet&) = delete;

  /// Adds a number. Returns whether it was new.
  bool insert(std::uint64_t number);
  bool contains(std::uint64_t number) const;
  /// How many numbers below `limit` are in the set.
  std::uint64_t count_below(std::uint64_t limit) const;
  /// The smallest number that is not in the set.
  std::uint64_t first_missing() const;
  /// Bytes on the heap, the allocator's own bookkeeping included as far as it can be known.
  std::size_t memory_bytes() const;

 private:
  struct Chunk {
    std::vector<std::uint64_t> words;  ///< bits of the chunk's numbers up to the highest that came; empty when full
    std::uint32_t count = 0;           ///< numbers that came; chunk_numbers when full
  };

  bool full(const Chunk& chunk) const { return chunk.count == chunk_numbers; }
  Chunk& chunk_of(std::uint64_t index);
  void grow(Chunk& chunk, std::size_t words);
  void complete(Chunk& chunk);

  std::uint64_t full_below_;  ///< every number below is in the set
  std::map<std::uint64_t, Chunk> chunks_;
  std::uint64_t last_index_ = 0;  ///< streams are nearly sequential: the chunk found last, if there is one
  Chunk* last_chunk_ = nullptr;
  std::size_t word_bytes_ = 0;
};

}  // namespace ringside::ring
