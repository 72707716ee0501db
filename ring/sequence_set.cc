// SPDX-License-Identifier: Apache-2.0
#include "ring/sequence_set.h"

#include <algorithm>
#include <bit>
#include <cassert>

namespace ringside::ring {

namespace {

constexpr std::uint64_t chunk_of_number(std::uint64_t number) { return number / SequenceSet::chunk_numbers; }
constexpr std::uint64_t in_chunk(std::uint64_t number) { return number % SequenceSet::chunk_numbers; }
constexpr std::uint64_t bit_of(std::uint64_t place) { return std::uint64_t{1} << (place % 64); }
constexpr std::size_t chunk_words = SequenceSet::chunk_numbers / 64;
/// What a node of std::map costs beside its value: colour and three links, and the allocator's header.
constexpr std::size_t node_overhead_bytes = 5 * sizeof(void*);

}  // namespace

SequenceSet::SequenceSet(std::uint64_t full_below) : full_below_(full_below) {
  // The chunk in which the known part ends holds its numbers as bits, so that it too can become complete.
  const std::uint64_t known = in_chunk(full_below);
  if (known == 0) return;
  Chunk& chunk = chunk_of(chunk_of_number(full_below));
  grow(chunk, known / 64 + 1);
  for (std::uint64_t place = 0; place < known; ++place) chunk.words[place / 64] |= bit_of(place);
  chunk.count = static_cast<std::uint32_t>(known);
}

SequenceSet::Chunk& SequenceSet::chunk_of(std::uint64_t index) {
  if (last_chunk_ == nullptr || index != last_index_) {
    last_chunk_ = &chunks_[index];
    last_index_ = index;
  }
  return *last_chunk_;
}

void SequenceSet::grow(Chunk& chunk, std::size_t words) {
  if (words <= chunk.words.size()) return;
  const std::size_t size = std::max(words, std::min(chunk_words, 2 * chunk.words.size()));
  word_bytes_ += (size - chunk.words.size()) * sizeof(std::uint64_t);
  chunk.words.reserve(size);
  chunk.words.resize(size);
}

bool SequenceSet::insert(std::uint64_t number) {
  if (number < full_below_) return false;
  Chunk& chunk = chunk_of(chunk_of_number(number));
  if (full(chunk)) return false;
  const std::uint64_t place = in_chunk(number);
  grow(chunk, place / 64 + 1);
  std::uint64_t& word = chunk.words[place / 64];
  if ((word & bit_of(place)) != 0) return false;
  word |= bit_of(place);
  if (++chunk.count == chunk_numbers) complete(chunk);
  return true;
}

void SequenceSet::complete(Chunk& chunk) {
  word_bytes_ -= chunk.words.size() * sizeof(std::uint64_t);
  chunk.words = {};
  // Complete chunks at the front are told by full_below_ alone.
  auto first = chunks_.begin();
  while (first != chunks_.end() && first->first == chunk_of_number(full_below_) && full(first->second)) {
    full_below_ = (first->first + 1) * chunk_numbers;
    first = chunks_.erase(first);
  }
  last_chunk_ = nullptr;
}

bool SequenceSet::contains(std::uint64_t number) const {
  if (number < full_below_) return true;
  const auto found = chunks_.find(chunk_of_number(number));
  if (found == chunks_.end()) return false;
  const Chunk& chunk = found->second;
  if (full(chunk)) return true;
  const std::uint64_t place = in_chunk(number);
  return place / 64 < chunk.words.size() && (chunk.words[place / 64] & bit_of(place)) != 0;
}

std::uint64_t SequenceSet::count_below(std::uint64_t limit) const {
  if (limit <= full_below_) return limit;
  // The chunk in which the known part ends counts its numbers itself.
  std::uint64_t total = full_below_ - in_chunk(full_below_);
  for (const auto& [index, chunk] : chunks_) {
    const std::uint64_t start = index * chunk_numbers;
    if (start >= limit) break;
    if (limit - start >= chunk_numbers) {
      total += chunk.count;
      continue;
    }
    const std::uint64_t end = limit - start;
    if (full(chunk)) {
      total += end;
      continue;
    }
    for (std::uint64_t w = 0; w < chunk.words.size() && w * 64 < end; ++w) {
      const std::uint64_t mask = end - w * 64 >= 64 ? UINT64_MAX : bit_of(end) - 1;
      total += static_cast<std::uint64_t>(std::popcount(chunk.words[w] & mask));
    }
  }
  return total;
}

std::uint64_t SequenceSet::first_missing() const {
  const auto found = chunks_.find(chunk_of_number(full_below_));
  if (found == chunks_.end()) return full_below_;
  const Chunk& chunk = found->second;
  assert(!full(chunk));
  const std::uint64_t start = found->first * chunk_numbers;
  for (std::size_t w = 0; w < chunk.words.size(); ++w) {
    if (chunk.words[w] != UINT64_MAX)
      return start + 64 * w + static_cast<std::uint64_t>(std::countr_one(chunk.words[w]));
  }
  return start + 64 * chunk.words.size();
}

std::size_t SequenceSet::memory_bytes() const {
  return word_bytes_ + chunks_.size() * (sizeof(std::pair<const std::uint64_t, Chunk>) + node_overhead_bytes);
}

}  // namespace ringside::ring
