// SPDX-License-Identifier: Apache-2.0
#include "harness/catalogue.h"

#include <fmt/format.h>

#include "harness/nearest.h"

namespace ringside::harness {

bool Judged::runs_on(ring::RingKind kind) const {
  const std::uint32_t kinds = consumer != nullptr ? consumer->ring_kinds : RINGSIDE_USER_RINGBUF;
  return (kinds & static_cast<std::uint32_t>(kind)) != 0;
}

bool Judged::lives_in(WorldKind world) const {
  const std::uint32_t needs = consumer != nullptr ? consumer->needs : producer->needs;
  return world == WorldKind::kernel || (needs & (RINGSIDE_NEEDS_FD | RINGSIDE_OWNS_RINGS)) == 0;
}

bool Judged::reads_overwrite_rings() const {
  return consumer != nullptr && (consumer->claims & RINGSIDE_CLAIM_READS_OVERWRITE) != 0;
}

bool Judged::reads_several_rings() const {
  return consumer != nullptr && (consumer->needs & RINGSIDE_NEEDS_ONE_RING) == 0;
}

bool Judged::reads_backward() const {
  return consumer != nullptr && (consumer->claims & RINGSIDE_CLAIM_READS_BACKWARD) != 0;
}

bool Judged::reads_sides() const { return consumer != nullptr && (consumer->claims & RINGSIDE_CLAIM_READS_SIDES) != 0; }

bool JudgedMutant::tried_in(WorldKind world) const {
  if (world == WorldKind::explored) return !trial.program.empty();
  return world == WorldKind::model ? trial.model : trial.kernel;
}

std::vector<JudgedMutant> all_mutants() {
  std::vector<JudgedMutant> all;
  const auto add = [&all](const Judged& judged, const auto& mutant) {
    all.push_back({judged, mutant.expected, mutant.what, mutant.case_number, mutant.trial});
  };
  for (const consumers::Mutant& mutant : consumers::mutants()) add({.consumer = mutant.consumer}, mutant);
  for (const auto& mutant : consumers::producer_mutants()) add({.producer = mutant.producer}, mutant);
  return all;
}

ring::Result<Catalogue> Catalogue::load(const std::string& plugin_path) {
  Catalogue catalogue;
  if (plugin_path.empty()) return catalogue;
  auto plugin = Plugin::load(plugin_path);
  if (!plugin) return tl::unexpected(plugin.error());
  const std::string name = plugin->consumer().name;
  if (catalogue.find(name)) {
    return ring::error(fmt::format("load plugin \"{}\"", plugin_path),
                       fmt::format("its consumer is called \"{}\", as one of ringside's own", name),
                       "give it another name");
  }
  catalogue.plugin_.emplace(std::move(*plugin));
  return catalogue;
}

ring::Result<Judged> Catalogue::find(const std::string& name) const {
  std::vector<Judged> all;
  for (const consumers::Entry& entry : consumers::strategies()) all.push_back({.consumer = entry.consumer});
  for (const auto& entry : consumers::producer_strategies()) all.push_back({.producer = entry.producer});
  for (const JudgedMutant& mutant : all_mutants()) all.push_back(mutant.judged);
  if (plugin_) all.push_back({.consumer = &plugin_->consumer()});
  std::vector<std::string> names;
  for (const Judged& judged : all) {
    if (name == judged.name()) return judged;
    names.emplace_back(judged.name());
  }
  return ring::error(fmt::format("find consumer \"{}\"", name), "no consumer has that name", suggestion(name, names));
}

std::vector<std::string> Catalogue::default_names() const {
  if (plugin_) return {plugin_->consumer().name};
  std::vector<std::string> names;
  for (const consumers::Entry& entry : consumers::strategies()) names.emplace_back(entry.consumer->name);
  for (const auto& entry : consumers::producer_strategies()) names.emplace_back(entry.producer->name);
  return names;
}

}  // namespace ringside::harness
