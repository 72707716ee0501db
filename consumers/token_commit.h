// SPDX-License-Identifier: Apache-2.0
//
// Strategy `token_commit`: each record is read where it lies and comes with a token; committing the token says that its
// bytes are no longer needed.
//
// The contract: one thread reads, and commits; any number of views may be out, up to a limit. Tokens may be committed
// in any order: the position moves over the records from the oldest on that are all committed, and no further, so a
// view is valid until its own token's commit and a ring is as full as its oldest view has it. A token that is not out,
// or not any more, is refused. A read that finds nothing while views are out tells `uncommitted` and does not sleep.
#pragma once

#include <algorithm>
#include <bit>
#include <memory>

#include "consumers/blocking_reader.h"
#include "consumers/reader_strategy.h"
#include "consumers/zero_copy.h"

namespace ringside::consumers {

template <class Steps, class Poller>
class TokenReader : public ReaderCalls<Steps, Poller> {
  using Base = ReaderCalls<Steps, Poller>;
  using Base::reader_;

 public:
  /// Tokens of one ring that may be out; a ring with room for fewer records has no more.
  static constexpr std::uint64_t most_tokens = 1024;

  TokenReader(const ringside_ring_set& rings, const ringside_host& host)
      : Base(rings, host),
        set_(rings),
        ring_bits_(static_cast<unsigned>(std::bit_width(rings.ring_count == 0 ? 0 : rings.ring_count - 1))) {}

  int start() {
    if (const int result = reader_.start(); result < 0) return result;
    held_ = allocate<HeldViews>(set_.ring_count);
    if (held_ == nullptr) return -ENOMEM;
    for (std::uint32_t ring = 0; ring < set_.ring_count; ++ring) {
      const std::uint64_t most_records = set_.rings[ring].data_size / ring::ringbuf::header_bytes;
      if (!held_[ring].start(std::min(most_tokens, most_records))) return -ENOMEM;
    }
    return 0;
  }

  /// Waits for the next record and shows it. `token` is never 0.
  Told read(RecordView& view, std::uint64_t& token) {
    const Told told = out_ == 0 ? reader_.next() : reader_.next_behind_views();
    if (told != Told::record) return told;
    view = reader_.view();
    HeldViews& held = held_[view.ring];
    if (held.full()) return Told::uncommitted;
    token = ((held.add(reader_.rings().reader().position()) << ring_bits_) | view.ring) + 1;
    reader_.rings().reader().advance();
    ++out_;
    return Told::record;
  }

  /// False for a token that is not out.
  bool commit(std::uint64_t token) {
    const std::uint64_t ring = (token - 1) & ((std::uint64_t{1} << ring_bits_) - 1);
    if (token == 0 || ring >= set_.ring_count) return false;
    const std::uint64_t number = (token - 1) >> ring_bits_;
    HeldViews& held = held_[ring];
    if (!held.holds(number)) return false;
    const std::uint64_t committed = held.position_of(number);
    held.release(number);
    --out_;
    publish(static_cast<std::uint32_t>(ring), committed);
    return true;
  }

 private:
  /// (C4) Hands back what lies before the oldest view, now that the record at `committed` is committed.
  void publish(std::uint32_t ring, std::uint64_t committed) {
    RingbufReader<Steps>& reader = reader_.rings().reader(ring);
    const std::uint64_t oldest = held_[ring].empty() ? reader.position() : held_[ring].oldest_position();
    reader.publish_to(Steps::frontier(oldest, committed));
  }

  const ringside_ring_set& set_;
  std::unique_ptr<HeldViews[]> held_;
  unsigned ring_bits_;
  std::uint64_t out_ = 0;  // tokens
};

template <class Steps>
class TokenConsumer : public ReaderStrategy<TokenConsumer<Steps>> {
 public:
  TokenConsumer(const ringside_ring_set& rings, const ringside_host& host)
      : ReaderStrategy<TokenConsumer>(host), reader_(rings, host) {}

  int start() { return reader_.start(); }
  TokenReader<Steps, HostPoller>& reader() { return reader_; }

  Took take_one() {
    RecordView view;
    std::uint64_t token = 0;
    const Told told = reader_.read(view, token);
    if (told != Told::record) return {.told = told};
    return {.stop = this->deliver(view, token)};
  }
  int release(std::uint64_t token) { return reader_.commit(token) ? 0 : -EINVAL; }

 private:
  TokenReader<Steps, HostPoller> reader_;
};

}  // namespace ringside::consumers
