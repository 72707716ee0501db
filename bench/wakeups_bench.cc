// SPDX-License-Identifier: Apache-2.0
//
// The watermark debate in figures: how long a record waits in a perf ring, how often its consumer wakes up for it, and
// what that costs, by how it waits. A program on one CPU puts a record out every 50 microseconds; strategy drain_all on
// another sleeps in epoll with a watermark, or for a fixed time, and drains.
//
// Counters: `p50_us`, `p99_us`, `max_us` from the beginning of the program's run to the delivery; `wakeups` for 1000
// records; `cpu_ns` of the consumer's thread for each record; `stranded` records that lay in the ring when the producer
// had ended and no wake-up was to come any more: what a consumer without a last look never sees (A4, A6, L1).
#include <benchmark/benchmark.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "consumers/strategies.h"
#include "real/pinned.h"
#include "real/producers.h"
#include "ring/layout.h"
#include "ring/record.h"

namespace ringside::real {
namespace {

constexpr std::uint32_t record_bytes = 52;  // a sample of 64
constexpr std::uint64_t records = 4000;
constexpr std::int64_t interval_ns = 50'000;

std::int64_t now_of(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
}
std::int64_t now_ns() { return now_of(CLOCK_MONOTONIC); }

/// What the consumer's host sees: when each record came.
struct Arrivals {
  std::vector<std::atomic<std::int64_t>> put_out = std::vector<std::atomic<std::int64_t>>(records);
  std::vector<double> latencies_us;

  static int deliver(void* context, const ringside_record* record) {
    Arrivals& self = *static_cast<Arrivals*>(context);
    const std::span bytes(static_cast<const std::byte*>(record->data), record->size);
    const auto reading = ring::read_record(bytes, 7, [](std::uint16_t, ring::RecordState) { return std::uint64_t{0}; });
    // (T1) acquire, pairs with T2, though the ring orders the two already.
    const std::int64_t begun = self.put_out[reading.identity.sequence].load(std::memory_order_acquire);
    self.latencies_us.push_back(static_cast<double>(now_ns() - begun) / 1000);
    return 0;
  }
};

/// How the consumer waits.
struct Waiting {
  std::uint32_t watermark_bytes = 0;
  std::uint32_t wakeup_events = 0;
  std::int64_t sleep_ns = 0;  ///< 0: in epoll
};

/// One paced run on a ring of its own.
class Run {
 public:
  Run(PerfRings& rings, Producers& producers, const Waiting& waiting)
      : rings_(rings), producers_(producers), waiting_(waiting), set_(rings.ring_set()), epoll_(epoll_create1(0)) {
    epoll_event event{};
    event.events = EPOLLIN;
    epoll_ctl(epoll_, EPOLL_CTL_ADD, set_.rings[0].fd, &event);
    host_.abi_version = RINGSIDE_CONSUMER_ABI;
    host_.struct_size = sizeof(ringside_host);
    host_.context = &arrivals;
    host_.deliver = Arrivals::deliver;
    host_.lost = [](void*, std::uint32_t, std::uint64_t) {};
    host_.now_ns = [](void*) { return now_ns(); };
    host_.batch_begin = [](void*) {};
    host_.batch_end = [](void*, std::uint32_t) {};
  }
  ~Run() { ::close(epoll_); }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  /// False where the ring cannot be opened or a record not be put out.
  bool go() {
    const ringside_consumer& consumer = consumers::drain_all();
    void* state = nullptr;
    if (consumer.open(&set_, &host_, &state) != 0) return false;
    std::thread producer([this] { produce(); });
    const std::int64_t cpu_before = now_of(CLOCK_THREAD_CPUTIME_ID);
    // (T3) acquire, pairs with T4: what was put out before the end is in the ring for who sees the end.
    while (!ended_.load(std::memory_order_acquire)) {
      if (!sleep()) continue;
      ++wakeups;
      consumer.drain(state, UINT64_MAX);
    }
    cpu_ns = now_of(CLOCK_THREAD_CPUTIME_ID) - cpu_before;
    producer.join();
    epoll_event event{};
    if (waiting_.sleep_ns != 0 || epoll_wait(epoll_, &event, 1, 0) > 0) consumer.drain(state, UINT64_MAX);
    const std::size_t seen = arrivals.latencies_us.size();
    const std::int64_t left = consumer.drain(state, UINT64_MAX);
    arrivals.latencies_us.resize(seen);
    stranded = static_cast<std::uint64_t>(left);
    consumer.close(state);
    return produced_all_;
  }

