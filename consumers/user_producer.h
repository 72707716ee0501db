// SPDX-License-Identifier: Apache-2.0
//
// Strategy `user_reserve`: takes a sample's space where it will lie, and ends it by one store of its header, as
// libbpf's user_ring_buffer does. Each step that a producer can get wrong is a function of UserSteps; a mutant
// redefines one. Edge-triggered: room that is too small does not keep it awake.
#pragma once

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>

#include "consumers/user_ringbuf_view.h"
#include "ring/producer.h"

namespace ringside::consumers {

/// What the table says of a producer.
struct ProducerTraits {
  const char* name;
  const char* summary;
  std::uint32_t needs = 0;
  std::uint32_t trigger = RINGSIDE_EDGE;
  std::uint32_t claims = 0;
};

/// The functions of the contract for `Producer`, which must have
///   Producer(const ringside_user_ring&, const ringside_producer_host&), not failing;
///   int start(): 0 or a negative errno, on which the object is destroyed; int wait(size, timeout_ns);
///   reserve(size, payload) and commit(payload, fate), or send(bytes, size), or all three.
template <class Producer>
class ProducerTableOf {
 public:
  static constexpr ringside_producer make(const ProducerTraits& traits) {
    ringside_producer table{};
    table.abi_version = RINGSIDE_PRODUCER_ABI;
    table.struct_size = sizeof(ringside_producer);
    table.name = traits.name;
    table.summary = traits.summary;
    table.needs = traits.needs;
    table.trigger = traits.trigger;
    table.claims = traits.claims;
    table.open = open;
    if constexpr (requires(Producer& one, void** payload) { one.reserve(std::uint32_t{}, payload); }) {
      table.reserve = [](void* state, std::uint32_t size, void** payload) { return as(state).reserve(size, payload); };
      table.commit = [](void* state, void* payload, std::uint32_t fate) { return as(state).commit(payload, fate); };
    }
    if constexpr (requires(Producer& one, const void* bytes) { one.send(bytes, std::uint32_t{}); }) {
      table.send = [](void* state, const void* bytes, std::uint32_t size) { return as(state).send(bytes, size); };
    }
    table.wait = [](void* state, std::uint32_t size, std::int64_t timeout_ns) {
      return as(state).wait(size, timeout_ns);
    };
    table.close = [](void* state) { delete static_cast<Producer*>(state); };
    return table;
  }

 private:
  static Producer& as(void* state) { return *static_cast<Producer*>(state); }

  static int open(const ringside_user_ring* ring, const ringside_producer_host* host, void** state) {
    if (host->abi_version != RINGSIDE_PRODUCER_ABI) return -EINVAL;
    std::unique_ptr<Producer> producer(new (std::nothrow) Producer(*ring, *host));
    if (producer == nullptr) return -ENOMEM;
    const int result = producer->start();
    if (result < 0) return result;
    *state = producer.release();
    return 0;
  }
};

/// Sleeps until `look()` is true or the time is up: looks first, since readiness that came before is gone when a look
/// has found too little; and at the deadline, since a drain may have woken nobody.
template <class Look>
int wait_for_room(const ringside_producer_host& host, std::int64_t timeout_ns, Look&& look) {
  const std::int64_t start_ns = timeout_ns < 0 ? 0 : host.now_ns(host.context);
  while (!look()) {
    std::int64_t left_ns = -1;
    if (timeout_ns >= 0) {
      const std::int64_t passed = host.now_ns(host.context) - start_ns;
      left_ns = passed < timeout_ns ? timeout_ns - passed : 0;
    }
    const int woken = host.wait(host.context, left_ns);
    if (woken < 0) return woken;
    if (woken == 0) return look() ? RINGSIDE_WAIT_READY : RINGSIDE_WAIT_TIMEOUT;
  }
  return RINGSIDE_WAIT_READY;
}

/// Whether a sample of `size` bytes has room now.
inline bool has_room(const UserRingbufView& view, std::uint32_t size) {
  const std::uint64_t used = view.load_producer_pos() - view.load_consumer_pos();
  return view.size() - used >= ring::ringbuf::span_of(size);
}

/// The steps of user_reserve that can be got wrong, each done right.
struct UserSteps {
  /// Whether a span fits between producer and consumer; a ring may be exactly full.
  static bool fits(std::uint64_t size, std::uint64_t used, std::uint64_t span) { return size - used >= span; }
  /// Bytes that a sample takes.
  static std::uint64_t span_of(std::uint32_t size) { return ring::ringbuf::span_of(size); }
  /// The header of a sample that is being written.
  static std::uint32_t header_of_reserved(std::uint32_t size) { return size | ring::ringbuf::busy_bit; }
  static constexpr int consumer_pos_order = __ATOMIC_ACQUIRE;  // (U1)
  static constexpr int producer_pos_order = __ATOMIC_RELEASE;  // (U3)
  static constexpr int header_order = __ATOMIC_RELEASE;        // (U5)
};

template <class Steps>
class UserReserve {
 public:
  UserReserve(const ringside_user_ring& ring, const ringside_producer_host& host) : view_(ring), host_(&host) {}

  int start() { return 0; }

  int reserve(std::uint32_t size, void** payload) {
    if (size > RINGSIDE_LARGEST_SAMPLE || ring::ringbuf::span_of(size) > view_.size()) return -E2BIG;
    const std::uint64_t position = view_.load_producer_pos();
    const std::uint64_t span = Steps::span_of(size);
    if (!Steps::fits(view_.size(), position - view_.template load_consumer_pos<Steps::consumer_pos_order>(), span))
      return -ENOSPC;
    view_.store_new_header(position, Steps::header_of_reserved(size));
    view_.template store_producer_pos<Steps::producer_pos_order>(position + span);
    *payload = view_.payload_at(position);
    return 0;
  }

  int commit(void* payload, std::uint32_t fate) {
    const std::uint64_t position = view_.position_of(static_cast<const std::byte*>(payload));
    const std::uint32_t length = ring::ringbuf::length_of(view_.load_header(position));
    const std::uint32_t header = fate == RINGSIDE_DISCARD_SAMPLE ? length | ring::ringbuf::discard_bit : length;
    view_.template store_header<Steps::header_order>(position, header);
    return 0;
  }

  int send(const void* bytes, std::uint32_t size) {
    void* payload = nullptr;
    if (const int error = reserve(size, &payload); error != 0) return error;
    if (size > 0) std::memcpy(payload, bytes, size);
    return commit(payload, RINGSIDE_SUBMIT_SAMPLE);
  }

  int wait(std::uint32_t size, std::int64_t timeout_ns) {
    return wait_for_room(*host_, timeout_ns, [&] { return has_room(view_, size); });
  }

  static constexpr ringside_producer table(const char* name, const char* summary) {
    return ProducerTableOf<UserReserve>::make(
        {.name = name, .summary = summary, .claims = RINGSIDE_CLAIM_SLEEPS_WHEN_FULL});
  }

 private:
  UserRingbufView view_;
  const ringside_producer_host* host_;
};

}  // namespace ringside::consumers
