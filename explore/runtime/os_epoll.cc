// SPDX-License-Identifier: Apache-2.0
//
// epoll and poll, as the kernel does them: whatever becomes ready puts itself on the epoll's list; a wait takes the
// list, asks each on it whether it is ready, and puts level-triggered ones back. So an edge-triggered wait misses what
// the kernel's would miss.
#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>

#include <bit>
#include <span>

#include "explore/runtime/descriptors.h"
#include "explore/runtime/os_result.h"
#include "explore/runtime/virtual_time.h"
#include "explore/runtime/wait_queue.h"

namespace ringside::explore::runtime {
namespace {

constexpr std::uint32_t always_told = EPOLLERR | EPOLLHUP;

void put_on_list(Engine* engine, Descriptor& epoll, std::uint64_t bits) {
  update_word(engine, &epoll.state, Order::acq_rel, [bits](std::uint64_t told) { return std::optional{told | bits}; });
}

void watch(Engine* engine, Descriptor& epoll, Descriptor& watched, const EpollItem& item) {
  const std::uint64_t bit = descriptors().bit_of(epoll);
  update_word(engine, &watched.watchers, Order::seq_cst,
              [bit](std::uint64_t watchers) { return std::optional{watchers | bit}; });
  if ((readiness_of(engine, watched, Order::seq_cst) & (item.events | always_told)) != 0) {
    put_on_list(engine, epoll, descriptors().bit_of(watched));
  }
}

void stop_watching(Engine* engine, Descriptor& epoll, Descriptor& watched) {
  const std::uint64_t bit = descriptors().bit_of(epoll);
  update_word(engine, &watched.watchers, Order::seq_cst,
              [bit](std::uint64_t watchers) { return std::optional{watchers & ~bit}; });
  const std::uint64_t listed = descriptors().bit_of(watched);
  update_word(engine, &epoll.state, Order::acq_rel,
              [listed](std::uint64_t told) { return std::optional{told & ~listed}; });
}

int control(Engine* engine, int epoll_number, int operation, int number, const epoll_event* event) {
  Descriptor* const epoll = descriptors().find(epoll_number);
  Descriptor* const watched = descriptors().find(number);
  if (epoll == nullptr || watched == nullptr) return os_error(engine, EBADF);
  if (epoll->kind != Descriptor::Kind::epoll || epoll == watched) return os_error(engine, EINVAL);
  EpollItem& item = epoll->items[Descriptors::slot_of(number)];
  if (operation == EPOLL_CTL_ADD && item.used) return os_error(engine, EEXIST);
  if (operation != EPOLL_CTL_ADD && !item.used) return os_error(engine, ENOENT);
  if (operation == EPOLL_CTL_DEL) {
    item = {};
    stop_watching(engine, *epoll, *watched);
    return 0;
  }
  if (engine != nullptr) access(*engine, event, sizeof *event, false);
  item = {.used = true, .events = event->events, .data = event->data.u64};
  watch(engine, *epoll, *watched, item);
  return 0;
}

/// Takes the list. Empty: waits until it is not, if it may.
std::uint64_t take_list(Engine& engine, Descriptor& epoll, bool waits, bool timed) {
  static const std::function<bool(std::uint64_t)> some = [](std::uint64_t told) { return told != 0; };
  std::uint64_t taken = 0;
  wait_timed(engine, timed, [&] {
    taken = await_update(engine, &epoll.state, sizeof epoll.state, Order::acq_rel, waits ? &some : nullptr,
                         [](std::uint64_t told) { return told == 0 ? std::nullopt : std::optional<std::uint64_t>{0}; });
  });
  return taken;
}

struct Collected {
  std::size_t count = 0;   ///< events
  std::uint64_t back = 0;  ///< what was put back on the list
  bool same = true;        ///< the caller's array had these events before
};

/// Asks those on the list.
Collected collect(Engine& engine, Descriptor& epoll, std::uint64_t list, std::span<epoll_event> events) {
  auto [count, back, same] = Collected{};
  for (; list != 0; list &= list - 1) {
    const auto slot = static_cast<std::size_t>(std::countr_zero(list));
    EpollItem& item = epoll.items[slot];
    if (count == events.size()) {
      back |= std::uint64_t{1} << slot;
      continue;
    }
    const std::uint32_t wanted = item.used && item.events != 0 ? item.events | always_told : 0;
    const std::uint32_t ready = readiness_of(&engine, descriptors().at(slot)) & wanted;
    if (ready == 0) continue;
    epoll_event& event = events[count++];
    same = same && event.events == ready && event.data.u64 == item.data;
    event.events = ready;
    event.data.u64 = item.data;
    if ((item.events & EPOLLONESHOT) != 0) {
      item.events = 0;
    } else if ((item.events & EPOLLET) == 0) {
      back |= std::uint64_t{1} << slot;
    }
  }
  if (back != 0) put_on_list(&engine, epoll, back);
  return {count, back, same};
}

/// A timer among the watched that will expire and could end a wait.
Descriptor* armed_timer(Descriptor& epoll) {
  for (std::size_t slot = 0; slot < most_descriptors; ++slot) {
    Descriptor& watched = descriptors().at(slot);
    if (epoll.items[slot].used && watched.kind == Descriptor::Kind::timer && watched.armed) return &watched;
  }
  return nullptr;
}

int wait(Engine& engine, Descriptor& epoll, std::span<epoll_event> events, std::int64_t timeout_ns) {
  Descriptor* const timer = timeout_ns != 0 ? armed_timer(epoll) : nullptr;
  const bool timed = timeout_ns > 0 || timer != nullptr;
  bool waits = timeout_ns != 0;
  if (timed && timeout_passes(engine)) {
    if (timer != nullptr) {
      expire(engine, *timer);
    } else {
      waits = false;
    }
  }
  while (true) {
    begin_call(engine);
    const std::uint64_t list = take_list(engine, epoll, waits, timed);
    const auto [count, back, same] = collect(engine, epoll, list, events);
    if (count > 0) access(engine, events.data(), count * sizeof(epoll_event), true);
    // What stands on the caller's stack is its own, and looked at where it is asked whether it goes round (spin.cc).
    end_call(engine, back == list && (same || engine.on_running_stack(events.data())));
    if (count > 0) return static_cast<int>(count);
    if (!waits) {
      if (timeout_ns > 0) pass_time(engine, static_cast<std::uint64_t>(timeout_ns));
      return 0;
    }
  }
}

int wait(Engine* engine, int number, epoll_event* events, int most, std::int64_t timeout_ns) {
  Descriptor* const epoll = descriptors().find(number);
  if (epoll == nullptr || most <= 0) return os_error(engine, epoll == nullptr ? EBADF : EINVAL);
  if (engine == nullptr) return os_refuse("epoll_wait outside of the program's threads");
  return wait(*engine, *epoll, {events, static_cast<std::size_t>(most)}, timeout_ns);
}

/// What holds of each of poll's descriptors; how many have any of it.
int ask_all(Engine& engine, std::span<pollfd> all) {
  int ready = 0;
  for (pollfd& one : all) {
    one.revents = 0;
    if (one.fd < 0) continue;
    Descriptor* const descriptor = descriptors().find(one.fd);
    const std::uint32_t wanted = static_cast<std::uint16_t>(one.events) | always_told;
    const std::uint32_t holds =
        descriptor == nullptr ? std::uint32_t{POLLNVAL} : readiness_of(&engine, *descriptor) & wanted;
    one.revents = static_cast<short>(holds);
    if (holds != 0) ++ready;
  }
  return ready;
}

/// poll: an epoll for the time of the call.
int poll_all(Engine& engine, std::span<pollfd> all, int timeout_ms) {
  access(engine, all.data(), all.size_bytes(), true);
  if (timeout_ms == 0) return ask_all(engine, all);
  const bool timed = timeout_ms > 0;
  const bool passes = timed && timeout_passes(engine);
  ThreadRecord& thread = my_record(engine);
  if (thread.poll_descriptor < 0) thread.poll_descriptor = descriptors().open(Descriptor::Kind::epoll, true);
  Descriptor& epoll = *descriptors().find(thread.poll_descriptor);
  begin_call(engine);
  for (const pollfd& one : all) {
    if (Descriptor* const watched = descriptors().find(one.fd)) {
      watch(&engine, epoll, *watched, {.used = true, .events = static_cast<std::uint16_t>(one.events), .data = 0});
    }
  }
  int ready = ask_all(engine, all);
  const bool at_once = ready > 0 || passes;
  while (ready == 0 && !passes) {
    take_list(engine, epoll, true, timed);
    ready = ask_all(engine, all);
  }
  for (const pollfd& one : all) {
    if (Descriptor* const watched = descriptors().find(one.fd)) stop_watching(&engine, epoll, *watched);
  }
  end_call(engine, at_once);
  if (ready == 0) pass_time(engine, static_cast<std::uint64_t>(timeout_ms) * 1'000'000);
  return ready;
}

std::int64_t timeout_of(int milliseconds) { return milliseconds < 0 ? -1 : std::int64_t{milliseconds} * 1'000'000; }

}  // namespace
}  // namespace ringside::explore::runtime

