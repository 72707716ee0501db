// SPDX-License-Identifier: Apache-2.0
//
// The model's side of a script on a BPF ring buffer: the helpers of sim/ringbuf.h, driven by the verbs. It reads and
// moves positions through the user's mapping, as a consumer does.
#include "conform/readiness_kernel.h"
#include "conform/readiness_model.h"
#include "conform/ringbuf_common.h"
#include "conform/side.h"
#include "conform/verbs.h"
#include "sim/ringbuf.h"

namespace ringside::conform {

namespace {

constexpr ring::RingKind kind = ring::RingKind::ringbuf;

template <class Memory>
class RingbufModelSide final : public Side {
 public:
  using Model = sim::BasicRingbufModel<Memory>;

  RingbufModelSide(std::unique_ptr<Model> model, const RingbufSetup& setup, sim::Rule broken, const Facts& facts)
      : model_(std::move(model)), readiness_({model_.get()}, sim::poll_in, broken), facts_(&facts), broken_(broken) {
    const sim::RingbufMemory& memory = model_->memory();
    pages_ = {.consumer = static_cast<std::byte*>(memory.user_consumer_page()),
              .producer = static_cast<const std::byte*>(memory.user_producer_page()),
              .data = static_cast<const std::byte*>(memory.user_data()),
              .size = setup.data_size,
              .page_size = sim::page_size_bytes(),
              .overwrite = setup.overwrite};
    payload_.resize(static_cast<std::size_t>(setup.data_size));
  }

  ring::Result<Outcome> apply(const Op& op, std::uint64_t ordinal) override {
    break_rule();
    if (is_readiness(op.verb)) return readiness_.apply(kind, op);
    switch (op.verb) {
      case Verb::output:
        return output(op, ordinal);
      case Verb::reserve:
        return reserve(op, ordinal);
      case Verb::dynptr:
        return dynptr(op, ordinal);
      case Verb::hold:
        return hold(op);
      case Verb::settle:
        return settle(op, ordinal);
      case Verb::nested:
        return nested(op, ordinal);
      case Verb::query:
        return Outcome{.result = static_cast<std::int64_t>(model_->query(argument(op, Arg::what))), .details = {}};
      case Verb::consumer:
        return move_consumer(pages_, op);
      case Verb::consume:
        return consume(pages_, op);
      default:
        return ring::error("play operation on the model of a BPF ring buffer", "the verb is none of its own");
    }
  }

  ring::Result<Outcome> look() override {
    break_rule();
    return readiness_.look();
  }

  ring::Result<void> show(View& view) override {
    break_rule();
    show_ringbuf(pages_, model_->poll(), view);
    return {};
  }

  const Facts& facts() const override { return *facts_; }

 private:
  using Reservation = typename Model::Reservation;

  static std::uint64_t argument(const Op& op, Arg arg) { return static_cast<std::uint64_t>(value_of(kind, op, arg)); }

  // The broken rule is the thread's, and other models may have run on it.
  void break_rule() const {
    if constexpr (std::is_same_v<Memory, sim::BrokenMemory>) sim::BrokenMemory::broken = broken_;
  }

  // The payload of an operation. A record that no ring of this size takes is never read: its bytes are any.
  std::span<const std::byte> payload(std::uint64_t size, std::uint64_t ordinal) {
    if (size > payload_.size()) {
      payload_.resize(static_cast<std::size_t>(size));
    } else {
      fill_payload(std::span(payload_).first(static_cast<std::size_t>(size)), ordinal);
    }
    return std::span(payload_).first(static_cast<std::size_t>(size));
  }

  void finish(const Reservation& reservation, const Op& op, std::uint64_t written, std::uint64_t ordinal) {
    fill_payload(reservation.payload.first(static_cast<std::size_t>(written)), ordinal);
    commit(reservation, op);
  }
  void commit(const Reservation& reservation, const Op& op) {
    const std::uint64_t flags = argument(op, Arg::flags);
    if (value_of(kind, op, Arg::fate) == 0) {
      model_->submit(reservation, flags);
    } else {
      model_->discard(reservation, flags);
    }
  }

