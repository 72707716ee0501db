// SPDX-License-Identifier: Apache-2.0
#include "harness/compare/quiet_cpu.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "real/perf_rings.h"
#include "real/pinned.h"
#include "ring/signals.h"

namespace ringside::harness {

namespace {

constexpr timespec between_tries{.tv_sec = 0, .tv_nsec = 100'000'000};

ring::Result<real::Fd> take_lock(const std::function<void()>& waiting) {
  const std::string path = compare_lock_path();
  real::Fd file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (!file)
    return ring::errno_error(fmt::format("open the lock \"{}\"", path), errno, "set TMPDIR to a folder of yours");
  for (bool told = false; ::flock(file.get(), LOCK_EX | LOCK_NB) != 0;) {
    if (errno != EWOULDBLOCK) return ring::errno_error(fmt::format("lock \"{}\"", path), errno);
    if (ring::interrupted_by() != 0) return ring::errno_error("wait for another comparison", EINTR);
    if (!std::exchange(told, true)) waiting();
    nanosleep(&between_tries, nullptr);
  }
  return file;
}

}  // namespace

std::string compare_lock_path() {
  if (::access("/run/lock", W_OK) == 0) return "/run/lock/ringside-compare";
  const char* const folder = std::getenv("TMPDIR");
  return fmt::format("{}/ringside-compare", folder != nullptr && *folder != '\0' ? folder : "/tmp");
}

ring::Result<std::unique_ptr<QuietCpu>> QuietCpu::take(const std::function<void()>& waiting) {
  auto lock = take_lock(waiting);
  if (!lock) return tl::unexpected(lock.error());
  return std::unique_ptr<QuietCpu>(new QuietCpu(std::move(*lock)));
}

QuietCpu::QuietCpu(real::Fd lock) : lock_(std::move(lock)) {
  sched_getaffinity(0, sizeof(cpus_), &cpus_);
  policy_ = sched_getscheduler(0);
  sched_getparam(0, &parameters_);
  pin();
  raise();
}

QuietCpu::~QuietCpu() {
  sched_setscheduler(0, policy_, &parameters_);
  sched_setaffinity(0, sizeof(cpus_), &cpus_);
}

void QuietCpu::pin() {
  const auto cpus = real::online_cpus();
  if (cpus && real::pin_to(cpus->back())) {
    method_.push_back(fmt::format("on CPU {}", cpus->back()));
  } else {
    method_.emplace_back("on any CPU: the thread cannot be pinned");
  }
}

void QuietCpu::raise() {
  const sched_param lowest{.sched_priority = sched_get_priority_min(SCHED_FIFO)};
  if (sched_setscheduler(0, SCHED_FIFO, &lowest) == 0) {
    method_.emplace_back("at real-time priority");
  } else {
    method_.emplace_back("at ordinary priority: real time is not allowed here");
  }
}

void QuietCpu::rest(double busy_ns) const {
  const auto rest_ns = static_cast<std::int64_t>(busy_ns / 10);
  const timespec time{.tv_sec = rest_ns / 1'000'000'000, .tv_nsec = rest_ns % 1'000'000'000};
  nanosleep(&time, nullptr);
}

}  // namespace ringside::harness
