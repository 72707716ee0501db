// SPDX-License-Identifier: Apache-2.0
//
// Everything that a command can name to be judged: the strategies, the mutants, and a plugin's consumer.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "consumers/registry.h"
#include "harness/plugin.h"
#include "harness/world_kind.h"
#include "ring/consumer.h"
#include "ring/producer.h"
#include "ring/result.h"
#include "ring/ring_kind.h"

namespace ringside::harness {

/// What a run judges: a consumer, or a producer of user ring buffers. Exactly one of the two is set.
struct Judged {
  const ringside_consumer* consumer = nullptr;
  const ringside_producer* producer = nullptr;

  const char* name() const { return consumer != nullptr ? consumer->name : producer->name; }
  bool runs_on(ring::RingKind kind) const;
  /// Whether it can run there: the model has no descriptors.
  bool lives_in(WorldKind world) const;
  /// Whether it claims to read BPF rings that overwrite their oldest records.
  bool reads_overwrite_rings() const;
  /// Whether it reads BPF rings of several CPUs, one a CPU.
  bool reads_several_rings() const;
  /// Whether it reads the two sides of an A/B swap, and nothing else.
  bool reads_sides() const;
  /// Whether it reads perf rings that are written backward, and nothing else.
  bool reads_backward() const;
};

/// A mutant of either kind.
struct JudgedMutant {
  Judged judged;
  ring::DefectKind expected{};
  std::string_view what;
  std::string_view case_number;
  consumers::Trial trial;

  /// Whether it must be convicted there.
  bool tried_in(WorldKind world) const;
  /// Of what.
  ring::DefectKind expected_in(WorldKind world) const {
    return world == WorldKind::explored ? trial.explored : expected;
  }
};
/// All of them: those of consumers first.
std::vector<JudgedMutant> all_mutants();

class Catalogue {
 public:
  /// Loads the plugin when the path is not empty; its consumer's name must be new.
  static ring::Result<Catalogue> load(const std::string& plugin_path);

  /// Strategies, mutants or the plugin's consumer by name; an unknown name is an error with the nearest one.
  ring::Result<Judged> find(const std::string& name) const;
  /// What runs when nothing is named: every strategy, and the plugin's consumer alone when there is one.
  std::vector<std::string> default_names() const;

 private:
  std::optional<Plugin> plugin_;
};

}  // namespace ringside::harness
