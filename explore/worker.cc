// SPDX-License-Identifier: Apache-2.0
#include "explore/worker.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <system_error>
#include <utility>

#include "explore/engine.h"
#include "explore/private_memory.h"

namespace ringside::explore {
namespace {

/// What the copy does until its parent is gone.
class Labour {
 public:
  Labour(const Program& program, const SearchOptions& options, std::vector<Task> widths, int socket)
      : options_(options), widths_(std::move(widths)), socket_(socket), engine_(program, options_) {
    options_.stop = [this](const Tally& tally) { return between_executions(tally); };
    options_.anew = [this] {
      tell(Message::Kind::anew, {.tasks = open_.widths});
      ::_exit(0);
    };
  }

  void work() {
    while (true) {
      take_messages(true);
      stopped_ = asked_ = false;
      told_ = {};
      const SearchResult result = engine_.run(open_);
      Account account{.seen = since_told(open_.so_far), .mixed_words = result.mixed_words};
      if (result.failure) {
        account.kind = result.failure->kind;
        account.defect = result.failure->defect;
        account.what = result.failure->what;
        account.schedule = result.failure->schedule;
        tell(Message::Kind::failed, std::move(account));
        ::_exit(0);
      }
      account.tasks = std::move(open_.tasks);
      tell(Message::Kind::done, std::move(account));
    }
  }

 private:
  void tell(Message::Kind kind, Account account) {
    if (options_.notes) account.notes = options_.notes(0);
    if (!send(socket_, {kind, to_text(account)})) ::_exit(0);  // nobody is left to be told
  }

  Tally since_told(const Tally& tally) {
    const Tally before = std::exchange(told_, tally);
    return {.complete = tally.complete - before.complete,
            .blocked = tally.blocked - before.blocked,
            .share = tally.share - before.share};
  }

  std::optional<Bound> between_executions(const Tally& tally) {
    constexpr std::uint32_t seldom = 32;  // a look costs as much as a part of an execution
    if (++executions_ % seldom == 0) {
      take_messages(false);
      tell_now_and_then(tally);
    }
    if (asked_) hand_back();
    if (stopped_) return Bound::executions;
    return std::nullopt;
  }

  void tell_now_and_then(const Tally& tally) {
    const auto now = std::chrono::steady_clock::now();
    if (now < next_told_) return;
    next_told_ = now + std::chrono::milliseconds(100);
    tell(Message::Kind::told, {.seen = since_told(tally)});
  }

  /// Half of what is open, that which is nearest to the beginning: it is the most.
  void hand_back() {
    constexpr std::size_t most = 64;
    const std::size_t half = (open_.tasks.size() + engine_.open_count()) / 2;
    if (half == 0) return;
    const auto whole = static_cast<std::ptrdiff_t>(std::min({half, open_.tasks.size(), most}));
    Account account;
    account.tasks.assign(open_.tasks.begin(), open_.tasks.begin() + whole);
    open_.tasks.erase(open_.tasks.begin(), open_.tasks.begin() + whole);
    for (Task& task : engine_.give(std::min(half, most) - account.tasks.size()))
      account.tasks.push_back(std::move(task));
    if (account.tasks.empty()) return;
    asked_ = false;
    tell(Message::Kind::given, std::move(account));
  }

  /// Until there are tasks, or only what has come.
  void take_messages(bool until_tasks) {
    while (true) {
      while (const auto message = stream_.next()) {
        if (message->kind == Message::Kind::give) asked_ = true;
        if (message->kind == Message::Kind::stop) stopped_ = true;
        if (message->kind != Message::Kind::tasks) continue;
        Assignment assignment = assignment_from(message->text);
        options_.most_executions = assignment.executions;
        open_ = {.tasks = std::move(assignment.tasks), .widths = widths_};
        return;
      }
      pollfd ready{.fd = socket_, .events = POLLIN, .revents = 0};
      if (!until_tasks && ::poll(&ready, 1, 0) <= 0) return;
      std::array<char, 65536> bytes{};
      const ssize_t count = ::recv(socket_, bytes.data(), bytes.size(), 0);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) ::_exit(0);
      stream_.add({bytes.data(), static_cast<std::size_t>(count)});
    }
  }

  SearchOptions options_;
  std::vector<Task> widths_;
  int socket_;
  Engine engine_;
  MessageStream stream_;
  OpenSearch open_;
  Tally told_;
  std::uint32_t executions_ = 0;
  std::chrono::steady_clock::time_point next_told_{};
  bool asked_ = false;
  bool stopped_ = false;
};

/// The copy must not outlive its parent, nor be ended by what asks that to end: it is told.
void become_a_worker(pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(0);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::signal(signal, SIG_IGN);
}

}  // namespace

Worker::Worker(const Program& program, const SearchOptions& options, const std::vector<Task>& widths,
               const std::vector<int>& others) {
  std::array<int, 2> sockets{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.data()) != 0) {
    throw std::system_error(errno, std::generic_category(), "socket to a searching process");
  }
  const pid_t parent = ::getpid();
  process_ = ::fork();
  if (process_ == 0) {
    become_a_worker(parent);
    ::close(sockets[0]);
    for (const int other : others) ::close(other);
    if (!make_shared_memory_private()) ::_exit(1);
    Labour(program, options, widths, sockets[1]).work();
  }
  const int fault = errno;
  ::close(sockets[1]);
  socket_ = sockets[0];
  if (process_ > 0) return;
  wait();
  throw std::system_error(fault, std::generic_category(), "fork a searching process");
}

Worker::Worker(Worker&& other) noexcept
    : process_(std::exchange(other.process_, -1)),
      socket_(std::exchange(other.socket_, -1)),
      stream_(std::move(other.stream_)) {}

Worker::~Worker() { end(); }

double Worker::end() {
  if (process_ > 0) ::kill(process_, SIGKILL);
  wait();
  return cpu_seconds_;
}

bool Worker::receive(std::vector<Message>& messages) {
  std::array<char, 65536> bytes{};
  const ssize_t count = ::recv(socket_, bytes.data(), bytes.size(), 0);
  if (count < 0 && errno == EINTR) return true;
  if (count <= 0) return false;
  stream_.add({bytes.data(), static_cast<std::size_t>(count)});
  while (auto message = stream_.next()) messages.push_back(std::move(*message));
  return true;
}

std::string Worker::how_it_ended() {
  const int status = wait();
  return WIFSIGNALED(status) ? fmt::format("by signal {}", WTERMSIG(status)) : "without a word";
}

/// For its end; the status, as waitpid() tells it, once.
int Worker::wait() {
  int status = 0;
  if (socket_ >= 0) ::close(std::exchange(socket_, -1));
  if (process_ <= 0) return status;
  rusage used{};
  while (::wait4(process_, &status, 0, &used) < 0 && errno == EINTR) {
  }
  process_ = -1;
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  cpu_seconds_ = seconds(used.ru_utime) + seconds(used.ru_stime);
  return status;
}

}  // namespace ringside::explore
