// SPDX-License-Identifier: Apache-2.0
//
// The model as a world: the machine of sim/ carries out the workload's operations, step by step or on threads.
#include <fmt/format.h>

#include <atomic>
#include <cassert>
#include <thread>

#include "harness/backward_world.h"
#include "harness/swap_programs.h"
#include "harness/world.h"
#include "real/inspect.h"
#include "sim/machine.h"
#include "sim/perf_ring.h"

namespace ringside::harness {

namespace {

constexpr std::uint32_t closing_record_bytes = 16;
// What the model is when the scenario names no kernel and the default one has no such rings.
constexpr sim::KernelVersion first_with_overwrite{6, 19};

class ModelWorld final : public World {
 public:
  ModelWorld(const WorldRequest& request, Workload workload, std::unique_ptr<sim::Machine> machine)
      : workload_(std::move(workload)),
        machine_(std::move(machine)),
        stepped_(request.scenario->drive == Drive::stepped),
        kind_(request.kind),
        scenario_(*request.scenario) {
    for (std::uint32_t index = 0; index < machine_->ring_count(); ++index) {
      rings_.push_back(machine_->user_view(index));
      if (kind_ == ring::RingKind::perf) rings_.back().cpu *= scenario_.ring.cpu_step;
    }
    set_ = {.kind = static_cast<std::uint32_t>(request.kind),
            .ring_count = machine_->ring_count(),
            .rings = rings_.data(),
            .map_fd = -1,
            .data_pages = static_cast<std::uint32_t>(scenario_.ring.size / rings_[0].page_size),
            .wakeup_events = scenario_.ring.wakeup_events,
            .watermark_bytes = scenario_.ring.watermark_bytes,
            .swap = nullptr,
            .sample_type = sample_type_of(scenario_.ring),
            .backward = scenario_.ring.backward ? 1u : 0u,
            .stamp_bytes = ring::stamp_bytes(scenario_.ring.stamp)};
    if (scenario_.ring.sides == 2) {
      set_.swap = swap_.emplace(*machine_, scenario_.ring.cpus, workload_.source_count()).words();
    }
  }
  ~ModelWorld() override { stop_and_join(); }

  const ringside_ring_set& rings() const override { return set_; }
  int adopt(const ringside_ring&) override { return -EINVAL; }
  void forget_adopted() override {}

  ring::Result<Moved> step(Random& random, std::int64_t now_ns) override;
  std::optional<std::int64_t> next_event_ns() const override;
  // A shared-memory access.
  std::int64_t step_ns() const override { return 50; }
  bool in_burst() const override {
    return bursting_.has_value() && (workload_.sources()[*bursting_].in_burst() || runnable(burst_cpu()));
  }

  ring::Result<void> start() override;
  bool producers_running() const override { return running_.load(std::memory_order_acquire) > 0; }
  ring::Result<void> end() override {
    stop_and_join();
    return {};
  }

  int wait(std::span<ringside_ready> ready, std::int64_t timeout_ns) override {
    if (stepped_) return static_cast<int>(machine_->epoll().poll_ready(ready));
    return machine_->wait_blocking(ready, timeout_ns);
  }
  int wait_fd(int, std::int64_t) override { return -EBADF; }
  int pause(std::uint32_t ring, bool on) override {
    if (kind_ != ring::RingKind::perf || ring >= ring_count()) return -EINVAL;
    machine_->perf(ring).pause(on);
    return 0;
  }

  int quiesce(std::uint32_t ring) override {
    if (kind_ != ring::RingKind::perf || ring >= ring_count()) return -EINVAL;
    if (!stepped_) return -EOPNOTSUPP;
    while (machine_->runnable(ring)) machine_->step(ring);
    return 0;
  }

  std::uint32_t ring_count() const override { return static_cast<std::uint32_t>(rings_.size()); }
  const ringside_ring& ring(std::uint32_t index) const override { return rings_[index]; }
  RingPositions positions(std::uint32_t index) const override {
    const real::Positions at = real::positions_of(rings_[index]);
    return {.consumer = at.consumer, .producer = at.producer};
  }
  AtHead at_head(std::uint32_t index) const override {
    if (machine_->deliverable(index)) return AtHead::committed;
    return real::head_of(rings_[index]) == real::Head::busy ? AtHead::busy : AtHead::nothing;
  }

