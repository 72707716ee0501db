// SPDX-License-Identifier: Apache-2.0
#include "explore/runtime/test/events.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <future>
#include <optional>
#include <semaphore>
#include <thread>

#include "explore/explored.h"

int events_results[2];
int events_failed;

namespace {

namespace explore = ringside::explore;

int event_fd;
int epoll_fd;
int timer_fd;
int ring_fd;
int payload;

std::atomic<std::uint32_t> word;
std::binary_semaphore std_semaphore{0};

/// How many records were committed and consumed. The kernel's side reads and writes them as ExploredMemory does.
std::uint64_t committed;
std::uint64_t consumed;

void demand(bool holds) {
  if (!holds) events_failed = 1;
}

void watch(int fd, std::uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.fd = fd;
  demand(epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0);
}

int wait_for_events(int timeout_ms) {
  epoll_event events[4];
  const int count = epoll_wait(epoll_fd, events, 4, timeout_ms);
  if (count > 0) demand((events[0].events & EPOLLIN) != 0);
  return count;
}

void open_ring(std::uint32_t events) {
  epoll_fd = epoll_create1(0);
  ring_fd = explore::open_source([] {
    const std::uint64_t done = explore::atomic_load(&consumed, 8, explore::Order::acquire);
    return explore::atomic_load(&committed, 8, explore::Order::acquire) > done ? std::uint32_t{EPOLLIN} : 0;
  });
  watch(ring_fd, events);
}

void produce(bool full_barrier) {
  for (std::uint64_t record = 0; record < 2; ++record) {
    explore::atomic_update(&committed, 8, explore::Order::seq_cst, [](std::uint64_t count) { return count + 1; });
    if (full_barrier) explore::atomic_fence(explore::Order::seq_cst);
    if (explore::atomic_load(&consumed, 8, explore::Order::acquire) == record) explore::wake_source(ring_fd);
  }
}

/// With a timeout it sleeps once at most, and then gives up.
void consume(bool fence, int timeout_ms = -1) {
  for (std::uint64_t seen = 0; seen < 2;) {
    for (std::uint64_t now = 0; (now = __atomic_load_n(&committed, __ATOMIC_ACQUIRE)) != seen;) {
      seen = now;
      __atomic_store_n(&consumed, seen, __ATOMIC_RELEASE);
      if (fence) std::atomic_thread_fence(std::memory_order_seq_cst);
    }
    if (seen < 2 && wait_for_events(timeout_ms) == 0) return;
  }
}

int overflow(int depth) {
  volatile char page[4096];
  page[0] = static_cast<char>(depth);
  return depth < 0 ? page[0] : overflow(depth + 1) + page[0];
}

long futex(int operation, std::uint32_t value) {
  return syscall(SYS_futex, &word, operation, value, nullptr, nullptr, 0);
}

}  // namespace

void begin_eventfd() { event_fd = eventfd(0, 0); }
void begin_semaphore_eventfd() { event_fd = eventfd(2, EFD_SEMAPHORE); }
void begin_nonblocking_eventfd() { event_fd = eventfd(0, EFD_NONBLOCK); }

void write_event() {
  payload = 7;
  const std::uint64_t one = 1;
  demand(write(event_fd, &one, sizeof one) == sizeof one);
}
void read_event() {
  std::uint64_t count = 0;
  demand(read(event_fd, &count, sizeof count) == sizeof count && count == 1);
  demand(payload == 7);
}
void take_one() {
  eventfd_t count = 0;
  demand(eventfd_read(event_fd, &count) == 0 && count == 1);
}
void try_read_event() {
  eventfd_t count = 0;
  if (eventfd_read(event_fd, &count) == 0) {
    events_results[0] = payload;
  } else {
    demand(errno == EAGAIN);
    events_results[0] = -1;
  }
}

void begin_level() {
  begin_eventfd();
  epoll_fd = epoll_create1(0);
  watch(event_fd, EPOLLIN);
}
void begin_edge() {
  begin_eventfd();
  epoll_fd = epoll_create1(0);
  watch(event_fd, EPOLLIN | EPOLLET);
}
void wait_twice() {
  demand(wait_for_events(-1) == 1);
  demand(payload == 7);
  demand(wait_for_events(-1) == 1);
}
void wait_a_moment() { events_results[0] = wait_for_events(1) == 1 ? 1 : 2; }
void wait_for_ever() { wait_for_events(-1); }
void wait_by_poll() {
  pollfd one{.fd = event_fd, .events = POLLIN, .revents = 0};
  demand(poll(&one, 1, -1) == 1 && one.revents == POLLIN);
  demand(payload == 7);
}
void poll_a_moment() {
  pollfd one{.fd = event_fd, .events = POLLIN, .revents = 0};
  events_results[0] = poll(&one, 1, 10) == 1 ? 1 : 2;
}

void begin_level_ring() { open_ring(EPOLLIN); }
void begin_edge_ring() { open_ring(EPOLLIN | EPOLLET); }
void produce_two() { produce(true); }
void produce_two_without_fence() { produce(false); }
void consume_two() { consume(false); }
void consume_two_with_fence() { consume(true); }

void consume_two_or_time_out() { consume(false, 100); }
void consume_two_with_fence_or_time_out() { consume(true, 100); }
bool lies_unread() { return consumed < committed; }

