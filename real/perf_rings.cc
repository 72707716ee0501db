// SPDX-License-Identifier: Apache-2.0
#include "real/perf_rings.h"

#include <bpf/bpf.h>
#include <fmt/format.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "bpf/shared.h"

namespace ringside::real {

namespace {

/// Reads a list as the kernel writes them: `0-3,8,10-11`.
std::vector<std::uint32_t> parse_cpu_list(const std::string& text) {
  std::vector<std::uint32_t> cpus;
  std::istringstream list(text);
  for (std::string part; std::getline(list, part, ',');) {
    std::istringstream range(part);
    std::uint32_t first = 0;
    if (!(range >> first)) continue;
    std::uint32_t last = first;
    if (range.get() == '-') range >> last;
    for (std::uint32_t cpu = first; cpu <= last; ++cpu) cpus.push_back(cpu);
  }
  return cpus;
}

std::uint64_t sample_type_of(const PerfOptions& options) {
  std::uint64_t type = PERF_SAMPLE_RAW;
  if (options.sample_time) type |= PERF_SAMPLE_TIME;
  return type;
}

perf_event_attr output_attr(const PerfOptions& options) {
  perf_event_attr attr{};
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = PERF_COUNT_SW_BPF_OUTPUT;
  attr.sample_type = sample_type_of(options);
  if (options.sample_time) {
    attr.use_clockid = 1;
    attr.clockid = CLOCK_MONOTONIC;
  }
  attr.sample_period = 1;
  if (options.watermark_bytes != 0) {
    attr.watermark = 1;
    attr.wakeup_watermark = options.watermark_bytes;
  } else {
    attr.wakeup_events = options.wakeup_events;
  }
  attr.read_format = PERF_FORMAT_LOST;
  attr.write_backward = options.backward ? 1 : 0;
  return attr;
}

ring::Result<void> check(const PerfOptions& options, std::span<const std::uint32_t> cpus) {
  const std::string attempt = fmt::format("create perf rings of {} pages", options.data_pages);
  if (!std::has_single_bit(options.data_pages)) {
    return ring::errno_error(attempt, EINVAL, "take a power of two");
  }
  if (cpus.empty()) return ring::error(attempt, "no CPU given and none online");
  std::vector<std::uint32_t> sorted(cpus.begin(), cpus.end());
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) {
    return ring::error(attempt, "a CPU is named twice");
  }
  if (sorted.back() >= RINGSIDE_CPUS) {
    return ring::error(attempt,
                       fmt::format("CPU {} is above the {} that Ringside counts", sorted.back(), RINGSIDE_CPUS - 1));
  }
  return {};
}

}  // namespace

ring::Result<std::vector<std::uint32_t>> online_cpus() {
  std::ifstream file("/sys/devices/system/cpu/online");
  std::string text;
  if (!std::getline(file, text)) return ring::errno_error("read /sys/devices/system/cpu/online", errno, "mount sysfs");
  return parse_cpu_list(text);
}

ring::Result<PerfRings> PerfRings::map_only(const PerfOptions& options) {
  PerfRings result;
  result.options_ = options;
  result.cpus_ = options.cpus;
  if (result.cpus_.empty()) {
    auto online = online_cpus();
    if (!online) return tl::unexpected(online.error());
    result.cpus_ = std::move(*online);
  }
  if (auto checked = check(options, result.cpus_); !checked) return tl::unexpected(checked.error());

  // Consumers that own their rings may ask for one on each possible CPU, so the map has room for all of them.
  const auto configured = static_cast<std::uint32_t>(std::max(::sysconf(_SC_NPROCESSORS_CONF), 1L));
  const std::uint32_t last = *std::max_element(result.cpus_.begin(), result.cpus_.end());
  const std::uint32_t entries = std::max(configured, last + 1);
  result.map_ = Fd(bpf_map_create(BPF_MAP_TYPE_PERF_EVENT_ARRAY, "ringside_perf", sizeof(std::uint32_t),
                                  sizeof(std::uint32_t), entries, nullptr));
  if (!result.map_) {
    return ring::errno_error(fmt::format("create perf event array of {} entries", entries), errno,
                             errno == EPERM ? "run as root or with CAP_BPF" : "");
  }
  return result;
}

