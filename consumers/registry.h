// SPDX-License-Identifier: Apache-2.0
//
// Every consumer that ships with Ringside, and every producer of user ring buffers: the strategies, and the mutants,
// which are strategies broken on purpose with the defect that each must be convicted of.
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

/// A consumer with one step wrong.
struct Mutant {
  const ringside_consumer* consumer;
  ring::DefectKind expected;     ///< its own defect; others may follow from it
  std::string_view what;         ///< what is wrong, one sentence
  std::string_view case_number;  ///< the public case nearest to it (docs/cases.md): `A1`
  std::string_view scenario;     ///< name of the shipped scenario that convicts it
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
  std::string_view scenario;
};
std::span<const ProducerEntry> producer_strategies();
std::span<const ProducerMutant> producer_mutants();

/// The strategy of that name, or null.
const Entry* find_strategy(std::string_view name);
/// The mutant of that name, or null.
const Mutant* find_mutant(std::string_view name);

}  // namespace ringside::consumers
