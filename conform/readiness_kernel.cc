// SPDX-License-Identifier: Apache-2.0
#include "conform/readiness_kernel.h"

#include <poll.h>
#include <sys/epoll.h>

#include <cassert>
#include <cerrno>
#include <utility>

namespace ringside::conform {

bool is_readiness(Verb verb) {
  switch (verb) {
    case Verb::poll:
    case Verb::epoll_add:
    case Verb::epoll_modify:
    case Verb::epoll_remove:
    case Verb::epoll_wait:
      return true;
    default:
      return false;
  }
}

std::size_t descriptor_of(ring::RingKind kind, const Op& op) {
  return kind == ring::RingKind::perf ? static_cast<std::size_t>(value_of(kind, op, Arg::event)) : 0;
}

ring::Result<KernelReadiness> KernelReadiness::create(std::vector<int> descriptors, std::uint32_t interest) {
  KernelReadiness result;
  result.descriptors_ = std::move(descriptors);
  result.interest_ = interest;
  for (real::Fd& set : result.sets_) {
    set = real::Fd(::epoll_create1(EPOLL_CLOEXEC));
    if (!set) return ring::errno_error("make epoll set of a script", errno, "raise the limit of open files");
  }
  return result;
}

ring::Result<Outcome> KernelReadiness::apply(ring::RingKind kind, const Op& op) {
  assert(is_readiness(op.verb));
  if (op.verb == Verb::poll) return poll(descriptor_of(kind, op));
  if (op.verb == Verb::epoll_wait) return wait(static_cast<std::size_t>(value_of(kind, op, Arg::set)));
  return control(kind, op);
}

ring::Result<Outcome> KernelReadiness::poll(std::size_t descriptor) {
  constexpr short all_bits = POLLIN | POLLPRI | POLLOUT | POLLRDNORM | POLLRDBAND | POLLWRNORM | POLLWRBAND;
  pollfd item{.fd = descriptors_[descriptor], .events = all_bits, .revents = 0};
  const int count = ::poll(&item, 1, 0);
  if (count < 0) return ring::errno_error("poll ring of a script", errno);
  return Outcome{.result = count, .details = {static_cast<std::uint16_t>(item.revents)}};
}

ring::Result<Outcome> KernelReadiness::control(ring::RingKind kind, const Op& op) {
  const std::size_t descriptor = descriptor_of(kind, op);
  const int set = sets_[static_cast<std::size_t>(value_of(kind, op, Arg::set))].get();
  epoll_event event{};
  event.data.u64 = descriptor;
  int command = EPOLL_CTL_DEL;
  if (op.verb != Verb::epoll_remove) {
    command = op.verb == Verb::epoll_add ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
    event.events = interest_;
    if (value_of(kind, op, Arg::trigger) != 0) event.events |= EPOLLET;
  }
  if (::epoll_ctl(set, command, descriptors_[descriptor], &event) == 0) return Outcome{};
  if (errno != EEXIST && errno != ENOENT) return ring::errno_error("change epoll set of a script", errno);
  return Outcome{.result = -errno, .details = {}};
}

ring::Result<Outcome> KernelReadiness::wait(std::size_t set) {
  std::array<epoll_event, 4> ready{};
  const int count = ::epoll_wait(sets_[set].get(), ready.data(), static_cast<int>(ready.size()), 0);
  if (count < 0) return ring::errno_error("wait for epoll set of a script", errno);
  Outcome outcome{.result = count, .details = {}};
  for (int i = 0; i < count; ++i) {
    outcome.details.push_back(ready[static_cast<std::size_t>(i)].data.u64);
    outcome.details.push_back(ready[static_cast<std::size_t>(i)].events);
  }
  return outcome;
}

ring::Result<Outcome> KernelReadiness::look() {
  Outcome all;
  for (std::size_t descriptor = 0; descriptor < descriptors_.size(); ++descriptor) {
    auto one = poll(descriptor);
    if (!one) return one;
    all.details.push_back(one->details[0]);
  }
  for (std::size_t set = 0; set < sets_.size(); ++set) {
    auto one = wait(set);
    if (!one) return one;
    all.details.push_back(static_cast<std::uint64_t>(one->result));
    all.details.insert(all.details.end(), one->details.begin(), one->details.end());
  }
  return all;
}

}  // namespace ringside::conform
