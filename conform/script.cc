// SPDX-License-Identifier: Apache-2.0
#include "conform/script.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

#include "conform/verbs.h"

namespace ringside::conform {

std::vector<VerbSpec> readiness_verbs(bool names_event) {
  static constexpr std::string_view event_words[] = {"a", "b"};
  const ArgSpec event = words_arg(Arg::event, "event", event_words);
  const ArgSpec set = number_arg(Arg::set, "set", 0, epoll_sets - 1);
  const ArgSpec trigger = words_arg(Arg::trigger, "trigger", trigger_words);
  std::vector<VerbSpec> table = {
      {Verb::poll, "poll", "poll(2) without waiting", {}, 4},
      {Verb::epoll_add, "epoll_add", "EPOLL_CTL_ADD", {set, trigger}, 4},
      {Verb::epoll_modify, "epoll_modify", "EPOLL_CTL_MOD", {set, trigger}, 2},
      {Verb::epoll_remove, "epoll_remove", "EPOLL_CTL_DEL", {set}, 1},
      {Verb::epoll_wait, "epoll_wait", "epoll_wait without waiting", {set}, 8},
  };
  if (!names_event) return table;
  for (VerbSpec& verb : table) {
    if (verb.verb != Verb::epoll_wait) verb.args.push_back(event);
  }
  return table;
}

std::span<const VerbSpec> verbs_of(ring::RingKind kind) {
  switch (kind) {
    case ring::RingKind::ringbuf:
      return ringbuf_verbs();
    case ring::RingKind::perf:
      return perf_verbs();
    case ring::RingKind::user_ringbuf:
      return user_ringbuf_verbs();
  }
  return {};
}

const VerbSpec& spec_of(ring::RingKind kind, Verb verb) {
  const auto verbs = verbs_of(kind);
  const auto found = std::ranges::find(verbs, verb, &VerbSpec::verb);
  assert(found != verbs.end() && "a verb of another kind of ring");
  return *found;
}

namespace {

std::size_t place_of(ring::RingKind kind, const Op& op, Arg arg) {
  const VerbSpec& spec = spec_of(kind, op.verb);
  const auto found = std::ranges::find(spec.args, arg, &ArgSpec::arg);
  assert(found != spec.args.end() && "the verb has no such argument");
  return static_cast<std::size_t>(found - spec.args.begin());
}

}  // namespace

std::int64_t value_of(ring::RingKind kind, const Op& op, Arg arg) { return op.values[place_of(kind, op, arg)]; }

void set_value(ring::RingKind kind, Op& op, Arg arg, std::int64_t value) { op.values[place_of(kind, op, arg)] = value; }

void fill_payload(std::span<std::byte> payload, std::uint64_t ordinal) {
  // Odd multipliers: neighbours differ, and so do neighbouring operations at every place.
  std::uint64_t value = ordinal * 0x9e3779b97f4a7c15ull + 1;
  for (std::byte& byte : payload) {
    byte = static_cast<std::byte>(value >> 56);
    value += 0x1357'9bdf'0246'8aceull | 1;
  }
}

}  // namespace ringside::conform
