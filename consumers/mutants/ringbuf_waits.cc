// SPDX-License-Identifier: Apache-2.0
//
// Mutants that read a BPF ring rightly, and get wrong what a drain or a wait owes its caller.
#include <sys/eventfd.h>

#include <cerrno>
#include <cstdint>

#include "consumers/callback.h"
#include "consumers/copy.h"
#include "consumers/mutants/mutants.h"
#include "consumers/read.h"

namespace ringside::consumers::mutant {
namespace {

constexpr std::int64_t ns_per_ms = 1'000'000;

/// `copy` with something of its own in place of a function.
template <class Strategy>
constexpr ringside_consumer table_of(const char* name, const char* summary) {
  return TableOf<Strategy>::make(
      {.name = name, .summary = summary, .ring_kind = RINGSIDE_RINGBUF, .claims = RINGSIDE_CLAIM_SLEEPS_ON_BUSY});
}

using Right = Copy<RingbufSteps>;

class DrainsWithoutBound : public Right {
 public:
  using Right::Right;
  std::int64_t drain(std::uint64_t) { return Right::drain(UINT64_MAX); }
};

class CountsInAByte : public Right {
 public:
  using Right::Right;
  std::int64_t drain(std::uint64_t max_records) { return static_cast<std::int8_t>(Right::drain(max_records)); }
};

class IgnoresStop : public RingbufConsumer<IgnoresStop, RingbufSteps> {
 public:
  using RingbufConsumer::RingbufConsumer;
  int hand_over(RingbufReader<RingbufSteps>& reader, std::uint32_t ring) {
    show(reader, ring);
    return 0;
  }
};

class CrashesOnEmpty : public RingbufConsumer<CrashesOnEmpty, RingbufSteps> {
 public:
  using RingbufConsumer::RingbufConsumer;
  int hand_over(RingbufReader<RingbufSteps>& reader, std::uint32_t ring) {
    const std::byte* const payload = reader.payload_bytes() == 0 ? nullptr : reader.payload();
    first_ = *static_cast<const volatile std::byte*>(payload);
    const int answer = deliver(ring, payload, reader.payload_bytes());
    reader.advance();
    reader.publish();
    return answer;
  }

