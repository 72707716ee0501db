// SPDX-License-Identifier: Apache-2.0
#include "cli/output_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace ringside::cli {
namespace {

namespace fs = std::filesystem;

class OutputFileTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "ringside_output_XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  static std::string content(const std::string& file) {
    std::ostringstream text;
    text << std::ifstream(file).rdbuf();
    return text.str();
  }

  std::size_t entries() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }

  static std::string complaint(const std::string& file) {
    const ring::Result<OutputFile> output = OutputFile::prepare(file);
    return output ? "it was prepared" : output.error().reason + "; " + output.error().remedy;
  }

  fs::path folder_;
};

TEST_F(OutputFileTest, LeavesNothingBehindBeforeItWrites) {
  ASSERT_TRUE(OutputFile::prepare(path("report")).has_value());
  EXPECT_EQ(entries(), 0u);
}

TEST_F(OutputFileTest, WritesTheWholeTextAndNothingBesideIt) {
  const ring::Result<OutputFile> output = OutputFile::prepare(path("report"));
  ASSERT_TRUE(output.has_value());
  ASSERT_TRUE(output->write("all of it\n").has_value());
  EXPECT_EQ(content(path("report")), "all of it\n");
  EXPECT_EQ(entries(), 1u);
}

TEST_F(OutputFileTest, KeepsTheOldReportUntilTheNewOneIsWhole) {
  std::ofstream(path("report")) << "old";
  const ring::Result<OutputFile> output = OutputFile::prepare(path("report"));
  ASSERT_TRUE(output.has_value());
  EXPECT_EQ(content(path("report")), "old");
  ASSERT_TRUE(output->write("new").has_value());
  EXPECT_EQ(content(path("report")), "new");
}

TEST_F(OutputFileTest, FollowsALinkInsteadOfReplacingIt) {
  std::ofstream(path("target")) << "old";
  fs::create_symlink(path("target"), path("link"));
  ASSERT_TRUE(OutputFile::prepare(path("link"))->write("new").has_value());
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(content(path("target")), "new");
}

TEST_F(OutputFileTest, NeverReplacesADevice) {
  ASSERT_TRUE(OutputFile::prepare("/dev/null")->write("gone").has_value());
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST_F(OutputFileTest, TellsAFullDisk) {
  const ring::Result<void> written = OutputFile::prepare("/dev/full")->write("text");
  ASSERT_FALSE(written.has_value());
  EXPECT_EQ(written.error().reason, "ENOSPC");
}

TEST_F(OutputFileTest, SaysThatTheDirectoryIsMissing) {
  EXPECT_EQ(complaint(path("no/such/report")), "ENOENT; make the directory \"" + path("no/such") + "\" first");
}

TEST_F(OutputFileTest, RefusesADirectory) { EXPECT_EQ(complaint(path("")), "it is a directory; name a file in it"); }

}  // namespace
}  // namespace ringside::cli