ring::Result<void> PerfRings::open_ring(std::uint32_t cpu) {
  auto event =
      open_event(output_attr(options_), -1, static_cast<std::int32_t>(cpu), fmt::format("perf event on CPU {}", cpu));
  if (!event) return tl::unexpected(event.error());
  const std::size_t page = page_bytes();
  const std::size_t data_size = options_.data_pages * page;
  const int protection = options_.backward ? PROT_READ : PROT_READ | PROT_WRITE;
  auto mapping = Mapping::of_file(event->get(), page + data_size, protection, 0, "perf ring");
  if (!mapping) return tl::unexpected(mapping.error());
  const int fd = event->get();
  if (bpf_map_update_elem(map_fd(), &cpu, &fd, BPF_ANY) != 0) {
    return ring::errno_error(fmt::format("store perf event of CPU {} in perf event array", cpu), errno);
  }
  if (::ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) != 0) {
    return ring::errno_error(fmt::format("enable perf event on CPU {}", cpu), errno);
  }
  rings_.push_back(ringside_ring{.kind = RINGSIDE_PERF,
                                 .cpu = static_cast<std::int32_t>(cpu),
                                 .fd = fd,
                                 .page_size = static_cast<std::uint32_t>(page),
                                 .data_size = data_size,
                                 .consumer_page = mapping->data(),
                                 .producer_page = nullptr,
                                 .data = mapping->data() + page});
  events_.push_back(std::move(*event));
  mappings_.push_back(std::move(*mapping));
  return {};
}

ring::Result<PerfRings> PerfRings::create(const PerfOptions& options) {
  auto result = map_only(options);
  if (!result) return result;
  for (const std::uint32_t cpu : result->cpus_) {
    if (auto opened = result->open_ring(cpu); !opened) return tl::unexpected(opened.error());
  }
  return result;
}

ringside_ring_set PerfRings::ring_set() const {
  return ringside_ring_set{.kind = RINGSIDE_PERF,
                           .ring_count = static_cast<std::uint32_t>(rings_.size()),
                           .rings = rings_.empty() ? nullptr : rings_.data(),
                           .map_fd = map_fd(),
                           .data_pages = options_.data_pages,
                           .wakeup_events = options_.wakeup_events,
                           .watermark_bytes = options_.watermark_bytes,
                           .swap = nullptr,
                           .sample_type = sample_type_of(options_),
                           .backward = options_.backward ? 1u : 0u,
                           .stamp_bytes = 0};
}

int PerfRings::ring_of_cpu(std::uint32_t cpu) const {
  const auto found = std::find_if(rings_.begin(), rings_.end(), [cpu](const ringside_ring& ring) {
    return ring.cpu == static_cast<std::int32_t>(cpu);
  });
  return found == rings_.end() ? -1 : static_cast<int>(found - rings_.begin());
}

ring::Result<std::uint64_t> PerfRings::lost(std::uint32_t ring) const {
  struct {
    std::uint64_t value;
    std::uint64_t lost;
  } counts{};
  const std::string attempt = fmt::format("read lost count of perf ring {}", ring);
  if (ring >= events_.size()) return ring::errno_error(attempt, EINVAL);
  const ssize_t bytes = ::read(events_[ring].get(), &counts, sizeof(counts));
  if (bytes < 0) return ring::errno_error(attempt, errno);
  if (bytes != sizeof(counts)) return ring::errno_error(attempt, EOPNOTSUPP, "needs kernel 6.0 or later");
  return counts.lost;
}

}  // namespace ringside::real
