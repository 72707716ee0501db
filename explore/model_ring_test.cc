// SPDX-License-Identifier: Apache-2.0
//
// The model's own kernel side, as sim/ has it and conform/ holds it to the kernel, with every interleaving and every
// stale value: reserve and commit step by step over real ring memory, and a consumer that polls as libbpf does.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "explore/explored_memory.h"
#include "explore/search.h"
#include "ring/layout.h"
#include "sim/ring_memory.h"
#include "sim/ringbuf_commit.h"
#include "sim/ringbuf_reserve.h"

namespace ringside::explore {
namespace {

namespace rb = ring::ringbuf;

struct Plan {
  std::size_t producers = 1;
  std::uint32_t records = 1;     ///< of each producer
  std::uint64_t start = 0;       ///< of every position
  std::uint32_t size = 8;        ///< of a record's payload, bytes; 8 or more
  bool waits_for_space = false;  ///< for one producer
};

struct Consumer {
  Order header = Order::acquire;
  Order producer_pos = Order::acquire;
  Order consumer_pos = Order::release;
  bool takes_busy = false;      ///< does not look at BUSY
  bool releases_early = false;  ///< hands the space back before it has read the record
};

class ModelRing {
 public:
  ModelRing(const Plan& plan, const Consumer& consumer)
      : plan_(plan),
        consumer_(consumer),
        memory_(sim::RingbufMemory::create(sim::page_size_bytes(), sim::UserMapping::kernels).value()) {}

  SearchResult explore() {
    Program program;
    program.begin = [this] { begin(); };
    for (std::size_t producer = 0; producer < plan_.producers; ++producer) {
      program.threads.emplace_back([this, producer] {
        for (std::uint32_t record = 0; record < plan_.records; ++record) output(1000 * (producer + 1) + record);
      });
    }
    program.threads.emplace_back([this] { consume(); });
    program.end = [this] {
      for (std::size_t producer = 0; producer < plan_.producers; ++producer) {
        if (next_[producer] != plan_.records) fail("a record is lost");
      }
    };
    const std::size_t size = memory_.data_size();
    program.aliases = {{.begin = memory_.kernel_data() + size, .size_bytes = size, .same_as = memory_.kernel_data()}};
    return search(program);
  }

 private:
  void begin() {
    state_ = {.consumer_pos = reinterpret_cast<std::uint64_t*>(memory_.kernel_consumer_page()),
              .producer_pos = reinterpret_cast<std::uint64_t*>(memory_.kernel_producer_page()),
              .pending_pos = reinterpret_cast<std::uint64_t*>(memory_.kernel_producer_page()) + 1,
              .overwrite_pos = reinterpret_cast<std::uint64_t*>(memory_.kernel_producer_page()) + 2,
              .data = memory_.kernel_data(),
              .size = memory_.data_size(),
              .page_size = sim::page_size_bytes(),
              .rules = sim::ringbuf_rules(sim::default_kernel_version)};
    *state_.consumer_pos = *state_.producer_pos = *state_.pending_pos = plan_.start;
    // An earlier lap left committed records everywhere: whoever looks too early finds something.
    for (std::uint64_t at = 0; at < state_.size; at += 16) {
      const std::uint64_t stale[2] = {8, 7};
      std::memcpy(state_.data + at, stale, sizeof stale);
    }
    next_.assign(plan_.producers, 0);
  }

  void output(std::uint64_t payload) {
    if (plan_.waits_for_space) {
      // Producers of a test that wants no losses: they stand still while the ring is full. Their own position is
      // theirs.
      const std::uint64_t after = *state_.producer_pos + rb::span_of(plan_.size);
      await(state_.consumer_pos, 8, Order::acquire,
            [&](std::uint64_t consumed) { return after - consumed <= state_.mask(); });
    }
    sim::RingbufReserve<ExploredMemory> reserve(state_, plan_.size);
    reserve.run();
    if (reserve.failure() != sim::ReserveFailure::none) fail("the ring is too small for the test");
    // The first and the last word of the payload, which may be the same.
    std::byte* const begin = state_.payload(reserve.position());
    ExploredMemory::write_bytes(begin, &payload, sizeof payload);
    if (plan_.size > sizeof payload) {
      ExploredMemory::write_bytes(begin + plan_.size - sizeof payload, &payload, sizeof payload);
    }
    sim::RingbufCommit<ExploredMemory>(state_, reserve.position(), sim::Fate::submit, 0).run();
  }

