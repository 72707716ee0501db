// SPDX-License-Identifier: Apache-2.0
#include "real/pinned.h"

#include <fmt/format.h>
#include <pthread.h>
#include <sched.h>

#include <condition_variable>
#include <csignal>
#include <mutex>
#include <system_error>

namespace ringside::real {

ring::Result<void> pin_to(std::uint32_t cpu) {
  if (cpu >= CPU_SETSIZE) return ring::errno_error(fmt::format("pin thread to CPU {}", cpu), EINVAL);
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  if (::sched_setaffinity(0, sizeof(set), &set) != 0) {
    return ring::errno_error(fmt::format("pin thread to CPU {}", cpu), errno, "name a CPU that is online and allowed");
  }
  return {};
}

ring::Result<void> visit(std::uint32_t cpu) {
  cpu_set_t before;
  if (::sched_getaffinity(0, sizeof(before), &before) != 0) {
    return ring::errno_error("read where the thread may run", errno);
  }
  if (auto there = pin_to(cpu); !there) return there;
  // Where it may run no more (its CPUs went away), it stays.
  if (::sched_setaffinity(0, sizeof(before), &before) != 0) return ring::errno_error("leave a visited CPU", errno);
  return {};
}

bool pinned_to(std::uint32_t cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  return cpu < CPU_SETSIZE && ::sched_getaffinity(0, sizeof(set), &set) == 0 && CPU_COUNT(&set) == 1 &&
         CPU_ISSET(cpu, &set);
}

ring::Result<std::thread> start_thread(std::function<void()> body) {
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  ring::Result<std::thread> thread;
  try {
    thread = std::thread(std::move(body));
  } catch (const std::system_error& failure) {
    thread = ring::errno_error("start thread", failure.code().value());
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

/// What the two threads share. `work` is set while there is work to do or being done.
struct PinnedWorker::Channel {
  std::mutex mutex;
  std::condition_variable changed;
  const std::function<void()>* work = nullptr;
  bool ready = false;  // pinned, or failed to
  bool stop = false;
  ring::Result<void> pinned;

  void serve(std::uint32_t cpu) {
    std::unique_lock lock(mutex);
    pinned = pin_to(cpu);
    ready = true;
    changed.notify_all();
    for (;;) {
      changed.wait(lock, [this] { return stop || work != nullptr; });
      if (stop) return;
      const std::function<void()>& now = *work;
      lock.unlock();
      // A CPU that went away has let the thread go, and may be back.
      if (!pinned_to(cpu)) [[maybe_unused]]
        const auto still_offline = pin_to(cpu);
      now();
      lock.lock();
      work = nullptr;
      changed.notify_all();
    }
  }
};

ring::Result<std::unique_ptr<PinnedWorker>> PinnedWorker::start(std::uint32_t cpu) {
  auto channel = std::make_shared<Channel>();
  auto thread = start_thread([channel, cpu] { channel->serve(cpu); });
  if (!thread) return tl::unexpected(thread.error());
  std::unique_ptr<PinnedWorker> worker(new PinnedWorker(cpu, channel));
  worker->thread_ = std::move(*thread);
  std::unique_lock lock(channel->mutex);
  channel->changed.wait(lock, [&channel] { return channel->ready; });
  if (!channel->pinned) {
    ring::Error error = channel->pinned.error();
    lock.unlock();  // the destructor stops the thread
    return tl::unexpected(std::move(error));
  }
  return worker;
}

PinnedWorker::~PinnedWorker() {
  {
    const std::lock_guard lock(channel_->mutex);
    channel_->stop = true;
  }
  channel_->changed.notify_all();
  if (thread_.joinable()) thread_.join();
}

void PinnedWorker::run(const std::function<void()>& work) {
  if (pinned_to(cpu_)) {
    work();
    return;
  }
  std::unique_lock lock(channel_->mutex);
  channel_->work = &work;
  channel_->changed.notify_all();
  channel_->changed.wait(lock, [this] { return channel_->work == nullptr; });
}

}  // namespace ringside::real
