// SPDX-License-Identifier: Apache-2.0
#include "explore/checkpoint.h"

#include <gtest/gtest.h>

#include "explore/parted_programs.h"
#include "explore/search.h"

namespace ringside::explore {
namespace {

/// Of a search that was cut, one that ended and one that has not begun.
Checkpoint some_checkpoint() {
  Checkpoint checkpoint{.terms = {.build = "0123abcd", .memory = "tso", .events = 1000, .shard = 1, .shards = 3}};
  Checkpoint::Part cut{.name = "busy", .seconds = 1.5};
  SearchOptions options;
  options.most_executions = 20;
  continue_search(busy(), options, cut.open);
  cut.open.notes = 2;
  checkpoint.programs.push_back(cut);
  Checkpoint::Part ended{.name = "ended"};
  ended.open = {.tasks = {}, .so_far = {.complete = 3, .share = whole_weight}};
  ended.ended = ProgramReport{.name = "ended", .memory = "tso", .complete = 3};
  checkpoint.programs.push_back(ended);
  checkpoint.programs.push_back({.name = "not begun"});
  return checkpoint;
}

TEST(Checkpoints, AreReadAsTheyAreWritten) {
  const Checkpoint checkpoint = some_checkpoint();
  ASSERT_GT(checkpoint.programs[0].open.tasks.size(), 1u);
  const auto again = checkpoint_from(to_text(checkpoint));
  ASSERT_TRUE(again) << again.error();
  EXPECT_EQ(*again, checkpoint);
}

TEST(Checkpoints, ThatAreDamagedSaySoInOneLine) {
  const std::string good = to_text(some_checkpoint());
  std::string task_gone = good;
  const std::size_t line = task_gone.find("\"tasks\": [") + 11;
  task_gone.erase(line, task_gone.find(',', task_gone.find('#', line)) + 1 - line);
  const std::string cut_off = good.substr(0, good.size() / 2);
  std::string other_schema = good;
  other_schema.replace(other_schema.find("/1"), 2, "/9");
  std::string no_task = good;
  no_task.replace(no_task.find('#'), 1, "!");
  for (const std::string& text :
       {std::string(), std::string("{}"), std::string("[1]"), task_gone, cut_off, other_schema, no_task}) {
    const auto read = checkpoint_from(text);
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(ring::to_string(read.error()).find('\n'), std::string::npos);
  }
  EXPECT_EQ(checkpoint_from(task_gone).error().reason, "what was seen and what is open are not the whole");
}

TEST(Checkpoints, SayWhichOfTheirTermsIsAnother) {
  const Checkpoint::Terms kept{.build = "0123abcd", .memory = "c11", .events = 1000};
  EXPECT_TRUE(check_terms("f", kept, kept));
  const auto refused = [&kept](auto change) {
    Checkpoint::Terms asked = kept;
    change(asked);
    const auto checked = check_terms("f", kept, asked);
    return checked ? "" : ring::to_string(checked.error());
  };
  EXPECT_EQ(refused([](auto& asked) { asked.build = "9"; }),
            "go on with f: it is of build 0123abcd, and this is build 9; search anew");
  EXPECT_EQ(refused([](auto& asked) { asked.memory = "sc"; }),
            "go on with f: it is of c11, and this is sc; say its --memory");
  EXPECT_EQ(refused([](auto& asked) { asked.events = 7; }),
            "go on with f: it is of 1000 events, and this is 7 events; say its --events");
  EXPECT_EQ(refused([](auto& asked) { asked.shards = 2; }),
            "go on with f: it is of part 1 of 1, and this is part 1 of 2; say its --shard");
}

}  // namespace
}  // namespace ringside::explore
