// SPDX-License-Identifier: Apache-2.0
//
// Mutants of the readers of perf rings, each of which does one step wrong (PerfSteps), or sleeps in a wrong way.
#include "consumers/mutants/perf.h"

#include "consumers/per_cpu_loop.h"
#include "consumers/read_into.h"
#include "consumers/session.h"

namespace ringside::consumers::mutant {
namespace {

struct LooksAtNoTimeout : PerfSteps {
  static constexpr bool looks_at_timeout = false;
};
struct ForgetsTheRest : PerfSteps {
  static constexpr bool remembers_the_rest = false;
};
struct NumbersRingsByCpu : PerfSteps {
  static constexpr bool numbers_rings_by_cpu = true;
};
struct ReadsNothingAtTheEnd : PerfSteps {
  static constexpr bool reads_all_at_the_end = false;
};
struct IgnoresStop : PerfSteps {
  static constexpr bool heeds_stop = false;
};
struct HandsBackFirst : PerfSteps {
  static constexpr bool keeps_shown = false;
};
struct TakesLossForSample : PerfSteps {
  static constexpr bool tells_loss_apart = false;
};
struct ReportsLossOfNothing : PerfSteps {
  static constexpr std::uint64_t report(std::uint64_t /*count*/) { return 0; }
  static constexpr bool reports_nothing = true;
};
struct HandsBackHalves : PerfSteps {
  static constexpr bool hands_back(std::uint64_t bytes, std::uint64_t ring_bytes) { return bytes >= ring_bytes / 2; }
};
struct CutsPadding : PerfSteps {
  static constexpr std::uint64_t delivered_of(std::uint64_t raw_bytes) { return raw_bytes / 8 * 8; }
};
struct ShowsWhatWraps : PerfSteps {
  static constexpr bool in_place(bool /*contiguous*/) { return true; }
};
struct KnowsNoTime : PerfSteps {
  static constexpr bool knows_time = false;
};
struct Oversleeps : PerfSteps {
  static constexpr std::int64_t sleep_ns(std::int64_t wanted_ns, std::int64_t /*left_ns*/) { return wanted_ns; }
};
struct TakesFirstForOldest : PerfSteps {
  static constexpr bool is_older(std::uint64_t /*time_ns*/, std::uint64_t /*than_ns*/) { return false; }
};
struct MakesTimesUp : TakesFirstForOldest {
  static constexpr std::uint64_t told(std::uint64_t time_ns, std::uint64_t last_ns) {
    return std::max(time_ns, last_ns);
  }
};
struct HoldsNothingBack : PerfSteps {
  static constexpr bool holds_back = false;
};

/// Tells EINTR as the end.
class PassesInterruptUp : public HostPerfPoller {
 public:
  using HostPerfPoller::HostPerfPoller;
  Woken wait(std::int64_t deadline_ns) {
    const Woken woken = HostPerfPoller::wait(deadline_ns);
    return woken == Woken::interrupted ? Woken::closed : woken;
  }
};
class EndsAtInterrupt : public ReadInto<PerfSteps, PassesInterruptUp> {
 public:
  static constexpr ringside_consumer table(const char* name, const char* summary) {
    return TableOf<EndsAtInterrupt>::make(
        {.name = name, .summary = summary, .ring_kind = ring_kind, .claims = RINGSIDE_CLAIM_REPORTS_LOSS});
  }
  using ReadInto::ReadInto;

  int wait(std::int64_t timeout_ns) {
    reader().set_deadline(deadline_behind(timeout_ns));
    const Told told = reader().wait();
    if (told == Told::closed) reader().close();
    return answer_of(told);
  }
};

/// Sleeps no more once a descriptor has hung up: poll would come back at once, too.
class SpinsOnHangup : public HostPerfPoller {
 public:
  using HostPerfPoller::HostPerfPoller;
  Woken wait(std::int64_t deadline_ns) {
    if (hung_up_) return Woken::ready;
    const Woken woken = HostPerfPoller::wait(deadline_ns);
    hung_up_ = (events() & RINGSIDE_POLLHUP) != 0;
    return woken;
  }

