// SPDX-License-Identifier: Apache-2.0
//
// The model's side of a script on perf rings: two sim::PerfEventModels, driven by the verbs.
//
// Times are the kernel's to give. Where a record is about to carry one, the model takes the 8 bytes that stand at that
// place in the kernel's ring, which has carried out the operation before. What another record or the same one wrote
// over them since is then written over here as well; a time that must still be whole is held against the clock.
#include <array>
#include <cassert>
#include <cerrno>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <vector>

#include "conform/perf_common.h"
#include "conform/readiness_kernel.h"
#include "conform/readiness_model.h"
#include "conform/side.h"
#include "conform/verbs.h"
#include "sim/perf_event.h"
#include "sim/ring_memory.h"

namespace ringside::conform {

namespace {

constexpr ring::RingKind kind = ring::RingKind::perf;

/// How far the clock of records may be from CLOCK_MONOTONIC as user space reads it. The kernel's fast clock may step by
/// what a correction of the clock's rate amounts to between two ticks, which is far less.
constexpr std::uint64_t clock_slack_ns = 100'000;

template <class Memory>
class PerfModelSide final : public Side {
 public:
  PerfModelSide(const PerfSetup& setup, const ModelOptions& options, const Facts& facts)
      : facts_(&facts),
        broken_(options.broken),
        a_(options_of(0, setup, options, facts)),
        b_(options_of(1, setup, options, facts)),
        readiness_({&a_, &b_}, sim::poll_in, options.broken) {
    [[maybe_unused]] const int mapped = events_[0]->map(setup.pages, !setup.readonly);
    assert(mapped == 0);
    writable_[0].push_back(!setup.readonly);
  }

  ring::Result<Outcome> apply(const Op& op, std::uint64_t ordinal) override {
    break_rule();
    if (is_readiness(op.verb)) return readiness_.apply(kind, op);
    switch (op.verb) {
      case Verb::perf_output:
        return output(op, ordinal);
      case Verb::perf_nested:
        return nested(op, ordinal);
      case Verb::comm:
        return comm(op, ordinal);
      case Verb::tail:
        return move_tail(pages(index_of(op)), op);
      case Verb::head:
        return scribble_head(pages(index_of(op)), op);
      case Verb::perf_consume:
        return consume_perf(pages(index_of(op)), op);
      case Verb::map:
        return map(op);
      case Verb::unmap:
        return unmap(op);
      default:
        return control(op);
    }
  }

  // The sets before the descriptors: a poll takes the flag that makes a set's item ready.
  ring::Result<Outcome> look() override {
    break_rule();
    return look_at_sets_first(readiness_);
  }

  ring::Result<void> show(View& view) override {
    break_rule();
    show_perf({shown(0), shown(1)}, time_impossible_, view);
    return {};
  }

  const Facts& facts() const override { return *facts_; }

 private:
  using Event = sim::PerfEventModel<Memory>;

  static sim::PerfEventOptions options_of(std::size_t index, const PerfSetup& setup, const ModelOptions& options,
                                          const Facts& facts) {
    return {.attr = setup.attrs[index], .id = facts.event_id[index], .kernel = options.kernel};
  }
  static std::size_t index_of(const Op& op) { return static_cast<std::size_t>(value_of(kind, op, Arg::event)); }
  Event& event_of(const Op& op) { return *events_[index_of(op)]; }

  // The broken rule is the thread's, and other models may have run on it.
  void break_rule() const {
    if constexpr (std::is_same_v<Memory, sim::BrokenMemory>) sim::BrokenMemory::broken = broken_;
  }

  // One record under way: what is written, and where its time will stand.
  struct Pending {
    std::size_t event = 0;
    sim::PerfRecord record;
    std::uint64_t lost_bytes = 0;
    std::uint64_t bytes = 0;
  };

  Pending pending(std::size_t index, std::uint32_t type, std::span<const std::byte> payload) {
    Pending result{.event = index, .record = {.type = type, .payload = payload}};
    if (type != ring::perf::type_sample) result.record.misc = 0;
    result.record.values = {.pid = facts_->pid, .tid = facts_->tid, .addr = 0, .cpu = facts_->cpu, .period = 0};
    const Event& event = *events_[index];
    result.bytes = sim::record_bytes(event.state(), result.record);
    if (event.ring() == nullptr) return result;
    if (event.ring()->state().lost != 0) result.lost_bytes = sim::lost_record_bytes<Memory>(event.state());
    return result;
  }

