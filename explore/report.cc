// SPDX-License-Identifier: Apache-2.0
#include "explore/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "explore/aliases.h"

namespace ringside::explore {
namespace {

/// Names for the memory of one report.
class Memory {
 public:
  Memory(const Program& program, const Places& places) : program_(program), places_(places) {}

  std::string name_of(std::uintptr_t address, std::size_t size) {
    if (const Name* const named = smallest(address)) {
      return part(named->name, address - begin_of(*named), named->size_bytes, size);
    }
    const std::uintptr_t first = canonical(program_.aliases, address);
    if (const Name* const named = smallest(first)) {
      return part(named->name, first - begin_of(*named), named->size_bytes, size);
    }
    if (const auto symbol = places_.variable(address)) {
      return part(symbol->name, symbol->offset, symbol->size_bytes, size);
    }
    const auto [place, added] = numbers_.emplace(first, numbers_.size() + 1);
    return fmt::format("unnamed {}", place->second);
  }

  /// What lies where the span begins.
  std::string name_of(const RingSpan& span) {
    for (const Ring& ring : program_.rings) {
      if (ring.name != span.ring) continue;
      const std::uint64_t offset = span.from & (ring.size_bytes - 1);
      return name_of(reinterpret_cast<std::uintptr_t>(ring.data) + offset, sizeof(std::uint32_t));
    }
    return "";
  }

  /// The program gives it a name.
  bool has_name(std::uintptr_t address) const { return smallest(canonical(program_.aliases, address)) != nullptr; }

  bool overlap(const Step& a, const Step& b) const {
    return explore::overlap(program_.aliases, a.address, a.size_bytes, b.address, b.size_bytes);
  }

 private:
  static std::uintptr_t begin_of(const Name& name) { return reinterpret_cast<std::uintptr_t>(name.begin); }

  const Name* smallest(std::uintptr_t address) const {
    const Name* best = nullptr;
    for (const Name& name : program_.names) {
      const bool holds = address - begin_of(name) < name.size_bytes;
      if (holds && (best == nullptr || name.size_bytes < best->size_bytes)) best = &name;
    }
    return best;
  }

  static std::string part(const std::string& name, std::size_t offset, std::size_t whole, std::size_t size) {
    if (offset == 0 && size == whole) return name;
    return fmt::format("{}[{}..{})", name, offset, offset + size);
  }

  const Program& program_;
  const Places& places_;
  std::map<std::uintptr_t, std::size_t> numbers_;
};

std::string_view name_of(Order order) {
  switch (order) {
    case Order::relaxed:
      return "relaxed";
    case Order::acquire:
      return "acquire";
    case Order::release:
      return "release";
    case Order::acq_rel:
      return "acq_rel";
    case Order::seq_cst:
      return "seq_cst";
  }
  return "?";
}

bool is_plain(const Step& step) { return step.kind == StepKind::plain_read || step.kind == StepKind::plain_write; }

/// The steps of one failure as they are reported: both halves of an update are one.
class Steps {
 public:
  Steps(const Failure& failure, Memory& memory, const Places& places) : failure_(failure) {
    for (const Step& step : failure.steps) {
      if (!joins_the_last(step)) steps_.push_back(told(step, memory, places));
      reported_.push_back(steps_.size() - 1);
      if (!step.event.initial()) step_of_.emplace(step.event, steps_.size() - 1);
    }
    for (std::size_t index = 0; index < failure.steps.size(); ++index) {
      ReportedStep& step = steps_[reported_[index]];
      for (const std::size_t missed : failure.steps[index].missed) add(step.missed, reported_[missed]);
    }
    add_relations();
    find_own(memory);
    find_callers(places);
    take_off_common_folder();
  }

  std::vector<ReportedStep> steps() && { return std::move(steps_); }
  std::optional<std::size_t> rival() const {
    if (!failure_.rival) return std::nullopt;
    return reported_[*failure_.rival];
  }

 private:
  static void add(std::vector<std::size_t>& all, std::size_t one) {
    if (std::find(all.begin(), all.end(), one) == all.end()) all.push_back(one);
  }

  /// The writing half right behind the reading one: what was a load becomes an update.
  bool joins_the_last(const Step& step) {
    if (step.kind != StepKind::update_store || steps_.empty()) return false;
    ReportedStep& last = steps_.back();
    if (last.kind != explore::name_of(StepKind::update_load) || last.thread != step.thread) return false;
    last.kind = "update";
    last.before = last.value;
    last.value = step.value;
    last.repeats = step.repeats;
    return true;
  }

  static ReportedStep told(const Step& step, Memory& memory, const Places& places) {
    ReportedStep told{.thread = step.thread,
                      .kind = std::string{explore::name_of(step.kind)},
                      .size_bytes = step.size_bytes,
                      .asleep = step.asleep,
                      .timed = step.timed,
                      .repeats = step.repeats};
    if (!is_plain(step) && step.kind != StepKind::choice) told.order = name_of(step.order);
    if (!is_plain(step) && step.kind != StepKind::fence) told.value = step.value;
    if (step.size_bytes != 0) told.memory = memory.name_of(step.address, step.size_bytes);
    const SourcePlace place = places.of_call(step.site);
    if (place.known()) told.source = fmt::format("{}:{}", place.file, place.line);
    told.function = place.function;
    return told;
  }

