// SPDX-License-Identifier: Apache-2.0
#include "harness/catalogue.h"

#include <fmt/format.h>

#include "harness/nearest.h"

namespace ringside::harness {

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

ring::Result<const ringside_consumer*> Catalogue::find(const std::string& name) const {
  std::vector<std::string> names;
  for (const consumers::Entry& entry : consumers::strategies()) {
    if (name == entry.consumer->name) return entry.consumer;
    names.emplace_back(entry.consumer->name);
  }
  if (const consumers::Mutant* mutant = find_mutant(name)) return mutant->consumer;
  for (const consumers::Mutant& mutant : consumers::mutants()) names.emplace_back(mutant.consumer->name);
  if (plugin_ && name == plugin_->consumer().name) return &plugin_->consumer();
  if (plugin_) names.emplace_back(plugin_->consumer().name);
  return ring::error(fmt::format("find consumer \"{}\"", name), "no consumer has that name", suggestion(name, names));
}

const consumers::Mutant* Catalogue::find_mutant(const std::string& name) const {
  for (const consumers::Mutant& mutant : consumers::mutants()) {
    if (name == mutant.consumer->name) return &mutant;
  }
  return nullptr;
}

std::vector<std::string> Catalogue::default_names() const {
  if (plugin_) return {plugin_->consumer().name};
  std::vector<std::string> names;
  for (const consumers::Entry& entry : consumers::strategies()) names.emplace_back(entry.consumer->name);
  return names;
}

}  // namespace ringside::harness
