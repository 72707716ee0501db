// SPDX-License-Identifier: Apache-2.0
#include "harness/list.h"

#include <fmt/format.h>

#include <algorithm>

#include "consumers/registry.h"
#include "harness/catalogue.h"
#include "harness/explore.h"
#include "harness/nearest.h"
#include "harness/run_result_json.h"
#include "harness/scenario.h"

namespace ringside::harness {
namespace {

using Json = nlohmann::ordered_json;

/// One listed thing: its name, short facts with their titles, and a sentence.
struct Item {
  std::string name;
  std::vector<std::pair<std::string, std::string>> facts;
  std::string summary;
};

constexpr ring::RingKind all_kinds[] = {ring::RingKind::ringbuf, ring::RingKind::perf, ring::RingKind::user_ringbuf};

std::string kinds_text(const Judged& judged) {
  std::vector<std::string> names;
  for (const ring::RingKind kind : all_kinds) {
    if (judged.runs_on(kind)) names.emplace_back(ring::name_of(kind));
  }
  return joined(names);
}

Item judged_item(const Judged& judged, const char* summary) {
  const char* const worlds = judged.lives_in(WorldKind::model) ? "model, kernel" : "kernel";
  return {judged.name(), {{"rings", kinds_text(judged)}, {"worlds", worlds}}, summary};
}

std::vector<Item> consumer_items() {
  std::vector<Item> items;
  for (const consumers::Entry& entry : consumers::strategies()) {
    items.push_back(judged_item({.consumer = entry.consumer}, entry.consumer->summary));
  }
  for (const consumers::ProducerEntry& entry : consumers::producer_strategies()) {
    items.push_back(judged_item({.producer = entry.producer}, entry.producer->summary));
  }
  return items;
}

std::vector<Item> scenario_items() {
  std::vector<Item> items;
  for (const Scenario& scenario : shipped_scenarios()) {
    std::vector<std::string> rings;
    for (const ring::RingKind kind : scenario.rings) rings.emplace_back(ring::name_of(kind));
    items.push_back({scenario.name, {{"rings", joined(rings)}, {"cases", joined(scenario.cases)}}, scenario.summary});
  }
  return items;
}

std::string worlds_text(const consumers::Trial& trial) {
  std::vector<std::string> worlds;
  if (trial.model) worlds.emplace_back("model");
  if (trial.kernel) worlds.emplace_back("kernel");
  if (!trial.program.empty()) worlds.emplace_back("explored");
  return joined(worlds);
}

/// What is wrong with it, and why not every world shows that.
std::string what_text(const JudgedMutant& mutant) {
  const std::string_view why = mutant.trial.why;
  return fmt::format("{}{}{}", mutant.what, why.empty() ? "" : " ", why);
}

std::vector<Item> mutant_items() {
  std::vector<Item> items;
  for (const JudgedMutant& mutant : all_mutants()) {
    items.push_back({mutant.judged.name(),
                     {{"case", std::string{mutant.case_number}},
                      {"its own defect", std::string{ring::name_of(mutant.expected)}},
                      {"rings", kinds_text(mutant.judged)},
                      {"worlds", worlds_text(mutant.trial)},
                      {"scenario", std::string{mutant.trial.scenario}}},
                     what_text(mutant)});
  }
  return items;
}

std::vector<Item> ring_items() {
  return {
      {"ringbuf", {}, "BPF ring buffer (BPF_MAP_TYPE_RINGBUF): many producers, one ring, records of any size"},
      {"perf", {}, "perf event rings (BPF_MAP_TYPE_PERF_EVENT_ARRAY): one ring a CPU, losses told by PERF_RECORD_LOST"},
      {"user_ringbuf", {}, "user ring buffer (BPF_MAP_TYPE_USER_RINGBUF): user space produces, a BPF program drains"},
  };
}

/// What lies beside the command: the programs themselves are asked. A file that cannot tell has none.
std::vector<Item> program_items() {
  std::vector<Item> items;
  const auto files = explored_files(explored_folder());
  if (!files) return items;
  for (const ExploredFile& file : *files) {
    for (const std::string& name : file.programs) items.push_back({name, {}, file.path});
  }
  return items;
}

std::vector<Item> items_of(std::string_view topic) {
  if (topic == "programs") return program_items();
  if (topic == "consumers") return consumer_items();
  if (topic == "scenarios") return scenario_items();
  if (topic == "mutants") return mutant_items();
  return ring_items();
}

std::string topic_table(std::string_view topic, const std::vector<Item>& items, const TextStyle& style) {
  std::string text = fmt::format("{}\n", paint(style, Tone::strong, topic));
  if (items.empty()) return text;
  Grid grid{{""}, {}, true, {}};
  for (const auto& fact : items.front().facts) grid.header.push_back(fact.first);
  grid.header.emplace_back();
  for (const Item& item : items) {
    std::vector<GridCell> row{{item.name, Tone::plain}};
    for (const auto& fact : item.facts) row.push_back({fact.second, Tone::faint});
    row.push_back({item.summary, Tone::plain});
    grid.rows.push_back(std::move(row));
  }
  return text + to_text(grid, style);
}

Json topic_json(const std::vector<Item>& items) {
  Json json = Json::array();
  for (const Item& item : items) {
    Json object;
    object["name"] = item.name;
    for (const auto& [title, value] : item.facts) object[title == "its own defect" ? "expected" : title] = value;
    object["summary"] = item.summary;
    json.push_back(std::move(object));
  }
  return json;
}

template <class Range, class Name>
std::vector<std::string> names_of(const Range& range, Name name) {
  std::vector<std::string> names;
  for (const auto& one : range) names.emplace_back(name(one));
  return names;
}

}  // namespace

const std::vector<std::string>& list_topics() {
  static const std::vector<std::string> topics{"consumers", "scenarios", "mutants", "programs", "rings"};
  return topics;
}

std::vector<std::string> strategy_names() {
  auto names = names_of(consumers::strategies(), [](const consumers::Entry& entry) { return entry.consumer->name; });
  for (const consumers::ProducerEntry& entry : consumers::producer_strategies()) {
    names.emplace_back(entry.producer->name);
  }
  return names;
}

std::vector<std::string> mutant_names() {
  return names_of(all_mutants(), [](const JudgedMutant& mutant) { return mutant.judged.name(); });
}

std::vector<std::string> scenario_names() {
  return names_of(shipped_scenarios(), [](const Scenario& scenario) { return scenario.name; });
}

ring::Result<std::string> list(std::string_view topic, ReportFormat format, const TextStyle& style) {
  const std::vector<std::string>& topics = list_topics();
  if (!topic.empty() && std::find(topics.begin(), topics.end(), topic) == topics.end()) {
    return ring::error(fmt::format("list \"{}\"", one_line(topic)), "there is no such topic",
                       fmt::format("valid: {}", joined(topics)));
  }
  if (format == ReportFormat::junit) {
    return ring::error("write a list as junit", "it has no test cases", "use --format table or json");
  }
  const std::vector<std::string> wanted = topic.empty() ? topics : std::vector<std::string>{std::string{topic}};
  std::string text;
  Json json;
  json["schema"] = "ringside-list/1";
  for (const std::string& one : wanted) {
    const std::vector<Item> items = items_of(one);
    json[one] = topic_json(items);
    if (!text.empty()) text += '\n';
    text += topic_table(one, items, style);
  }
  return format == ReportFormat::json ? dump(json, 2) + '\n' : text;
}

}  // namespace ringside::harness
