// SPDX-License-Identifier: Apache-2.0
#include "sim/user_ringbuf.h"

#include <cstring>
#include <string>
#include <utility>

#include "sim/ringbuf.h"

namespace ringside::sim {

namespace {

ring::Result<void> check(const UserRingbufOptions& options) {
  const std::string attempt = "create a user ring buffer";
  if ((options.map_flags & ~flag_numa_node) != 0) {  // 1.2
    return ring::errno_error(attempt + " with map flags " + std::to_string(options.map_flags), EINVAL,
                             "only BPF_F_NUMA_NODE is known");
  }
  if (options.start_position % 8 != 0) {
    return ring::errno_error(attempt + " at position " + std::to_string(options.start_position), EINVAL,
                             "positions are multiples of 8");
  }
  return {};
}

}  // namespace

template <class Memory>
ring::Result<std::unique_ptr<BasicUserRingbuf<Memory>>> BasicUserRingbuf<Memory>::create(
    const UserRingbufOptions& options) {
  if (const auto checked = check(options); !checked) return tl::make_unexpected(checked.error());
  auto memory = RingbufMemory::create(options.data_size, options.user_mapping, UserRole::producer);
  if (!memory) return tl::make_unexpected(memory.error());
  return std::unique_ptr<BasicUserRingbuf>(new BasicUserRingbuf(std::move(*memory), options));
}

template <class Memory>
BasicUserRingbuf<Memory>::BasicUserRingbuf(RingbufMemory memory, const UserRingbufOptions& options)
    : memory_(std::move(memory)), start_position_(options.start_position) {
  const auto word = [](std::byte* page, std::uint64_t offset) {
    return reinterpret_cast<std::uint64_t*>(page + offset);
  };
  state_.consumer_pos = word(memory_.kernel_consumer_page(), ring::ringbuf::consumer_pos_offset);
  state_.producer_pos = word(memory_.kernel_producer_page(), ring::ringbuf::producer_pos_offset);
  state_.data = memory_.kernel_data();
  state_.size = memory_.data_size();
  *state_.consumer_pos = start_position_;
  *state_.producer_pos = start_position_;
}

template <class Memory>
std::uint32_t BasicUserRingbuf<Memory>::poll() {
  // Acquire, as the kernel has it: the space below consumer_pos has been read.
  const std::uint64_t consumer = PlainMemory::load_acquire(state_.consumer_pos);
  const std::uint64_t used = PlainMemory::load_acquire(state_.producer_pos) - consumer;
  const bool writable = used < state_.size || (Memory::breaks(Rule::user_full) && used == state_.size);
  return writable ? poll_writable : 0;
}

// Full: whoever is merged into a queued wake-up has done all its stores before the wake-up runs.
template <class Memory>
bool BasicUserRingbuf<Memory>::queue_wakeup() {
  return PlainMemory::exchange_full(&wakeup_queued_, std::uint32_t{1}) == 0;
}

template <class Memory>
void BasicUserRingbuf<Memory>::run_wakeup() {
  // Cleared first: a wake-up that is wanted from here on is a new one. Full, pairs with queue_wakeup.
  PlainMemory::exchange_full(&wakeup_queued_, std::uint32_t{0});
  wait_queue_.wake_all();
}

template <class Memory>
void BasicUserRingbuf<Memory>::reset() {
  const std::size_t page = page_size_bytes();
  std::memset(memory_.kernel_consumer_page(), 0, page);
  std::memset(memory_.kernel_producer_page(), 0, page);
  std::memset(state_.data, 0, state_.size);
  *state_.consumer_pos = start_position_;
  *state_.producer_pos = start_position_;
  state_.busy = 0;
  wakeup_queued_ = 0;
}

template <class Memory>
UserRingbufProducer BasicUserRingbuf<Memory>::producer() const {
  const auto* const consumer = static_cast<const std::uint64_t*>(memory_.user_consumer_page());
  auto* const producer = static_cast<std::uint64_t*>(memory_.produced_page());
  return {consumer, producer, static_cast<std::byte*>(memory_.produced_data()), state_.size};
}

template class BasicUserRingbuf<PlainMemory>;
template class BasicUserRingbuf<BrokenMemory>;

}  // namespace ringside::sim
