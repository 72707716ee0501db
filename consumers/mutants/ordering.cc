// SPDX-License-Identifier: Apache-2.0
#include "consumers/mutants/ordering.h"

#include "consumers/callback.h"
#include "consumers/copy.h"
#include "consumers/drain_all.h"
#include "consumers/read.h"
#include "consumers/read_into.h"
#include "consumers/user_producer.h"

namespace ringside::consumers::mutant {
namespace {

struct ProducerPosRelaxed : RingbufSteps {
  static constexpr int producer_pos_order = __ATOMIC_RELAXED;
};
struct HeaderRelaxed : RingbufSteps {
  static constexpr int header_order = __ATOMIC_RELAXED;
};
struct ConsumerPosRelaxed : RingbufSteps {
  static constexpr int consumer_pos_order = __ATOMIC_RELAXED;
};
struct LookWithoutFence : RingbufSteps {
  static constexpr bool fences_before_look = false;
};
struct StoreForFence : RingbufSteps {
  static constexpr int consumer_pos_order = __ATOMIC_SEQ_CST;
  static constexpr bool fences_before_look = false;
};
struct DataHeadRelaxed : PerfSteps {
  static constexpr int head_order = __ATOMIC_RELAXED;
};
struct DataTailRelaxed : PerfSteps {
  static constexpr int tail_order = __ATOMIC_RELAXED;
};
struct UserConsumerPosRelaxed : UserSteps {
  static constexpr int consumer_pos_order = __ATOMIC_RELAXED;
};
struct UserProducerPosRelaxed : UserSteps {
  static constexpr int producer_pos_order = __ATOMIC_RELAXED;
};
struct UserHeaderRelaxed : UserSteps {
  static constexpr int header_order = __ATOMIC_RELAXED;
};

}  // namespace

const ringside_consumer& producer_pos_relaxed() {
  static constexpr ringside_consumer table =
      Copy<ProducerPosRelaxed>::table("producer_pos_relaxed", "copy that loads producer_pos without acquire");
  return table;
}

const ringside_consumer& header_relaxed() {
  static constexpr ringside_consumer table =
      Copy<HeaderRelaxed>::table("header_relaxed", "copy that loads headers without acquire");
  return table;
}

const ringside_consumer& consumer_pos_relaxed() {
  static constexpr ringside_consumer table =
      Callback<ConsumerPosRelaxed>::table("consumer_pos_relaxed", "callback that stores consumer_pos without release");
  return table;
}

const ringside_consumer& look_without_fence() {
  static constexpr ringside_consumer table =
      Copy<LookWithoutFence>::table("look_without_fence", "copy that looks before it sleeps, without a full fence");
  return table;
}

const ringside_consumer& store_for_fence() {
  static constexpr ringside_consumer table = Copy<StoreForFence>::table(
      "store_for_fence", "copy that takes a sequentially consistent store for the full fence");
  return table;
}

const ringside_consumer& reader_without_fence() {
  static constexpr ringside_consumer table = Read<LookWithoutFence, false>::table(
      "reader_without_fence", "read_into that looks before it sleeps, without a full fence");
  return table;
}

const ringside_consumer& data_head_relaxed() {
  static constexpr ringside_consumer table =
      ReadInto<DataHeadRelaxed>::table("data_head_relaxed", "read_into that loads data_head without acquire");
  return table;
}

const ringside_consumer& data_tail_relaxed() {
  static constexpr ringside_consumer table =
      DrainAll<DataTailRelaxed>::table("data_tail_relaxed", "drain_all that stores data_tail without release");
  return table;
}

const ringside_producer& user_consumer_pos_relaxed() {
  static constexpr ringside_producer table = UserReserve<UserConsumerPosRelaxed>::table(
      "user_consumer_pos_relaxed", "user_reserve that loads consumer_pos without acquire");
  return table;
}

const ringside_producer& user_producer_pos_relaxed() {
  static constexpr ringside_producer table = UserReserve<UserProducerPosRelaxed>::table(
      "user_producer_pos_relaxed", "user_reserve that stores producer_pos without release");
  return table;
}

const ringside_producer& user_header_relaxed() {
  static constexpr ringside_producer table =
      UserReserve<UserHeaderRelaxed>::table("user_header_relaxed", "user_reserve that commits without release");
  return table;
}

}  // namespace ringside::consumers::mutant
