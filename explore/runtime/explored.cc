// SPDX-License-Identifier: Apache-2.0
#include "explore/explored.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <utility>

#include "explore/runtime/crash.h"
#include "explore/runtime/descriptors.h"
#include "explore/runtime/world.h"

namespace ringside::explore {
namespace {

std::map<std::string, Program>& programs() {
  static std::map<std::string, Program> all;
  return all;
}

/// What runtime::world knows of a search in all.
std::uint32_t notes(std::uint32_t more) {
  constexpr std::uint32_t refused = 1;
  constexpr std::uint32_t seen = 2;
  runtime::World& world = runtime::world;
  world.timeouts_refused = world.timeouts_refused || (more & refused) != 0;
  world.seen_any = world.seen_any || world.hooks != 0 || (more & seen) != 0;
  return (world.timeouts_refused ? refused : 0) | (world.seen_any ? seen : 0);
}

}  // namespace

Program prepared(const Program& program) {
  Program wrapped = program;
  // As long as the program lives: a crash of one of its threads is its failure.
  const auto handler = std::make_shared<runtime::CrashHandler>();
  wrapped.begin = [&program, handler] {
    runtime::reset();
    if (program.begin) program.begin();
  };
  if (!wrapped.callers) wrapped.callers = call_stack;
  for (std::function<void()>& thread : wrapped.threads) thread = [body = std::move(thread)] { runtime::run(body); };
  return wrapped;
}

SearchResult explore(const Program& program, const SearchOptions& options) { return explore(program, options, search); }

SearchResult explore(const Program& program, const SearchOptions& options, const SearchBy& search_by) {
  const Program wrapped = prepared(program);
  runtime::world.hooks = 0;
  runtime::world.seen_any = false;
  runtime::world.stacks_shared = runtime::world.timeouts_refused = false;
  SearchOptions noted = options;
  noted.notes = notes;
  SearchResult result = search_by(wrapped, noted);
  result.cut = result.cut || runtime::world.timeouts_refused;
  if (!result.failure && !runtime::world.seen_any && runtime::world.hooks == 0) {
    result.failure = Failure{.kind = FailureKind::not_instrumented,
                             .what = "no access of any thread was seen; build its sources with ringside_add_explored()",
                             .graph = {}};
  }
  return result;
}

Registered::Registered(std::string name, Program program) {
  const std::vector<Name> words = runtime::descriptors().names();
  program.names.insert(program.names.end(), words.begin(), words.end());
  programs().emplace(std::move(name), std::move(program));
}

const std::map<std::string, Program>& registered_programs() { return programs(); }

std::vector<const void*> call_stack(std::size_t thread) {
  const runtime::ThreadRecord& record = runtime::world.threads.at(thread);
  const auto depth = static_cast<std::ptrdiff_t>(std::min(record.depth, runtime::deepest_stack));
  // In braces the two iterators, which are pointers, would be what it holds.
  return std::vector<const void*>(record.stack.begin(), record.stack.begin() + depth);  // NOLINT
}

std::string summary_of(const SearchResult& result) {
  const std::string count =
      fmt::format("{} execution{}{}", result.complete, result.complete == 1 ? "" : "s", result.cut ? ", cut" : "");
  if (!result.failure) return count + ", clean";
  return fmt::format("{} before: {}: {}", count, name_of(result.failure->kind), result.failure->what);
}

}  // namespace ringside::explore
