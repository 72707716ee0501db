// SPDX-License-Identifier: Apache-2.0
//
// Strategy `libbpf`: libbpf's own ring_buffer reader on a ring of the running kernel. libbpf maps the ring itself,
// waits level-triggered and hands each record to a callback; a negative answer of the callback stops it after that
// record, which is how max_records and a stop of the host are honoured.
#include <bpf/libbpf.h>

#include <cerrno>
#include <cstdint>
#include <limits>
#include <memory>

#include "consumers/consumer_table.h"
#include "consumers/strategies.h"
#include "consumers/wait.h"

namespace ringside::consumers {
namespace {

class Libbpf {
 public:
  static constexpr std::uint32_t ring_kind = RINGSIDE_RINGBUF;

  Libbpf(const ringside_ring_set& rings, const ringside_host& host) : rings_(rings), host_(host) {}

  int start() {
    const std::uint32_t count = rings_.ring_count > 1 ? rings_.ring_count : 1;
    sources_ = allocate<Source>(count);
    if (sources_ == nullptr) return -ENOMEM;
    for (std::uint32_t index = 0; index < count; ++index) {
      sources_[index] = {.self = this, .ring = index};
      // Of several rings the set's map is an array.
      const int error = add(count == 1 ? rings_.map_fd : rings_.rings[index].fd, &sources_[index]);
      if (error != 0) return error;
    }
    return 0;
  }

  std::int64_t drain(std::uint64_t max_records) {
    return take(max_records, [this] { return consume(); });
  }

  int wait(std::int64_t timeout_ns) {
    const int woken = host_.wait_fd(host_.context, ring_buffer__epoll_fd(ring_.get()), timeout_ns);
    if (woken < 0) return woken;
    if (woken > 0) {
      // A BUSY or discarded record is readable too and delivers nothing: ready all the same, the host drains again.
      take(no_limit, [this] { return ring_buffer__poll(ring_.get(), 0); });
      return RINGSIDE_WAIT_READY;
    }
    // Records with NO_WAKEUP are invisible to epoll_wait (KERNEL-RINGS 4.2), so a timeout is told only after a look.
    // libbpf has no look that does not deliver. An error reads as ready: drain tells it.
    return take(no_limit, [this] { return consume(); }) != 0 ? RINGSIDE_WAIT_READY : RINGSIDE_WAIT_TIMEOUT;
  }

 private:
  static constexpr std::uint64_t no_limit = std::numeric_limits<std::uint64_t>::max();

  /// What libbpf passes with each record of a ring.
  struct Source {
    Libbpf* self = nullptr;
    std::uint32_t ring = 0;
  };

  struct Free {
    void operator()(ring_buffer* ring) const { ring_buffer__free(ring); }
  };

  int add(int fd, Source* source) {
    if (ring_ != nullptr) return ring_buffer__add(ring_.get(), fd, on_sample, source);
    ring_.reset(ring_buffer__new(fd, on_sample, source, nullptr));
    return ring_ == nullptr ? -errno : 0;
  }

  int consume() { return ring_buffer__consume(ring_.get()); }

  /// Lets libbpf deliver at most max_records: their number, or libbpf's error if there were none.
  template <class Read>
  std::int64_t take(std::uint64_t max_records, Read&& read) {
    left_ = max_records;
    delivered_ = 0;
    const int result = read();
    if (delivered_ > 0 || result >= 0) return static_cast<std::int64_t>(delivered_);
    return result;
  }

  static int on_sample(void* context, void* data, std::size_t size) {
    const Source& source = *static_cast<const Source*>(context);
    Libbpf& self = *source.self;
    const ringside_record record{
        .ring = source.ring, .reserved = 0, .data = data, .size = size, .token = 0, .time_ns = 0};
    ++self.delivered_;
    --self.left_;
    const bool stop = self.host_.deliver(self.host_.context, &record) > 0;
    return stop || self.left_ == 0 ? -ECANCELED : 0;
  }

  const ringside_ring_set& rings_;
  const ringside_host& host_;
  std::unique_ptr<Source[]> sources_;
  std::unique_ptr<ring_buffer, Free> ring_;
  std::uint64_t left_ = 0;
  std::uint64_t delivered_ = 0;
};

}  // namespace

const ringside_consumer& libbpf() {
  static constexpr ringside_consumer table =
      TableOf<Libbpf>::make({.name = "libbpf",
                             .summary = "libbpf's ring_buffer__consume and ring_buffer__poll on a kernel ring",
                             .ring_kind = Libbpf::ring_kind,
                             .needs = RINGSIDE_NEEDS_FD,
                             .trigger = RINGSIDE_LEVEL});
  return table;
}

}  // namespace ringside::consumers
