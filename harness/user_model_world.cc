// SPDX-License-Identifier: Apache-2.0
//
// The model of a user ring buffer as a world: its drain advances one shared-memory access at a time.
#include <array>

#include "harness/user_world.h"
#include "sim/user_ringbuf.h"

namespace ringside::harness {

namespace {

class UserModelWorld final : public UserWorld {
 public:
  explicit UserModelWorld(std::unique_ptr<sim::UserRingbufModel> model) : model_(std::move(model)) {
    const sim::RingbufMemory& memory = model_->memory();
    ring_ = {.fd = -1,
             .page_size = sim::page_size_bytes(),
             .data_size = memory.data_size(),
             .consumer_page = memory.user_consumer_page(),
             .producer_page = memory.produced_page(),
             .data = memory.produced_data()};
  }

  ring::Result<void> arm(std::uint32_t trigger) {
    return epoll_.add(*model_, trigger == RINGSIDE_EDGE ? sim::Trigger::edge : sim::Trigger::level, 0, sim::poll_out);
  }

  const ringside_user_ring& ring() const override { return ring_; }

  void begin_drain(std::uint64_t flags, std::uint32_t most_samples) override {
    drain_.emplace(model_->state(), flags);
    most_samples_ = most_samples;
    taken_ = 0;
  }
  bool draining() const override { return drain_.has_value(); }

  ring::Result<std::optional<std::int64_t>> step(const Take& take) override {
    if (drain_->has_sample()) {
      take(drain_->sample());
      drain_->answer(++taken_ == most_samples_ ? 1 : 0);
      return std::nullopt;
    }
    if (drain_->step() != sim::StepResult::done) return std::nullopt;
    const std::int64_t result = drain_->result();
    const bool wakes = drain_->wants_wakeup();
    drain_.reset();
    if (wakes && model_->queue_wakeup()) model_->run_wakeup();
    return result;
  }
  std::int64_t step_ns() const override { return 50; }

  int ready() override {
    std::array<ringside_ready, 1> ready{};
    return static_cast<int>(epoll_.poll_ready(ready));
  }

 private:
  std::unique_ptr<sim::UserRingbufModel> model_;
  sim::Epoll epoll_;
  ringside_user_ring ring_{};
  std::optional<sim::UserRingbufDrain<sim::PlainMemory>> drain_;
  std::uint32_t most_samples_ = 0;
  std::uint32_t taken_ = 0;
};

}  // namespace

ring::Result<std::unique_ptr<UserWorld>> make_user_model_world(const UserWorldRequest& request) {
  const RingPlan& plan = request.scenario->ring;
  auto model = sim::UserRingbufModel::create({.data_size = plan.size, .start_position = plan.start});
  if (!model) return tl::unexpected(model.error());
  auto world = std::make_unique<UserModelWorld>(std::move(*model));
  if (auto armed = world->arm(request.trigger); !armed) return tl::unexpected(armed.error());
  return world;
}

}  // namespace ringside::harness