 private:
  std::byte first_{};  // that everybody looks at
};

/// Writes into the ring, which is mapped for reading.
class ClearsHeaders : public RingbufConsumer<ClearsHeaders, RingbufSteps> {
 public:
  using RingbufConsumer::RingbufConsumer;
  int hand_over(RingbufReader<RingbufSteps>& reader, std::uint32_t ring) {
    const int answer = deliver(ring, reader.payload(), reader.payload_bytes());
    auto* const header = const_cast<std::byte*>(reader.payload()) - ring::ringbuf::header_bytes;
    *reinterpret_cast<volatile std::uint32_t*>(header) = 0;
    reader.advance();
    reader.publish();
    return answer;
  }
};

class InterruptIsFatal : public Right {
 public:
  using Right::Right;
  int wait(std::int64_t timeout_ns) {
    const int told = Right::wait(timeout_ns);
    return told == -EINTR ? -EIO : told;
  }
};

class InterruptIsTimeout : public Right {
 public:
  using Right::Right;
  int wait(std::int64_t timeout_ns) {
    const int told = Right::wait(timeout_ns);
    return told == -EINTR ? RINGSIDE_WAIT_TIMEOUT : told;
  }
};

/// The whole time again after each wake-up for nothing.
class RestartsDeadline : public Right {
 public:
  using Right::Right;
  int wait(std::int64_t timeout_ns) {
    ringside_ready ready[8];
    for (int wakeups = 0; wakeups < most_fruitless_wakeups; ++wakeups) {
      if (look()) return RINGSIDE_WAIT_READY;
      const int woken = host().wait(host().context, ready, 8, timeout_ns);
      if (woken < 0) return woken;
      if (woken == 0) return look() ? RINGSIDE_WAIT_READY : RINGSIDE_WAIT_TIMEOUT;
    }
    return RINGSIDE_WAIT_READY;
  }
};

class RoundsDeadlineDown : public Right {
 public:
  using Right::Right;
  int wait(std::int64_t timeout_ns) { return Right::wait(timeout_ns < 0 ? -1 : timeout_ns / ns_per_ms * ns_per_ms); }
};

class SpinsOnBusy : public Right {
 public:
  using Right::Right;
  int wait(std::int64_t timeout_ns) {
    const bool something = first_reader().unread_bytes() != 0;
    return something ? RINGSIDE_WAIT_READY : Right::wait(timeout_ns);
  }
};

class NeverSleeps : public Right {
 public:
  using Right::Right;
  int wait(std::int64_t) {
    ringside_ready ready[8];
    const int woken = host().wait(host().context, ready, 8, 0);
    return woken < 0 ? woken : RINGSIDE_WAIT_READY;
  }
};

class LeaksADescriptor : public Right {
 public:
  using Right::Right;
  int start() { return eventfd(0, EFD_CLOEXEC) < 0 ? -errno : Right::start(); }
};

struct TellsUntested : RingbufSteps {
  static constexpr bool looks_at_timeout = false;
};

}  // namespace

const ringside_consumer& drains_without_bound() {
  static constexpr ringside_consumer table =
      table_of<DrainsWithoutBound>("drains_without_bound", "copy that drains all there is, however much was asked for");
  return table;
}

const ringside_consumer& counts_in_a_byte() {
  static constexpr ringside_consumer table =
      table_of<CountsInAByte>("counts_in_a_byte", "copy that tells the number of its deliveries in 8 bits");
  return table;
}

const ringside_consumer& ignores_stop() {
  static constexpr ringside_consumer table =
      IgnoresStop::table("ignores_stop", "callback that goes on when told to stop");
  return table;
}

const ringside_consumer& crashes_on_empty() {
  static constexpr ringside_consumer table =
      CrashesOnEmpty::table("crashes_on_empty", "callback that looks at the first byte of records that have none");
  return table;
}

const ringside_consumer& clears_headers() {
  static constexpr ringside_consumer table =
      ClearsHeaders::table("clears_headers", "callback that clears each header when it has read its record");
  return table;
}

const ringside_consumer& interrupt_is_fatal() {
  static constexpr ringside_consumer table =
      table_of<InterruptIsFatal>("interrupt_is_fatal", "copy that takes EINTR for an error");
  return table;
}

const ringside_consumer& interrupt_is_timeout() {
  static constexpr ringside_consumer table =
      table_of<InterruptIsTimeout>("interrupt_is_timeout", "copy that takes EINTR for its deadline");
  return table;
}

const ringside_consumer& restarts_deadline() {
  static constexpr ringside_consumer table =
      table_of<RestartsDeadline>("restarts_deadline", "copy that sleeps its whole time again after each wake-up");
  return table;
}

const ringside_consumer& rounds_deadline_down() {
  static constexpr ringside_consumer table =
      table_of<RoundsDeadlineDown>("rounds_deadline_down", "copy whose deadlines are whole milliseconds, rounded down");
  return table;
}

const ringside_consumer& spins_on_busy() {
  static constexpr ringside_consumer table =
      table_of<SpinsOnBusy>("spins_on_busy", "copy that does not sleep while the ring holds anything");
  return table;
}

const ringside_consumer& never_sleeps() {
  static constexpr ringside_consumer table =
      table_of<NeverSleeps>("never_sleeps", "copy that asks epoll with a timeout of 0, again and again");
  return table;
}

const ringside_consumer& leaks_a_descriptor() {
  static constexpr ringside_consumer table =
      table_of<LeaksADescriptor>("leaks_a_descriptor", "copy that opens an eventfd and never closes it");
  return table;
}

const ringside_consumer& reader_tells_untested() {
  static constexpr ringside_consumer table = Read<TellsUntested, false>::table(
      "reader_tells_untested", "read_into that tells its deadline without emptying the ring");
  return table;
}

}  // namespace ringside::consumers::mutant
