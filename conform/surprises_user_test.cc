// SPDX-License-Identifier: Apache-2.0
//
// Surprise 8.15 of KERNEL-RINGS, each of its parts on its own, on the running kernel and on the model. What is expected
// stands here as a number: agreement of the two alone would not show that both are surprising.
#include <gtest/gtest.h>

#include <cerrno>
#include <string>
#include <vector>

#include "conform/user_ringbuf_test_support.h"

namespace ringside::conform {
namespace {

struct Seen {
  std::vector<std::int64_t> results;  ///< of each operation
  Outcome last;
  std::uint64_t consumer_pos = 0;
  std::uint64_t poll = 0;
};

class Surprise : public test::UserConform {
 protected:
  static Seen play_side(Side& side, const Script& script) {
    Seen seen;
    for (std::size_t at = 0; at < script.ops.size(); ++at) {
      const auto outcome = side.apply(script.ops[at], at + 1);
      if (!outcome) {
        ADD_FAILURE() << outcome.error();
        return seen;
      }
      seen.results.push_back(outcome->result);
      seen.last = *outcome;
    }
    View view;
    EXPECT_TRUE(side.show(view).has_value());
    for (const NamedNumber& number : view.numbers) {
      if (number.name == "consumer_pos") seen.consumer_pos = number.value;
      if (number.name == "poll") seen.poll = number.value;
    }
    return seen;
  }

  /// What the lines come to on a ring of one page, on each side.
  template <class Check>
  static void on_both(const std::string& lines, Check&& check) {
    const Script played = script("1", "asked", lines);
    auto kernel = lab().side(played);
    ASSERT_TRUE(kernel.has_value()) << kernel.error();
    auto model = make_user_ringbuf_model(played, test::model_of_this_kernel(), (*kernel)->facts());
    ASSERT_TRUE(model.has_value()) << model.error();
    {
      SCOPED_TRACE("the running kernel");
      check(play_side(**kernel, played));
    }
    SCOPED_TRACE("the model");
    check(play_side(**model, played));
  }
};

using Results = std::vector<std::int64_t>;

TEST_F(Surprise, Surprise8_15_BusyAndDiscardedIsDroppedAtOnce) {
  on_both(
      "producer base=zero offset=16\nheader base=zero offset=0 length=8 bits=busy\ndrain flags=0 stop=0\n"
      "header base=zero offset=0 length=8 bits=discard+busy\ndrain flags=0 stop=0\n",
      [](const Seen& seen) {
        EXPECT_EQ(seen.results, (Results{0, 0, 0, 0, 0}));
        EXPECT_EQ(seen.last.details[0], 0u) << "the callback got a sample";
        EXPECT_EQ(seen.consumer_pos, 16u);
      });
}

TEST_F(Surprise, Surprise8_15_ABadLengthIsAnErrorBeforeBusyIsLookedAt) {
  on_both(
      "producer base=zero offset=16\nheader base=zero offset=0 length=9 bits=busy\ndrain flags=0 stop=0\n"
      "header base=zero offset=0 length=8 bits=busy\ndrain flags=0 stop=0\n",
      [](const Seen& seen) {
        EXPECT_EQ(seen.results, (Results{0, 0, -EINVAL, 0, 0}));  // span of 9 is 24, and 16 bytes are there
        EXPECT_EQ(seen.consumer_pos, 0u);
      });
}

TEST_F(Surprise, Surprise8_15_AnErrorHidesTheCountOfSamplesAlreadyDelivered) {
  on_both("producer base=zero offset=24\nheader base=zero offset=16 length=1 bits=none\ndrain flags=0 stop=0\n",
          [](const Seen& seen) {
            EXPECT_EQ(seen.results, (Results{0, 0, -EINVAL}));
            EXPECT_EQ(seen.last.details[0], 2u) << "samples that the callback got";
            EXPECT_EQ(seen.consumer_pos, 16u);
          });
}

TEST_F(Surprise, Surprise8_15_EbusySuppressesForceWakeup) {
  on_both(
      "producer base=zero offset=8\nepoll_add set=0 trigger=edge\nepoll_wait set=0\n"
      "drain_nested flags=1 inner=2\nepoll_wait set=0\ndrain flags=2 stop=0\nepoll_wait set=0\n",
      [](const Seen& seen) {
        // ADD finds it writable; the drain in the interrupt forces a wake-up and wakes nobody; a later one does.
        EXPECT_EQ(seen.results, (Results{0, 0, 1, 1, 0, 0, 1}));
      });
  on_both("producer base=zero offset=8\ndrain_nested flags=0 inner=2\n", [](const Seen& seen) {
    const std::vector<std::uint64_t>& details = seen.last.details;
    ASSERT_GE(details.size(), 2u);
    EXPECT_EQ(details[details.size() - 2], 1u) << "the interrupt did not drain";
    EXPECT_EQ(static_cast<std::int64_t>(details.back()), -EBUSY);
  });
}

TEST_F(Surprise, Surprise8_15_AFullRingCanBeExactlyN) {
  on_both("reserve slot=0 size=4088\nreserve slot=1 size=0\nsettle slot=0 fate=submit\n", [](const Seen& seen) {
    EXPECT_EQ(seen.results, (Results{0, -ENOSPC, 0}));
    EXPECT_EQ(seen.poll, 0u);
  });
  on_both("reserve slot=0 size=4088\nsettle slot=0 fate=submit\ndrain flags=0 stop=0\n", [](const Seen& seen) {
    EXPECT_EQ(seen.results, (Results{0, 0, 1}));
    EXPECT_EQ(seen.last.details[2], 4088u);
    EXPECT_EQ(seen.poll, 0x104u);
  });
}

TEST_F(Surprise, Surprise8_15_AProducerPosMoreThanNAheadIsAccepted) {
  // Two laps of zeros: 2 * 4096 / 8 samples of no bytes, each parsed twice.
  on_both("producer base=zero offset=8192\ndrain flags=0 stop=0\n", [](const Seen& seen) {
    EXPECT_EQ(seen.results, (Results{0, 1024}));
    EXPECT_EQ(seen.consumer_pos, 8192u);
  });
}

}  // namespace
}  // namespace ringside::conform