  Arrivals arrivals;
  std::uint64_t wakeups = 0;
  std::int64_t cpu_ns = 0;
  std::uint64_t stranded = 0;

 private:
  void produce() {
    auto script = ScriptProducer::create(producers_);
    const bool ready = script && pin_to(rings_.cpus()[0]);
    std::int64_t due = now_ns();
    std::uint64_t number = 0;
    for (; ready && number < records; ++number, due += interval_ns) {
      while (now_ns() < due) {
      }
      const ring::Operation one{
          .action = ring::Action::output, .cpu = static_cast<std::uint16_t>(rings_.cpus()[0]), .size = record_bytes};
      arrivals.put_out[number].store(now_ns(), std::memory_order_release);  // (T2)
      if (!script->run({&one, 1})) break;
    }
    produced_all_ = number == records;
    ended_.store(true, std::memory_order_release);  // (T4)
  }

  /// True when it is time to drain.
  bool sleep() {
    if (waiting_.sleep_ns != 0) {
      const timespec time{.tv_sec = 0, .tv_nsec = waiting_.sleep_ns};
      nanosleep(&time, nullptr);
      return true;
    }
    epoll_event event{};
    return epoll_wait(epoll_, &event, 1, 10) > 0;  // the timeout is for the end of the run: it drains nothing
  }

  PerfRings& rings_;
  Producers& producers_;
  const Waiting& waiting_;
  ringside_ring_set set_;
  ringside_host host_{};
  int epoll_;
  std::atomic<bool> ended_{false};
  bool produced_all_ = false;  // read when the producer has been joined
};

double share(const std::vector<double>& sorted, double part) {
  return sorted.empty() ? 0 : sorted[static_cast<std::size_t>(part * static_cast<double>(sorted.size() - 1))];
}

void wait_by(benchmark::State& state, const Waiting& waiting) {
  const auto cpus = online_cpus();
  if (!cpus || cpus->size() < 2) return state.SkipWithError("it takes two CPUs");
  if (!pin_to(cpus->back())) return state.SkipWithError("it may not run on the last CPU");
  std::vector<double> latencies;
  double wakeups = 0;
  double cpu_ns = 0;
  double stranded = 0;
  for ([[maybe_unused]] auto _ : state) {
    auto rings = PerfRings::create({.cpus = {cpus->front()},
                                    .data_pages = 128,
                                    .wakeup_events = waiting.wakeup_events,
                                    .watermark_bytes = waiting.watermark_bytes});
    if (!rings) return state.SkipWithError("no perf rings here");
    auto producers = Producers::load(*rings, {.floods = false});
    if (!producers) return state.SkipWithError("no BPF programs here");
    Run run(*rings, *producers, waiting);
    if (!run.go()) return state.SkipWithError("the ring is not opened, or not filled");
    latencies.insert(latencies.end(), run.arrivals.latencies_us.begin(), run.arrivals.latencies_us.end());
    wakeups += static_cast<double>(run.wakeups);
    cpu_ns += static_cast<double>(run.cpu_ns);
    stranded += static_cast<double>(run.stranded);
  }
  std::sort(latencies.begin(), latencies.end());
  const double all = static_cast<double>(records) * static_cast<double>(state.iterations());
  state.counters["p50_us"] = share(latencies, 0.5);
  state.counters["p99_us"] = share(latencies, 0.99);
  state.counters["max_us"] = share(latencies, 1);
  state.counters["wakeups"] = 1000 * wakeups / all;
  state.counters["cpu_ns"] = cpu_ns / all;
  state.counters["stranded"] = stranded / static_cast<double>(state.iterations());
}

void register_all() {
  const auto add = [](const std::string& name, const Waiting& waiting) {
    benchmark::RegisterBenchmark(name.c_str(), [waiting](benchmark::State& state) { wait_by(state, waiting); })
        ->Iterations(3)
        ->UseRealTime()
        ->Unit(benchmark::kMillisecond);
  };
  for (const std::uint32_t bytes : {1u, 64u, 256u, 1024u, 4096u, 16384u, 65536u}) {
    add("watermark/" + std::to_string(bytes), {.watermark_bytes = bytes});
  }
  for (const std::uint32_t events : {1u, 7u, 100u}) {
    add("wakeup_events/" + std::to_string(events), {.wakeup_events = events});
  }
  for (const std::int64_t ms : {1, 5, 15}) add("sleep_ms/" + std::to_string(ms), {.sleep_ns = ms * 1'000'000});
}

}  // namespace
}  // namespace ringside::real

int main(int argc, char** argv) {
  ringside::real::register_all();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