namespace runtime = ringside::explore::runtime;

extern "C" {

int ringside_explored_epoll_create1(int) {
  runtime::enter(__builtin_return_address(0));
  return runtime::descriptors().open(runtime::Descriptor::Kind::epoll, true);
}
int ringside_explored_epoll_create(int) { return ringside_explored_epoll_create1(0); }
int ringside_explored_epoll_ctl(int epoll, int operation, int descriptor, epoll_event* event) {
  return runtime::control(runtime::enter(__builtin_return_address(0)), epoll, operation, descriptor, event);
}
int ringside_explored_epoll_wait(int epoll, epoll_event* events, int most, int timeout_ms) {
  auto* const engine = runtime::enter(__builtin_return_address(0));
  return runtime::wait(engine, epoll, events, most, runtime::timeout_of(timeout_ms));
}
int ringside_explored_epoll_pwait(int epoll, epoll_event* events, int most, int timeout_ms, const void*) {
  auto* const engine = runtime::enter(__builtin_return_address(0));
  return runtime::wait(engine, epoll, events, most, runtime::timeout_of(timeout_ms));
}
int ringside_explored_epoll_pwait2(int epoll, epoll_event* events, int most, const timespec* timeout, const void*) {
  const auto timeout_ns = timeout == nullptr ? -1 : static_cast<std::int64_t>(runtime::nanoseconds_of(*timeout));
  auto* const engine = runtime::enter(__builtin_return_address(0));
  return runtime::wait(engine, epoll, events, most, timeout_ns);
}
int ringside_explored_poll(pollfd* all, nfds_t count, int timeout_ms) {
  auto* const engine = runtime::enter(__builtin_return_address(0));
  if (engine == nullptr) return runtime::os_refuse("poll outside of the program's threads");
  return runtime::poll_all(*engine, {all, count}, timeout_ms);
}
}
