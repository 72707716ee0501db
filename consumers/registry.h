// SPDX-License-Identifier: Apache-2.0
//
// Every consumer that ships with Ringside, and every producer of user ring buffers: the strategies, and the mutants,
// which are strategies broken on purpose with the defect that each must be convicted of, and where.
#pragma once

#include <span>
#include <string_view>

#include "ring/consumer.h"
#include "ring/defect.h"
#include "ring/producer.h"

namespace ringside::consumers {

/// A strategy. Its name, ring kinds and needs are in the table.
struct Entry {
  const ringside_consumer* consumer;
};

/// The worlds in which a mutant must be convicted, and by what. Made by the four functions below.
struct Trial {
  std::string_view scenario{};  ///< name of the shipped one that convicts it on the model, the kernel or both; or empty
  bool model = false;
  bool kernel = false;
  std::string_view why{};      ///< of one of the two: why the other cannot show the defect, one sentence
  std::string_view program{};  ///< name of the shipped explored program that runs it, or empty
  /// What the explorer convicts it of: it often meets the cause, as a race, before what comes of it.
  ring::DefectKind explored{};
  std::string_view memory{};  ///< memory model of that: `c11`, or `tso` where a right consumer relies on x86

  /// The same, and the explored program besides.
  constexpr Trial and_explored(std::string_view name, ring::DefectKind defect, std::string_view under = "c11") const {
    Trial trial = *this;
    trial.program = name;
    trial.explored = defect;
    trial.memory = under;
    return trial;
  }
};
constexpr Trial on_both(std::string_view scenario) { return {.scenario = scenario, .model = true, .kernel = true}; }
constexpr Trial on_model_only(std::string_view scenario, std::string_view why) {
  return {.scenario = scenario, .model = true, .why = why};
}
constexpr Trial on_kernel_only(std::string_view scenario, std::string_view why) {
  return {.scenario = scenario, .kernel = true, .why = why};
}
/// What neither a world of one thread nor this machine shows.
constexpr Trial explored_only(std::string_view program, ring::DefectKind defect, std::string_view under = "c11") {
  return Trial{}.and_explored(program, defect, under);
}

/// A consumer with one step wrong.
struct Mutant {
  const ringside_consumer* consumer;
  ring::DefectKind expected;     ///< its own defect; others may follow from it
  std::string_view what;         ///< what is wrong, one sentence
  std::string_view case_number;  ///< the public case nearest to it (docs/cases.md): `A1`
  Trial trial;
};

/// All strategies: those of BPF rings first, then those of perf rings. Lives for ever; thread-safe.
std::span<const Entry> strategies();
/// All mutants, likewise.
std::span<const Mutant> mutants();

/// The same for producers of user ring buffers.
struct ProducerEntry {
  const ringside_producer* producer;
};
struct ProducerMutant {
  const ringside_producer* producer;
  ring::DefectKind expected;
  std::string_view what;
  std::string_view case_number;
  Trial trial;
};
std::span<const ProducerEntry> producer_strategies();
std::span<const ProducerMutant> producer_mutants();

/// The strategy of that name, or null.
const Entry* find_strategy(std::string_view name);
/// The mutant of that name, or null.
const Mutant* find_mutant(std::string_view name);

}  // namespace ringside::consumers
