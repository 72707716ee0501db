// SPDX-License-Identifier: Apache-2.0
//
// Mutants that show records where they lie, and get wrong how long they may lie there.
#include <algorithm>
#include <cstdint>
#include <cstring>

#include "consumers/batch_release.h"
#include "consumers/lease.h"
#include "consumers/mutants/mutants.h"
#include "consumers/peek.h"
#include "consumers/ringbuf_consumer.h"
#include "consumers/token_commit.h"

namespace ringside::consumers::mutant {
namespace {

/// One use of a PeekReader for each record: `Use(strategy, reader, view)` says whether to stop.
template <class Use>
class Peeking : public ReaderStrategy<Peeking<Use>> {
 public:
  Peeking(const ringside_ring_set& rings, const ringside_host& host)
      : ReaderStrategy<Peeking>(host), reader_(rings, host) {}

  int start() { return reader_.start(); }
  PeekReader<RingbufSteps, HostPoller, NoGuard>& reader() { return reader_; }
  using ReaderStrategy<Peeking>::deliver;

  Took take_one() {
    RecordView view;
    const Told told = reader_.peek(view);
    if (told != Told::record) return {.told = told};
    return {.stop = Use()(*this, reader_, view)};
  }

 private:
  PeekReader<RingbufSteps, HostPoller, NoGuard> reader_;
};

struct ConsumesFirst {
  bool operator()(auto& strategy, auto& reader, const RecordView& view) const {
    reader.consume();
    return strategy.deliver(view);
  }
};
struct ConsumesTwice {
  bool operator()(auto& strategy, auto& reader, const RecordView& view) const {
    const bool stop = strategy.deliver(view);
    reader.consume();
    reader.consume();
    return stop;
  }
};
struct KeepsFailed {
  bool operator()(auto& strategy, auto& reader, const RecordView& view) const {
    const bool stop = strategy.deliver(view);
    if (!stop) reader.consume();
    return stop;
  }
};

struct CommitsInAnyOrder : RingbufSteps {
  static constexpr std::uint64_t frontier(std::uint64_t oldest, std::uint64_t committed) {
    return std::max(oldest, committed);
  }
};
struct CommitsWhatItIsTold : RingbufSteps {
  static constexpr std::uint64_t frontier(std::uint64_t, std::uint64_t committed) { return committed; }
};

struct LeaseNeverEnds : RingbufSteps {
  static constexpr bool commits_at_the_end = false;
  static constexpr bool sleeps_uncommitted = true;
};

struct KeepsBatch : RingbufSteps {
  static constexpr bool publishes_passed = false;
};

/// Of two records that lie there, the second is delivered first.
class Reverses : public ReaderStrategy<Reverses> {
 public:
  Reverses(const ringside_ring_set& rings, const ringside_host& host)
      : ReaderStrategy<Reverses>(host), reader_(rings, host) {}

  int start() { return reader_.start(); }
  TokenReader<RingbufSteps, HostPoller>& reader() { return reader_; }

  Took take_one() {
    if (kept_.token == 0) {
      const Told told = reader_.read(kept_.view, kept_.token);
      if (told != Told::record) return {.told = told};
      Shown next;
      if (reader_.read(next.view, next.token) == Told::record) return {.stop = deliver(next.view, next.token)};
    }
    const Shown kept = std::exchange(kept_, {});
    return {.stop = deliver(kept.view, kept.token)};
  }
  int release(std::uint64_t token) { return reader_.commit(token) ? 0 : -EINVAL; }

 private:
  struct Shown {
    RecordView view;
    std::uint64_t token = 0;
  };

  TokenReader<RingbufSteps, HostPoller> reader_;
  Shown kept_;
};

/// Copies a record when its space has been handed back already.
class CopiesLate : public RingbufConsumer<CopiesLate, RingbufSteps> {
 public:
  using RingbufConsumer::RingbufConsumer;

  int hand_over(RingbufReader<RingbufSteps>& reader, std::uint32_t ring) {
    const std::byte* const payload = reader.payload();
    const std::uint64_t size = reader.payload_bytes();
    reader.advance();
    reader.publish();
    if (!copy_.reserve(size)) return -ENOMEM;
    std::memcpy(copy_.bytes.get(), payload, size);
    return deliver(ring, copy_.bytes.get(), size);
  }

 private:
  RecordCopy copy_;
};

}  // namespace

const ringside_consumer& consumes_first() {
  static constexpr ringside_consumer table =
      Peeking<ConsumesFirst>::table("consumes_first", "peek_consume that consumes a record before it is looked at");
  return table;
}

const ringside_consumer& consumes_twice() {
  static constexpr ringside_consumer table =
      Peeking<ConsumesTwice>::table("consumes_twice", "peek_consume that consumes twice for each peek");
  return table;
}

const ringside_consumer& keeps_failed() {
  static constexpr ringside_consumer table = Peeking<KeepsFailed>::table(
      "keeps_failed", "visit that does not consume the record at which its function failed");
  return table;
}

const ringside_consumer& commits_in_any_order() {
  static constexpr ringside_consumer table = TokenConsumer<CommitsInAnyOrder>::table(
      "commits_in_any_order", "token_commit that hands back all before the record that was committed");
  return table;
}

const ringside_consumer& commits_as_told() {
  static constexpr ringside_consumer table = TokenConsumer<CommitsWhatItIsTold>::table(
      "commits_as_told", "token_commit that stores the position of whatever was committed");
  return table;
}

const ringside_consumer& lease_never_ends() {
  static constexpr ringside_consumer table = LeaseConsumer<LeaseNeverEnds>::table(
      "lease_never_ends", "lease that commits nothing and sleeps on what it has read");
  return table;
}

const ringside_consumer& keeps_batch() {
  static constexpr ringside_consumer table =
      BatchRelease<KeepsBatch>::table("keeps_batch", "batch_release that keeps a batch that is not full");
  return table;
}

const ringside_consumer& reverses() {
  static constexpr ringside_consumer table =
      Reverses::table("reverses", "token_commit that hands out the second of two records first");
  return table;
}

const ringside_consumer& copies_late() {
  static constexpr ringside_consumer table =
      CopiesLate::table("copies_late", "copy that hands a record's space back before it copies it");
  return table;
}

}  // namespace ringside::consumers::mutant
