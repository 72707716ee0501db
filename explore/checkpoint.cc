// SPDX-License-Identifier: Apache-2.0
#include "explore/checkpoint.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "explore/take_text.h"

namespace ringside::explore {
namespace {

using Json = nlohmann::ordered_json;
constexpr const char* schema = "ringside-checkpoint/1";

Json lines_of(const std::vector<Task>& tasks) {
  Json lines = Json::array();
  for (const Task& task : tasks) lines.push_back(to_text(task));
  return lines;
}

std::vector<Task> tasks_from(const Json& lines) {
  std::vector<Task> tasks;
  for (const Json& line : lines) {
    auto task = task_from(line.get_ref<const std::string&>());
    if (!task) throw std::invalid_argument(ring::to_string(task.error()));
    tasks.push_back(std::move(*task));
  }
  return tasks;
}

Json to_json(const Checkpoint::Part& part) {
  Json json;
  json["name"] = part.name;
  json["complete"] = part.open.so_far.complete;
  json["blocked"] = part.open.so_far.blocked;
  json["share"] = fmt::format("{:x}", part.open.so_far.share);
  json["seconds"] = part.seconds;
  json["notes"] = part.open.notes;
  json["widths"] = lines_of(part.open.widths);
  json["tasks"] = lines_of(part.open.tasks);
  json["ended"] = part.ended ? Json::parse(json_of({*part.ended})) : Json(nullptr);
  return json;
}

Checkpoint::Part part_from(const Json& json) {
  Checkpoint::Part part{.name = json.at("name"), .seconds = json.at("seconds")};
  part.open.so_far.complete = json.at("complete");
  part.open.so_far.blocked = json.at("blocked");
  if (!is_number(json.at("share").get_ref<const std::string&>(), part.open.so_far.share, 16)) {
    throw std::invalid_argument("a share that is no number");
  }
  part.open.notes = json.at("notes");
  part.open.widths = tasks_from(json.at("widths"));
  part.open.tasks = tasks_from(json.at("tasks"));
  std::uint64_t share = part.open.so_far.share;
  for (const Task& task : part.open.tasks) share += task.weight;
  if (share != whole_weight) throw std::invalid_argument("what was seen and what is open are not the whole");
  if (json.at("ended").is_null()) return part;
  auto reports = reports_from_json(json.at("ended").dump());
  if (!reports) throw std::invalid_argument(ring::to_string(reports.error()));
  part.ended = std::move(reports->at(0));
  return part;
}

}  // namespace

std::string to_text(const Checkpoint& checkpoint) {
  Json json;
  json["schema"] = schema;
  json["build"] = checkpoint.terms.build;
  json["memory"] = checkpoint.terms.memory;
  json["events"] = checkpoint.terms.events;
  json["shard"] = checkpoint.terms.shard;
  json["shards"] = checkpoint.terms.shards;
  json["programs"] = Json::array();
  for (const Checkpoint::Part& part : checkpoint.programs) json["programs"].push_back(to_json(part));
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + '\n';
}

ring::Result<Checkpoint> checkpoint_from(std::string_view text) {
  try {
    const Json json = Json::parse(text);
    if (json.at("schema") != schema) throw std::invalid_argument(fmt::format("its schema is not {}", schema));
    Checkpoint checkpoint;
    checkpoint.terms = {.build = json.at("build"),
                        .memory = json.at("memory"),
                        .events = json.at("events"),
                        .shard = json.at("shard"),
                        .shards = json.at("shards")};
    for (const Json& part : json.at("programs")) checkpoint.programs.push_back(part_from(part));
    return checkpoint;
  } catch (const std::exception& fault) {
    return ring::error("read a checkpoint", fault.what(), "it is damaged; search anew");
  }
}

ring::Result<void> check_terms(const std::string& path, const Checkpoint::Terms& kept, const Checkpoint::Terms& asked) {
  const auto other = [&](const std::string& kept_one, const std::string& asked_one, const char* remedy) {
    return ring::error("go on with " + path, fmt::format("it is of {}, and this is {}", kept_one, asked_one), remedy);
  };
  if (kept.build != asked.build) return other("build " + kept.build, "build " + asked.build, "search anew");
  if (kept.memory != asked.memory) return other(kept.memory, asked.memory, "say its --memory");
  if (kept.events != asked.events) {
    return other(fmt::format("{} events", kept.events), fmt::format("{} events", asked.events), "say its --events");
  }
  if (kept.shard != asked.shard || kept.shards != asked.shards) {
    return other(fmt::format("part {} of {}", kept.shard + 1, kept.shards),
                 fmt::format("part {} of {}", asked.shard + 1, asked.shards), "say its --shard");
  }
  return {};
}

}  // namespace ringside::explore
