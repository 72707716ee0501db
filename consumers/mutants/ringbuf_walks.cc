// SPDX-License-Identifier: Apache-2.0
//
// Mutants that walk a BPF ring wrongly: each takes one thing that it finds there for another.
#include <algorithm>
#include <cstdint>

#include "consumers/callback.h"
#include "consumers/copy.h"
#include "consumers/mutants/mutants.h"
#include "consumers/read.h"
#include "ring/layout.h"

namespace ringside::consumers::mutant {
namespace {

namespace rb = ring::ringbuf;

struct SpanWithoutHeader : RingbufSteps {
  static constexpr std::uint64_t span_of(std::uint32_t header) { return rb::span_of(header) - rb::header_bytes; }
};
struct PaddedLength : RingbufSteps {
  static constexpr std::uint64_t payload_bytes(std::uint32_t header) { return rb::span_of(header) - rb::header_bytes; }
};
struct StopsAtDiscard : RingbufSteps {
  static constexpr bool stops_at(std::uint32_t header) { return rb::is_busy(header) || rb::is_discarded(header); }
};
struct PassesOverBusy : RingbufSteps {
  static constexpr bool stops_at(std::uint32_t) { return false; }
  static constexpr bool passes_over(std::uint32_t header) { return rb::is_busy(header) || rb::is_discarded(header); }
};
struct CachesProducerPos : RingbufSteps {
  static constexpr bool loads_each_time = false;
  static constexpr std::uint64_t first_limit(std::uint64_t position) { return position == 0 ? 0 : position + 64; }
};
struct KeepsThirtyTwoBits : RingbufSteps {
  static constexpr std::uint64_t kept(std::uint64_t position) { return static_cast<std::uint32_t>(position); }
};
struct WrappedDifference : RingbufSteps {
  static constexpr std::uint64_t limit(std::uint64_t produced, std::uint64_t position, std::uint64_t size) {
    const std::uint64_t used = produced % size - position % size;
    return used <= size ? position + used : position;
  }
};
struct DropsEmpty : RingbufSteps {
  static constexpr bool passes_over(std::uint32_t header) { return rb::is_discarded(header) || header == 0; }
};
struct ShortBuffer : RingbufSteps {
  static constexpr std::uint64_t contiguous(std::uint64_t size, std::uint64_t, std::uint64_t) {
    return std::min<std::uint64_t>(size, 256);
  }
};
struct KeepsDiscarded : RingbufSteps {
  static constexpr bool publishes_passed = false;
};
struct TrustsLength : RingbufSteps {
  static constexpr bool ends_below(std::uint64_t /*span*/, std::uint64_t /*left*/) { return true; }
};

}  // namespace

const ringside_consumer& span_without_header() {
  static constexpr ringside_consumer table = Callback<SpanWithoutHeader>::table(
      "span_without_header", "callback that looks for the next header right behind the payload's length");
  return table;
}

const ringside_consumer& padded_length() {
  static constexpr ringside_consumer table =
      Callback<PaddedLength>::table("padded_length", "callback that tells the length rounded up to 8");
  return table;
}

const ringside_consumer& stops_at_discard() {
  static constexpr ringside_consumer table =
      Copy<StopsAtDiscard>::table("stops_at_discard", "copy that waits for a discarded record to be committed");
  return table;
}

const ringside_consumer& passes_over_busy() {
  static constexpr ringside_consumer table =
      Copy<PassesOverBusy>::table("passes_over_busy", "copy that passes over records that are still BUSY");
  return table;
}

const ringside_consumer& caches_producer_pos() {
  static constexpr ringside_consumer table = Callback<CachesProducerPos>::table(
      "caches_producer_pos", "callback that trusts what it takes for producer_pos before it has looked");
  return table;
}

const ringside_consumer& keeps_32_bits() {
  static constexpr ringside_consumer table =
      Copy<KeepsThirtyTwoBits>::table("keeps_32_bits", "copy that keeps its position in 32 bits");
  return table;
}

const ringside_consumer& wrapped_difference() {
  static constexpr ringside_consumer table =
      Copy<WrappedDifference>::table("wrapped_difference", "copy that subtracts positions after it has wrapped them");
  return table;
}

const ringside_consumer& drops_empty() {
  static constexpr ringside_consumer table =
      Read<DropsEmpty, true>::table("drops_empty", "read that takes records of no bytes for none");
  return table;
}

const ringside_consumer& short_buffer() {
  static constexpr ringside_consumer table =
      Read<ShortBuffer, false>::table("short_buffer", "read_into that copies at most 256 bytes");
  return table;
}

const ringside_consumer& keeps_discarded() {
  static constexpr ringside_consumer table = Copy<KeepsDiscarded>::table(
      "keeps_discarded", "copy that hands discarded records back with the next record only");
  return table;
}

const ringside_consumer& trusts_length() {
  static constexpr ringside_consumer table =
      Callback<TrustsLength>::table("trusts_length", "callback that does not hold a record's length against the ring");
  return table;
}

}  // namespace ringside::consumers::mutant
