// SPDX-License-Identifier: Apache-2.0
#include "sim/readiness.h"

#include <algorithm>
#include <cassert>
#include <chrono>

namespace ringside::sim {

void WaitQueue::add(Waiter& waiter) {
  const std::lock_guard guard(mutex_);
  waiters_.push_back(&waiter);
}

void WaitQueue::remove(Waiter& waiter) {
  const std::lock_guard guard(mutex_);
  std::erase(waiters_, &waiter);
}

void WaitQueue::wake_all() {
  const std::lock_guard guard(mutex_);
  ++wakeups_;
  for (Waiter* waiter : waiters_) waiter->woken();
}

std::uint64_t WaitQueue::wakeups() const {
  const std::lock_guard guard(mutex_);
  return wakeups_;
}

// The order of locks: a wait queue's, then the set's. So nothing here touches a wait queue under the set's lock.
struct Epoll::Item : Waiter {
  Item(Epoll& owner, PollSource& what, Trigger how, std::uint32_t name, std::uint32_t interest)
      : epoll(&owner), source(&what), trigger(how), tag(name), reported_bits(interest | poll_err | poll_hup) {}

  void woken() override {
    const std::lock_guard guard(epoll->mutex_);
    epoll->announce(*this);
  }

  // What the poll method says of the bits that the item reports.
  std::uint32_t poll() const { return source->poll() & reported_bits; }

  Epoll* epoll;
  PollSource* source;
  Trigger trigger;
  std::uint32_t tag;
  std::uint32_t reported_bits;  // what the item asked for, and those that are always reported
  bool on_ready_list = false;
};

Epoll::Epoll(Rule broken) : broken_(broken) {}

Epoll::~Epoll() {
  for (const auto& item : items_) item->source->wait_queue().remove(*item);
}

Epoll::Item* Epoll::find(const PollSource& source) {
  const auto found = std::ranges::find_if(items_, [&](const auto& item) { return item->source == &source; });
  return found == items_.end() ? nullptr : found->get();
}

void Epoll::announce(Item& item) {
  if (!item.on_ready_list) {
    item.on_ready_list = true;
    ready_list_.push_back(&item);
  }
  announced_.notify_all();
}

ring::Result<void> Epoll::add(PollSource& source, Trigger trigger, std::uint32_t tag, std::uint32_t interest) {
  Item* item = nullptr;
  {
    const std::lock_guard guard(mutex_);
    if (find(source) != nullptr) {
      return ring::errno_error("add ring " + std::to_string(tag) + " to the epoll set", EEXIST, "add it once");
    }
    item = items_.emplace_back(std::make_unique<Item>(*this, source, trigger, tag, interest)).get();
  }
  // First on the queue, then polled: a wake-up in between is not missed.
  source.wait_queue().add(*item);
  const std::lock_guard guard(mutex_);
  const bool ready = item->poll() != 0;
  if (ready && broken_ != Rule::epoll_add_polls) announce(*item);
  return {};
}

ring::Result<void> Epoll::modify(PollSource& source, Trigger trigger) {
  const std::lock_guard guard(mutex_);
  Item* item = find(source);
  if (item == nullptr) return ring::errno_error("modify a ring of the epoll set", ENOENT, "add it first");
  item->trigger = trigger;
  if (item->poll() != 0) announce(*item);
  return {};
}

ring::Result<void> Epoll::remove(PollSource& source) {
  std::unique_ptr<Item> item;
  {
    const std::lock_guard guard(mutex_);
    const auto found = std::ranges::find_if(items_, [&](const auto& each) { return each->source == &source; });
    if (found == items_.end()) return ring::errno_error("remove a ring of the epoll set", ENOENT, "add it first");
    item = std::move(*found);
    items_.erase(found);
  }
  source.wait_queue().remove(*item);
  // From here on nobody wakes the item; what an earlier wake-up has put on the list goes with it.
  const std::lock_guard guard(mutex_);
  std::erase(ready_list_, item.get());
  return {};
}

// Polls the items that were announced, oldest first. Those that did not fit stay in front; level-triggered ones that
// were reported go to the end [4.2 c].
std::size_t Epoll::collect(std::span<ringside_ready> ready) {
  assert(!ready.empty());
  std::size_t count = 0;
  for (std::size_t left = ready_list_.size(); left > 0 && count < ready.size(); --left) {
    Item* item = ready_list_.front();
    ready_list_.pop_front();
    item->on_ready_list = false;
    const std::uint32_t events = item->poll();
    if (events != 0) ready[count++] = {item->tag, events};
    const bool stays = events != 0 ? item->trigger == Trigger::level && broken_ != Rule::epoll_level_again
                                   : broken_ == Rule::epoll_polls_again;
    if (stays) {
      item->on_ready_list = true;
      ready_list_.push_back(item);
    }
  }
  return count;
}

std::size_t Epoll::poll_ready(std::span<ringside_ready> ready) {
  const std::lock_guard guard(mutex_);
  return collect(ready);
}

bool Epoll::has_announced() const {
  const std::lock_guard guard(mutex_);
  return !ready_list_.empty();
}

int Epoll::wait(std::span<ringside_ready> ready, std::int64_t timeout_ns) {
  const auto deadline =
      std::chrono::steady_clock::now() + std::chrono::nanoseconds(std::max<std::int64_t>(timeout_ns, 0));
  std::unique_lock guard(mutex_);
  while (true) {
    if (cancelled_) return -ECANCELED;
    if (const std::size_t count = collect(ready); count > 0) return static_cast<int>(count);
    // What was announced and not ready is off the list now: only a new announcement is worth another look.
    const auto worth_a_look = [&] { return cancelled_ || !ready_list_.empty(); };
    if (timeout_ns < 0) {
      announced_.wait(guard, worth_a_look);
    } else if (!announced_.wait_until(guard, deadline, worth_a_look)) {
      return 0;
    }
  }
}

void Epoll::cancel() {
  const std::lock_guard guard(mutex_);
  cancelled_ = true;
  announced_.notify_all();
}

}  // namespace ringside::sim
