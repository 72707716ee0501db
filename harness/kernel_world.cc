// SPDX-License-Identifier: Apache-2.0
//
// Rings of the running kernel as a world. Stepped, one step is one operation (or one burst) run by a BPF program on the
// session's own thread: between two steps nothing moves, so that the order of events is the session's, never the
// clock's. Free, floods run on pinned threads.
#include <fmt/format.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/utsname.h>

#include <algorithm>
#include <cassert>
#include <cstring>

#include "harness/backward_world.h"
#include "harness/overwrite_watch.h"
#include "harness/world.h"
#include "real/capabilities.h"
#include "real/cpu_ringbufs.h"
#include "real/epoll_set.h"
#include "real/inspect.h"
#include "real/perf_rings.h"
#include "real/pinned.h"
#include "real/producers.h"
#include "real/ringbuf.h"

namespace ringside::harness {

namespace {

constexpr std::uint32_t closing_record_bytes = 16;
constexpr std::size_t most_operations_a_step = 1024;

std::string kernel_release() {
  utsname name{};
  uname(&name);
  return name.release;
}

/// The rings of either kind, and what writes them.
struct KernelRings {
  std::optional<real::RingbufMap> ringbuf;
  std::optional<real::CpuRingbufs> ringbufs;  // one a CPU
  std::optional<real::PerfRings> perf;
  std::optional<real::PerfRings> perf_side_1;  // of an A/B swap; perf is side 0 then
  std::optional<real::Producers> producers;
  std::vector<std::uint32_t> cpus;  // online, ascending

  ringside_ring_set set() const {
    if (ringbufs) return ringbufs->ring_set();
    return ringbuf ? ringbuf->ring_set() : perf->ring_set();
  }
  /// The CPUs of the rings, in their order, where there is one a CPU.
  std::span<const std::uint32_t> ring_cpus() const {
    if (ringbufs) return ringbufs->cpus();
    return perf ? std::span<const std::uint32_t>(perf->cpus()) : std::span<const std::uint32_t>();
  }
};

class KernelWorld final : public World {
 public:
  KernelWorld(const WorldRequest& request, Workload workload, KernelRings rings)
      : workload_(std::move(workload)),
        kernel_(std::move(rings)),
        scenario_(*request.scenario),
        kind_(request.kind),
        set_(kernel_.set()),
        rings_(set_.rings, set_.rings + set_.ring_count) {
    if (kernel_.perf_side_1) add_side();
    set_.wakeup_events = scenario_.ring.wakeup_events;
    set_.watermark_bytes = scenario_.ring.watermark_bytes;
    set_.sample_type = sample_type_of(scenario_.ring);
    set_.backward = scenario_.ring.backward ? 1 : 0;
    set_.stamp_bytes = ring::stamp_bytes(scenario_.ring.stamp);
  }

  ring::Result<void> prepare(std::uint32_t trigger);
  ring::Result<void> stay_with_producers() const;

  const ringside_ring_set& rings() const override { return set_; }
  int adopt(const ringside_ring& ring) override;
  void forget_adopted() override {
    if (set_.ring_count == 0) rings_.clear();
  }

  ring::Result<Moved> step(Random& random, std::int64_t now_ns) override;
  // A whole operation: about ten accesses of the model's.
  std::int64_t step_ns() const override { return 500; }
  std::optional<std::int64_t> next_event_ns() const override;
  bool in_burst() const override { return false; }  // a step carries out the whole of it

  ring::Result<void> start() override;
  bool producers_running() const override { return flood_ && !flood_->done(); }
  ring::Result<void> end() override {
    if (!flood_) return {};
    flood_->stop();
    auto joined = flood_->join();
    if (overwrite_watch_) overwrite_watch_->look_at_the_end();
    return joined;
  }

  int wait(std::span<ringside_ready> ready, std::int64_t timeout_ns) override {
    return epoll_->wait(ready.data(), static_cast<std::uint32_t>(ready.size()), timeout_ns);
  }
  int pause(std::uint32_t ring, bool on) override {
    if (kind_ != ring::RingKind::perf || ring >= ring_count()) return -EINVAL;
    return ioctl(rings_[ring].fd, PERF_EVENT_IOC_PAUSE_OUTPUT, on ? 1 : 0) == 0 ? 0 : -errno;
  }
  int wait_fd(int fd, std::int64_t timeout_ns) override;
  int quiesce(std::uint32_t ring) override {
    if (kind_ != ring::RingKind::perf || ring >= ring_count()) return -EINVAL;
    return real::visit(static_cast<std::uint32_t>(rings_[ring].cpu)) ? 0 : -EIO;
  }

