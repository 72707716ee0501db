// SPDX-License-Identifier: Apache-2.0
#include "harness/swap_programs.h"

#include <gtest/gtest.h>

namespace ringside::harness {
namespace {

class SwapProgramsTest : public testing::Test {
 protected:
  static std::unique_ptr<sim::Machine> make() {
    sim::MachineOptions options;
    options.kind = ring::RingKind::perf;
    options.cpus = 4;  // two on each side
    options.sources = 4;
    auto machine = sim::Machine::create(options);
    EXPECT_TRUE(machine);
    return std::move(*machine);
  }
  static ring::Operation output(std::uint16_t cpu, ring::Action action = ring::Action::output) {
    return {.action = action, .source = cpu, .cpu = cpu, .size = 64};
  }
  void finish(std::uint32_t cpu) {
    while (programs.runnable(cpu)) programs.step(cpu);
  }

  std::unique_ptr<sim::Machine> machine = make();
  SwapPrograms programs{*machine, 2, 2};
};

TEST_F(SwapProgramsTest, AProgramWritesToTheSideThatItHasReadHoweverTheCountMovesOn) {
  programs.begin(output(1));
  programs.step(1);  // it chooses
  EXPECT_EQ(programs.in_flight(0), 1u);
  EXPECT_EQ(programs.words()->samples[0], 0u) << "and is in no counter yet";
  ++programs.words()->transfer_count;
  finish(1);
  EXPECT_EQ(programs.words()->samples[0], 1u);
  EXPECT_EQ(programs.in_flight(0), 0u);
  EXPECT_TRUE(programs.idle());
  EXPECT_TRUE(machine->deliverable(1)) << "CPU 1 on side 0";
  EXPECT_FALSE(machine->deliverable(3));
}

TEST_F(SwapProgramsTest, ASourceHasAnIdOnEachSide) {
  EXPECT_EQ(programs.run(output(1)), 0);
  ++programs.words()->transfer_count;
  EXPECT_EQ(programs.run(output(1)), 0);
  EXPECT_EQ(machine->records_left(), (std::vector<std::uint64_t>{0, 1, 0, 1}));
  EXPECT_EQ(programs.counted(), 2u);
}

TEST_F(SwapProgramsTest, AProgramThatIsHeldStandsStillWhenItHasChosenUntilItIsSettled) {
  programs.begin(output(0, ring::Action::hold));
  finish(0);
  EXPECT_EQ(programs.in_flight(0), 1u);
  EXPECT_EQ(programs.words()->samples[0], 0u);
  EXPECT_FALSE(programs.idle());
  programs.begin(output(0, ring::Action::settle_submit));
  finish(0);
  EXPECT_TRUE(programs.idle());
  EXPECT_EQ(programs.words()->samples[0], 1u);
  EXPECT_TRUE(machine->deliverable(0));
}

}  // namespace
}  // namespace ringside::harness
