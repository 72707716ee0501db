// SPDX-License-Identifier: Apache-2.0
#include "explore/runtime/wait_queue.h"

#include <bit>
#include <functional>

#include "explore/runtime/access_modes.h"

namespace ringside::explore::runtime {
namespace {

/// The word: for each thread a bit in three sets, and a number.
struct Sleepers {
  std::uint8_t waiting = 0;
  std::uint8_t released = 0;  ///< were woken by name; they take note when they wait again
  std::uint8_t eligible = 0;  ///< waited when a wake-up came that is still to be taken
  std::uint8_t wakeups = 0;   ///< to be taken by the eligible
};

Sleepers unpack(std::uint64_t word) { return std::bit_cast<Sleepers>(static_cast<std::uint32_t>(word)); }
std::uint64_t pack(const Sleepers& sleepers) { return std::bit_cast<std::uint32_t>(sleepers); }

using Change = std::function<std::optional<std::uint64_t>(std::uint64_t)>;

std::uint8_t bit_of(const Engine& engine) { return static_cast<std::uint8_t>(1u << engine.running()); }

bool is_woken(const Sleepers& sleepers, std::uint8_t me) {
  return (sleepers.released & me) != 0 || ((sleepers.eligible & me) != 0 && sleepers.wakeups > 0);
}

/// What is left when the thread takes note of its wake-up; nothing changes for one that was woken by name.
std::optional<std::uint64_t> without(Sleepers sleepers, std::uint8_t me) {
  if ((sleepers.released & me) != 0) return std::nullopt;
  const auto others = static_cast<std::uint8_t>(~me);
  sleepers.waiting &= others;
  sleepers.eligible &= others;
  --sleepers.wakeups;
  if (sleepers.wakeups == 0) sleepers.eligible = 0;
  return pack(sleepers);
}

}  // namespace

void WaitQueue::enroll() {
  const std::uint8_t me = bit_of(engine_);
  const Change change = [me](std::uint64_t word) {
    Sleepers sleepers = unpack(word);
    sleepers.waiting |= me;
    sleepers.released &= static_cast<std::uint8_t>(~me);
    return std::optional(pack(sleepers));
  };
  await_update(engine_, word_, sizeof *word_, Order::acq_rel, nullptr, change);
}

void WaitQueue::sleep(bool timed) {
  const std::uint8_t me = bit_of(engine_);
  const std::function<bool(std::uint64_t)> woken = [me](std::uint64_t word) { return is_woken(unpack(word), me); };
  wait_timed(engine_, timed, [&] {
    await_update(engine_, word_, sizeof *word_, Order::acq_rel, &woken,
                 [me](std::uint64_t word) { return without(unpack(word), me); });
  });
}

bool WaitQueue::leave() {
  const std::uint8_t me = bit_of(engine_);
  const Change change = [me](std::uint64_t word) {
    Sleepers sleepers = unpack(word);
    if (is_woken(sleepers, me)) return without(sleepers, me);
    sleepers.waiting &= static_cast<std::uint8_t>(~me);
    sleepers.eligible &= static_cast<std::uint8_t>(~me);
    return std::optional(pack(sleepers));
  };
  return is_woken(unpack(await_update(engine_, word_, sizeof *word_, Order::acq_rel, nullptr, change)), me);
}

void WaitQueue::wake(std::uint32_t count) {
  const Change change = [count](std::uint64_t word) -> std::optional<std::uint64_t> {
    Sleepers sleepers = unpack(word);
    const auto waiting = static_cast<std::uint32_t>(std::popcount(sleepers.waiting));
    if (waiting == sleepers.wakeups) return std::nullopt;  // all that wait have their wake-up
    if (count >= waiting - sleepers.wakeups) {
      sleepers = {.waiting = 0,
                  .released = static_cast<std::uint8_t>(sleepers.released | sleepers.waiting),
                  .eligible = 0,
                  .wakeups = 0};
    } else {
      sleepers.eligible |= sleepers.waiting;
      sleepers.wakeups = static_cast<std::uint8_t>(sleepers.wakeups + count);
    }
    return pack(sleepers);
  };
  await_update(engine_, word_, sizeof *word_, Order::acq_rel, nullptr, change);
}

bool timeout_passes(Engine& engine) {
  ThreadRecord& thread = my_record(engine);
  if (thread.timeouts >= timeouts_each_thread()) {
    world.timeouts_refused = true;
    return false;
  }
  if (engine.choose(2) == 0) return false;
  ++thread.timeouts;
  note_effect(engine);
  return true;
}

}  // namespace ringside::explore::runtime
