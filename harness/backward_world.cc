// SPDX-License-Identifier: Apache-2.0
#include "harness/backward_world.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "real/inspect.h"
#include "ring/layout.h"
#include "ring/record.h"

namespace ringside::harness {

namespace {

/// The whole records at the beginning of those bytes, newest first.
std::vector<std::span<const std::byte>> records_in(std::span<const std::byte> bytes) {
  std::vector<std::span<const std::byte>> records;
  while (bytes.size() >= ring::perf::header_bytes) {
    ring::perf::RecordHeader header{};
    std::memcpy(&header, bytes.data(), sizeof(header));
    if (header.size < sizeof(header) || header.size % 8 != 0 || header.size > bytes.size()) break;
    records.push_back(bytes.first(header.size));
    bytes = bytes.subspan(header.size);
  }
  return records;
}

/// What one ring was found to hold, over all dumps.
struct Dumps {
  std::uint64_t head = 0;  ///< data_head at the last of them; the kernel begins at 0
  std::uint64_t due = 0;   ///< samples that must be delivered
  std::uint64_t lost = 0;  ///< what the PERF_RECORD_LOST among them account for
};

class Books {
 public:
  Books(const World& world, std::uint64_t doubtful_bytes)
      : world_(world), doubtful_bytes_(doubtful_bytes), next_(world.source_count()) {
    rings_.resize(world.ring_count());
  }

  /// A dump of what the ring holds now. `quiet`: nothing is under way that may yet write over its oldest records.
  void dump(std::uint32_t ring, bool quiet);
  /// What was never found lies nowhere any more.
  void end(const ring::ProducerLedger& ledger) {
    for (std::uint32_t source = 0; source < next_.size(); ++source) pass(source, ledger.sources[source].numbered());
  }

  std::uint64_t head_of(std::uint32_t ring) const { return real::positions_of(world_.ring(ring)).producer; }
  const Dumps& ring(std::uint32_t ring) const { return rings_[ring]; }
  const ring::Overwritten& overwritten() const { return overwritten_; }
  bool strange() const { return strange_; }

 private:
  void find(std::span<const std::byte> payload, Dumps& dumps);
  void pass(std::uint32_t source, std::uint64_t until) {
    for (; next_[source] < until; ++next_[source]) overwritten_.add(source, next_[source]);
  }

  const World& world_;
  std::uint64_t doubtful_bytes_;
  std::vector<Dumps> rings_;
  std::vector<std::uint64_t> next_;  // by source: the number behind the last that was found or passed
  ring::Overwritten overwritten_;
  bool strange_ = false;  // something lay there that nobody had put out
};

void Books::dump(std::uint32_t index, bool quiet) {
  const ringside_ring& ring = world_.ring(index);
  Dumps& dumps = rings_[index];
  const std::uint64_t head = head_of(index);
  const std::uint64_t fresh = dumps.head - head;
  std::vector<std::byte> bytes(std::min(fresh, ring.data_size));
  real::copy_wrapped(ring, head, bytes.data(), bytes.size());
  const bool lapped = fresh > ring.data_size;
  const std::uint64_t certain =
      lapped && !quiet ? bytes.size() - std::min(bytes.size(), doubtful_bytes_) : bytes.size();
  auto records = records_in(bytes);
  std::reverse(records.begin(), records.end());
  for (const auto record : records) {
    const real::PerfRecordContent content = real::read_perf_record(record, world_.rings().sample_type);
    const auto end = static_cast<std::uint64_t>(record.data() + record.size() - bytes.data());
    dumps.lost += content.lost.value_or(0);
    if (end <= certain && !content.raw.empty()) find(content.raw, dumps);
  }
  dumps.head = head;
}

void Books::find(std::span<const std::byte> payload, Dumps& dumps) {
  const auto reading = ring::read_record(payload, 7, [](std::uint16_t, ring::RecordState) { return 0ull; });
  const std::uint32_t source = reading.identity.source;
  if (reading.kind != ring::RecordReading::Kind::proven || source >= next_.size() ||
      reading.identity.sequence < next_[source]) {
    strange_ = true;
    return;
  }
  pass(source, reading.identity.sequence);
  ++next_[source];
  ++dumps.due;
}

/// More than all outputs can still write that were under way at one time: a record and the loss before it, of the
/// source and of what interrupts it.
std::uint64_t most_under_way(const Scenario& scenario) {
  std::uint64_t most = 0;
  for (const SourcePlan& source : scenario.sources) {
    std::uint64_t largest = std::max<std::uint64_t>(source.size.max, source.nested_size);
    for (const std::uint32_t size : source.size.cycle) largest = std::max<std::uint64_t>(largest, size);
    const std::uint64_t record = ring::round_up_8(largest + 4) + ring::perf::header_bytes + 8 + ring::perf::lost_bytes;
    most = std::max(most, record * (1 + source.nested));
  }
  return most;
}

class BackwardWorld final : public World {
 public:
  BackwardWorld(const Scenario& scenario, std::unique_ptr<World> world)
      : world_(std::move(world)), books_(*world_, most_under_way(scenario)), states_(world_->ring_count()) {}

