// SPDX-License-Identifier: Apache-2.0
//
// Every consumer that a command can name: the strategies, the mutants, and a plugin's.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "consumers/registry.h"
#include "harness/plugin.h"
#include "ring/consumer.h"
#include "ring/result.h"

namespace ringside::harness {

class Catalogue {
 public:
  /// Loads the plugin when the path is not empty; its consumer's name must be new.
  static ring::Result<Catalogue> load(const std::string& plugin_path);

  /// Strategies, mutants or the plugin's consumer by name; an unknown name is an error with the nearest one.
  ring::Result<const ringside_consumer*> find(const std::string& name) const;
  /// The mutant of that name, or null.
  const consumers::Mutant* find_mutant(const std::string& name) const;
  /// What runs when nothing is named: every strategy, and the plugin's consumer alone when there is one.
  std::vector<std::string> default_names() const;

 private:
  std::optional<Plugin> plugin_;
};

}  // namespace ringside::harness
