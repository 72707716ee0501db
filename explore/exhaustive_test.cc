// SPDX-License-Identifier: Apache-2.0
//
// Searches of the command line under a made-up clock.
#include "explore/exhaustive.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>

#include "explore/parted_programs.h"
#include "ring/signals.h"

namespace ringside::explore {
namespace {

class ExhaustiveTest : public testing::Test {
 protected:
  /// Each look at the clock takes so long.
  ExhaustiveSearch search_with(double step) {
    return {.name = "busy",
            .line = {.seconds = [this] { return now_; }, .write = [this](std::string_view text) { written_ += text; }},
            .seconds = [this, step] { return now_ += step; }};
  }

  ring::SignalGuard signals_;
  double now_ = 100;
  std::string written_;
  OpenSearch open_;
};

TEST_F(ExhaustiveTest, EndsWhenItsTimeIsOverAndGoesOnFromThere) {
  const SearchResult whole = search(busy());
  ExhaustiveSearch timed = search_with(0.01);
  timed.most_seconds = 1;
  const SearchResult first = search_exhaustively(timed, busy(), {}, open_);
  EXPECT_EQ(first.bounds, std::vector{Bound::time});
  EXPECT_LT(first.complete, whole.complete);
  EXPECT_FALSE(open_.tasks.empty());
  const SearchResult rest = search_exhaustively(search_with(0), busy(), {}, open_);
  EXPECT_FALSE(rest.cut);
  EXPECT_EQ(rest.complete, whole.complete);
  EXPECT_EQ(rest.blocked, whole.blocked);
}

TEST_F(ExhaustiveTest, EndsByASignal) {
  ::raise(SIGTERM);
  EXPECT_EQ(search_exhaustively(search_with(0), busy(), {}, open_).bounds, std::vector{Bound::signal});
  EXPECT_FALSE(open_.tasks.empty());
}

TEST_F(ExhaustiveTest, KeepsWhatIsOpenNowAndThenAndCountsTheSame) {
  const SearchResult whole = search(busy());
  ExhaustiveSearch kept = search_with(0.1);
  int times = 0;
  std::uint64_t last = 0;
  kept.keep = [&](const OpenSearch& open) {
    ++times;
    EXPECT_FALSE(open.tasks.empty());
    EXPECT_GT(open.so_far.share, last);
    last = open.so_far.share;
  };
  const SearchResult result = search_exhaustively(kept, busy(), {}, open_);
  EXPECT_GT(times, 5);
  EXPECT_FALSE(result.cut);
  EXPECT_EQ(result.complete, whole.complete);
  EXPECT_EQ(open_.so_far.share, whole_weight);
  last = 0;
  OpenSearch other;
  SearchOptions options;
  options.most_executions = 555;
  const SearchResult bounded = search_exhaustively(kept, busy(), options, other);
  EXPECT_EQ(bounded.complete + bounded.blocked, 555u);
  EXPECT_EQ(bounded.bounds, std::vector{Bound::executions});
}

TEST_F(ExhaustiveTest, TellsAnEstimateFirstAndThenHowFarItIs) {
  ExhaustiveSearch told = search_with(0.0625);
  told.tells = true;
  search_exhaustively(told, busy(), {}, open_);
  EXPECT_TRUE(written_.starts_with("busy: about ")) << written_;
  EXPECT_GT(std::count(written_.begin(), written_.end(), '\n'), 5);
  EXPECT_NE(written_.find(" %, "), std::string::npos) << written_;
  written_.clear();
  told.tells = false;
  search_exhaustively(told, busy(), {}, open_ = {});
  EXPECT_EQ(written_, "");
}

TEST(AdvanceText, SaysWhatIsLeftByWhatWasSeenAndByTheEstimate) {
  Advance advance{.so_far = {.complete = 30'000, .blocked = 0, .share = whole_weight / 4},
                  .new_executions = 30'000,
                  .seconds = 10,
                  .estimate = {.executions = 70'000, .low = 60'000, .high = 150'000, .descents = 100}};
  // Three quarters are left: 30 s. Or 30,000 to 120,000 executions, 3,000 a second: 10 s to 40 s.
  EXPECT_EQ(to_text(advance), "25.0 %, 30,000 executions, 3,000 a second, 10 s to 40 s left");
  advance.estimate.high = advance.estimate.low = 20'000;  // which it was not
  EXPECT_EQ(to_text(advance), "25.0 %, 30,000 executions, 3,000 a second, 30 s left");
  advance.so_far.share = 1;  // nobody knows
  EXPECT_EQ(to_text(advance), "0.0 %, 30,000 executions, 3,000 a second");
  advance.estimate.high = 3e9;
  EXPECT_EQ(to_text(advance), "0.0 %, 30,000 executions, 3,000 a second, 12 days left");
}

TEST(EstimateText, HasTwoDigitsThatCount) {
  EXPECT_EQ(to_text(Estimate{.executions = 14'321, .low = 9'049, .high = 19'592, .descents = 100}),
            "about 14,000 executions (9,000 to 20,000), an estimate by 100 random descents");
}

}  // namespace
}  // namespace ringside::explore
