// SPDX-License-Identifier: Apache-2.0
//
// What is counted must be what was asked for and nothing else: between enabling and disabling, no page may fault but
// those touched. So the loop that touches is kept out of the sanitizers' hands (their shadow memory would fault, too),
// has run once before, and stands between bare system calls.
#include "real/plain_perf_ring.h"

#include <fmt/format.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bit>
#include <cassert>
#include <cerrno>

namespace ringside::real {

namespace {

static_assert(PlainPerfOptions{}.sample_type == PERF_SAMPLE_ADDR);

[[gnu::noinline, gnu::no_sanitize_address, gnu::no_sanitize_thread]] void touch_pages(volatile std::byte* place,
                                                                                      std::size_t count,
                                                                                      std::size_t page) {
  for (; count != 0; --count, place += page) *place = std::byte{1};
}

perf_event_attr attr_of(const PlainPerfOptions& options) {
  perf_event_attr attr{};
  attr.type = PERF_TYPE_SOFTWARE;
  if (options.event == PlainEvent::page_faults) {
    attr.config = PERF_COUNT_SW_PAGE_FAULTS;
    attr.sample_period = 1;
  } else {
    attr.config = PERF_COUNT_SW_DUMMY;
    attr.comm = 1;
  }
  attr.sample_type = options.sample_type;
  attr.read_format = PERF_FORMAT_LOST;
  attr.disabled = 1;
  attr.exclude_kernel = 1;  // the thread's own faults only; also what lets the unprivileged open it
  attr.sample_id_all = options.sample_id_all ? 1 : 0;
  attr.write_backward = options.backward ? 1 : 0;
  if (options.watermark_bytes != 0) {
    attr.watermark = 1;
    attr.wakeup_watermark = options.watermark_bytes;
  } else {
    attr.wakeup_events = options.wakeup_events;
  }
  return attr;
}

std::string_view name_of(PlainEvent event) {
  return event == PlainEvent::page_faults ? "page-fault event of this thread" : "thread-name event of this thread";
}

}  // namespace

ring::Result<FreshPages> FreshPages::map(std::size_t count) {
  const std::size_t page = page_bytes();
  auto memory = Mapping::anonymous((count + 1) * page, "fresh pages");
  if (!memory) return tl::unexpected(memory.error());
  // One fault must bring one page. EINVAL: a kernel without huge pages, which needs no telling.
  if (::madvise(memory->data(), memory->size(), MADV_NOHUGEPAGE) != 0 && errno != EINVAL) {
    return ring::errno_error("keep fresh pages small", errno);
  }
  touch_pages(memory->data(), 1, page);
  return FreshPages(std::move(*memory), count);
}

void FreshPages::touch(std::size_t count) {
  assert(count <= left());
  touch_pages(memory_.data() + (1 + touched_) * page_bytes(), count, page_bytes());
  touched_ += count;
}

std::uint64_t FreshPages::address(std::size_t index) const {
  assert(index < count_);
  return reinterpret_cast<std::uint64_t>(memory_.data() + (1 + index) * page_bytes());
}

ring::Result<PlainPerfRing> PlainPerfRing::open(const PlainPerfOptions& options) {
  auto event = open_event(attr_of(options), 0, -1, name_of(options.event));
  if (!event) return tl::unexpected(event.error());
  PlainPerfRing result(options, std::move(*event));
  if (auto mapped = result.map(); !mapped) return tl::unexpected(mapped.error());
  return result;
}

ring::Result<void> PlainPerfRing::map() {
  const std::size_t page = page_bytes();
  const std::size_t data_size = options_.data_pages * page;
  const int protection = options_.overwrite ? PROT_READ : PROT_READ | PROT_WRITE;
  auto mapping = Mapping::of_file(fd(), page + data_size, protection, 0, "plain perf ring");
  if (!mapping) {
    ring::Error error = mapping.error();
    if (error.code == EINVAL && !std::has_single_bit(options_.data_pages)) error.remedy = "take a power of two";
    return tl::unexpected(std::move(error));
  }
  mapping_ = std::move(*mapping);
  ring_ = ringside_ring{.kind = RINGSIDE_PERF,
                        .cpu = -1,
                        .fd = fd(),
                        .page_size = static_cast<std::uint32_t>(page),
                        .data_size = data_size,
                        .consumer_page = mapping_.data(),
                        .producer_page = nullptr,
                        .data = mapping_.data() + page};
  return {};
}

void PlainPerfRing::unmap() {
  mapping_.reset();
  ring_.data_size = 0;
  ring_.consumer_page = nullptr;
  ring_.data = nullptr;
}

ringside_ring_set PlainPerfRing::ring_set() const {
  return ringside_ring_set{.kind = RINGSIDE_PERF,
                           .ring_count = 1,
                           .rings = &ring_,
                           .map_fd = -1,
                           .data_pages = options_.data_pages,
                           .wakeup_events = options_.wakeup_events,
                           .watermark_bytes = options_.watermark_bytes,
                           .swap = nullptr,
                           .sample_type = 0,
                           .backward = options_.backward ? 1u : 0u,
                           .stamp_bytes = 0};
}

// By the bare system call: a sanitizer's ioctl may touch pages of its own once the event counts.
ring::Result<void> PlainPerfRing::control(unsigned long request, unsigned long argument, const char* attempt) const {
  if (::syscall(SYS_ioctl, fd(), request, argument) != 0) return ring::errno_error(attempt, errno);
  return {};
}

ring::Result<void> PlainPerfRing::enable() { return control(PERF_EVENT_IOC_ENABLE, 0, "enable plain perf event"); }
ring::Result<void> PlainPerfRing::disable() { return control(PERF_EVENT_IOC_DISABLE, 0, "disable plain perf event"); }
ring::Result<void> PlainPerfRing::pause() { return control(PERF_EVENT_IOC_PAUSE_OUTPUT, 1, "pause plain perf ring"); }
ring::Result<void> PlainPerfRing::resume() { return control(PERF_EVENT_IOC_PAUSE_OUTPUT, 0, "resume plain perf ring"); }

ring::Result<void> PlainPerfRing::sample_faults(FreshPages& pages, std::size_t count) {
  if (auto enabled = enable(); !enabled) return enabled;
  pages.touch(count);
  return disable();
}

ring::Result<void> PlainPerfRing::redirect_to(const PlainPerfRing& other) {
  unmap();
  return control(PERF_EVENT_IOC_SET_OUTPUT, static_cast<unsigned long>(other.fd()), "redirect plain perf event");
}

ring::Result<std::uint64_t> PlainPerfRing::id() const {
  std::uint64_t id = 0;
  if (::ioctl(fd(), PERF_EVENT_IOC_ID, &id) != 0) return ring::errno_error("ask plain perf event for its id", errno);
  return id;
}

ring::Result<PlainPerfRing::Counts> PlainPerfRing::counts() const {
  Counts counts;
  static_assert(sizeof(counts) == 16);  // as read() lays them out: value, lost
  const std::string attempt = "read counts of plain perf event";
  const ssize_t bytes = ::read(fd(), &counts, sizeof(counts));
  if (bytes < 0) return ring::errno_error(attempt, errno);
  if (bytes != sizeof(counts)) return ring::errno_error(attempt, EOPNOTSUPP, "needs kernel 6.0 or later");
  return counts;
}

std::ostream& operator<<(std::ostream& out, const PlainPerfRing::Counts& counts) {
  return out << counts.events << " events, " << counts.lost << " lost";
}

}  // namespace ringside::real