 private:
  bool hung_up_ = false;
};

template <class Steps>
using ParseForCpu = PerCpuLoop<Steps, false>;
template <class Steps>
using DrainCpu = PerCpuLoop<Steps, true>;
template <class Steps>
using HeldBack = Session<Steps, SessionOrder::held_back, true, RINGSIDE_CLAIM_TIME_ORDER>;

}  // namespace

const ringside_consumer& cpu_no_last_look() {
  static constexpr ringside_consumer table = ParseForCpu<LooksAtNoTimeout>::table(
      "cpu_no_last_look", "parse_for_cpu that tells a timeout without a look at the rings that did not wake");
  return table;
}

const ringside_consumer& cpu_forgets_rest() {
  static constexpr ringside_consumer table =
      DrainCpu<ForgetsTheRest>::table("cpu_forgets_rest", "drain_cpu that forgets in which rings it left records");
  return table;
}

const ringside_consumer& cpu_by_index() {
  static constexpr ringside_consumer table =
      ParseForCpu<NumbersRingsByCpu>::table("cpu_by_index", "parse_for_cpu that takes a CPU's number for its ring's");
  return table;
}

const ringside_consumer& cpu_no_last_drain() {
  static constexpr ringside_consumer table = DrainCpu<ReadsNothingAtTheEnd>::table(
      "cpu_no_last_drain", "drain_cpu that does not read the rings once more before it ends");
  return table;
}

const ringside_consumer& cpu_ignores_stop() {
  static constexpr ringside_consumer table =
      ParseForCpu<IgnoresStop>::table("cpu_ignores_stop", "parse_for_cpu that goes on when its callback says stop");
  return table;
}

const ringside_consumer& cpu_hands_back_first() {
  static constexpr ringside_consumer table = DrainCpu<HandsBackFirst>::table(
      "cpu_hands_back_first", "drain_cpu that hands a record's space back before it shows it");
  return table;
}

const ringside_consumer& cpu_shows_wrapped() {
  static constexpr ringside_consumer table = DrainCpu<ShowsWhatWraps>::table(
      "cpu_shows_wrapped", "drain_cpu that shows a sample in place though it runs over the ring's end");
  return table;
}

const ringside_consumer& read_deadline_first() {
  static constexpr ringside_consumer table = ReadInto<LooksAtNoTimeout>::table(
      "read_deadline_first", "read_into that tells its deadline before the rings are emptied");
  return table;
}

const ringside_consumer& read_loss_as_sample() {
  static constexpr ringside_consumer table =
      ReadInto<TakesLossForSample>::table("read_loss_as_sample", "read_into that takes a loss for an empty sample");
  return table;
}

const ringside_consumer& read_loss_of_nothing() {
  static constexpr ringside_consumer table = ReadInto<ReportsLossOfNothing>::table(
      "read_loss_of_nothing", "read_into that reports each loss as one of 0 records");
  return table;
}

const ringside_consumer& read_ends_at_interrupt() {
  static constexpr ringside_consumer table =
      EndsAtInterrupt::table("read_ends_at_interrupt", "read_into that ends when a wait is interrupted");
  return table;
}

const ringside_consumer& read_spins_on_hangup() {
  static constexpr ringside_consumer table = ReadInto<PerfSteps, SpinsOnHangup>::table(
      "read_spins_on_hangup", "read_into that sleeps no more once a descriptor has hung up");
  return table;
}

const ringside_consumer& read_tail_by_halves() {
  static constexpr ringside_consumer table = ReadInto<HandsBackHalves>::table(
      "read_tail_by_halves", "read_into that stores data_tail when half of the ring is read");
  return table;
}

const ringside_consumer& read_cuts_padding() {
  static constexpr ringside_consumer table =
      ReadInto<CutsPadding>::table("read_cuts_padding", "read_into that takes raw_size for a multiple of 8");
  return table;
}

const ringside_consumer& read_knows_no_time() {
  static constexpr ringside_consumer table =
      ReadInto<KnowsNoTime>::table("read_knows_no_time", "read_into that looks for raw_size where a sample's time is");
  return table;
}

const ringside_consumer& session_oversleeps() {
  static constexpr ringside_consumer table = Session<Oversleeps, SessionOrder::as_visible, false, 0>::table(
      "session_oversleeps", "session that sleeps its 15 ms whatever the deadline is");
  return table;
}

const ringside_consumer& session_claims_order() {
  static constexpr ringside_consumer table =
      Session<PerfSteps, SessionOrder::as_visible, true, RINGSIDE_CLAIM_TIME_ORDER>::table(
          "session_claims_order", "session_watermark that claims the order of time over all CPUs");
  return table;
}

const ringside_consumer& session_by_arrival() {
  static constexpr ringside_consumer table =
      HeldBack<TakesFirstForOldest>::table("session_by_arrival", "session_merge that takes ring after ring");
  return table;
}

const ringside_consumer& session_makes_times_up() {
  static constexpr ringside_consumer table = HeldBack<MakesTimesUp>::table(
      "session_makes_times_up", "session_merge that takes ring after ring, and tells times that never fall");
  return table;
}

const ringside_consumer& session_no_hold() {
  static constexpr ringside_consumer table = HeldBack<HoldsNothingBack>::table(
      "session_no_hold", "session_merge that takes its second look right behind the first");
  return table;
}

}  // namespace ringside::consumers::mutant
