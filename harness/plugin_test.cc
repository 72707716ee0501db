// SPDX-License-Identifier: Apache-2.0
#include "harness/plugin.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

namespace ringside::harness {
namespace {

std::string fixture(const std::string& fault) { return RINGSIDE_PLUGINS "/libplugin_" + fault + ".so"; }

/// What loading the plugin with that fault says: reason and remedy. Every error must name the file.
std::string complaint(const std::string& path) {
  const ring::Result<Plugin> plugin = Plugin::load(path);
  if (plugin) return "it was loaded";
  EXPECT_NE(plugin.error().attempt.find(path), std::string::npos) << plugin.error();
  EXPECT_EQ(ring::to_string(plugin.error()).find('\n'), std::string::npos);
  return plugin.error().reason + "; " + plugin.error().remedy;
}

TEST(Plugin, LoadsOneThatKeepsTheContract) {
  const ring::Result<Plugin> plugin = Plugin::load(fixture("none"));
  ASSERT_TRUE(plugin.has_value()) << plugin.error();
  EXPECT_STREQ(plugin->consumer().name, "fixture");
}

TEST(Plugin, StaysLoadedWhenItIsMoved) {
  ring::Result<Plugin> plugin = Plugin::load(fixture("none"));
  ASSERT_TRUE(plugin.has_value());
  const Plugin moved = std::move(*plugin);
  EXPECT_EQ(moved.consumer().drain(nullptr, 1), 0);
}

TEST(Plugin, NamesBothVersionsOfTheContract) {
  EXPECT_EQ(complaint(fixture("abi")),
            "abi_version is 2; this ringside speaks version 1: build the plugin against its ring/consumer.h");
}

TEST(Plugin, RefusesATableOfAnotherSize) {
  const std::size_t size = sizeof(ringside_consumer);
  EXPECT_EQ(complaint(fixture("size")), "struct_size is " + std::to_string(size - 8) +
                                            " bytes; set it to sizeof(struct ringside_consumer), " +
                                            std::to_string(size) + " bytes");
}

TEST(Plugin, RefusesAnUnlawfulName) {
  EXPECT_EQ(complaint(fixture("name")), "name is \"My Reader\"; a name is 1 to 64 characters of [a-z0-9_]");
}

TEST(Plugin, RefusesASummaryOfTwoLines) {
  EXPECT_EQ(complaint(fixture("summary")),
            "summary is empty or has control characters; describe the consumer in one line");
}

TEST(Plugin, NamesTheFunctionThatIsMissing) {
  EXPECT_EQ(complaint(fixture("function")), "drain is NULL; only release may be NULL");
}

TEST(Plugin, RefusesARingKindThatNobodyKnows) {
  EXPECT_EQ(complaint(fixture("kinds")), "ring_kinds is 0x10; the known bits are 0x3");
}

TEST(Plugin, RefusesOwnRingsOfAKindThatCannotBeOwned) {
  EXPECT_EQ(complaint(fixture("needs")),
            "needs has RINGSIDE_OWNS_RINGS but ring_kinds is not RINGSIDE_PERF alone; only perf rings are opened by "
            "their consumer");
}

TEST(Plugin, RefusesAnEntryThatReturnsNothing) {
  EXPECT_EQ(complaint(fixture("null")), "ringside_consumer_entry returned NULL; return a struct ringside_consumer");
}

TEST(Plugin, NamesTheEntryThatIsNotExported) {
  EXPECT_EQ(complaint(fixture("entry")),
            "it does not export ringside_consumer_entry; define it with C linkage and default visibility "
            "(ring/consumer.h)");
}

TEST(Plugin, NamesASymbolThatNobodyDefines) {
  EXPECT_EQ(
      complaint(fixture("symbol")),
      "undefined symbol: ringside_symbol_that_nobody_defines; build it for this machine and link all that it uses");
}

TEST(Plugin, SaysThatThereIsNoFile) {
  EXPECT_EQ(complaint("/no/such/plugin.so"), "ENOENT; give the path of a shared object");
}

TEST(Plugin, RefusesAFolder) {
  EXPECT_EQ(complaint(RINGSIDE_PLUGINS), "it is no regular file; give the path of a shared object");
}

TEST(Plugin, RefusesAFileThatIsNoSharedObject) {
  const std::string path = testing::TempDir() + "ringside_plugin_test_text.so";
  std::ofstream(path) << "this is no shared object, but a text that is long enough to hold a header of one";
  EXPECT_EQ(complaint(path), "invalid ELF header; build it for this machine and link all that it uses");
  std::filesystem::remove(path);
}

TEST(Plugin, OutlivesAnEntryThatExits) {
  EXPECT_TRUE(complaint(fixture("exit")).starts_with("its entry ended with exit status 0; "))
      << complaint(fixture("exit"));
}

TEST(Plugin, OutlivesAnEntryThatCrashes) {
  EXPECT_EQ(complaint(fixture("abort")),
            "its entry ended with SIGABRT; it must return, and leave the process as it is");
}

TEST(Plugin, OutlivesAConstructorThatExits) {
  EXPECT_EQ(complaint(fixture("constructor")),
            "loading it ended with exit status 3; it must return, and leave the process as it is");
}

TEST(Plugin, EndsAnEntryThatDoesNotReturn) {
  // It never returns, so that any time is long enough.
  const ring::Result<Plugin> plugin = Plugin::load(fixture("endless"), 1'000);
  ASSERT_FALSE(plugin.has_value());
  EXPECT_EQ(plugin.error().reason, "its entry did not return within 1 s");
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "a child was left behind";
  EXPECT_EQ(errno, ECHILD);
}

TEST(Plugin, OutlivesAFileThatWasCutShort) {
  const std::string path = testing::TempDir() + "ringside_plugin_test_cut.so";
  std::filesystem::copy_file(fixture("none"), path, std::filesystem::copy_options::overwrite_existing);
  // The first page has the headers, which promise segments that are not there.
  std::filesystem::resize_file(path, 4096);
  EXPECT_NE(complaint(path), "it was loaded");
  std::filesystem::remove(path);
}

TEST(ValidateConsumer, ReadsNothingBehindAForeignVersion) {
  // Only the first 8 bytes exist: a table of a future version may be laid out in any way behind them.
  alignas(ringside_consumer) const std::uint32_t prefix[2] = {RINGSIDE_CONSUMER_ABI + 1, 8};
  const auto* const consumer = reinterpret_cast<const ringside_consumer*>(prefix);
  const ring::Result<void> result = validate_consumer(consumer, "future");
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().attempt, "load consumer of \"future\"");
}

}  // namespace
}  // namespace ringside::harness