  /// What a thread does to its own memory is of interest where that has a name, or where it fails.
  void find_own(const Memory& memory) {
    for (std::size_t index = 0; index + 1 < failure_.steps.size(); ++index) {
      const Step& step = failure_.steps[index];
      if (!is_plain(step) || failure_.rival == index || memory.has_name(step.address)) continue;
      steps_[reported_[index]].own = std::ranges::none_of(failure_.steps, [&](const Step& other) {
        return other.thread != step.thread && memory.overlap(step, other);
      });
    }
  }

  /// Of the steps that make the failure: the last, the one that it races with, and those that sleep.
  void find_callers(const Places& places) {
    for (std::size_t index = 0; index < failure_.steps.size(); ++index) {
      const Step& step = failure_.steps[index];
      const bool makes_it = index + 1 == failure_.steps.size() || failure_.rival == index || step.asleep;
      if (!makes_it) continue;
      std::vector<ReportedCall>& callers = steps_[reported_[index]].callers;
      callers.clear();
      for (auto caller = step.callers.rbegin(); caller != step.callers.rend(); ++caller) {
        const SourcePlace place = places.of_call(*caller);
        if (place.known() && !place.inner)
          callers.push_back({place.function, fmt::format("{}:{}", place.file, place.line)});
      }
    }
  }

  /// What the graph knows of loads: which steps' stores they saw and which are newer.
  void add_relations() {
    const Graph& graph = failure_.graph;
    for (const auto& [id, index] : step_of_) {
      if (id.index >= graph.count(id.thread) || !reads(graph.at(id).kind)) continue;
      const Event& event = graph.at(id);
      ReportedStep& step = steps_[index];
      graph.for_each_source(event.location, event.reads_from, event.bytes, [&](EventId source) {
        const auto known = step_of_.find(source);
        if (known != step_of_.end() && !step.reads_from) step.reads_from = known->second;
      });
      const auto& stores = graph.location(event.location).stores;
      for (std::size_t at = graph.position_of(event, id); at < stores.size(); ++at) {
        const auto known = step_of_.find(stores[at]);
        const bool after = known != step_of_.end() && known->second > index;
        if (after && (graph.at(stores[at]).bytes & event.bytes) != 0) add(step.too_early, known->second);
      }
    }
  }

  /// Where the sources lie is of no interest, as long as they can be told apart.
  void take_off_common_folder() {
    std::vector<std::string*> sources;
    for (ReportedStep& step : steps_) {
      if (!step.source.empty()) sources.push_back(&step.source);
      for (ReportedCall& call : step.callers) sources.push_back(&call.source);
    }
    if (sources.empty()) return;
    std::string common = *sources.front();
    for (const std::string* const source : sources) {
      common.erase(std::mismatch(common.begin(), common.end(), source->begin(), source->end()).first, common.end());
    }
    const std::size_t slash = common.rfind('/');
    if (slash == std::string::npos) return;
    for (std::string* const source : sources) source->erase(0, slash + 1);
  }

  const Failure& failure_;
  std::vector<ReportedStep> steps_;
  std::vector<std::size_t> reported_;  ///< by step of the failure
  std::map<EventId, std::size_t> step_of_;
};

std::vector<std::string> thread_names(const Program& program, const std::vector<Step>& steps) {
  std::size_t count = program.threads.size();
  for (const Step& step : steps) count = std::max(count, step.thread + 1);
  std::vector<std::string> names = program.thread_names;
  while (names.size() < count) names.push_back(fmt::format("thread {}", names.size()));
  return names;
}

/// The engine says `thread 1`; who has a name is called by it.
std::string with_names(std::string what, const std::vector<std::string>& threads) {
  for (std::size_t thread = 0; thread < threads.size(); ++thread) {
    const std::string number = fmt::format("thread {}", thread);
    if (threads[thread] == number) continue;
    for (std::size_t at = what.find(number); at != std::string::npos; at = what.find(number, at + 1)) {
      what.replace(at, number.size(), threads[thread]);
    }
  }
  return what;
}

/// `; at ring.h:12 and reader.c:34`, as far as that is known.
std::string places_of_race(const ReportedFailure& failure) {
  if (!failure.rival) return "";
  const std::string& early = failure.steps[*failure.rival].source;
  const std::string& late = failure.steps.back().source;
  if (early.empty() && late.empty()) return "";
  return fmt::format("; at {} and {}", early.empty() ? "?" : early, late.empty() ? "?" : late);
}

std::vector<std::string> bounds_of(const SearchResult& result) {
  std::vector<std::string> bounds;
  for (const Bound bound : result.bounds) bounds.push_back(fmt::format("bound by {}", name_of(bound)));
  if (result.cut && bounds.empty()) bounds.emplace_back("bound by how often waits may time out");
  if (result.mixed_words != 0) {
    bounds.push_back(fmt::format(
        "{} accessed atomically in several widths: the stores to each were taken to have one order (explore/search.h)",
        ring::counted(result.mixed_words, "word") + (result.mixed_words == 1 ? " is" : " are")));
  }
  return bounds;
}

}  // namespace

std::string_view name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::proved:
      return "proved";
    case Verdict::bounded:
      return "bounded";
    case Verdict::failed:
      return "failed";
  }
  return "?";
}

