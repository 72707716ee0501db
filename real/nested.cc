// SPDX-License-Identifier: Apache-2.0
#include "real/nested.h"

#include <bpf/libbpf.h>
#include <fmt/format.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <utility>

#include "real/handle.h"

namespace ringside::real {

namespace {

constexpr std::uint64_t period_ns = 50'000;  // short enough to cost a script little, long enough to leave it time

}  // namespace

ring::Result<NestedEvent> NestedEvent::attach(const bpf_program* program, std::shared_ptr<void> owner,
                                              std::uint32_t cpu) {
  perf_event_attr attr{};
  attr.size = sizeof(attr);
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = PERF_COUNT_SW_CPU_CLOCK;
  attr.sample_period = period_ns;
  attr.disabled = 1;
  Fd event(static_cast<int>(::syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC)));
  if (!event) {
    const char* remedy = errno == EPERM || errno == EACCES ? "run as root or with CAP_PERFMON" : "";
    return ring::errno_error(fmt::format("open cpu-clock event on CPU {}", cpu), errno, remedy);
  }
  bpf_link* const link = bpf_program__attach_perf_event(program, event.get());
  if (link == nullptr) return ring::errno_error(fmt::format("attach program to cpu-clock of CPU {}", cpu), errno);
  NestedEvent result(std::move(owner), link, event.release());  // the link closes the event
  result.disable();                                             // attaching has enabled it
  return result;
}

NestedEvent::NestedEvent(NestedEvent&& other) noexcept
    : owner_(std::move(other.owner_)), link_(std::exchange(other.link_, nullptr)), fd_(other.fd_) {}

NestedEvent::~NestedEvent() {
  if (link_ != nullptr) bpf_link__destroy(link_);
}

ring::Result<void> NestedEvent::enable() {
  if (::ioctl(fd_, PERF_EVENT_IOC_ENABLE, 0) != 0) return ring::errno_error("enable cpu-clock event", errno);
  return {};
}

void NestedEvent::disable() { ::ioctl(fd_, PERF_EVENT_IOC_DISABLE, 0); }

}  // namespace ringside::real
