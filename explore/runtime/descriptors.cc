// SPDX-License-Identifier: Apache-2.0
#include "explore/runtime/descriptors.h"

#include <fmt/format.h>
#include <sys/epoll.h>

#include <algorithm>

#include "explore/explored.h"

namespace ringside::explore::runtime {
namespace {

/// A descriptor's word in a step of the running thread; outside of executions, as it is.
std::uint64_t load_word(Engine* engine, const std::uint64_t* word, Order order) {
  if (engine == nullptr) return *word;
  const auto place = reinterpret_cast<std::uintptr_t>(word);
  return engine->at(world.site).load(place, sizeof *word, event_of(EventKind::load, order), nullptr).value;
}

}  // namespace

int Descriptors::open(Descriptor::Kind kind, bool blocking) {
  Engine* const engine = exploring();
  const std::size_t owner = engine != nullptr ? engine->running() : most_threads;
  const std::size_t most = engine != nullptr ? of_thread : of_begin;
  if (opened_[owner] == most) {
    const std::string what = fmt::format("more than {} descriptors of one thread; open them in begin", most);
    if (Engine::current != nullptr) refuse(*Engine::current, what);
    return -1;
  }
  const std::size_t slot = (engine != nullptr ? of_begin + owner * of_thread : 0) + opened_[owner]++;
  all_[slot].kind = kind;
  all_[slot].blocking = blocking;
  return first + static_cast<int>(slot);
}

Descriptor* Descriptors::find(int number) {
  if (!is_ours(number) || slot_of(number) >= most_descriptors) return nullptr;
  Descriptor& descriptor = all_[slot_of(number)];
  return descriptor.kind == Descriptor::Kind::none ? nullptr : &descriptor;
}

void Descriptors::close(int number) {
  // Its words stay what they are: others may be about to tell epolls of it.
  all_[slot_of(number)].kind = Descriptor::Kind::none;
}

void Descriptors::reset() {
  for (std::size_t owner = 0; owner <= most_threads; ++owner) {
    const std::size_t begin = owner == most_threads ? 0 : of_begin + owner * of_thread;
    std::fill_n(all_.begin() + static_cast<std::ptrdiff_t>(begin), opened_[owner], Descriptor{});
    opened_[owner] = 0;
  }
}

std::vector<Name> Descriptors::names() const {
  std::vector<Name> names;
  for (std::size_t slot = 0; slot < most_descriptors; ++slot) {
    const Descriptor& descriptor = all_[slot];
    const int number = first + static_cast<int>(slot);
    names.push_back({&descriptor.state, sizeof descriptor.state, fmt::format("descriptor {}", number)});
    names.push_back({&descriptor.watchers, sizeof descriptor.watchers, fmt::format("watchers of {}", number)});
  }
  return names;
}

Descriptors& descriptors() {
  // Never destroyed, as the heap.
  static thread_local Descriptors& mine = *new Descriptors;
  return mine;
}

std::uint64_t update_word(Engine* engine, std::uint64_t* word, Order order,
                          const std::function<std::optional<std::uint64_t>(std::uint64_t)>& change) {
  if (engine != nullptr) return await_update(*engine, word, sizeof *word, order, nullptr, change);
  const std::uint64_t before = *word;
  *word = change(before).value_or(before);
  return before;
}

std::uint32_t readiness_of(Engine* engine, Descriptor& descriptor, Order order) {
  switch (descriptor.kind) {
    case Descriptor::Kind::none:
      return 0;
    case Descriptor::Kind::source:
      // The locks that the kernel takes on the way are full barriers: what the caller stored before is seen by whoever
      // makes the source ready, or what that one stored is seen here.
      if (engine != nullptr) engine->at(world.site).fence(Order::seq_cst);
      return descriptor.poll ? descriptor.poll() : 0;
    case Descriptor::Kind::event:
      return EPOLLOUT | (load_word(engine, &descriptor.state, order) > 0 ? std::uint32_t{EPOLLIN} : 0);
    case Descriptor::Kind::timer:
    case Descriptor::Kind::epoll:
      return load_word(engine, &descriptor.state, order) > 0 ? std::uint32_t{EPOLLIN} : 0;
  }
  return 0;
}

// Who watches stores that before it looks whether the descriptor is ready; who makes it ready does so before it looks
// who watches. These four are sequentially consistent, so one of the two sees the other.
void tell_watchers(Engine* engine, Descriptor& descriptor) {
  const std::uint64_t watchers = load_word(engine, &descriptor.watchers, Order::seq_cst);
  const std::uint64_t bit = descriptors().bit_of(descriptor);
  for (std::size_t slot = 0; slot < most_descriptors; ++slot) {
    if ((watchers >> slot & 1) == 0) continue;
    Descriptor& epoll = descriptors().at(slot);
    update_word(engine, &epoll.state, Order::acq_rel, [bit](std::uint64_t told) { return std::optional{told | bit}; });
    if (epoll.kind == Descriptor::Kind::epoll) tell_watchers(engine, epoll);
  }
}

void expire(Engine& engine, Descriptor& timer) {
  ThreadRecord& thread = my_record(engine);
  thread.clock_ns = std::max(thread.clock_ns, timer.expiry_ns);
  timer.armed = timer.interval_ns != 0;
  timer.expiry_ns += timer.interval_ns;
  update_word(&engine, &timer.state, Order::seq_cst, [](std::uint64_t times) { return std::optional{times + 1}; });
  tell_watchers(&engine, timer);
}

}  // namespace ringside::explore::runtime

namespace ringside::explore {

int open_source(std::function<std::uint32_t()> poll) {
  const int number = runtime::descriptors().open(runtime::Descriptor::Kind::source, true);
  if (auto* const source = runtime::descriptors().find(number)) source->poll = std::move(poll);
  return number;
}

void wake_source(int descriptor) {
  runtime::Descriptor* const source = runtime::descriptors().find(descriptor);
  if (source != nullptr) runtime::tell_watchers(runtime::enter(__builtin_return_address(0)), *source);
}

}  // namespace ringside::explore