  Outcome output(const Op& op, std::uint64_t ordinal) {
    const auto bytes = payload(argument(op, Arg::size), ordinal);
    return {.result = model_->output(bytes, argument(op, Arg::flags)), .details = {}};
  }

  Outcome reserve(const Op& op, std::uint64_t ordinal) {
    const std::uint64_t size = constant_size_of(op);
    const auto reservation = model_->reserve(size, argument(op, Arg::reserve_flags));
    if (!reservation) return {.result = 0, .details = {}};
    finish(*reservation, op, bytes_written(op, size), ordinal);
    return {.result = 1, .details = {}};
  }

  Outcome dynptr(const Op& op, std::uint64_t ordinal) {
    const std::uint64_t size = argument(op, Arg::size);
    std::optional<Reservation> reservation;
    const int result =
        model_->reserve_dynptr(static_cast<std::uint32_t>(size), argument(op, Arg::reserve_flags), reservation);
    if (reservation) finish(*reservation, op, bytes_written(op, size), ordinal);
    return {.result = result, .details = {}};
  }

  Outcome hold(const Op& op) {
    std::optional<Reservation>& slot = held_[static_cast<std::size_t>(argument(op, Arg::slot))];
    if (slot) return {.result = nothing_done, .details = {}};
    const int result = model_->reserve_dynptr(static_cast<std::uint32_t>(argument(op, Arg::size)), 0, slot);
    return {.result = result, .details = {}};
  }

  Outcome settle(const Op& op, std::uint64_t ordinal) {
    std::optional<Reservation>& slot = held_[static_cast<std::size_t>(argument(op, Arg::slot))];
    if (!slot) return {.result = nothing_done, .details = {}};
    finish(*slot, op, slot->payload.size(), ordinal);
    slot.reset();
    return {};
  }

  Outcome nested(const Op& op, std::uint64_t ordinal) {
    std::optional<Reservation> outer;
    const int result = model_->reserve_dynptr(static_cast<std::uint32_t>(argument(op, Arg::size)), 0, outer);
    Outcome outcome{.result = result, .details = {}};
    if (!outer) return outcome;
    for (std::uint64_t i = 0; i < argument(op, Arg::count); ++i) {
      const auto bytes = payload(argument(op, Arg::inner), nested_ordinal(ordinal, i));
      outcome.details.push_back(static_cast<std::uint64_t>(std::int64_t{model_->output(bytes, 0)}));
    }
    fill_payload(outer->payload, ordinal);
    model_->submit(*outer, argument(op, Arg::flags));
    return outcome;
  }

  std::unique_ptr<Model> model_;
  ModelReadiness readiness_;
  const Facts* facts_;
  sim::Rule broken_;
  RingbufPages pages_;
  std::vector<std::byte> payload_;
  std::array<std::optional<Reservation>, static_cast<std::size_t>(held_slots)> held_;
};

template <class Memory>
ring::Result<std::unique_ptr<Side>> make(const Script& script, const ModelOptions& options, const Facts& facts) {
  const RingbufSetup setup = ringbuf_setup(script, sim::page_size_bytes());
  auto model = sim::BasicRingbufModel<Memory>::create({.data_size = setup.data_size,
                                                       .map_flags = setup.overwrite ? sim::flag_rb_overwrite : 0,
                                                       .kernel = options.kernel});
  if (!model) return tl::unexpected(model.error());
  return std::make_unique<RingbufModelSide<Memory>>(std::move(*model), setup, options.broken, facts);
}

}  // namespace

ring::Result<std::unique_ptr<Side>> make_ringbuf_model(const Script& script, const ModelOptions& options,
                                                       const Facts& facts) {
  if (options.broken == sim::Rule::none) return make<sim::PlainMemory>(script, options, facts);
  return make<sim::BrokenMemory>(script, options, facts);
}

}  // namespace ringside::conform