  void consume() {
    const std::uint64_t span = rb::span_of(plan_.size);
    const std::uint64_t all = plan_.start + plan_.producers * plan_.records * span;
    for (std::uint64_t position = plan_.start; position < all;) position = poll(position);
  }

  std::uint64_t poll(std::uint64_t position) {
    const std::uint64_t begin = position;
    const auto ready = [this](std::uint64_t header) {
      return consumer_.takes_busy || !rb::is_busy(static_cast<std::uint32_t>(header));
    };
    while (true) {
      const std::uint64_t end = position == begin
                                    ? await(state_.producer_pos, 8, consumer_.producer_pos,
                                            [position](std::uint64_t produced) { return produced > position; })
                                    : atomic_load(state_.producer_pos, 8, consumer_.producer_pos);
      if (position >= end) return position;
      while (position < end) {
        const std::uint32_t* const word = state_.length_word(position);
        const std::uint64_t header =
            position == begin ? await(word, 4, consumer_.header, ready) : atomic_load(word, 4, consumer_.header);
        if (!ready(header)) return position;
        const std::byte* const payload = state_.payload(position);
        position += rb::span_of(static_cast<std::uint32_t>(header));
        if (consumer_.releases_early) atomic_store(state_.consumer_pos, 8, position, consumer_.consumer_pos);
        deliver(payload);
        if (!consumer_.releases_early) atomic_store(state_.consumer_pos, 8, position, consumer_.consumer_pos);
      }
    }
  }

  void deliver(const std::byte* payload) {
    plain_read(payload, 8);
    std::uint64_t value = 0;
    std::memcpy(&value, payload, sizeof value);
    const std::uint64_t producer = value / 1000 - 1;
    if (producer >= plan_.producers || value % 1000 != next_[producer]) fail("a record that is not the next one");
    ++next_[producer];
  }

  Plan plan_;
  Consumer consumer_;
  sim::RingbufMemory memory_;
  sim::RingbufState state_;
  std::vector<std::uint64_t> next_;  ///< by producer: the record that must come next
};

TEST(ModelRing, ACorrectConsumerIsCleanInEveryExecution) {
  const std::uint64_t before_the_end = sim::page_size_bytes() - 24;
  for (const Plan& plan : {Plan{1, 1}, Plan{1, 2}, Plan{1, 3, before_the_end}, Plan{2, 1, before_the_end}}) {
    const SearchResult result = ModelRing(plan, {}).explore();
    EXPECT_FALSE(result.failure) << plan.producers << "x" << plan.records << ": " << result.failure->what;
    EXPECT_GT(result.complete, 0u);
    EXPECT_FALSE(result.cut);
  }
}

// Of 4096 bytes a record takes 2056: the second begins behind the first and ends, eight bytes further than one lap, on
// the first one's payload.
Plan used_again() {
  return {.producers = 1, .records = 2, .start = 0, .size = sim::page_size_bytes() / 2, .waits_for_space = true};
}

TEST(ModelRing, SpaceThatIsUsedAgainIsNoRaceForACorrectConsumer) {
  const SearchResult result = ModelRing(used_again(), {}).explore();
  EXPECT_FALSE(result.failure) << result.failure->what;
  EXPECT_GT(result.complete, 0u);
}

TEST(ModelRing, ARecordReadAfterItsSpaceWentBackIsARaceOnceThatIsUsedAgain) {
  const SearchResult result = ModelRing(used_again(), {.releases_early = true}).explore();
  ASSERT_TRUE(result.failure);
  EXPECT_EQ(result.failure->kind, FailureKind::data_race);
}

TEST(ModelRing, SpaceThatIsHandedBackRelaxedIsARaceOnceThatIsUsedAgain) {
  const SearchResult result = ModelRing(used_again(), {.consumer_pos = Order::relaxed}).explore();
  ASSERT_TRUE(result.failure);
  EXPECT_EQ(result.failure->kind, FailureKind::data_race);
}

void expect_race(const Consumer& consumer) {
  const SearchResult result = ModelRing({1, 2}, consumer).explore();
  ASSERT_TRUE(result.failure);
  EXPECT_EQ(result.failure->kind, FailureKind::data_race) << result.failure->what;
}

TEST(ModelRing, AHeaderReadRelaxedIsARace) { expect_race({.header = Order::relaxed}); }

TEST(ModelRing, AProducerPositionReadRelaxedIsARace) { expect_race({.producer_pos = Order::relaxed}); }

TEST(ModelRing, ABusyRecordTakenIsARace) { expect_race({.takes_busy = true}); }

}  // namespace
}  // namespace ringside::explore
