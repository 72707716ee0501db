// SPDX-License-Identifier: Apache-2.0
//
// File descriptors of an execution: epoll, eventfd, timerfd, and sources that a test makes. Their numbers are above any
// that the process has, and follow from which thread makes them, so that they are the same however threads take turns.
#pragma once

#include <array>
#include <cstdint>
#include <functional>

#include "explore/runtime/world.h"

namespace ringside::explore::runtime {

inline constexpr std::size_t most_descriptors = 64;

/// What an epoll was told of a descriptor.
struct EpollItem {
  bool used = false;
  std::uint32_t events = 0;
  std::uint64_t data = 0;
};

struct Descriptor {
  enum class Kind : std::uint8_t { none, epoll, event, timer, source };

  Kind kind = Kind::none;
  bool blocking = true;
  bool counts_down = false;  ///< an eventfd of EFD_SEMAPHORE
  bool armed = false;        ///< a timer that will expire
  std::uint64_t interval_ns = 0;
  std::uint64_t expiry_ns = 0;  ///< of a timer, by the clock of whoever set it
  /// What is shared of it. The counter of an eventfd; how often a timer has expired; the descriptors, a bit each, that
  /// an epoll has been told of and has not looked at since.
  std::uint64_t state = 0;
  /// The epolls, a bit each, that want to be told of it.
  std::uint64_t watchers = 0;
  std::function<std::uint32_t()> poll = {};            ///< of a source
  std::array<EpollItem, most_descriptors> items = {};  ///< of an epoll
};

/// All of one execution.
class Descriptors {
 public:
  static constexpr int first = 1'000'000;

  /// A new one of the running thread, or of begin; refuses when that has too many.
  int open(Descriptor::Kind kind, bool blocking);
  /// Null for a number that is not of an execution, or is closed.
  Descriptor* find(int number);
  Descriptor& at(std::size_t slot) { return all_[slot]; }
  static std::size_t slot_of(int number) { return static_cast<std::size_t>(number - first); }
  static bool is_ours(int number) { return number >= first; }
  std::uint64_t bit_of(const Descriptor& descriptor) const { return std::uint64_t{1} << (&descriptor - all_.data()); }
  void close(int number);
  /// Closes all.
  void reset();
  /// What reports call their words.
  std::vector<Name> names() const;

 private:
  static constexpr std::size_t of_begin = 16;
  static constexpr std::size_t of_thread = (most_descriptors - of_begin) / most_threads;

  std::array<Descriptor, most_descriptors> all_;
  std::array<std::size_t, most_threads + 1> opened_{};  ///< by thread, begin last
};

/// Of the calling thread's explorations.
Descriptors& descriptors();

/// Which of EPOLLIN, EPOLLOUT and so on hold of it now: a step. `order` is seq_cst for who has just begun to watch it.
std::uint32_t readiness_of(Engine* engine, Descriptor& descriptor, Order order = Order::acquire);

/// Tells all epolls that watch it: it may have become ready.
void tell_watchers(Engine* engine, Descriptor& descriptor);

/// Reads and changes a descriptor's word in one step; outside of executions plainly. What was read.
std::uint64_t update_word(Engine* engine, std::uint64_t* word, Order order,
                          const std::function<std::optional<std::uint64_t>(std::uint64_t)>& change);

/// Lets an armed timer expire; the running thread's time is then at least that.
void expire(Engine& engine, Descriptor& timer);

}  // namespace ringside::explore::runtime
