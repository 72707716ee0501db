// SPDX-License-Identifier: Apache-2.0
//
// The command line of an explored program: what is explored, how far, and how that is told.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "explore/program.h"
#include "explore/search.h"
#include "ring/result.h"

namespace ringside::explore {

enum class FrontSearch : std::uint8_t {
  dpor,     ///< every execution
  random,   ///< drawn, as walks.h has it
  pct,      ///< drawn by priorities
  uniform,  ///< drawn, each interleaving as likely as the others
  bounded,  ///< all that cost at most --preemptions, the cheapest first
};

enum class FrontFormat : std::uint8_t { table, json, html };

struct FrontOptions {
  std::vector<std::string> names = {};  ///< empty: all programs
  SearchOptions search = {};
  FrontSearch way = FrontSearch::dpor;
  std::size_t preemptions = 0;  ///< of bounded
  std::uint64_t seed = 1;       ///< of what is drawn
  std::size_t jobs = 1;         ///< searching processes, of dpor
  double seconds = 0;           ///< dpor searches a program for so long; 0: without a bound
  std::string checkpoint = {};  ///< a path: where what is open is kept; empty: nowhere
  std::string resume = {};      ///< a path: such a file, with which it goes on; empty: it begins
  FrontFormat format = FrontFormat::table;
  std::string output = {};  ///< a path; empty: standard output
  std::string replay = {};  ///< a token; empty: explore
  bool list = false;
  bool help = false;
  bool quiet = false;
};

/// Every error says in one line what is wrong with which argument.
ring::Result<FrontOptions> front_options(std::vector<std::string> arguments);
/// What --help says.
std::string front_help(const std::string& program);

/// What names a failing execution: `NAME/MODEL/BUILD/SCHEDULE`, where BUILD is the beginning of the program file's
/// build id.
struct Token {
  std::string name = {};
  MemoryModel model = MemoryModel::c11;
  std::string build = {};
  std::string schedule = {};

  friend bool operator==(const Token&, const Token&) = default;
};
std::string to_text(const Token& token);
ring::Result<Token> token_from(std::string_view text);

struct FrontHooks {
  const std::map<std::string, Program>& programs;
  /// Explores by that search, of the program as `prepare` gives it.
  using SearchBy = std::function<SearchResult(const Program&, const SearchOptions&)>;
  std::function<SearchResult(const Program&, const SearchOptions&, const SearchBy&)> explore;
  /// The program as search() and replay() must be given it.
  std::function<Program(const Program&)> prepare;
  std::string build = {};  ///< in tokens; as it was linked
};

inline constexpr int front_clean = 0;
inline constexpr int front_failed = 1;  ///< some execution fails
inline constexpr int front_usage = 2;   ///< nothing was explored
inline constexpr int front_fault = 70;  ///< of ours: the report could not be written, a failure did not come again

/// Explores, lists or replays as the arguments say; `program` is how the file was called. The exit status.
int front(const std::string& program, const std::vector<std::string>& arguments, const FrontHooks& hooks);

/// The beginning of this process's build id, as tokens have it.
std::string own_build();

}  // namespace ringside::explore
