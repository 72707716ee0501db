// SPDX-License-Identifier: Apache-2.0
#include "explore/task.h"

#include <fmt/format.h>

#include <algorithm>

#include "explore/take_text.h"

namespace ringside::explore {
namespace {

/// `1-5,9,6-8`: numbers that follow one another are written as their first and last.
std::string ranges_of(const std::vector<std::uint32_t>& numbers) {
  std::string text;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    if (!text.empty()) text += ',';
    text += last == i ? fmt::format("{}", numbers[i]) : fmt::format("{}-{}", numbers[i], numbers[last]);
    i = last + 1;
  }
  return text.empty() ? "-" : text;
}

std::string names_of(const std::vector<ChildName>& children) {
  std::string text;
  for (const ChildName& child : children) {
    text += fmt::format("{}{}.{}", text.empty() ? "" : ",", child.creator, child.ordinal);
  }
  return text.empty() ? "-" : text;
}

/// Each of the numbers from 1 to `count` once, in whatever order.
bool take_ranges(std::string_view text, std::size_t count, std::vector<std::uint32_t>& numbers) {
  if (text == "-") return count == 0;
  do {
    std::uint32_t first = 0;
    if (!take_number(text, first)) return false;
    std::uint32_t last = first;
    if (take(text, '-') && !take_number(text, last)) return false;
    if (first == 0 || last < first || last > count || last - first >= count - numbers.size()) return false;
    for (std::uint32_t number = first; number <= last; ++number) numbers.push_back(number);
  } while (take(text, ','));
  if (!text.empty() || numbers.size() != count) return false;
  std::vector<std::uint32_t> sorted = numbers;
  std::sort(sorted.begin(), sorted.end());
  return std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end();
}

bool take_children(std::string_view text, std::vector<ChildName>& children) {
  if (text == "-") return true;
  do {
    ChildName child;
    if (!take_number(text, child.creator) || !take(text, '.') || !take_number(text, child.ordinal)) return false;
    if (child.creator >= most_threads || children.size() + 1 == most_threads) return false;
    children.push_back(child);
  } while (take(text, ','));
  return text.empty();
}

}  // namespace

std::string to_text(const Task& task) {
  return fmt::format("{} {:x} {} {:x} {} {} {}", task.level, task.path, task.offered, task.weight,
                     names_of(task.children), ranges_of(task.added), to_text(task.schedule));
}

ring::Result<Task> task_from(std::string_view line) {
  const auto wrong = [line](const char* part) {
    return ring::error("read an open part of a search", fmt::format("\"{}\" has no {}", line, part),
                       "the file is damaged; search anew");
  };
  Task task;
  std::string_view rest = line;
  const bool numbers =
      is_number(take_until(rest, ' '), task.level) && is_number(take_until(rest, ' '), task.path, 16) &&
      is_number(take_until(rest, ' '), task.offered) && is_number(take_until(rest, ' '), task.weight, 16);
  if (!numbers) return wrong("place in the search");
  if (!take_children(take_until(rest, ' '), task.children)) return wrong("threads");
  const std::string_view added = take_until(rest, ' ');
  const auto schedule = schedule_from(rest);
  if (!schedule) return tl::unexpected(schedule.error());
  task.schedule = *schedule;
  if (!take_ranges(added, task.schedule.turns.size(), task.added)) return wrong("order of its events");
  return task;
}

}  // namespace ringside::explore
