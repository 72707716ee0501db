// SPDX-License-Identifier: Apache-2.0
//
// What an exploration found, for people and for programs. A report is plain data without an address of the process that
// made it, so that it can be handed on as JSON and be shown elsewhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "explore/minimise.h"
#include "explore/places.h"
#include "explore/program.h"
#include "explore/search.h"
#include "ring/result.h"
#include "ring/text.h"

namespace ringside::explore {

struct ReportedCall {
  std::string function = {};
  std::string source = {};  ///< of the call

  friend bool operator==(const ReportedCall&, const ReportedCall&) = default;
};

struct ReportedStep {
  std::size_t thread = 0;
  std::string kind = {};    ///< as name_of(StepKind) says; `update` for both halves of one
  std::string order = {};   ///< `acquire`; empty for plain accesses and choices
  std::string memory = {};  ///< by name; empty for fences and choices
  std::size_t size_bytes = 0;
  std::optional<std::uint64_t> value = {};   ///< read, stored or chosen
  std::optional<std::uint64_t> before = {};  ///< an update: what it read
  bool asleep = false;
  bool timed = false;       ///< asleep until a timeout
  bool repeats = false;     ///< of a round that its thread stays in
  bool own = false;         ///< a plain access of memory without a name that no other thread accesses
  std::string source = {};  ///< `explore/ring.cc:41`; empty where that is not known
  std::string function = {};
  std::vector<ReportedCall> callers = {};  ///< of that function, innermost first; where known, of called_steps()
  // Other steps, by their index.
  std::optional<std::size_t> reads_from = {};  ///< a load: the store that it saw; none: the value at the beginning
  std::vector<std::size_t> missed = {};        ///< a load: stores made before it that are newer than the one it saw
  std::vector<std::size_t> too_early = {};     ///< a load: stores that are newer and were made only after it

  friend bool operator==(const ReportedStep&, const ReportedStep&) = default;
};

struct ReportedFailure {
  std::string defect = {};  ///< as name_of(Failure) says
  std::string what = {};
  std::vector<ReportedStep> steps = {};
  std::optional<std::size_t> rival = {};  ///< as Failure has it: the index of that step
  std::optional<RingSpan> span = {};
  std::string span_memory = {};  ///< the name of what lies where the span begins
  std::size_t interruptions = 0;
  std::size_t stale = 0;
  std::uint64_t compared = 1;  ///< failing executions of which this is the simplest
  bool compared_all = false;
  std::vector<std::string> story = {};  ///< paragraphs
  std::string token = {};
  std::string replay = {};  ///< the line to paste

  friend bool operator==(const ReportedFailure&, const ReportedFailure&) = default;
};

enum class Verdict : std::uint8_t {
  proved,   ///< every execution that the memory model allows was seen, and is good
  bounded,  ///< all that was seen is good, but a bound left some out
  failed,
};
std::string_view name_of(Verdict verdict);

struct ProgramReport {
  std::string name = {};
  std::string memory = {};  ///< the memory model
  Verdict verdict = Verdict::proved;
  std::vector<std::string> bounds = {};  ///< what was left out, each in some words
  std::uint64_t complete = 0;
  std::uint64_t blocked = 0;
  double seconds = 0;
  std::vector<std::string> threads = {};  ///< by number
  std::string missing = {};               ///< what a fuller report lacks; empty: nothing
  std::optional<ReportedFailure> failure = {};

  friend bool operator==(const ProgramReport&, const ProgramReport&) = default;
};

struct Explored {
  std::string name = {};
  const Program& program;
  MemoryModel model = MemoryModel::c11;
  const SearchResult& result;
  double seconds = 0;
};
/// Names, places and the story of what was found; the failure's own as the minimum has it, if there is one.
ProgramReport report_of(const Explored& explored, const std::optional<Minimum>& minimum, const Places& places);

/// What happened, paragraph by paragraph, for somebody who has never seen the code.
std::vector<std::string> story_of(const ProgramReport& report, const ReportedFailure& failure);

/// How a step is told in a few words: `load producer_pos = 0x10 (acquire)`.
std::string to_text(const ReportedStep& step);
/// How many steps from that one on are of one thread and its own(): shown as one.
std::size_t own_steps(const ReportedFailure& failure, std::size_t index);
/// Decimal below ten, else hexadecimal.
std::string number_text(std::uint64_t value);
/// Whether it is of bytes of a ring that were read too late or too early, with their span.
bool of_ring_bytes(const ReportedFailure& failure);
/// What a step has to do with the defect, in a word or two; empty: nothing.
std::string_view part_in(const ReportedFailure& failure, std::size_t index);
/// The steps that make the failure, by their index, in order: those whose callers are known, and both of a race.
std::vector<std::size_t> called_steps(const ReportedFailure& failure);
/// One sentence without a line feed.
std::string verdict_line(const ProgramReport& report);

/// Prose is broken to fit into the columns; the table is as wide as it is. Ends with a line feed.
std::string text_of(const ProgramReport& report, const ring::TextStyle& style);
/// One page that needs nothing else: lanes, the story, every step.
std::string html_of(const std::vector<ProgramReport>& reports);
/// "ringside-explored/1": what one process found. A reader may rely on its keys; new ones may come.
std::string json_of(const std::vector<ProgramReport>& reports);
/// The programs of such a document, to stand in another.
nlohmann::ordered_json json_programs(const std::vector<ProgramReport>& reports);
/// Errors: no such document, with the place.
ring::Result<std::vector<ProgramReport>> reports_from_json(std::string_view text);

}  // namespace ringside::explore
