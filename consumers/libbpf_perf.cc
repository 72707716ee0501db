// SPDX-License-Identifier: Apache-2.0
//
// Strategy `libbpf_perf`: libbpf's own perf_buffer reader. It opens and maps one ring a CPU on the host's
// PERF_EVENT_ARRAY and tells the host of each. libbpf trusts header.size (KERNEL-RINGS 2.14); what the callback can
// catch of that, a size below a header that would keep libbpf at the same place for ever, it catches.
//
// perf readiness is one-shot: the poll that reports it eats it, be it of an outer epoll set (KERNEL-RINGS 4.1). So
// every wake-up is followed by a look at all rings, and so is every timeout.
#include <bpf/libbpf.h>
#include <linux/perf_event.h>

#include <unistd.h>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "consumers/consumer_table.h"
#include "consumers/online_cpus.h"
#include "consumers/perf_view.h"
#include "consumers/strategies.h"
#include "consumers/wait.h"

namespace ringside::consumers {
namespace {

class LibbpfPerf {
 public:
  static constexpr std::uint32_t ring_kind = RINGSIDE_PERF;

  LibbpfPerf(const ringside_ring_set& rings, const ringside_host& host) : set_(rings), host_(host) {}

  int start() {
    std::optional<std::vector<int>> cpus = online_cpus();
    if (!cpus) return -ENODEV;
    const int result = open_rings(*cpus);
    return result < 0 ? result : adopt_rings(*cpus);
  }

  std::int64_t drain(std::uint64_t max_records) {
    return drain_in_turn(static_cast<std::uint32_t>(rings_.size()), next_ring_, max_records,
                         [this](std::uint32_t ring, std::uint64_t most) { return drain_ring(ring, most); });
  }

  int wait(std::int64_t timeout_ns) {
    return wait_until<PerfSteps>(
        Deadline(host_, timeout_ns), [this] { return look(); },
        [this](const Deadline& deadline) {
          return host_.wait_fd(host_.context, perf_buffer__epoll_fd(buffer_.get()), deadline.remaining_ns());
        });
  }

 private:
  struct Free {
    void operator()(perf_buffer* buffer) const { perf_buffer__free(buffer); }
  };

  int open_rings(std::vector<int>& cpus) {
    perf_event_attr attr{};
    attr.size = sizeof(attr);
    attr.type = PERF_TYPE_SOFTWARE;
    attr.config = PERF_COUNT_SW_BPF_OUTPUT;
    attr.sample_type = set_.sample_type | PERF_SAMPLE_RAW;
    attr.sample_period = 1;
    if (set_.watermark_bytes != 0) {
      attr.watermark = 1;
      attr.wakeup_watermark = set_.watermark_bytes;
    } else {
      attr.wakeup_events = set_.wakeup_events;
    }
    perf_buffer_raw_opts options{};
    options.sz = sizeof(options);
    options.cpu_cnt = static_cast<int>(cpus.size());
    options.cpus = cpus.data();
    options.map_keys = cpus.data();  // the key is the CPU, not its place in the list: CPUs may have gaps
    buffer_.reset(perf_buffer__new_raw(set_.map_fd, set_.data_pages, &attr, on_event, this, &options));
    return buffer_ == nullptr ? -errno : 0;
  }

  int adopt_rings(const std::vector<int>& cpus) {
    const auto page_bytes = static_cast<std::uint32_t>(sysconf(_SC_PAGESIZE));
    for (std::size_t index = 0; index < cpus.size(); ++index) {
      void* base = nullptr;
      std::size_t data_bytes = 0;
      const int result = perf_buffer__buffer(buffer_.get(), static_cast<int>(index), &base, &data_bytes);
      if (result < 0) return result;
      ringside_ring ring{};
      ring.kind = RINGSIDE_PERF;
      ring.cpu = cpus[index];
      ring.fd = perf_buffer__buffer_fd(buffer_.get(), index);
      ring.page_size = page_bytes;
      ring.data_size = data_bytes;
      ring.consumer_page = base;
      ring.data = static_cast<const std::byte*>(base) + page_bytes;
      rings_.push_back(ring);
    }
    for (const ringside_ring& ring : rings_) {
      const int result = host_.adopt(host_.context, &ring);
      if (result < 0) return result;
    }
    return 0;
  }

