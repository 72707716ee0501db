// SPDX-License-Identifier: Apache-2.0
#include "explore/message.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "explore/take_text.h"

namespace ringside::explore {
namespace {

constexpr std::size_t head_bytes = 1 + sizeof(std::uint32_t);

std::string lines_of(const std::vector<Task>& tasks) {
  std::string text;
  for (const Task& task : tasks) text += to_text(task) + '\n';
  return text;
}

std::vector<Task> tasks_from(std::string_view lines) {
  std::vector<Task> tasks;
  while (!lines.empty()) tasks.push_back(task_from(take_until(lines, '\n')).value());
  return tasks;
}

template <class T>
T number_from(std::string_view& text, int base = 10) {
  T number{};
  is_number(take_until(text, ' '), number, base);
  return number;
}

constexpr int no_defect = -1;

}  // namespace

bool send(int socket, const Message& message) {
  const auto size = static_cast<std::uint32_t>(message.text.size());
  std::string bytes(head_bytes, static_cast<char>(message.kind));
  std::memcpy(&bytes[1], &size, sizeof size);
  bytes += message.text;
  for (std::string_view rest = bytes; !rest.empty();) {
    const ssize_t sent = ::send(socket, rest.data(), rest.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno != EINTR) return false;
    if (sent > 0) rest.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

std::optional<Message> MessageStream::next() {
  std::uint32_t size = 0;
  if (bytes_.size() < head_bytes) return std::nullopt;
  std::memcpy(&size, &bytes_[1], sizeof size);
  if (bytes_.size() < head_bytes + size) return std::nullopt;
  Message message{.kind = static_cast<Message::Kind>(bytes_[0]), .text = bytes_.substr(head_bytes, size)};
  bytes_.erase(0, head_bytes + size);
  return message;
}

std::string to_text(const Account& account) {
  const int defect = account.defect ? static_cast<int>(*account.defect) : no_defect;
  return fmt::format("{} {} {:x} {} {} {} {} {} {}\n{}{}{}", account.seen.complete, account.seen.blocked,
                     account.seen.share, account.mixed_words, account.notes, static_cast<int>(account.kind), defect,
                     account.what.size(), account.schedule.size(), account.what, account.schedule,
                     lines_of(account.tasks));
}

Account account_from(std::string_view text) {
  Account account;
  std::string_view head = take_until(text, '\n');
  account.seen.complete = number_from<std::uint64_t>(head);
  account.seen.blocked = number_from<std::uint64_t>(head);
  account.seen.share = number_from<std::uint64_t>(head, 16);
  account.mixed_words = number_from<std::uint64_t>(head);
  account.notes = number_from<std::uint32_t>(head);
  account.kind = static_cast<FailureKind>(number_from<int>(head));
  if (const int defect = number_from<int>(head); defect != no_defect) {
    account.defect = static_cast<ring::DefectKind>(defect);
  }
  const auto what_bytes = number_from<std::size_t>(head);
  const auto schedule_bytes = number_from<std::size_t>(head);
  account.what = text.substr(0, what_bytes);
  account.schedule = text.substr(what_bytes, schedule_bytes);
  account.tasks = tasks_from(text.substr(what_bytes + schedule_bytes));
  return account;
}

std::string to_text(const Assignment& assignment) {
  return fmt::format("{}\n{}", assignment.executions, lines_of(assignment.tasks));
}

Assignment assignment_from(std::string_view text) {
  Assignment assignment;
  is_number(take_until(text, '\n'), assignment.executions);
  assignment.tasks = tasks_from(text);
  return assignment;
}

}  // namespace ringside::explore
