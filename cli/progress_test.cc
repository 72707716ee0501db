// SPDX-License-Identifier: Apache-2.0
#include "cli/progress.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace ringside::cli {
namespace {

/// A check of made-up runs under a made-up clock.
class ProgressTest : public testing::Test {
 protected:
  ProgressPrinter printer(bool terminal, std::size_t columns = 100) {
    return ProgressPrinter(
        {terminal, columns, [this] { return now_; }, [this](std::string_view text) { written_ += text; }});
  }

  void start(ProgressPrinter& printer, std::size_t index, std::uint64_t deliveries = 0) {
    printer.tell({index, total_, &spec_, nullptr, deliveries});
  }

  void end(ProgressPrinter& printer, std::size_t index, std::uint64_t delivered) {
    harness::RunResult result;
    result.verdict.accounting.delivered = delivered;
    printer.tell({index, total_, &spec_, &result, 0});
  }

  std::size_t lines() const { return static_cast<std::size_t>(std::count(written_.begin(), written_.end(), '\n')); }

  double now_ = 100;
  std::size_t total_ = 40;
  std::string written_;
  harness::RunSpec spec_{"copy", "steady", harness::WorldKind::model, ring::RingKind::ringbuf, 1, 0};
};

TEST_F(ProgressTest, SaysAtOnceWhatRuns) {
  ProgressPrinter plain = printer(false);
  start(plain, 0);
  EXPECT_EQ(written_, "0 of 40 cells, 0 records, 0 s; now model ringbuf steady copy\n");
}

TEST_F(ProgressTest, SaysElevenLinesOfAManyCheckThatIsFast) {
  ProgressPrinter plain = printer(false);
  for (std::size_t index = 0; index < total_; ++index) {
    start(plain, index);
    end(plain, index, 10);
  }
  // One at the start, then one for every tenth.
  EXPECT_EQ(lines(), 11u);
  EXPECT_TRUE(written_.ends_with("40 of 40 cells, 400 records, 0 s\n")) << written_;
}

TEST_F(ProgressTest, SpeaksUpEveryTenSecondsOfALongRun) {
  ProgressPrinter plain = printer(false);
  start(plain, 0);
  written_.clear();
  now_ += 9.5;
  start(plain, 0, 1'000);
  EXPECT_EQ(written_, "");
  now_ += 1;
  start(plain, 0, 2'000);
  EXPECT_EQ(written_, "0 of 40 cells, 2,000 records, 10 s; now model ringbuf steady copy\n");
}

TEST_F(ProgressTest, NeverTakesRecordsBack) {
  ProgressPrinter plain = printer(false);
  start(plain, 0);
  now_ += 20;
  start(plain, 0, 5'000);
  // The consumer crashed: its account went with it.
  end(plain, 0, 0);
  now_ += 20;
  start(plain, 1, 1);
  EXPECT_NE(written_.find("1 of 40 cells, 5,001 records, 40 s"), std::string::npos) << written_;
}

TEST_F(ProgressTest, DrawsABarOverItselfWithinTheTerminal) {
  ProgressPrinter bar = printer(true, 40);
  start(bar, 20);
  EXPECT_TRUE(written_.starts_with("\r[##########..........] 20/40 model")) << written_;
  EXPECT_TRUE(written_.ends_with("\x1b[K"));
  EXPECT_EQ(lines(), 0u);
  // One column stays free: a full line would wrap.
  EXPECT_EQ(written_.size(), 1 + 39 + 3u);
}

TEST_F(ProgressTest, MovesTheBarWithinARunOfKnownLength) {
  ProgressPrinter bar = printer(true);
  total_ = 2;
  spec_.records = 1'000;
  start(bar, 1, 500);
  // One of two runs and half of the other: three quarters of 20.
  EXPECT_TRUE(written_.starts_with("\r[###############.....] 1/2 ")) << written_;
}

TEST_F(ProgressTest, DoesNotFlicker) {
  ProgressPrinter bar = printer(true);
  start(bar, 0);
  written_.clear();
  now_ += 0.01;
  start(bar, 0, 5);
  EXPECT_EQ(written_, "");
  now_ += 0.1;
  start(bar, 0, 6);
  EXPECT_NE(written_, "");
}

TEST_F(ProgressTest, TakesTheBarAwayAtTheEnd) {
  ProgressPrinter bar = printer(true);
  start(bar, 0);
  written_.clear();
  bar.finish();
  EXPECT_EQ(written_, "\r\x1b[K");
}

TEST_F(ProgressTest, HasNothingToTakeAwayElsewhere) {
  ProgressPrinter plain = printer(false);
  start(plain, 0);
  written_.clear();
  plain.finish();
  EXPECT_EQ(written_, "");
}

}  // namespace
}  // namespace ringside::cli