void wait_and_do_nothing() {
  while (word.load(std::memory_order_acquire) == 0) wait_for_events(-1);
}
void poll_and_do_nothing() {
  while (word.load(std::memory_order_acquire) == 0) {
    pollfd one{.fd = ring_fd, .events = POLLIN, .revents = 0};
    poll(&one, 1, -1);
  }
}
void poll_until_two() {
  while (__atomic_load_n(&committed, __ATOMIC_ACQUIRE) < 2) {
    pollfd one{.fd = ring_fd, .events = POLLIN, .revents = 0};
    poll(&one, 1, 0);
  }
  __atomic_store_n(&consumed, 2, __ATOMIC_RELEASE);
}
void wait_again_and_again() {
  while (word.load(std::memory_order_acquire) == 0) wait_for_events(10);
}

void wait_a_while_and_write() {
  for (int time = 0; time < 2; ++time) wait_for_events(10);
  write_event();
}

void begin_timer() {
  begin_level();
  timer_fd = timerfd_create(CLOCK_MONOTONIC, 0);
  const itimerspec time{.it_interval = {}, .it_value = {.tv_sec = 1, .tv_nsec = 0}};
  demand(timerfd_settime(timer_fd, 0, &time, nullptr) == 0);
  watch(timer_fd, EPOLLIN);
}
void wait_for_timer() {
  epoll_event event{};
  demand(epoll_wait(epoll_fd, &event, 1, -1) == 1);
  events_results[0] = event.data.fd == timer_fd ? 1 : 2;
}
void read_timer() {
  const auto before = std::chrono::steady_clock::now();
  std::uint64_t count = 0;
  demand(read(timer_fd, &count, sizeof count) == sizeof count && count == 1);
  demand(std::chrono::steady_clock::now() - before > std::chrono::milliseconds(999));
}

void futex_wait_for_word() {
  while (word.load(std::memory_order_acquire) == 0) futex(FUTEX_WAIT_PRIVATE, 0);
}
void futex_set_and_wake() {
  word.store(1, std::memory_order_release);
  futex(FUTEX_WAKE_PRIVATE, 1);
}
void futex_wake_and_set() {
  futex(FUTEX_WAKE_PRIVATE, 1);
  word.store(1, std::memory_order_release);
}
void futex_set_silently() { word.store(1, std::memory_order_release); }
void atomic_wait_for_word() { word.wait(0, std::memory_order_acquire); }
void atomic_set_and_notify() {
  word.store(1);
  word.notify_one();
}
void atomic_release_and_notify() {
  word.store(1, std::memory_order_release);
  word.notify_one();
}
void atomic_set_silently() { word.store(1, std::memory_order_release); }
void acquire_std_semaphore() {
  std_semaphore.acquire();
  demand(payload == 7);
}
void release_std_semaphore() {
  payload = 7;
  std_semaphore.release();
}
void fulfil_and_await_promise() {
  std::promise<int> promise;
  std::future<int> future = promise.get_future();
  std::thread thread([&promise] { promise.set_value(7); });
  demand(future.get() == 7);
  thread.join();
}

void look_at_clocks() {
  const auto first = std::chrono::steady_clock::now();
  const auto second = std::chrono::steady_clock::now();
  demand(second > first && second - first < std::chrono::milliseconds(1));
  std::this_thread::sleep_for(std::chrono::hours(1));
  demand(std::chrono::steady_clock::now() - second >= std::chrono::hours(1));
}
void wait_until_a_second_has_passed() {
  const auto begin = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - begin < std::chrono::seconds(1)) {
  }
}

void compute_without_access() {
  for (unsigned round = 0; __builtin_expect(round % 2 < 2, 1); ++round) asm volatile("" : "+r"(round));
}

/// Answers ioctl of itself with 7 and all else of it with EPERM, open with itself, getppid with 3, and reads a byte.
void begin_device() {
  static char page[8];
  const int device = explore::open_source({});
  explore::answer_calls([device](const explore::Call& call) -> std::optional<long> {
    const bool mine = call.arguments[0] == device;
    if (call.name == "open") return device;
    if (call.name == "syscall" && call.arguments[0] == SYS_getppid) return 3;
    if (call.name == "mmap" && call.arguments[4] == device) return reinterpret_cast<long>(page);
    if (call.name == "ioctl" && mine) return call.arguments[1] == FIONREAD ? 7 : -EPERM;
    if (call.name != "read" || !mine) return std::nullopt;
    *reinterpret_cast<char*>(call.arguments[1]) = 'r';
    return 1;
  });
}
void call_device() {
  const int device = open("/dev/ringside", O_RDWR);
  char byte = 0;
  demand(ioctl(device, FIONREAD, nullptr) == 7);
  demand(ioctl(device, FIONBIO, nullptr) == -1 && errno == EPERM);
  demand(read(device, &byte, 1) == 1 && byte == 'r');
  demand(syscall(SYS_getppid) == 3);
  auto* const page = static_cast<char*>(mmap64(nullptr, 8, PROT_READ, MAP_SHARED, device, 0));
  demand(page != MAP_FAILED && page[7] == 0);
}
void call_device_in_begin() {
  begin_device();
  call_device();
}
void call_device_in_vain() { munmap(nullptr, 8); }

void open_socket() { socket(AF_UNIX, SOCK_STREAM, 0); }
void make_system_call() { syscall(SYS_getppid); }
void read_foreign_descriptor() {
  char byte = 0;
  demand(read(0, &byte, 1) == 1);
}
void overflow_stack() { events_results[0] = overflow(0); }
void read_null() {
  int* volatile nowhere = nullptr;
  events_results[0] = *nowhere;
}
void compute_for_ever() {
  static char bytes[64];
  for (int round = 0;; ++round) std::memset(bytes, round, sizeof bytes);
}
