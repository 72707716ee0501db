// SPDX-License-Identifier: Apache-2.0
//
// The lists are whole: every table is of this contract, every name is unique and well formed, every mutant has its
// defect, case and scenario.
#include "consumers/registry.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace ringside::consumers {
namespace {

std::vector<const ringside_consumer*> all_tables() {
  std::vector<const ringside_consumer*> tables;
  for (const Entry& entry : strategies()) tables.push_back(entry.consumer);
  for (const Mutant& mutant : mutants()) tables.push_back(mutant.consumer);
  return tables;
}

TEST(Registry, HoldsTwentyTwoStrategiesAndSixteenMutants) {
  EXPECT_EQ(strategies().size(), 22u);
  EXPECT_EQ(mutants().size(), 16u);
}

std::vector<const ringside_producer*> all_producers() {
  std::vector<const ringside_producer*> tables;
  for (const ProducerEntry& entry : producer_strategies()) tables.push_back(entry.producer);
  for (const ProducerMutant& mutant : producer_mutants()) tables.push_back(mutant.producer);
  return tables;
}

TEST(Registry, HoldsTwoProducersAndSixMutantsOfThem) {
  EXPECT_EQ(producer_strategies().size(), 2u);
  EXPECT_EQ(producer_mutants().size(), 6u);
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

TEST(Registry, EveryProducerMutantSaysWhatIsWrongWithIt) {
  for (const ProducerMutant& mutant : producer_mutants()) {
    EXPECT_TRUE(mutant.what.ends_with('.')) << mutant.producer->name;
    EXPECT_GE(mutant.case_number.size(), 2u) << mutant.producer->name;
    EXPECT_TRUE(mutant.scenario.starts_with("user_")) << mutant.producer->name;
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

TEST(Registry, EveryMutantSaysWhatIsWrongWithIt) {
  for (const Mutant& mutant : mutants()) {
    EXPECT_TRUE(mutant.what.ends_with('.')) << mutant.consumer->name;
    EXPECT_GE(mutant.case_number.size(), 2u) << mutant.consumer->name;
    EXPECT_FALSE(mutant.scenario.empty()) << mutant.consumer->name;
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