  // Where in a record its time stands; nothing when it carries none.
  static std::optional<std::uint64_t> time_offset(const sim::PerfAttr& attr, const sim::PerfRecord& record) {
    const std::uint64_t type = attr.sample_type;
    if ((type & sim::sample_time) == 0) return std::nullopt;
    const std::uint64_t thread = (type & sim::sample_tid) != 0 ? 8 : 0;
    if (record.type != ring::perf::type_sample) {
      if (!attr.sample_id_all) return std::nullopt;
      return ring::perf::header_bytes + record.payload.size() + thread;
    }
    return ring::perf::header_bytes + ((type & sim::sample_identifier) != 0 ? 8 : 0) + thread;
  }

  // To be called when head is where the record will begin.
  void take_time(Pending& pending) {
    const Event& event = *events_[pending.event];
    const auto offset = time_offset(event.state().attr, pending.record);
    if (!offset || event.ring() == nullptr) return;
    const sim::PerfRingState& ring = event.ring()->state();
    const std::span<const std::byte> data = facts_->data[pending.event];
    if (data.size() != ring.size || data.empty()) return;
    // 2.4.7: a backward record ends where the one before it began, by the size that its header tells.
    const std::uint64_t start =
        ring.backward ? ring.head - static_cast<std::uint16_t>(pending.bytes) : ring.head + pending.lost_bytes;
    for (std::size_t i = 0; i < 8; ++i) {
      reinterpret_cast<std::byte*>(&pending.record.values.time_ns)[i] = data[(start + *offset + i) & ring.mask()];
    }
  }

  // After the record is written. `others`: bytes that the operation wrote after it.
  void check_time(const Pending& pending, int result, std::uint64_t others) {
    const Event& event = *events_[pending.event];
    if (result != 0 || !time_offset(event.state().attr, pending.record)) return;
    if (pending.lost_bytes + pending.bytes + others > event.ring()->state().size) return;
    const std::uint64_t time = pending.record.values.time_ns;
    if (time + clock_slack_ns < facts_->clock_before_ns || time > facts_->clock_after_ns + clock_slack_ns) {
      ++time_impossible_;
    }
  }

  int write(Pending& pending, std::uint64_t others = 0) {
    take_time(pending);
    const int result = events_[pending.event]->write(pending.record);
    check_time(pending, result, others);
    return result;
  }

  // 2.12, in the order in which the helper looks.
  Outcome output(const Op& op, std::uint64_t ordinal) {
    if (value_of(kind, op, Arg::flags) != 0) return {.result = -EINVAL, .details = {}};
    const auto slot = static_cast<PerfSlot>(value_of(kind, op, Arg::slot));
    switch (slot) {
      case PerfSlot::outside:
        return {.result = -E2BIG, .details = {}};
      case PerfSlot::empty:
        return {.result = -ENOENT, .details = {}};
      case PerfSlot::other:
        return {.result = -EINVAL, .details = {}};
      default:
        break;
    }
    const auto index = static_cast<std::size_t>(slot);
    if (!events_[index]->enabled()) return {.result = -EOPNOTSUPP, .details = {}};
    Pending sample = pending(index, ring::perf::type_sample, payload(op, Arg::size, ordinal, payload_));
    return {.result = write(sample), .details = {}};
  }

  Outcome nested(const Op& op, std::uint64_t ordinal) {
    const std::size_t index = index_of(op);
    Event& event = *events_[index];
    if (!event.enabled()) return {.result = -EOPNOTSUPP, .details = {0, 0}};
    // The words of `at` are the points but `none`.
    const auto point = static_cast<sim::PerfPoint>(value_of(kind, op, Arg::at) + 1);
    const auto inner_bytes = payload(op, Arg::inner, inner_ordinal(ordinal), inner_payload_);
    Pending outer = pending(index, ring::perf::type_sample, payload(op, Arg::size, ordinal, payload_));
    const bool written_first = point == sim::PerfPoint::published || point == sim::PerfPoint::left;
    Outcome outcome{.result = 0, .details = {0, 0}};
    const auto within = [&] {
      Pending inner = pending(index, ring::perf::type_sample, inner_bytes);
      const int result = write(inner, written_first ? 0 : outer.lost_bytes + outer.bytes);
      outcome.details = {1, static_cast<std::uint64_t>(std::int64_t{result})};
      // The inner one has moved head before the outer one read it.
      if (point == sim::PerfPoint::entered) take_time(outer);
    };
    take_time(outer);
    outcome.result = event.write(outer.record, point, within);
    check_time(outer, static_cast<int>(outcome.result), inner_bytes.size() + 2 * most_overhead);
    return outcome;
  }

