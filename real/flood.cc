// SPDX-License-Identifier: Apache-2.0
//
// Pinned threads that run the flood program again and again. The program runs with preemption off, so a run is kept to
// about a millisecond; between runs the thread yields when the ring was full.
#include <bpf/bpf.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cassert>
#include <latch>
#include <set>

#include "real/inspect.h"
#include "real/pinned.h"
#include "real/producers.h"
#include "real/program.h"
#include "ring/layout.h"

namespace ringside::real {

namespace {

constexpr std::uint32_t most_records_a_run = 8192;
constexpr std::uint64_t most_bytes_a_run = 1u << 20;
constexpr std::uint32_t max_reserve_bytes = 0xffffff;  // see script.cc

/// Whether flood_fixed has a path for that size, which the verifier must know.
bool is_fixed_size(std::uint32_t size) { return std::has_single_bit(size) && size >= 64 && size <= 2048; }

std::uint64_t largest_span(ring::RingKind kind, const FloodThread& order) {
  const std::uint32_t size = std::max(order.min_size, order.max_size);
  return kind == ring::RingKind::perf ? ring::perf::sample_bytes(size) : ring::ringbuf::span_of(size);
}

/// How many of the largest records fit now. One lost-record is kept free in a perf ring.
std::uint64_t room_for(const ringside_ring& ring, std::uint64_t span) {
  const Positions at = positions_of(ring);
  const std::uint64_t used = at.producer - at.consumer;
  const std::uint64_t kept_free = 8 + (ring.kind == RINGSIDE_PERF ? ring::perf::lost_bytes : 0);
  return used + kept_free >= ring.data_size ? 0 : (ring.data_size - used - kept_free) / span;
}

ring::Result<void> check(const Program& program, const FloodThread& order) {
  const std::string attempt = fmt::format("flood by source {}", order.source);
  const std::uint32_t size = std::max(order.min_size, order.max_size);
  if (order.source >= max_sources) return ring::error(attempt, fmt::format("sources are below {}", max_sources));
  if (size > program.max_record_bytes()) {
    return ring::error(attempt, fmt::format("records are at most {} bytes here (ProducersOptions::max_record_bytes)",
                                            program.max_record_bytes()));
  }
  const bool perf = program.kind() == ring::RingKind::perf;
  if (perf && (order.discard_every != 0 || order.force_every != 0 || order.flags != 0)) {
    return ring::error(attempt, "a perf ring knows neither discards nor wake-up flags");
  }
  if (!perf && !order.by_output && size > max_reserve_bytes) {
    return ring::error(attempt, "the kernel reserves at most 2^24-1 bytes of a size that varies");
  }
  return {};
}

ring::Result<void> check(const Program& program, std::span<const FloodThread> orders) {
  if (program.descriptors().flood < 0) {
    return ring::error("start flood", "its programs are not loaded", "set ProducersOptions::floods");
  }
  std::set<std::uint32_t> sources;
  for (const FloodThread& order : orders) {
    if (auto good = check(program, order); !good) return good;
    if (!sources.insert(order.source).second) {
      return ring::error(fmt::format("flood by source {}", order.source), "two threads cannot share a source");
    }
  }
  return {};
}

}  // namespace

struct Flood::State {
  explicit State(std::size_t count) : pinned(static_cast<std::ptrdiff_t>(count)) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() { [[maybe_unused]] const auto untold = end(); }

  struct Member {
    Member(SlotLease lease, const FloodThread& what) : slot(std::move(lease)), order(what) {}
    SlotLease slot;
    FloodThread order;
    int program_fd = -1;
    ring::Result<void> outcome;
    std::thread thread;
  };

  std::vector<std::unique_ptr<Member>> members;
  std::latch pinned;                    // every thread stands on its CPU, or has failed to
  std::latch go{1};                     // they may start, or are told to stop
  std::atomic<std::size_t> running{0};  // threads that have not ended
  std::atomic<bool> stopping{false};
  Fd done;  // eventfd

  void prepare(Member& member) const;
  void serve(Member& member);
  ring::Result<void> produce(Member& member) const;
  void stop() const;
  ring::Result<void> end();
  bool started = false;

