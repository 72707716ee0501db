// SPDX-License-Identifier: Apache-2.0
#include "sim/ringbuf.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "sim/ringbuf_commit.h"

namespace ringside::sim {

namespace {

constexpr std::uint64_t output_flags = ring::flag_no_wakeup | ring::flag_force_wakeup;
constexpr std::uint32_t largest_dynptr = 0xffffff;

ring::Result<void> check(const RingbufOptions& options, const RingbufRules& rules) {
  const std::string attempt = "create a BPF ring buffer";
  if (!rules.has_ringbuf) {
    return ring::errno_error(attempt + " on kernel " + to_string(options.kernel), EINVAL, "use 5.8 or newer");
  }
  const std::uint32_t allowed = flag_numa_node | (rules.has_overwrite ? flag_rb_overwrite : 0);
  if ((options.map_flags & ~allowed) != 0) {  // 1.2
    return ring::errno_error(attempt + " with map flags " + std::to_string(options.map_flags), EINVAL,
                             rules.has_overwrite ? "only BPF_F_NUMA_NODE and BPF_F_RB_OVERWRITE are known"
                                                 : "only BPF_F_NUMA_NODE is known before 6.19");
  }
  if (options.start_position % 8 != 0) {
    return ring::errno_error(attempt + " at position " + std::to_string(options.start_position), EINVAL,
                             "positions are multiples of 8");
  }
  return {};
}

// Looks at a ring that is lapped again and again, before it is said to hold something.
constexpr int most_looks = 16;

}  // namespace

template <class Memory>
ring::Result<std::unique_ptr<BasicRingbufModel<Memory>>> BasicRingbufModel<Memory>::create(
    const RingbufOptions& options) {
  if (const auto checked = check(options, ringbuf_rules(options.kernel)); !checked) {
    return tl::make_unexpected(checked.error());
  }
  ring::Result<RingbufMemory> memory = RingbufMemory::create(options.data_size, options.user_mapping);
  if (!memory) return tl::make_unexpected(memory.error());
  return std::unique_ptr<BasicRingbufModel>(new BasicRingbufModel(std::move(*memory), options));
}

template <class Memory>
BasicRingbufModel<Memory>::BasicRingbufModel(RingbufMemory memory, const RingbufOptions& options)
    : memory_(std::move(memory)) {
  const auto word = [](std::byte* page, std::uint64_t offset) {
    return reinterpret_cast<std::uint64_t*>(page + offset);
  };
  std::byte* producer_page = memory_.kernel_producer_page();
  state_.consumer_pos = word(memory_.kernel_consumer_page(), ring::ringbuf::consumer_pos_offset);
  state_.producer_pos = word(producer_page, ring::ringbuf::producer_pos_offset);
  state_.pending_pos = word(producer_page, ring::ringbuf::pending_pos_offset);
  state_.overwrite_pos = word(producer_page, ring::ringbuf::overwrite_pos_offset);
  state_.data = memory_.kernel_data();
  state_.size = memory_.data_size();
  state_.page_size = page_size_bytes();
  state_.rules = ringbuf_rules(options.kernel);
  *state_.consumer_pos = options.start_position;
  *state_.producer_pos = options.start_position;
  // Before the fix there is no such word, and the page reads 0 there.
  if (state_.rules.has_pending_pos) *state_.pending_pos = options.start_position;
  state_.overwrite = (options.map_flags & flag_rb_overwrite) != 0;
  if (state_.overwrite) *state_.overwrite_pos = options.start_position;
}

template <class Memory>
std::span<std::byte> BasicRingbufModel<Memory>::payload_of(std::uint64_t position, std::uint64_t size) const {
  return {state_.payload(position), static_cast<std::size_t>(size)};
}

template <class Memory>
std::optional<typename BasicRingbufModel<Memory>::Reservation> BasicRingbufModel<Memory>::reserve(std::uint64_t size,
                                                                                                  std::uint64_t flags) {
  if (flags != 0) return std::nullopt;  // 1.7
  RingbufReserve<Memory> reserve(state_, size);
  reserve.run();
  if (reserve.failure() != ReserveFailure::none) return std::nullopt;
  return Reservation{reserve.position(), payload_of(reserve.position(), size)};
}

template <class Memory>
void BasicRingbufModel<Memory>::commit(const Reservation& reservation, bool discarded, std::uint64_t flags) {
  RingbufCommit<Memory> commit(state_, reservation.position, discarded ? Fate::discard : Fate::submit, flags);
  commit.run();
  if (commit.wants_wakeup() && queue_wakeup()) run_wakeup();
}

template <class Memory>
void BasicRingbufModel<Memory>::submit(const Reservation& reservation, std::uint64_t flags) {
  commit(reservation, false, flags);
}

template <class Memory>
void BasicRingbufModel<Memory>::discard(const Reservation& reservation, std::uint64_t flags) {
  commit(reservation, true, flags);
}

template <class Memory>
int BasicRingbufModel<Memory>::output(std::span<const std::byte> bytes, std::uint64_t flags) {
  if ((flags & ~output_flags) != 0 && !Memory::breaks(Rule::ringbuf_output_flags)) return -EINVAL;
  const std::optional<Reservation> reservation = reserve(bytes.size());
  if (!reservation) return -EAGAIN;
  if (!bytes.empty()) Memory::write_bytes(reservation->payload.data(), bytes.data(), bytes.size());
  submit(*reservation, flags);
  return 0;
}

template <class Memory>
int BasicRingbufModel<Memory>::reserve_dynptr(std::uint32_t size, std::uint64_t flags,
                                              std::optional<Reservation>& reservation) {
  reservation.reset();
  if (flags != 0) return -EINVAL;
  const bool limited = !Memory::breaks(Rule::ringbuf_dynptr_limit);
  if (limited && size > largest_dynptr) return -E2BIG;
  reservation = reserve(size);
  if (reservation) return 0;
  return Memory::breaks(Rule::ringbuf_dynptr_failure) ? -EAGAIN : -EINVAL;
}

template <class Memory>
void BasicRingbufModel<Memory>::submit_dynptr(const std::optional<Reservation>& reservation, std::uint64_t flags) {
  if (reservation) submit(*reservation, flags);
}

template <class Memory>
void BasicRingbufModel<Memory>::discard_dynptr(const std::optional<Reservation>& reservation, std::uint64_t flags) {
  if (reservation) discard(*reservation, flags);
}

template <class Memory>
std::uint64_t BasicRingbufModel<Memory>::available() const {
  // The consumer's position first, then the producer's, without the lock: a snapshot that never was may result [1.7].
  const std::uint64_t consumer = consumer_pos();
  if (!state_.overwrite || Memory::breaks(Rule::ringbuf_overwrite_available)) return producer_pos() - consumer;
  const std::uint64_t overwrite = overwrite_pos();
  const std::uint64_t producer = producer_pos();
  // 1.11: the two differ for a consumer_pos that is ahead of the producer.
  if (state_.rules.available_is_least) return std::min(producer - consumer, producer - overwrite);
  return producer - std::max(consumer, overwrite);
}

template <class Memory>
std::uint64_t BasicRingbufModel<Memory>::query(std::uint64_t what) const {
  switch (static_cast<RingbufQuery>(what)) {
    case RingbufQuery::avail_data:
      return Memory::breaks(Rule::ringbuf_query_available) ? std::min(available(), state_.size) : available();
    case RingbufQuery::ring_size:
      return state_.size;
    case RingbufQuery::cons_pos:
      return consumer_pos();
    case RingbufQuery::prod_pos:
      return producer_pos();
    case RingbufQuery::overwrite_pos:
      return state_.rules.has_overwrite ? overwrite_pos() : 0;
  }
  return 0;
}

template <class Memory>
std::uint32_t BasicRingbufModel<Memory>::poll() {
  // Relaxed: nothing is read on the strength of it.
  const std::uint32_t hup = hung_up_.load(std::memory_order_relaxed) ? poll_hup : 0;
  bool readable = available() != 0;
  if (Memory::breaks(Rule::ringbuf_poll_busy) && ring::ringbuf::is_busy(*state_.length_word(consumer_pos() & ~7ull))) {
    readable = false;
  }
  return (readable ? poll_readable : 0) | hup;
}

template <class Memory>
void BasicRingbufModel<Memory>::hang_up() {
  hung_up_.store(true, std::memory_order_relaxed);
  wait_queue_.wake_all();
}

// (P12) full: whoever is merged into a queued wake-up has done all its stores before the wake-up runs.
template <class Memory>
bool BasicRingbufModel<Memory>::queue_wakeup() {
  return Memory::exchange_full(&wakeup_queued_, 1u) == 0;
}

template <class Memory>
void BasicRingbufModel<Memory>::run_wakeup() {
  // Cleared first: a wake-up that is wanted from here on is a new one. Full, pairs with (P12).
  Memory::exchange_full(&wakeup_queued_, 0u);
  wait_queue_.wake_all();
}

template <class Memory>
std::uint64_t BasicRingbufModel<Memory>::first_unread(std::uint64_t producer) const {
  const std::uint64_t consumer = consumer_pos();
  if (consumer % 8 != 0) return producer;
  // 1.11: a record can be given up while less than a ring lies between the positions: its space is promised already.
  const std::uint64_t start = overran(consumer) ? overwrite_pos() : consumer;
  return producer - start <= state_.size ? start : producer;
}

template <class Memory>
bool BasicRingbufModel<Memory>::deliverable() const {
  // Producers of an overwrite ring may take a record while we look at it. Each time they do there is a newer one.
  for (int tries = 0; tries < most_looks; ++tries) {
    const std::uint64_t producer = producer_pos();
    std::uint64_t at = first_unread(producer);
    std::uint32_t header = 0;
    bool taken = false;
    while (static_cast<std::int64_t>(producer - at) > 0) {
      header = Memory::load_acquire(state_.length_word(at));
      taken = overran(at);
      if (taken || !ring::ringbuf::is_discarded(header) || ring::ringbuf::is_busy(header)) break;
      at += ring::ringbuf::span_of(header);
    }
    if (taken) continue;
    return static_cast<std::int64_t>(producer - at) > 0 && !ring::ringbuf::is_busy(header);
  }
  return true;
}

template class BasicRingbufModel<PlainMemory>;
template class BasicRingbufModel<BrokenMemory>;

}  // namespace ringside::sim