  ring::ProducerLedger ledger() const override { return machine_->ledger(); }
  std::uint64_t reserved_so_far(std::uint32_t source) const override { return machine_->reserved_so_far(source); }
  std::uint32_t source_count() const override { return producing_sources() + ring_count(); }
  std::uint32_t ring_of(std::uint32_t source) const override {
    if (ring_count() == 1) return 0;
    if (source >= producing_sources()) return source - producing_sources();
    const std::uint32_t side = source / workload_.source_count();
    return workload_.cpu_of(source % workload_.source_count()) + side * scenario_.ring.cpus;
  }
  std::uint64_t counted() const override { return swap_ ? swap_->counted() : 0; }
  std::uint64_t in_flight(std::uint32_t side) const override { return swap_ ? swap_->in_flight(side) : 0; }
  std::vector<std::uint64_t> left() const override { return machine_->records_left(); }
  const ring::Overwritten& overwritten() const override { return machine_->overwritten(); }
  ring::Result<void> flush_losses() override;
  std::vector<std::string> not_observable() const override { return {}; }

 private:
  std::uint32_t producing_sources() const { return workload_.source_count() * scenario_.ring.sides; }
  // One CPU of the scenario: it runs its operation on the machine's, or a program of the swap's.
  bool runnable(std::uint32_t cpu) const { return swap_ ? swap_->runnable(cpu) : machine_->runnable(cpu); }
  bool can_begin(std::uint32_t cpu) const {
    return swap_ ? swap_->can_begin(cpu) : machine_->can_enter(cpu, sim::Context::task);
  }
  void step_cpu(std::uint32_t cpu) { swap_ ? swap_->step(cpu) : static_cast<void>(machine_->step(cpu)); }
  int run(const ring::Operation& operation) { return swap_ ? swap_->run(operation) : machine_->run(operation); }

  std::uint32_t burst_cpu() const { return workload_.cpu_of(static_cast<std::uint32_t>(*bursting_)); }
  void stop_and_join();
  void begin(std::size_t source, std::int64_t now_ns);
  void produce_on(std::uint16_t cpu);
  void produce(SourceWorkload& source, bool retry);