  // The kernel passes through the events of the thread from the one that was opened last.
  Outcome comm(const Op& op, std::uint64_t ordinal) {
    const std::array<char, 16> name = comm_of(op, ordinal);
    std::array<std::byte, 24> body{};
    std::memcpy(body.data(), &facts_->pid, 4);
    std::memcpy(body.data() + 4, &facts_->tid, 4);
    std::memcpy(body.data() + 8, name.data(), name.size());
    const auto letters = static_cast<std::size_t>(value_of(kind, op, Arg::letters));
    const std::size_t size = 8 + static_cast<std::size_t>(ring::round_up_8(letters + 1));
    for (const std::size_t index : {std::size_t{1}, std::size_t{0}}) {
      if (!events_[index]->enabled()) continue;
      Pending record = pending(index, ring::perf::type_comm, std::span(body).first(size));
      write(record, most_overhead);
    }
    return {};
  }

  Outcome control(const Op& op) {
    Event& event = event_of(op);
    int result = 0;
    switch (op.verb) {
      case Verb::pause:
        result = event.pause(value_of(kind, op, Arg::on) != 0);
        break;
      case Verb::enable:
        event.enable(value_of(kind, op, Arg::on) != 0);
        break;
      case Verb::redirect:
        result = event.redirect(events_[static_cast<std::size_t>(value_of(kind, op, Arg::to))]);
        break;
      case Verb::detach:
        result = event.redirect(nullptr);
        break;
      default:
        assert(op.verb == Verb::reset);  // 2.11: touches neither ring nor losses
    }
    return {.result = result, .details = {}};
  }

  Outcome map(const Op& op) {
    const std::size_t index = index_of(op);
    if (events_[index]->mappings() == most_mappings) return {.result = perf_nothing_done, .details = {}};
    const bool writable = value_of(kind, op, Arg::readonly) == 0;
    const int result = events_[index]->map(pages_of(op), writable);
    if (result == 0) writable_[index].push_back(writable);
    return {.result = result, .details = {}};
  }

  Outcome unmap(const Op& op) {
    const std::size_t index = index_of(op);
    if (events_[index]->mappings() == 0) return {.result = perf_nothing_done, .details = {}};
    events_[index]->unmap();
    writable_[index].pop_back();
    return {};
  }

  std::span<const std::byte> payload(const Op& op, Arg size, std::uint64_t ordinal, std::vector<std::byte>& room) {
    room.resize(static_cast<std::size_t>(value_of(kind, op, size)));
    fill_payload(room, ordinal);
    return room;
  }

  PerfPages pages(std::size_t index) const {
    const Event& event = *events_[index];
    if (event.mappings() == 0) return {};
    bool writable = false;
    for (const std::uint8_t one : writable_[index]) writable |= one != 0;
    return {.control = event.ring()->control_page(),
            .data = event.ring()->data(),
            .writable = writable,
            .backward = event.state().attr.write_backward};
  }

  PerfShown shown(std::size_t index) const {
    const Event& event = *events_[index];
    PerfShown shown{.mappings = event.mappings(),
                    .lost_read = event.state().lost_samples,
                    .lost_samples = event.state().lost_samples,
                    .has_ring = event.ring() != nullptr,
                    .pages = pages(index)};
    if (!shown.has_ring) return shown;
    const sim::PerfRingState& ring = event.ring()->state();
    shown.head = ring.head;
    shown.events = static_cast<std::uint64_t>(ring.events);
    shown.wakeup = ring.wakeup;
    shown.lost = ring.lost;
    shown.watermark = ring.watermark;
    shown.nest = ring.nest;
    shown.poll = ring.poll;
    shown.paused = ring.paused;
    shown.overwrite = ring.overwrite;
    shown.data_pages = ring.size / ring.page_size;
    return shown;
  }

  static constexpr std::uint64_t most_overhead = 176;  // a LOST record, header and fields of a sample, padding

  const Facts* facts_;
  sim::Rule broken_;
  Event a_;
  Event b_;
  std::array<Event*, perf_events> events_ = {&a_, &b_};
  std::array<std::vector<std::uint8_t>, perf_events> writable_;  // of each mapping
  std::vector<std::byte> payload_;
  std::vector<std::byte> inner_payload_;
  std::uint64_t time_impossible_ = 0;
  ModelReadiness readiness_;  // last: its items leave the events' wait queues before the events go
};

}  // namespace

ring::Result<std::unique_ptr<Side>> make_perf_model(const Script& script, const ModelOptions& options,
                                                    const Facts& facts) {
  assert(script.kind == kind);
  const PerfSetup setup = perf_setup(script);
  if (options.broken == sim::Rule::none) {
    return std::make_unique<PerfModelSide<sim::PlainMemory>>(setup, options, facts);
  }
  return std::make_unique<PerfModelSide<sim::BrokenMemory>>(setup, options, facts);
}

}  // namespace ringside::conform