std::string number_text(std::uint64_t value) {
  return value < 10 ? fmt::format("{}", value) : fmt::format("{:#x}", value);
}

std::string to_text(const ReportedStep& step) {
  static const std::map<std::string_view, std::string_view> verbs{
      {"load", "load"},        {"store", "store"},        {"update", "update"},
      {"update_load", "load"}, {"update_store", "store"}, {"fence", "fence"},
      {"choice", "choose"},    {"plain_read", "read"},    {"plain_write", "write"}};
  const auto verb = verbs.find(step.kind);
  std::string text{verb == verbs.end() ? step.kind : verb->second};
  if (!step.memory.empty()) text += ' ' + step.memory;
  if (step.before) text += " = " + number_text(*step.before) + " ->";
  if (step.value) text += (step.memory.empty() || step.before ? " " : " = ") + number_text(*step.value);
  if (!step.order.empty()) text += " (" + step.order + ")";
  return text;
}

std::size_t own_steps(const ReportedFailure& failure, std::size_t index) {
  const std::vector<ReportedStep>& steps = failure.steps;
  std::size_t end = index;
  while (end < steps.size() && steps[end].own && steps[end].thread == steps[index].thread) ++end;
  return end - index;
}

std::vector<std::size_t> called_steps(const ReportedFailure& failure) {
  std::vector<std::size_t> steps;
  for (std::size_t index = 0; index < failure.steps.size(); ++index) {
    const bool races = failure.rival && (failure.rival == index || index + 1 == failure.steps.size());
    if (!failure.steps[index].callers.empty() || races) steps.push_back(index);
  }
  return steps;
}

bool of_ring_bytes(const ReportedFailure& failure) {
  return failure.span && (failure.defect == explore::name_of(FailureKind::use_after_release) ||
                          failure.defect == explore::name_of(FailureKind::uninitialised_read));
}

std::string_view part_in(const ReportedFailure& failure, std::size_t index) {
  const bool last = index + 1 == failure.steps.size();
  const bool rival = failure.rival == index;
  if (of_ring_bytes(failure) && failure.defect == explore::name_of(FailureKind::use_after_release) && (last || rival)) {
    return last == failure.span->under_way ? "hands back" : "handed back";
  }
  if (of_ring_bytes(failure) && (last || rival)) {
    return last ? "not written" : "claims";
  }
  return failure.rival && (last || rival) ? "races" : "";
}

std::string verdict_line(const ProgramReport& report) {
  const std::string seen = fmt::format("{} in {:.2f} s", ring::counted(report.complete, "execution"), report.seconds);
  switch (report.verdict) {
    case Verdict::proved:
      return fmt::format("proved under {}: {}, which are all", report.memory, seen);
    case Verdict::bounded:
      return fmt::format("bounded under {}: {}, and not all: {}", report.memory, seen, fmt::join(report.bounds, "; "));
    case Verdict::failed:
      break;
  }
  if (!report.failure) return fmt::format("failed under {}", report.memory);
  return fmt::format("failed under {}: {}: {} (after {})", report.memory, report.failure->defect, report.failure->what,
                     seen);
}

ProgramReport report_of(const Explored& explored, const std::optional<Minimum>& minimum, const Places& places) {
  const SearchResult& result = explored.result;
  ProgramReport report{.name = explored.name,
                       .memory = std::string{name_of(explored.model)},
                       .bounds = bounds_of(result),
                       .complete = result.complete,
                       .blocked = result.blocked,
                       .seconds = explored.seconds};
  if (!report.bounds.empty()) report.verdict = Verdict::bounded;
  if (!result.failure) {
    report.threads = thread_names(explored.program, {});
    return report;
  }
  report.verdict = Verdict::failed;
  const Failure& failure = minimum ? minimum->failure : *result.failure;
  report.threads = thread_names(explored.program, failure.steps);
  Memory memory(explored.program, places);
  Steps steps(failure, memory, places);
  ReportedFailure told{.defect = std::string{name_of(failure)},
                       .what = with_names(failure.what, report.threads),
                       .rival = steps.rival()};
  told.steps = std::move(steps).steps();
  if (failure.kind == FailureKind::data_race) told.what += places_of_race(told);
  told.span = failure.span;
  if (failure.span) told.span_memory = memory.name_of(*failure.span);
  if (minimum) {
    told.interruptions = minimum->cost.interruptions;
    told.stale = minimum->cost.stale;
    told.compared = minimum->compared;
    told.compared_all = minimum->all;
  }
  const auto placed = [](const ReportedStep& step) { return !step.source.empty(); };
  if (!told.steps.empty() && std::none_of(told.steps.begin(), told.steps.end(), placed)) {
    report.missing = "no source lines: build the program with -g";
  }
  told.story = story_of(report, told);
  report.failure = std::move(told);
  return report;
}

}  // namespace ringside::explore
