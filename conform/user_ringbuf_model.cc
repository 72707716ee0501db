// SPDX-License-Identifier: Apache-2.0
//
// The model's side of a script on a user ring buffer: sim/user_ringbuf.h drains, and what libbpf does is done by
// sim::UserRingbufProducer over the user's mapping.
#include <array>
#include <iterator>
#include <optional>
#include <type_traits>
#include <utility>

#include "conform/readiness_kernel.h"
#include "conform/readiness_model.h"
#include "conform/side.h"
#include "conform/user_ringbuf_common.h"
#include "sim/user_ringbuf.h"

namespace ringside::conform {

namespace {

constexpr ring::RingKind kind = ring::RingKind::user_ringbuf;

template <class Memory>
using Model = sim::BasicUserRingbuf<Memory>;

/// Models that a script has done with, for the next one on this thread: making one costs as much as many operations.
template <class Memory>
class ModelStore {
 public:
  static ring::Result<std::unique_ptr<Model<Memory>>> take(std::uint64_t data_size) {
    std::unique_ptr<Model<Memory>>& kept = place(data_size);
    if (kept == nullptr) return Model<Memory>::create({.data_size = data_size});
    kept->reset();
    return std::move(kept);
  }
  static void give(std::unique_ptr<Model<Memory>> model) { place(model->state().size) = std::move(model); }

 private:
  static std::unique_ptr<Model<Memory>>& place(std::uint64_t data_size) {
    static thread_local std::array<std::unique_ptr<Model<Memory>>, std::size(page_words)> kept;
    std::size_t shape = 0;
    while ((std::uint64_t{sim::page_size_bytes()} << shape) < data_size) ++shape;
    return kept.at(shape);
  }
};

template <class Memory>
class UserRingbufModelSide final : public Side {
 public:
  UserRingbufModelSide(std::unique_ptr<Model<Memory>> model, sim::Rule broken, const Facts& facts)
      : model_(std::move(model)),
        producer_(model_->producer()),
        readiness_(std::in_place, std::vector<sim::PollSource*>{model_.get()}, sim::poll_out, broken),
        facts_(&facts),
        broken_(broken) {
    const sim::RingbufMemory& memory = model_->memory();
    pages_ = {.consumer = static_cast<const std::byte*>(memory.user_consumer_page()),
              .producer = static_cast<std::byte*>(memory.produced_page()),
              .data = static_cast<std::byte*>(memory.produced_data()),
              .size = memory.data_size(),
              .page_size = sim::page_size_bytes()};
  }
  ~UserRingbufModelSide() override {
    readiness_.reset();  // nobody waits on a model that is kept
    ModelStore<Memory>::give(std::move(model_));
  }
  UserRingbufModelSide(const UserRingbufModelSide&) = delete;
  UserRingbufModelSide& operator=(const UserRingbufModelSide&) = delete;

  ring::Result<Outcome> apply(const Op& op, std::uint64_t ordinal) override {
    break_rule();
    if (is_readiness(op.verb)) return readiness_->apply(kind, op);
    switch (op.verb) {
      case Verb::user_reserve:
        return held_.reserve(pages_, op, ordinal, [this](std::uint32_t size, std::byte*& payload) {
          return -producer_.reserve(size, payload);
        });
      case Verb::user_settle:
        return held_.settle(op, [this](std::byte* payload, bool discarded) {
          discarded ? producer_.discard(payload) : producer_.submit(payload);
        });
      case Verb::user_header:
        return store_header(pages_, op);
      case Verb::user_producer:
        return move_producer(pages_, op);
      case Verb::drain:
        return drain(op);
      case Verb::drain_nested:
        return drain_nested(op);
      default:
        return ring::error("play operation on the model of a user ring buffer", "the verb is none of its own");
    }
  }

  ring::Result<Outcome> look() override {
    break_rule();
    return readiness_->look();
  }

  ring::Result<void> show(View& view) override {
    break_rule();
    show_user_ringbuf(pages_, model_->poll(), view);
    return {};
  }

  const Facts& facts() const override { return *facts_; }

 private:
  static std::uint64_t argument(const Op& op, Arg arg) { return static_cast<std::uint64_t>(value_of(kind, op, arg)); }

  // The broken rule is the thread's, and other models may have run on it.
  void break_rule() const {
    if constexpr (std::is_same_v<Memory, sim::BrokenMemory>) sim::BrokenMemory::broken = broken_;
  }

  Outcome drain(const Op& op) {
    const std::uint64_t stop = argument(op, Arg::stop);
    DrainNotes notes;
    const std::int64_t result = model_->drain(
        argument(op, Arg::flags), [&](std::span<const std::byte> sample) { return notes.take(sample, stop); });
    return {.result = result, .details = notes.details()};
  }

  Outcome drain_nested(const Op& op) {
    const std::uint64_t inner_flags = argument(op, Arg::inner);
    DrainNotes notes;
    std::int64_t inner_result = 0;
    const std::int64_t result = model_->drain(argument(op, Arg::flags), [&](std::span<const std::byte> sample) {
      const int answer = notes.take(sample, 0);
      if (notes.samples == 1) inner_result = model_->drain(inner_flags, [](auto) { return 1; });
      return answer;
    });
    Outcome outcome{.result = result, .details = notes.details()};
    outcome.details.push_back(notes.samples > 0 ? 1 : 0);
    outcome.details.push_back(static_cast<std::uint64_t>(inner_result));
    return outcome;
  }

  std::unique_ptr<Model<Memory>> model_;
  sim::UserRingbufProducer producer_;
  UserRingbufPages pages_;
  HeldSamples held_;
  std::optional<ModelReadiness> readiness_;
  const Facts* facts_;
  sim::Rule broken_;
};

template <class Memory>
ring::Result<std::unique_ptr<Side>> make_side(const Script& script, const ModelOptions& options, const Facts& facts) {
  auto model = ModelStore<Memory>::take(user_data_bytes(script, sim::page_size_bytes()));
  if (!model) return tl::make_unexpected(model.error());
  return std::make_unique<UserRingbufModelSide<Memory>>(std::move(*model), options.broken, facts);
}

}  // namespace

// No rule of a user ring buffer differs between kernels [KERNEL-RINGS 3].
ring::Result<std::unique_ptr<Side>> make_user_ringbuf_model(const Script& script, const ModelOptions& options,
                                                            const Facts& facts) {
  if (options.broken == sim::Rule::none) return make_side<sim::PlainMemory>(script, options, facts);
  return make_side<sim::BrokenMemory>(script, options, facts);
}

}  // namespace ringside::conform
