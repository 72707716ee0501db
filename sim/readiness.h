// SPDX-License-Identifier: Apache-2.0
//
// Readiness: wait queues, the poll methods that epoll asks, and epoll itself (KERNEL-RINGS 4).
//
// The point of the model is what epoll does NOT do: it looks only at its ready list, and an item gets on that list only
// (a) at ADD or MOD when the poll method reports something, (b) when the item's wait queue is woken, and (c) when it is
// level-triggered and was just reported. So data that nobody announced stays invisible, and a perf flag that somebody
// else has taken is gone.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "ring/consumer.h"
#include "ring/result.h"
#include "sim/rule.h"

namespace ringside::sim {

/// Poll bits as the kernel numbers them.
inline constexpr std::uint32_t poll_in = 0x001;
inline constexpr std::uint32_t poll_out = 0x004;
inline constexpr std::uint32_t poll_err = 0x008;
inline constexpr std::uint32_t poll_hup = 0x010;
inline constexpr std::uint32_t poll_read_norm = 0x040;
inline constexpr std::uint32_t poll_write_norm = 0x100;
/// What rings that the kernel fills report when they are readable: POLLIN | POLLRDNORM [4.1].
inline constexpr std::uint32_t poll_readable = poll_in | poll_read_norm;
/// What a ring that user space fills reports when it is writable: POLLOUT | POLLWRNORM [4.1].
inline constexpr std::uint32_t poll_writable = poll_out | poll_write_norm;

/// One that sleeps on a wait queue.
class Waiter {
 public:
  virtual ~Waiter() = default;
  /// The queue was woken; no bits are passed [4.2]. Called with the queue locked: must not touch the queue.
  virtual void woken() = 0;
};

/// A wait queue: waking wakes all of its waiters. Thread-safe.
class WaitQueue {
 public:
  void add(Waiter& waiter);
  void remove(Waiter& waiter);
  void wake_all();
  /// How often the queue was woken.
  std::uint64_t wakeups() const;

 private:
  mutable std::mutex mutex_;
  std::vector<Waiter*> waiters_;
  std::uint64_t wakeups_ = 0;
};

/// A file that can be polled.
class PollSource {
 public:
  virtual ~PollSource() = default;
  /// The file's poll method: what is ready now [4.1]. Polling a perf ring takes its flag. Thread-safe.
  virtual std::uint32_t poll() = 0;
  virtual WaitQueue& wait_queue() = 0;
};

enum class Trigger : std::uint8_t { level = RINGSIDE_LEVEL, edge = RINGSIDE_EDGE };

/// One epoll set. Thread-safe. Sources must outlive it.
class Epoll {
 public:
  /// `broken`: one of the epoll_ rules, for a set that breaks it on purpose.
  explicit Epoll(Rule broken = Rule::none);
  ~Epoll();
  Epoll(const Epoll&) = delete;
  Epoll& operator=(const Epoll&) = delete;

  /// EPOLL_CTL_ADD for the bits of `interest` (EPOLLIN, EPOLLOUT); ERR and HUP are always reported. `tag` is what waits
  /// report as `ring`. Errors: EEXIST. Polls the source once: a pending perf flag is taken, and lost [4.1].
  ring::Result<void> add(PollSource& source, Trigger trigger, std::uint32_t tag, std::uint32_t interest = poll_in);
  /// EPOLL_CTL_MOD of the trigger; the interest stays. Errors: ENOENT. Polls the source once, like add.
  ring::Result<void> modify(PollSource& source, Trigger trigger);
  /// EPOLL_CTL_DEL. Errors: ENOENT.
  ring::Result<void> remove(PollSource& source);

  /// epoll_wait with timeout 0: polls the items on the ready list, oldest first. Returns how many entries of `ready`
  /// were filled; `ready` must not be empty.
  std::size_t poll_ready(std::span<ringside_ready> ready);

  /// Whether poll_ready would find anything to poll: an item that was announced, ready or not. Takes no flag.
  bool has_announced() const;

  /// epoll_wait: sleeps until something is ready, at most timeout_ns of real time (< 0: no deadline). Returns the
  /// entries filled, 0 at the deadline, -ECANCELED after cancel().
  int wait(std::span<ringside_ready> ready, std::int64_t timeout_ns);
  /// Ends every wait, now and later.
  void cancel();

 private:
  struct Item;

  Item* find(const PollSource& source);
  void announce(Item& item);
  std::size_t collect(std::span<ringside_ready> ready);

  mutable std::mutex mutex_;
  std::condition_variable announced_;
  std::list<std::unique_ptr<Item>> items_;
  std::deque<Item*> ready_list_;
  Rule broken_;
  bool cancelled_ = false;
};

}  // namespace ringside::sim
