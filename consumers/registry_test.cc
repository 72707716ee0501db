// SPDX-License-Identifier: Apache-2.0
//
// The lists are whole: every table is of this contract, every name is unique and well formed, every mutant has its
// defect, case and scenario.
#include "consumers/registry.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace ringside::consumers {
namespace {

std::vector<const ringside_consumer*> all_tables() {
  std::vector<const ringside_consumer*> tables;
  for (const Entry& entry : strategies()) tables.push_back(entry.consumer);
  for (const Mutant& mutant : mutants()) tables.push_back(mutant.consumer);
  return tables;
}

TEST(Registry, HoldsWhatTheDebatesAreAbout) {
  EXPECT_GE(strategies().size(), 30u);
  EXPECT_GE(mutants().size(), 70u);
}

std::vector<const ringside_producer*> all_producers() {
  std::vector<const ringside_producer*> tables;
  for (const ProducerEntry& entry : producer_strategies()) tables.push_back(entry.producer);
  for (const ProducerMutant& mutant : producer_mutants()) tables.push_back(mutant.producer);
  return tables;
}

TEST(Registry, HoldsTwoProducersAndNineMutantsOfThem) {
  EXPECT_EQ(producer_strategies().size(), 2u);
  EXPECT_EQ(producer_mutants().size(), 9u);
}

TEST(Registry, EveryProducersTableIsOfItsContract) {
  for (const ringside_producer* table : all_producers()) {
    EXPECT_EQ(table->abi_version, RINGSIDE_PRODUCER_ABI) << table->name;
    EXPECT_EQ(table->struct_size, sizeof(ringside_producer)) << table->name;
    EXPECT_EQ(table->reserve == nullptr, table->commit == nullptr) << table->name;
    EXPECT_TRUE(table->reserve != nullptr || table->send != nullptr) << table->name;
    EXPECT_TRUE(table->open != nullptr && table->wait != nullptr && table->close != nullptr) << table->name;
    EXPECT_GT(std::string_view(table->summary).size(), 10u) << table->name;
    EXPECT_EQ((table->needs & RINGSIDE_NEEDS_FD) != 0, std::string_view(table->name).starts_with("libbpf"));
  }
}

TEST(Registry, EveryTableIsOfThisContract) {
  for (const ringside_consumer* table : all_tables()) {
    EXPECT_EQ(table->abi_version, RINGSIDE_CONSUMER_ABI) << table->name;
    EXPECT_EQ(table->struct_size, sizeof(ringside_consumer)) << table->name;
    EXPECT_NE(table->ring_kinds, 0u) << table->name;
    EXPECT_EQ(table->ring_kinds & ~(RINGSIDE_RINGBUF | RINGSIDE_PERF), 0u) << table->name;
    EXPECT_TRUE(table->open != nullptr && table->drain != nullptr && table->wait != nullptr && table->close != nullptr)
        << table->name;
    EXPECT_GT(std::string_view(table->summary).size(), 10u) << table->name;
  }
}

TEST(Registry, EveryNameIsUniqueAndWellFormed) {
  std::set<std::string_view> names;
  for (const ringside_consumer* table : all_tables()) {
    const std::string_view name = table->name;
    EXPECT_TRUE(names.insert(name).second) << name;
    EXPECT_EQ(name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_"), std::string_view::npos) << name;
  }
  for (const ringside_producer* table : all_producers()) {
    const std::string_view name = table->name;
    EXPECT_TRUE(names.insert(name).second) << name;
    EXPECT_EQ(name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_"), std::string_view::npos) << name;
  }
}

TEST(Registry, OnlyTheLibbpfAdaptersNeedAKernel) {
  for (const Entry& entry : strategies()) {
    const bool adapter = std::string_view(entry.consumer->name).starts_with("libbpf");
    EXPECT_EQ((entry.consumer->needs & RINGSIDE_NEEDS_FD) != 0, adapter) << entry.consumer->name;
  }
  for (const Mutant& mutant : mutants()) EXPECT_EQ(mutant.consumer->needs, 0u) << mutant.consumer->name;
}

/// What the two kinds of mutants have in common.
struct Said {
  std::string_view name;
  std::string_view what;
  std::string_view case_number;
  Trial trial;
};

std::vector<Said> all_said() {
  std::vector<Said> all;
  const auto add = [&all](const char* name, const auto& mutant) {
    all.push_back({name, mutant.what, mutant.case_number, mutant.trial});
  };
  for (const Mutant& mutant : mutants()) add(mutant.consumer->name, mutant);
  for (const ProducerMutant& mutant : producer_mutants()) add(mutant.producer->name, mutant);
  return all;
}

/// A letter of the list of cases and a number, as `A13`.
bool is_case_number(std::string_view text) {
  if (text.size() < 2 || text[0] < 'A' || text[0] > 'Q' || text[1] == '0') return false;
  return text.find_first_not_of("0123456789", 1) == std::string_view::npos;
}

TEST(Registry, EveryMutantSaysWhatIsWrongWithItAndItsCase) {
  for (const Said& mutant : all_said()) {
    EXPECT_TRUE(mutant.what.ends_with('.')) << mutant.name;
    EXPECT_TRUE(is_case_number(mutant.case_number)) << mutant.name;
  }
  for (const char* const wrong : {"", "A", "A0", "A1b", "R1", "1", "a1"}) EXPECT_FALSE(is_case_number(wrong)) << wrong;
}

TEST(Registry, EveryMutantIsConvictedInSomeWorld) {
  for (const Said& mutant : all_said()) {
    const Trial& trial = mutant.trial;
    EXPECT_TRUE(trial.model || trial.kernel || !trial.program.empty()) << mutant.name;
    EXPECT_EQ(trial.scenario.empty(), !trial.model && !trial.kernel) << mutant.name;
  }
}

TEST(Registry, OfAMutantThatOneOfModelAndKernelConvictsItSaysWhy) {
  for (const Said& mutant : all_said()) {
    EXPECT_EQ(mutant.trial.why.ends_with('.'), mutant.trial.model != mutant.trial.kernel) << mutant.name;
  }
}

TEST(Registry, NoTwoMutantsShareAnExploredProgram) {
  std::set<std::string_view> programs;
  for (const Said& mutant : all_said()) {
    if (mutant.trial.program.empty()) continue;
    EXPECT_TRUE(programs.insert(mutant.trial.program).second) << mutant.name;
    EXPECT_TRUE(mutant.trial.memory == "c11" || mutant.trial.memory == "tso") << mutant.name;
  }
}

TEST(Registry, OnlyTheSnapshotAndItsMutantsClaimToReadOverwriteRings) {
  for (const ringside_consumer* table : all_tables()) {
    const bool claims = (table->claims & RINGSIDE_CLAIM_READS_OVERWRITE) != 0;
    EXPECT_EQ(claims, std::string_view(table->name).starts_with("overwrite_")) << table->name;
  }
}

TEST(Registry, FindsByNameAndOnlyInItsOwnList) {
  ASSERT_NE(find_strategy("copy"), nullptr);
  EXPECT_STREQ(find_strategy("copy")->consumer->name, "copy");
  ASSERT_NE(find_mutant("trust_perf_size"), nullptr);
  EXPECT_EQ(find_mutant("trust_perf_size")->expected, ring::DefectKind::out_of_bounds);
  EXPECT_EQ(find_mutant("copy"), nullptr);
  EXPECT_EQ(find_strategy("trust_perf_size"), nullptr);
  EXPECT_EQ(find_strategy(""), nullptr);
}

}  // namespace
}  // namespace ringside::consumers
