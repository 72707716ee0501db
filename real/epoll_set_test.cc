// SPDX-License-Identifier: Apache-2.0
#include "real/epoll_set.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <functional>
#include <thread>

#include <gtest/gtest.h>

namespace ringside::real {
namespace {

Fd counter(std::uint64_t value) { return Fd(::eventfd(static_cast<unsigned>(value), EFD_CLOEXEC | EFD_NONBLOCK)); }

/// Lets every system call but epoll_pwait2 through, for the calling thread and for good; that one is ENOSYS.
bool forget_epoll_pwait2() {
  const std::array<sock_filter, 4> code{
      sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_epoll_pwait2, 0, 1),
      sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
      sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{.len = static_cast<unsigned short>(code.size()),
                           .filter = const_cast<sock_filter*>(code.data())};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0 &&
         ::syscall(SYS_epoll_pwait2, -1, nullptr, 0, nullptr, nullptr, 0) == -1 && errno == ENOSYS;
}

/// Runs `body` on a thread that meets a kernel from before 5.11.
void on_an_old_kernel(const std::function<void()>& body) {
  std::thread([&body] {
    ASSERT_TRUE(forget_epoll_pwait2());
    body();
  }).join();
}

TEST(EpollSetTest, TellsWhichDescriptorsAreReady) {
  const std::array<Fd, 3> fds{counter(1), counter(0), counter(1)};
  const std::array<int, 3> numbers{fds[0].get(), fds[1].get(), fds[2].get()};
  auto set = EpollSet::create(numbers, RINGSIDE_LEVEL);
  ASSERT_TRUE(set) << set.error();
  std::array<ringside_ready, 4> ready{};
  ASSERT_EQ(set->wait(ready.data(), 4, 0), 2);
  EXPECT_EQ(ready[0].ring + ready[1].ring, 2u);
  EXPECT_EQ(ready[0].events, RINGSIDE_POLLIN);
}

TEST(EpollSetTest, LevelTellsAgainEdgeDoesNot) {
  const Fd fd = counter(1);
  const int number = fd.get();
  std::array<ringside_ready, 1> ready{};
  auto level = EpollSet::create({&number, 1}, RINGSIDE_LEVEL);
  EXPECT_EQ(level->wait(ready.data(), 1, 0), 1);
  EXPECT_EQ(level->wait(ready.data(), 1, 0), 1);
  auto edge = EpollSet::create({&number, 1}, RINGSIDE_EDGE);
  EXPECT_EQ(edge->wait(ready.data(), 1, 0), 1);
  EXPECT_EQ(edge->wait(ready.data(), 1, 0), 0);
}

TEST(EpollSetTest, FetchesNoMoreThanItHandsOn) {
  const std::array<Fd, 2> fds{counter(1), counter(1)};
  const std::array<int, 2> numbers{fds[0].get(), fds[1].get()};
  auto edge = EpollSet::create(numbers, RINGSIDE_EDGE);
  std::array<ringside_ready, 1> ready{};
  ASSERT_EQ(edge->wait(ready.data(), 1, 0), 1);
  const std::uint32_t first = ready[0].ring;
  ASSERT_EQ(edge->wait(ready.data(), 1, 0), 1) << "the second one's edge is not lost";
  EXPECT_EQ(ready[0].ring, 1 - first);
}

TEST(EpollSetTest, EndsAtItsDeadline) {
  auto set = EpollSet::create(std::span<const int>{}, RINGSIDE_LEVEL);
  std::array<ringside_ready, 1> ready{};
  EXPECT_EQ(set->wait(ready.data(), 1, 1'000'000), 0);
}

TEST(EpollSetTest, CancelWakesEveryWaitFromNowOn) {
  auto set = EpollSet::create(std::span<const int>{}, RINGSIDE_LEVEL);
  std::thread other([&set] { set->cancel(); });
  std::array<ringside_ready, 1> ready{};
  EXPECT_EQ(set->wait(ready.data(), 1, -1), -ECANCELED);
  EXPECT_EQ(set->wait(ready.data(), 1, -1), -ECANCELED);
  other.join();
}

TEST(EpollSetTest, ASignalEndsTheWait) {
  struct sigaction action{};
  struct sigaction before{};
  action.sa_handler = [](int) {};
  ASSERT_EQ(::sigaction(SIGALRM, &action, &before), 0);
  auto set = EpollSet::create(std::span<const int>{}, RINGSIDE_LEVEL);
  // Every millisecond, so that one comes after the wait has begun.
  const itimerval every{.it_interval = {.tv_sec = 0, .tv_usec = 1000}, .it_value = {.tv_sec = 0, .tv_usec = 1000}};
  ::setitimer(ITIMER_REAL, &every, nullptr);
  std::array<ringside_ready, 1> ready{};
  EXPECT_EQ(set->wait(ready.data(), 1, -1), -EINTR);
  const itimerval never{};
  ::setitimer(ITIMER_REAL, &never, nullptr);
  ::sigaction(SIGALRM, &before, nullptr);
}

TEST(EpollSetTest, WithoutEpollPwait2TellsWhichDescriptorIsReady) {
  const Fd fd = counter(1);
  const int number = fd.get();
  auto set = EpollSet::create({&number, 1}, RINGSIDE_LEVEL);
  on_an_old_kernel([&set] {
    std::array<ringside_ready, 1> ready{};
    EXPECT_EQ(set->wait(ready.data(), 1, 0), 1);
    EXPECT_EQ(set->wait(ready.data(), 1, -1), 1);
    EXPECT_EQ(set->wait(ready.data(), 1, 4'000'000'000'000'000'000), 1) << "126 years are more than an int has";
    EXPECT_EQ(ready[0].ring, 0u);
  });
}

TEST(EpollSetTest, WithoutEpollPwait2TheDeadlineIsNeverEarly) {
  auto set = EpollSet::create(std::span<const int>{}, RINGSIDE_LEVEL);
  on_an_old_kernel([&set] {
    std::array<ringside_ready, 1> ready{};
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(set->wait(ready.data(), 1, 1'900'000), 0);
    EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::nanoseconds(1'900'000));
  });
}

TEST(EpollSetTest, ADescriptorThatCannotBePolledIsAnError) {
  const int closed = 1000000;
  const auto set = EpollSet::create({&closed, 1}, RINGSIDE_LEVEL);
  ASSERT_FALSE(set);
  EXPECT_EQ(set.error().code, EBADF);
}

}  // namespace
}  // namespace ringside::real