 private:
  void release_start() {
    if (!started) go.count_down();
    started = true;
  }
  friend class Flood;
};

void Flood::State::prepare(Member& member) const {
  const FloodThread& order = member.order;
  const Program& program = member.slot.program();
  const ringside_counters& counters = program.shared().counters[order.source];
  ringside_slot& slot = member.slot.slot();
  slot.source = order.source;
  slot.flags = order.flags;
  slot.action = order.by_output ? RINGSIDE_OUTPUT : RINGSIDE_SUBMIT;
  slot.min_size = order.min_size;
  slot.max_size = std::max(order.min_size, order.max_size);
  slot.force_every = order.force_every;
  slot.discard_every = order.discard_every;
  slot.give_up = order.yield_after;
  slot.goal_kind = order.until_committed ? RINGSIDE_GOAL_DONE : RINGSIDE_GOAL_ATTEMPTED;
  slot.goal = order.records + (order.until_committed ? counters.committed + counters.discarded + counters.malformed
                                                     : counters.attempts);
  const Program::Descriptors& descriptors = program.descriptors();
  const bool fixed = descriptors.flood_fixed >= 0 && is_fixed_size(slot.min_size) && slot.max_size == slot.min_size &&
                     !order.by_output && program.stamp() == ring::Stamp::none;
  member.program_fd = fixed ? descriptors.flood_fixed : descriptors.flood;
}

/// The body of a thread.
void Flood::State::serve(Member& member) {
  member.outcome = pin_to(member.order.cpu);  // looked at by start()
  pinned.count_down();
  go.wait();
  // (1) acquire: pairs with the release in (2); a start that was given up is seen.
  if (member.outcome && !stopping.load(std::memory_order_acquire)) member.outcome = produce(member);
  // (3) release and acquire: who sees 0 in (4) sees what every thread did.
  if (running.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t ignored = ::write(done.get(), &one, sizeof(one));
  }
}

ring::Result<void> Flood::State::produce(Member& member) const {
  ringside_slot& slot = member.slot.slot();
  const std::uint64_t span = largest_span(member.slot.program().kind(), member.order);
  const std::uint64_t batch = std::clamp<std::uint64_t>(most_bytes_a_run / span, 1, most_records_a_run);
  // (5) relaxed: only the command itself matters; the program looks at it as well, before each record.
  while (__atomic_load_n(&slot.command, __ATOMIC_RELAXED) != RINGSIDE_STOP) {
    const std::uint64_t room =
        member.order.room_of == nullptr ? batch : std::min(batch, room_for(*member.order.room_of, span));
    if (room == 0) {
      ::sched_yield();
      continue;
    }
    slot.batch = static_cast<std::uint32_t>(room);
    const auto ended = run_once(member.program_fd, member.slot.index(), member.order.cpu);
    if (!ended) return tl::unexpected(ended.error());
    if (*ended < 0) return ring::errno_error("run flood program", -*ended);
    if (*ended == RINGSIDE_FLOOD_GOAL || *ended == RINGSIDE_FLOOD_STOPPED) break;
    if (*ended == RINGSIDE_FLOOD_FULL) ::sched_yield();
  }
  // Who sees that the flood is done sees its wake-ups, too.
  return member.slot.program().wakeups().pass(member.order.cpu);
}

void Flood::State::stop() const {
  for (const auto& member : members) {
    __atomic_store_n(&member->slot.slot().command, RINGSIDE_STOP, __ATOMIC_RELAXED);  // read in (5)
  }
}

/// Stops and joins. The first error.
ring::Result<void> Flood::State::end() {
  release_start();
  ring::Result<void> outcome;
  for (const auto& member : members) {
    if (member->thread.joinable()) member->thread.join();
    if (outcome && !member->outcome) outcome = member->outcome;
  }
  return outcome;
}

Flood::Flood(std::unique_ptr<State> state) : state_(std::move(state)) {}
Flood::Flood(Flood&&) noexcept = default;
Flood& Flood::operator=(Flood&& other) noexcept {
  if (state_) state_->stop();
  state_ = std::move(other.state_);
  return *this;
}
Flood::~Flood() {
  if (state_) state_->stop();
}

ring::Result<Flood> Flood::start(const Producers& producers, std::span<const FloodThread> threads) {
  const std::shared_ptr<Program>& program = producers.program();
  if (auto good = check(*program, threads); !good) return tl::unexpected(good.error());
  auto state = std::make_unique<State>(threads.size());
  state->done = Fd(::eventfd(threads.empty() ? 1 : 0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!state->done) return ring::errno_error("start flood", errno);
  for (const FloodThread& order : threads) {
    auto lease = SlotLease::take(program);
    if (!lease) return tl::unexpected(lease.error());
    state->members.push_back(std::make_unique<State::Member>(std::move(*lease), order));
    state->prepare(*state->members.back());
  }
  state->running.store(threads.size(), std::memory_order_relaxed);  // the threads start after this
  for (const auto& member : state->members) {
    auto thread = start_thread([whole = state.get(), self = member.get()] { whole->serve(*self); });
    if (!thread) {
      state->stopping.store(true, std::memory_order_release);  // (2)
      return tl::unexpected(thread.error());
    }
    member->thread = std::move(*thread);
  }
  state->pinned.wait();
  for (const auto& member : state->members) {
    if (member->outcome) continue;
    state->stopping.store(true, std::memory_order_release);  // (2)
    return tl::unexpected(member->outcome.error());
  }
  state->release_start();
  return Flood(std::move(state));
}

bool Flood::done() const { return state_->running.load(std::memory_order_acquire) == 0; }  // (4)

void Flood::stop() const { state_->stop(); }

ring::Result<void> Flood::join() { return state_->end(); }

int Flood::done_fd() const { return state_->done.get(); }

}  // namespace ringside::real