  int pause(std::uint32_t ring, bool on) override {
    if (ring >= states_.size()) return -EINVAL;
    State& state = states_[ring];
    if (!on && state.paused && !state.dumped) books_.dump(ring, false);
    const int error = world_->pause(ring, on);
    if (error == 0) state = {.paused = on, .dumped = false, .delivered = state.delivered};
    return error;
  }
  int quiesce(std::uint32_t ring) override {
    const int error = world_->quiesce(ring);
    if (error != 0 || !states_[ring].paused || states_[ring].dumped) return error;
    books_.dump(ring, true);
    states_[ring].dumped = true;
    return 0;
  }
  void delivered(std::uint32_t ring) override { ++states_[ring].delivered; }

  RingPositions positions(std::uint32_t ring) const override {
    return {.consumer = 0 - books_.ring(ring).head, .producer = 0 - books_.head_of(ring)};
  }
  AtHead at_head(std::uint32_t ring) const override {
    const bool waits =
        books_.head_of(ring) != books_.ring(ring).head || books_.ring(ring).due > states_[ring].delivered;
    return waits ? AtHead::committed : AtHead::nothing;
  }

  // What the consumer has not dumped when it ends is missing, not left: it had its chance.
  std::vector<std::uint64_t> left() const override { return std::vector<std::uint64_t>(source_count()); }
  const ring::Overwritten& overwritten() const override { return at_the_end().overwritten(); }
  ring::ProducerLedger ledger() const override;
  std::vector<std::string> not_observable() const override;

  // The rest is as it is.
  const ringside_ring_set& rings() const override { return world_->rings(); }
  int adopt(const ringside_ring&) override { return -EOPNOTSUPP; }
  void forget_adopted() override {}
  ring::Result<Moved> step(Random& random, std::int64_t now_ns) override { return world_->step(random, now_ns); }
  std::int64_t step_ns() const override { return world_->step_ns(); }
  std::optional<std::int64_t> next_event_ns() const override { return world_->next_event_ns(); }
  bool in_burst() const override { return world_->in_burst(); }
  ring::Result<void> start() override { return world_->start(); }
  bool producers_running() const override { return world_->producers_running(); }
  ring::Result<void> end() override { return world_->end(); }
  int wait(std::span<ringside_ready> ready, std::int64_t timeout_ns) override {
    return world_->wait(ready, timeout_ns);
  }
  int wait_fd(int fd, std::int64_t timeout_ns) override { return world_->wait_fd(fd, timeout_ns); }
  std::uint32_t ring_count() const override { return world_->ring_count(); }
  const ringside_ring& ring(std::uint32_t index) const override { return world_->ring(index); }
  std::uint64_t reserved_so_far(std::uint32_t source) const override { return world_->reserved_so_far(source); }
  std::uint32_t source_count() const override { return world_->source_count(); }
  std::uint32_t ring_of(std::uint32_t source) const override { return world_->ring_of(source); }
  ring::Result<void> flush_losses() override { return world_->flush_losses(); }

 private:
  struct State {
    bool paused = false;
    bool dumped = false;  ///< since it was paused
    std::uint64_t delivered = 0;
  };

  /// When the producers have ended: a last dump of each ring, once.
  const Books& at_the_end() const {
    if (std::exchange(ended_, true)) return books_;
    for (std::uint32_t ring = 0; ring < states_.size(); ++ring) books_.dump(ring, true);
    books_.end(world_->ledger());
    return books_;
  }

  std::unique_ptr<World> world_;
  mutable Books books_;
  std::vector<State> states_;
  mutable bool ended_ = false;
};

/// The losses that a PERF_RECORD_LOST told which was overwritten, or that none has told yet, nobody could report.
ring::ProducerLedger BackwardWorld::ledger() const {
  ring::ProducerLedger ledger = world_->ledger();
  std::vector<std::uint64_t> no_room(ring_count());
  for (const ring::SourceLedger& source : ledger.sources) {
    const auto found = source.failed.find(ENOSPC);
    if (found != source.failed.end()) no_room[source.ring] += found->second;
  }
  ledger.unreported_losses.assign(ring_count(), 0);
  for (std::uint32_t ring = 0; ring < ring_count(); ++ring) {
    const std::uint64_t told = at_the_end().ring(ring).lost;
    ledger.unreported_losses[ring] = no_room[ring] - std::min(no_room[ring], told);
  }
  return ledger;
}

std::vector<std::string> BackwardWorld::not_observable() const {
  auto sentences = world_->not_observable();
  if (at_the_end().strange()) {
    sentences.emplace_back("a backward ring held what no program had put out, or twice: its dumps are not exact");
  }
  return sentences;
}

}  // namespace

std::unique_ptr<World> with_dumps(const WorldRequest& request, std::unique_ptr<World> world) {
  if (!request.scenario->ring.backward) return world;
  return std::make_unique<BackwardWorld>(*request.scenario, std::move(world));
}

}  // namespace ringside::harness