  std::uint32_t ring_count() const override { return static_cast<std::uint32_t>(rings_.size()); }
  const ringside_ring& ring(std::uint32_t index) const override { return rings_[index]; }
  RingPositions positions(std::uint32_t index) const override {
    const real::Positions at = real::positions_of(rings_[index]);
    return {.consumer = at.consumer, .producer = at.producer};
  }
  AtHead at_head(std::uint32_t index) const override {
    if (real::has_deliverable(rings_[index])) return AtHead::committed;
    return real::head_of(rings_[index]) == real::Head::busy ? AtHead::busy : AtHead::nothing;
  }

  ring::ProducerLedger ledger() const override { return kernel_.producers->ledger(source_count()); }
  std::uint64_t reserved_so_far(std::uint32_t source) const override {
    return kernel_.producers->reserved_so_far(source);
  }
  std::uint32_t source_count() const override {
    return producing_sources() + static_cast<std::uint32_t>(closing_rings());
  }
  std::uint64_t in_flight(std::uint32_t side) const override {
    return set_.swap != nullptr ? kernel_.producers->in_flight(side) : 0;
  }
  std::uint64_t counted() const override { return set_.swap != nullptr ? kernel_.producers->counted() : 0; }
  std::uint32_t ring_of(std::uint32_t source) const override;
  std::vector<std::uint64_t> left() const override;
  const ring::Overwritten& overwritten() const override {
    return overwrite_watch_ ? overwrite_watch_->overwritten() : World::overwritten();
  }
  ring::Result<void> flush_losses() override;
  std::vector<std::string> not_observable() const override { return not_observable_; }

 private:
  std::size_t closing_rings() const { return kernel_.perf ? kernel_.perf->cpus().size() * scenario_.ring.sides : 0; }
  std::uint32_t producing_sources() const { return workload_.source_count() * scenario_.ring.sides; }
  void add_side();
  std::uint16_t cpu_id(std::uint16_t index) const {
    return static_cast<std::uint16_t>(kernel_.cpus[index % kernel_.cpus.size()]);
  }
  real::FloodThread flood_thread(std::size_t source) const;
  ring::Result<void> carry_out(std::span<const ring::Operation> operations);
  ring::Result<void> hold_or_settle(const ring::Operation& operation);