  Workload workload_;
  std::unique_ptr<sim::Machine> machine_;
  std::optional<SwapPrograms> swap_;
  const bool stepped_;
  const ring::RingKind kind_;
  const Scenario& scenario_;
  std::vector<ringside_ring> rings_;
  ringside_ring_set set_{};
  std::optional<std::size_t> bursting_;  // the source whose burst nobody interrupts
  std::vector<std::thread> threads_;
  std::atomic<int> running_{0};
  std::atomic<bool> stop_{false};
};

void ModelWorld::stop_and_join() {
  // (W1) relaxed: the flag carries no data; the threads look at it again and again.
  stop_.store(true, std::memory_order_relaxed);
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void ModelWorld::begin(std::size_t source, std::int64_t now_ns) {
  SourceWorkload& workload = workload_.sources()[source];
  const ring::Operation operation = workload.take(now_ns);
  if (swap_) {
    swap_->begin(operation);
  } else {
    const bool begun = machine_->begin(operation.cpu, sim::Context::task, operation);
    assert(begun);
    (void)begun;
  }
  if (workload.in_burst()) bursting_ = source;
}

/// One choice among all that can move: a CPU with something to do, or a source that is due on an idle CPU. While a
/// burst is under way only its own CPU moves.
ring::Result<Moved> ModelWorld::step(Random& random, std::int64_t now_ns) {
  if (bursting_ && !in_burst()) bursting_.reset();
  std::vector<std::size_t> choices;  // CPUs, then CPU count + sources
  const std::size_t cpus = scenario_.ring.cpus;
  for (std::uint32_t cpu = 0; cpu < cpus; ++cpu) {
    if (runnable(cpu) && (!bursting_ || cpu == burst_cpu())) choices.push_back(cpu);
  }
  bool due_later = false;
  for (std::size_t index = 0; index < workload_.sources().size(); ++index) {
    const SourceWorkload& source = workload_.sources()[index];
    if (source.done() || (bursting_ && index != *bursting_)) continue;
    const std::uint16_t cpu = workload_.cpu_of(static_cast<std::uint32_t>(index));
    if (source.due_ns() > now_ns) {
      due_later = true;
    } else if (can_begin(cpu)) {
      choices.push_back(cpus + index);
    }
  }
  if (choices.empty()) return due_later ? Moved::waiting : Moved::done;
  const std::size_t choice = choices[random.below(choices.size())];
  if (choice >= cpus) {
    begin(choice - cpus, now_ns);
  } else {
    step_cpu(static_cast<std::uint32_t>(choice));
  }
  return Moved::stepped;
}

std::optional<std::int64_t> ModelWorld::next_event_ns() const {
  std::optional<std::int64_t> next;
  for (const SourceWorkload& source : workload_.sources()) {
    if (!source.done() && (!next || source.due_ns() < *next)) next = source.due_ns();
  }
  if (!next && (!machine_->idle() || (swap_ && !swap_->idle()))) return 0;
  return next;
}

/// Free drive: one operation after the other; an attempt that found the ring full is made again when it is to be.
void ModelWorld::produce(SourceWorkload& source, bool retry) {
  const ring::Operation operation = source.take(0);
  while (!stop_.load(std::memory_order_relaxed)) {
    const int result = run(operation);
    if (!retry || (result != -ENOSPC && result != -EAGAIN)) return;
    std::this_thread::yield();
  }
}

void ModelWorld::produce_on(std::uint16_t cpu) {
  for (bool moved = true; moved && !stop_.load(std::memory_order_relaxed);) {
    moved = false;
    for (std::size_t index = 0; index < workload_.sources().size(); ++index) {
      SourceWorkload& source = workload_.sources()[index];
      if (workload_.cpu_of(static_cast<std::uint32_t>(index)) != cpu || source.done()) continue;
      produce(source, scenario_.sources[index].retry);
      moved = true;
    }
  }
  // (W2) release, pairs with the acquire in producers_running: what was produced is there for who sees the end.
  running_.fetch_sub(1, std::memory_order_release);
}

ring::Result<void> ModelWorld::start() {
  running_.store(scenario_.ring.cpus, std::memory_order_relaxed);
  for (std::uint16_t cpu = 0; cpu < scenario_.ring.cpus; ++cpu) {
    threads_.emplace_back([this, cpu] { produce_on(cpu); });
  }
  return {};
}

ring::Result<void> ModelWorld::flush_losses() {
  if (kind_ != ring::RingKind::perf) return {};
  for (std::uint32_t index = 0; index < ring_count(); ++index) {
    const ring::Operation closing{.action = ring::Action::output,
                                  .source = static_cast<std::uint16_t>(producing_sources() + index),
                                  .cpu = static_cast<std::uint16_t>(index),
                                  .size = closing_record_bytes};
    if (swap_) {
      swap_->run_on(index / scenario_.ring.cpus, closing);
    } else {
      machine_->run(closing);
    }
  }
  return {};
}

}  // namespace

ring::Result<std::unique_ptr<World>> make_model_world(const WorldRequest& request) {
  const Scenario& scenario = *request.scenario;
  Workload workload(scenario, request.kind, request.records);
  sim::MachineOptions options;
  options.kind = request.kind;
  options.cpus = scenario.ring.cpus * scenario.ring.sides;
  options.sources = workload.source_count() * scenario.ring.sides +
                    (request.kind == ring::RingKind::perf || scenario.ring.per_cpu ? options.cpus : 1u);
  options.data_size = scenario.ring.size;
  options.start_position = scenario.ring.start;
  options.wakeup_events = scenario.ring.wakeup_events;
  options.watermark_bytes = scenario.ring.watermark_bytes;
  options.sample_time = scenario.ring.sample_time;
  options.overwrite = scenario.ring.overwrite;
  options.backward = scenario.ring.backward;
  options.per_cpu = scenario.ring.per_cpu;
  options.stamp = scenario.ring.stamp;
  if (options.overwrite) options.kernel = first_with_overwrite;
  options.seed = request.seed;
  options.faults.stall_every = scenario.faults.stall_every;
  options.faults.stall_turns = scenario.faults.stall_turns;
  options.faults.lock_failures_ppm = scenario.faults.lock_fails_percent * 10'000;
  if (!scenario.ring.kernel.empty()) {
    const auto version = sim::parse_kernel_version(scenario.ring.kernel);
    if (!version) return tl::unexpected(version.error());
    options.kernel = *version;
  }
  auto machine = sim::Machine::create(options);
  if (!machine) return tl::unexpected(machine.error());
  const auto trigger = request.consumer->trigger == RINGSIDE_EDGE ? sim::Trigger::edge : sim::Trigger::level;
  if (auto armed = (*machine)->arm(trigger); !armed) return tl::unexpected(armed.error());
  return with_dumps(request, std::make_unique<ModelWorld>(request, std::move(workload), std::move(*machine)));
}

}  // namespace ringside::harness