  /// One ring at a time: when a callback asks to stop, perf_buffer__consume would go on with the next ring.
  Drained drain_ring(std::uint32_t ring, std::uint64_t max_records) {
    draining_ = ring;
    max_records_ = max_records;
    drained_ = {};
    const int result = perf_buffer__consume_buffer(buffer_.get(), ring);
    if (result < 0 && drained_.error == 0) drained_.error = result;
    return drained_;
  }

  static bpf_perf_event_ret on_event(void* context, int /*cpu*/, perf_event_header* event) {
    return static_cast<LibbpfPerf*>(context)->take(*event);
  }

  bpf_perf_event_ret take(const perf_event_header& event) {
    const auto* bytes = reinterpret_cast<const std::byte*>(&event);
    if (event.size < ring::perf::header_bytes || event.size % 8 != 0) {
      drained_.error = -EBADMSG;
      return LIBBPF_PERF_EVENT_ERROR;
    }
    if (event.type == ring::perf::type_lost && event.size >= ring::perf::lost_bytes) {
      const auto count = field<std::uint64_t>(bytes + 16);
      if (count != 0) host_.lost(host_.context, draining_, count);
      return LIBBPF_PERF_EVENT_CONT;
    }
    // A sample too short for its own raw_size is what an output of more than 65516 bytes leaves (KERNEL-RINGS 2.8).
    const std::uint64_t prefix_bytes = sample_prefix_bytes + (carries_time(set_) ? sample_time_bytes : 0);
    if (event.type != ring::perf::type_sample || !PerfSteps::fits(prefix_bytes, event.size))
      return LIBBPF_PERF_EVENT_CONT;
    const auto size = field<std::uint32_t>(bytes + prefix_bytes - sizeof(std::uint32_t));
    if (!PerfSteps::fits(prefix_bytes + size, event.size)) return LIBBPF_PERF_EVENT_CONT;
    return deliver(bytes + prefix_bytes, size);
  }

  bpf_perf_event_ret deliver(const std::byte* data, std::uint64_t size) {
    const ringside_record record{
        .ring = draining_, .reserved = 0, .data = data, .size = size, .token = 0, .time_ns = 0};
    ++drained_.delivered;
    drained_.stopped = host_.deliver(host_.context, &record) > 0;
    return drained_.stopped || drained_.delivered == max_records_ ? LIBBPF_PERF_EVENT_DONE : LIBBPF_PERF_EVENT_CONT;
  }

  template <class T>
  static T field(const std::byte* place) {
    T value;
    std::memcpy(&value, place, sizeof(T));
    return value;
  }

  /// libbpf stores the tail after each pass, so head and tail in the control page tell whether anything lies there.
  bool look() const {
    for (const ringside_ring& ring : rings_) {
      const PerfView view(ring);
      if (view.load_head() != view.load_tail()) return true;
    }
    return false;
  }

  const ringside_ring_set& set_;
  const ringside_host& host_;
  std::unique_ptr<perf_buffer, Free> buffer_;
  std::vector<ringside_ring> rings_;
  std::uint32_t next_ring_ = 0;

  std::uint32_t draining_ = 0;     // the ring that libbpf reads now
  std::uint64_t max_records_ = 0;  // of this pass
  Drained drained_;                // of this pass
};

}  // namespace

const ringside_consumer& libbpf_perf() {
  static constexpr ringside_consumer table =
      TableOf<LibbpfPerf>::make({.name = "libbpf_perf",
                                 .summary = "libbpf's perf_buffer with a ring of its own on every online CPU",
                                 .ring_kind = LibbpfPerf::ring_kind,
                                 .needs = RINGSIDE_NEEDS_FD | RINGSIDE_OWNS_RINGS,
                                 .trigger = RINGSIDE_LEVEL,
                                 .claims = RINGSIDE_CLAIM_REPORTS_LOSS});
  return table;
}

}  // namespace ringside::consumers