  Workload workload_;
  KernelRings kernel_;
  const Scenario& scenario_;
  const ring::RingKind kind_;
  ringside_ring_set set_;
  std::vector<ringside_ring> rings_;  // as opened by us, or as adopted
  std::optional<real::EpollSet> epoll_;
  std::optional<real::ScriptProducer> script_;
  std::optional<real::Straggler> straggler_;
  std::optional<real::Flood> flood_;
  std::optional<OverwriteWatch> overwrite_watch_;
  std::vector<std::string> not_observable_;
};

/// Side 1's rings behind those of side 0.
void KernelWorld::add_side() {
  const auto rings = kernel_.perf_side_1->rings();
  rings_.insert(rings_.end(), rings.begin(), rings.end());
  set_.ring_count = static_cast<std::uint32_t>(rings_.size());
  set_.rings = rings_.data();
  set_.swap = kernel_.producers->swap();
}

/// Brings the rings to their start position, then arms the epoll set: before the first record, since adding a perf ring
/// eats a wake-up that is pending [4.1].
ring::Result<void> KernelWorld::prepare(std::uint32_t trigger) {
  if (scenario_.ring.start > 0) {
    for (const ringside_ring& ring : rings_) {
      if (auto filled = kernel_.producers->prefill(ring, scenario_.ring.start); !filled) return filled;
    }
  }
  if (scenario_.ring.overwrite) overwrite_watch_.emplace(rings_.front());
  auto epoll = real::EpollSet::create(std::span<const ringside_ring>(rings_), trigger);
  if (!epoll) return tl::unexpected(epoll.error());
  epoll_.emplace(std::move(*epoll));
  if (auto pinned = stay_with_producers(); !pinned) return pinned;
  auto script = real::ScriptProducer::create(*kernel_.producers);
  if (!script) return tl::unexpected(script.error());
  script_.emplace(std::move(*script));
  if (!scenario_.ring.kernel.empty()) {
    not_observable_.push_back(fmt::format("runs on {}, whichever kernel version the scenario names", kernel_release()));
  }
  return {};
}

/// Stepped, with every source on one CPU: the session's thread stays there too, and an operation costs no change of
/// threads.
ring::Result<void> KernelWorld::stay_with_producers() const {
  const auto elsewhere = [&](const SourcePlan& plan) { return cpu_id(plan.cpu) != cpu_id(scenario_.sources[0].cpu); };
  if (scenario_.drive == Drive::free) return {};
  const auto holds = [](const SourcePlan& plan) { return plan.action == ring::Action::hold; };
  if (set_.swap != nullptr && std::any_of(scenario_.sources.begin(), scenario_.sources.end(), holds)) {
    // A program that is held takes its CPU from whoever is there.
    const auto other = std::find_if_not(scenario_.sources.begin(), scenario_.sources.end(), holds);
    return real::pin_to(cpu_id(other->cpu));
  }
  if (std::any_of(scenario_.sources.begin(), scenario_.sources.end(), elsewhere)) return {};
  return real::pin_to(cpu_id(scenario_.sources[0].cpu));
}

int KernelWorld::adopt(const ringside_ring& ring) {
  const bool whole = ring.kind == static_cast<std::uint32_t>(kind_) && ring.consumer_page != nullptr &&
                     ring.data != nullptr && ring.data_size == scenario_.ring.size;
  if (!whole) return -EINVAL;
  if (scenario_.ring.start > 0 && !kernel_.producers->prefill(ring, scenario_.ring.start)) return -EIO;
  rings_.push_back(ring);
  return 0;
}

/// One source that is due, its next operation; the whole of its burst when it has one.
ring::Result<Moved> KernelWorld::step(Random& random, std::int64_t now_ns) {
  std::vector<std::size_t> due;
  bool due_later = false;
  for (std::size_t index = 0; index < workload_.sources().size(); ++index) {
    const SourceWorkload& source = workload_.sources()[index];
    if (source.done()) continue;
    if (source.due_ns() <= now_ns) {
      due.push_back(index);
    } else {
      due_later = true;
    }
  }
  if (due.empty()) return due_later ? Moved::waiting : Moved::done;
  SourceWorkload& source = workload_.sources()[due[random.below(due.size())]];
  std::vector<ring::Operation> operations;
  do {
    operations.push_back(source.take(now_ns));
    operations.back().cpu = cpu_id(operations.back().cpu);
    if (operations.size() == most_operations_a_step) {
      if (auto run = carry_out(operations); !run) return tl::unexpected(run.error());
      operations.clear();
    }
  } while (source.in_burst());
  if (operations.empty()) return Moved::stepped;
  if (auto run = carry_out(operations); !run) return tl::unexpected(run.error());
  return Moved::stepped;
}

/// A program of an A/B swap that is late.
ring::Result<void> KernelWorld::hold_or_settle(const ring::Operation& operation) {
  if (operation.action == ring::Action::hold) {
    auto late = real::Straggler::start(*kernel_.producers,
                                       {.source = operation.source, .cpu = operation.cpu, .size = operation.size});
    if (!late) return tl::unexpected(late.error());
    straggler_.emplace(std::move(*late));
    return {};
  }
  auto result = straggler_->finish();
  straggler_.reset();
  if (!result) return tl::unexpected(result.error());
  return {};
}

/// Between operations on an overwrite ring we look which records it took.
ring::Result<void> KernelWorld::carry_out(std::span<const ring::Operation> operations) {
  const bool of_straggler = set_.swap != nullptr && operations.front().action != ring::Action::output;
  if (of_straggler) return hold_or_settle(operations.front());
  const std::size_t at_once = overwrite_watch_ ? 1 : operations.size();
  for (std::size_t first = 0; first < operations.size(); first += at_once) {
    if (auto run = script_->run(operations.subspan(first, at_once)); !run) return tl::unexpected(run.error());
    if (overwrite_watch_) overwrite_watch_->look();
  }
  return {};
}

std::optional<std::int64_t> KernelWorld::next_event_ns() const {
  std::optional<std::int64_t> next;
  for (const SourceWorkload& source : workload_.sources()) {
    if (!source.done() && (!next || source.due_ns() < *next)) next = source.due_ns();
  }
  return next;
}

real::FloodThread KernelWorld::flood_thread(std::size_t source) const {
  const SourcePlan& plan = scenario_.sources[source];
  return {.cpu = cpu_id(plan.cpu),
          .source = static_cast<std::uint32_t>(source),
          .records = workload_.records_of(source),
          .until_committed = plan.retry,
          .min_size = plan.size.min,
          .max_size = plan.size.max,
          .flags = plan.flags,
          .force_every = static_cast<std::uint32_t>(plan.force_every),
          .discard_every = static_cast<std::uint32_t>(plan.discard_every),
          .by_output = plan.action == ring::Action::output,
          .yield_after = plan.retry ? 1u : 0u};
}

ring::Result<void> KernelWorld::start() {
  std::vector<real::FloodThread> threads;
  for (std::size_t index = 0; index < scenario_.sources.size(); ++index) threads.push_back(flood_thread(index));
  auto flood = real::Flood::start(*kernel_.producers, threads);
  if (!flood) return tl::unexpected(flood.error());
  flood_.emplace(std::move(*flood));
  return {};
}

int KernelWorld::wait_fd(int fd, std::int64_t timeout_ns) {
  pollfd waited{.fd = fd, .events = POLLIN, .revents = 0};
  const timespec timeout{.tv_sec = timeout_ns / 1'000'000'000, .tv_nsec = timeout_ns % 1'000'000'000};
  const int count = ppoll(&waited, 1, &timeout, nullptr);
  return count < 0 ? -errno : count;
}

std::uint32_t KernelWorld::ring_of(std::uint32_t source) const {
  const auto cpus = kernel_.ring_cpus();
  if (cpus.empty()) return 0;
  const bool closing = source >= producing_sources();
  const std::uint32_t on_side = closing ? source - producing_sources() : source % workload_.source_count();
  const std::uint32_t cpu = closing ? cpus[on_side % cpus.size()] : cpu_id(workload_.cpu_of(on_side));
  const std::size_t side = closing ? on_side / cpus.size() : source / workload_.source_count();
  const auto first = rings_.begin() + static_cast<std::ptrdiff_t>(side * cpus.size());
  const auto of_cpu = [cpu](const ringside_ring& ring) { return ring.cpu == static_cast<std::int32_t>(cpu); };
  return static_cast<std::uint32_t>(std::find_if(first, rings_.end(), of_cpu) - rings_.begin());
}

std::vector<std::uint64_t> KernelWorld::left() const {
  real::Left sum;
  for (const ringside_ring& ring : rings_)
    sum += real::left_in(ring, source_count(), set_.sample_type, set_.stamp_bytes);
  return sum.by_source;
}

ring::Result<void> KernelWorld::flush_losses() {
  std::vector<ring::Operation> operations;
  if (!kernel_.perf) return {};
  const auto& cpus = kernel_.perf->cpus();
  for (std::size_t index = 0; index < closing_rings(); ++index) {
    operations.push_back({.action = ring::Action::output,
                          .source = static_cast<std::uint16_t>(producing_sources() + index),
                          .cpu = static_cast<std::uint16_t>(cpus[index % cpus.size()]),
                          .size = closing_record_bytes});
  }
  if (operations.empty()) return {};
  if (auto run = script_->run(operations); !run) return tl::unexpected(run.error());
  return {};
}

/// What the producers' buffers must hold: the scenario's largest record, or 0 for their own default, which is enough
/// for what fits into 64 KiB.
std::uint32_t largest_record(const Scenario& scenario, ring::RingKind kind) {
  const std::uint32_t most = largest_payload(kind, scenario.ring.size);
  std::uint32_t largest = 0;
  for (const SourcePlan& plan : scenario.sources) {
    largest = std::max(largest, plan.size.cycle.empty() ? plan.size.max : 0);
    for (const std::uint32_t size : plan.size.cycle) {
      largest = std::max(largest, size == SizePlan::largest ? most : size);
    }
  }
  return largest <= 65536 ? 0 : largest;
}

ring::Result<void> open_ringbuf(const Scenario& scenario, const real::ProducersOptions& limits, KernelRings& rings) {
  const auto mode = scenario.ring.overwrite ? real::RingbufMode::overwrite : real::RingbufMode::refuse;
  auto ringbuf = real::RingbufMap::create(scenario.ring.size, mode);
  if (!ringbuf) return tl::unexpected(ringbuf.error());
  rings.ringbuf.emplace(std::move(*ringbuf));
  auto producers = real::Producers::load(*rings.ringbuf, limits);
  if (!producers) return tl::unexpected(producers.error());
  rings.producers.emplace(std::move(*producers));
  return {};
}

ring::Result<void> open_cpu_ringbufs(const Scenario& scenario, const real::ProducersOptions& limits,
                                     KernelRings& rings) {
  auto ringbufs = real::CpuRingbufs::create(rings.cpus, scenario.ring.size);
  if (!ringbufs) return tl::unexpected(ringbufs.error());
  rings.ringbufs.emplace(std::move(*ringbufs));
  auto producers = real::Producers::load(*rings.ringbufs, limits);
  if (!producers) return tl::unexpected(producers.error());
  rings.producers.emplace(std::move(*producers));
  return {};
}

ring::Result<void> open_perf(const Scenario& scenario, std::uint32_t sources, bool consumer_owns_rings,
                             const real::ProducersOptions& limits, KernelRings& rings) {
  const real::PerfOptions options{
      .cpus = {},
      .data_pages = static_cast<std::uint32_t>(scenario.ring.size / static_cast<std::uint64_t>(getpagesize())),
      .wakeup_events = scenario.ring.wakeup_events,
      .watermark_bytes = scenario.ring.watermark_bytes,
      .sample_time = scenario.ring.sample_time,
      .backward = scenario.ring.backward};
  auto perf = consumer_owns_rings ? real::PerfRings::map_only(options) : real::PerfRings::create(options);
  if (!perf) return tl::unexpected(perf.error());
  rings.perf.emplace(std::move(*perf));
  if (scenario.ring.sides == 2) {
    auto side_1 = real::PerfRings::create(options);
    if (!side_1) return tl::unexpected(side_1.error());
    rings.perf_side_1.emplace(std::move(*side_1));
  }
  auto producers = rings.perf_side_1 ? real::Producers::load_swap(*rings.perf, *rings.perf_side_1, sources, limits)
                                     : real::Producers::load(*rings.perf, limits);
  if (!producers) return tl::unexpected(producers.error());
  rings.producers.emplace(std::move(*producers));
  return {};
}

}  // namespace

ring::Result<std::unique_ptr<World>> make_kernel_world(const WorldRequest& request) {
  const Scenario& scenario = *request.scenario;
  Workload workload(scenario, request.kind, request.records);
  auto cpus = real::online_cpus();
  if (!cpus) return tl::unexpected(cpus.error());
  KernelRings rings;
  rings.cpus = std::move(*cpus);
  const real::ProducersOptions limits{
      .max_record_bytes = largest_record(scenario, request.kind),
      .max_concurrent = static_cast<std::uint32_t>(scenario.sources.size() + rings.cpus.size() + 8),
      .floods = scenario.drive == Drive::free,
      .holds = request.kind == ring::RingKind::ringbuf &&
               std::any_of(scenario.sources.begin(), scenario.sources.end(),
                           [](const SourcePlan& plan) { return plan.action == ring::Action::hold; }),
      .stamp = scenario.ring.stamp};
  const bool owns = (request.consumer->needs & RINGSIDE_OWNS_RINGS) != 0;
  auto opened = request.kind == ring::RingKind::perf ? open_perf(scenario, workload.source_count(), owns, limits, rings)
                : scenario.ring.per_cpu              ? open_cpu_ringbufs(scenario, limits, rings)
                                                     : open_ringbuf(scenario, limits, rings);
  if (!opened) return tl::unexpected(opened.error());
  auto world = std::make_unique<KernelWorld>(request, std::move(workload), std::move(rings));
  if (auto ready = world->prepare(request.consumer->trigger); !ready) return tl::unexpected(ready.error());
  return with_dumps(request, std::move(world));
}

}  // namespace ringside::harness
