// SPDX-License-Identifier: Apache-2.0
#include "sim/perf_ring.h"

#include <utility>

namespace ringside::sim {

namespace {

// 2.2: what a fresh control page says.
void fill_control_page(std::byte* page, std::uint64_t data_size) {
  const auto put = [page](std::size_t offset, auto value) { std::memcpy(page + offset, &value, sizeof(value)); };
  put(8, std::uint32_t{2});    // lock: a seqcount, after the mapping's own update
  put(40, std::uint64_t{2});   // capabilities
  put(72, std::uint32_t{96});  // size
  put(ring::perf::data_offset_offset, std::uint64_t{page_size_bytes()});
  put(ring::perf::data_size_offset, data_size);
}

}  // namespace

PerfRingState start_perf_ring(std::byte* control_page, std::byte* data, std::uint64_t data_size, const PerfAttr& attr,
                              std::uint64_t owner_id, bool writable) {
  fill_control_page(control_page, data_size);
  PerfRingState state;
  state.data_head = reinterpret_cast<std::uint64_t*>(control_page + ring::perf::data_head_offset);
  state.data_tail = reinterpret_cast<std::uint64_t*>(control_page + ring::perf::data_tail_offset);
  state.data = data;
  state.size = data_size;
  state.page_size = page_size_bytes();
  state.owner_id = owner_id;
  state.overwrite = !writable;
  state.backward = attr.write_backward;
  state.paused = data_size == 0;
  state.watermark = initial_watermark(attr, data_size);
  return state;
}

ring::Result<std::unique_ptr<PerfRingModel>> PerfRingModel::create(const PerfRingOptions& options) {
  const std::string attempt = "create a perf ring";
  if ((options.attr.sample_type & ~sample_known) != 0) {
    return ring::error(attempt + " with sample_type " + std::to_string(options.attr.sample_type),
                       "some of its fields are not modelled",
                       "use IDENTIFIER, IP, TID, TIME, ADDR, ID, STREAM_ID, CPU, PERIOD and RAW");
  }
  if (options.start_position % 8 != 0) {
    return ring::errno_error(attempt + " at position " + std::to_string(options.start_position), EINVAL,
                             "positions are multiples of 8");
  }
  ring::Result<PerfMemory> memory = PerfMemory::create(options.data_size, options.writable, options.user_mapping);
  if (!memory) return tl::make_unexpected(memory.error());
  return std::unique_ptr<PerfRingModel>(new PerfRingModel(std::move(*memory), options));
}

PerfRingModel::PerfRingModel(PerfMemory memory, const PerfRingOptions& options) : memory_(std::move(memory)) {
  state_ = start_perf_ring(memory_.kernel_control_page(), memory_.kernel_data(), memory_.data_size(), options.attr,
                           options.event_id, options.writable);
  state_.head = options.start_position;
  *state_.data_head = options.start_position;
  *state_.data_tail = options.start_position;
  // The stamp counts bytes produced, which a backward ring counts downwards [2.4.6].
  state_.wakeup = state_.backward ? 0 - options.start_position : options.start_position;
  event_.attr = options.attr;
  event_.id = options.event_id;
}

int PerfRingModel::output(std::span<const std::byte> payload, const PerfSampleValues& values) {
  PerfRecord record;
  record.payload = payload;
  record.values = values;
  return write(record);
}

int PerfRingModel::write(const PerfRecord& record) { return write(record, event_); }

int PerfRingModel::write(const PerfRecord& record, PerfEventState& event) {
  PerfOutput<PlainMemory> output(state_, event, record);
  output.run();
  if (output.wants_wakeup() && queue_wakeup()) run_wakeup();
  return output.result();
}

std::uint32_t PerfRingModel::poll() {
  // Relaxed: nothing is read on the strength of it.
  if (hung_up_.load(std::memory_order_relaxed)) return poll_hup;
  // Takes the flag. Full, as the kernel's exchange is; pairs with the relaxed store of the flag, which comes after the
  // store of data_head in program order only [5.2].
  return PlainMemory::exchange_full(&state_.poll, 0u);
}

void PerfRingModel::hang_up() {
  hung_up_.store(true, std::memory_order_relaxed);
  wait_queue_.wake_all();
}

// Full: the flag and data_head are stored before the wake-up runs.
bool PerfRingModel::queue_wakeup() { return PlainMemory::exchange_full(&wakeup_queued_, 1u) == 0; }

void PerfRingModel::run_wakeup() {
  // Cleared first: a wake-up that is wanted from here on is a new one. Full, pairs with queue_wakeup.
  PlainMemory::exchange_full(&wakeup_queued_, 0u);
  wait_queue_.wake_all();
}

}  // namespace ringside::sim
