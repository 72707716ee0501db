// SPDX-License-Identifier: Apache-2.0
//
// A program that is late: it runs on a thread of its own, which is pinned to its CPU, and looks again and again for the
// word that lets it go. A program that may put out to perf rings cannot sleep, so it costs its CPU all the while.
#include <fmt/format.h>

#include <atomic>
#include <cerrno>
#include <thread>

#include "real/pinned.h"
#include "real/producers.h"
#include "real/program.h"

namespace ringside::real {

struct Straggler::State {
  explicit State(SlotLease lease) : slot(std::move(lease)) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() { let_go(); }

  SlotLease slot;
  ring::Result<std::int32_t> outcome;
  std::atomic<bool> ended{false};
  std::thread thread;

  ringside_swap_state& swap() const { return *slot.program().swap(); }

  void run(std::uint32_t cpu) {
    if (auto pinned = pin_to(cpu); !pinned) {
      outcome = tl::unexpected(pinned.error());
    } else {
      outcome = run_once(slot.program().descriptors().straggle, slot.index(), cpu);
    }
    // (1) Release, pairs with the acquire of who waits for the choice: the outcome is there.
    ended.store(true, std::memory_order_release);
  }

  void let_go() {
    if (!thread.joinable()) return;
    // (2) Release, pairs with nothing but the program's own later reads: what we did before is done.
    __atomic_store_n(&swap().go, 1, __ATOMIC_RELEASE);
    thread.join();
  }
};

Straggler::Straggler(std::unique_ptr<State> state) : state_(std::move(state)) {}
Straggler::~Straggler() = default;
Straggler::Straggler(Straggler&&) noexcept = default;
Straggler& Straggler::operator=(Straggler&&) noexcept = default;

ring::Result<Straggler> Straggler::start(const Producers& producers, const StraggleOptions& options) {
  const std::shared_ptr<Program>& program = producers.program();
  const std::string attempt =
      fmt::format("hold a program of source {} between its side and its output", options.source);
  if (program->swap() == nullptr) return ring::error(attempt, "these rings have no sides");
  if (options.source >= program->swap_sources() || options.size > program->max_record_bytes()) {
    return ring::errno_error(attempt, EINVAL);
  }
  auto lease = SlotLease::take(program);
  if (!lease) return tl::unexpected(lease.error());
  lease->slot().source = options.source;
  lease->slot().min_size = options.size;
  auto state = std::make_unique<State>(std::move(*lease));
  ringside_swap_state& swap = state->swap();
  swap.go = 0;
  __atomic_store_n(&swap.straggler, RINGSIDE_STRAGGLER_NONE, __ATOMIC_RELAXED);  // the call that runs it orders this
  state->thread = std::thread([held = state.get(), cpu = options.cpu] { held->run(cpu); });
  // (3) Acquire, pairs with the program's store on its CPU: it has read the transfer count.
  while (__atomic_load_n(&swap.straggler, __ATOMIC_ACQUIRE) == RINGSIDE_STRAGGLER_NONE) {
    if (state->ended.load(std::memory_order_acquire)) {  // (1)
      state->thread.join();
      if (!state->outcome) return tl::unexpected(state->outcome.error());
      return ring::errno_error(attempt, -*state->outcome);
    }
    std::this_thread::yield();
  }
  return Straggler(std::move(state));
}

ring::Result<int> Straggler::finish() {
  state_->let_go();
  if (!state_->outcome) return tl::unexpected(state_->outcome.error());
  const bool late = state_->swap().straggler == RINGSIDE_STRAGGLER_LATE;
  if (late) return ring::errno_error("hold a program between its side and its output", ETIMEDOUT);
  if (auto passed = state_->slot.program().wakeups().pass(state_->slot.program().cpus().front()); !passed) {
    return tl::unexpected(passed.error());
  }
  return *state_->outcome;
}

}  // namespace ringside::real
