// SPDX-License-Identifier: Apache-2.0
//
// What the tests on the running kernel share: skipping aloud, counting what the process holds, and the plainest readers
// of both rings, written from the specification and from nothing else of ours.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <csetjmp>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "real/capabilities.h"
#include "real/handle.h"
#include "real/inspect.h"
#include "real/producers.h"
#include "ring/layout.h"
#include "ring/record.h"

namespace ringside::real::test {

/// Empty, or what this machine lacks to run kernel rings.
inline const std::string& what_is_missing() {
  static const std::string missing = [] {
    const auto all = capabilities();
    const Capability* const first = first_missing(all);
    return first == nullptr ? std::string() : first->name + ": " + first->detail + "; " + first->remedy;
  }();
  return missing;
}

/// Skips every test of the suite where kernel rings cannot run; with RINGSIDE_REQUIRE_KERNEL=1 that is a failure.
class KernelTest : public testing::Test {
 protected:
  void SetUp() override { skip_without(what_is_missing()); }

  /// Skips the test where the kernel's own types are not told.
  void need_btf() {
    if (IsSkipped() || HasFatalFailure() || ::access("/sys/kernel/btf/vmlinux", R_OK) == 0) return;
    skip_without("btf: the kernel's own types are not told; boot a kernel with CONFIG_DEBUG_INFO_BTF=y");
  }

 private:
  static void skip_without(const std::string& missing) {
    if (missing.empty()) return;
    const char* const required = std::getenv("RINGSIDE_REQUIRE_KERNEL");
    if (required != nullptr && std::string_view(required) == "1") FAIL() << missing;
    GTEST_SKIP() << missing;
  }
};

inline sigjmp_buf after_the_fault;

/// Stores a byte and tells which signal that raised; 0: none. Not by a death test, whose child does not inherit perf
/// mappings.
inline int signal_of_store(const void* place) {
  struct sigaction action{};
  struct sigaction segv_before{};
  struct sigaction bus_before{};
  action.sa_handler = [](int number) { siglongjmp(after_the_fault, number); };
  ::sigaction(SIGSEGV, &action, &segv_before);
  ::sigaction(SIGBUS, &action, &bus_before);
  const int raised = sigsetjmp(after_the_fault, 1);
  if (raised == 0) *static_cast<volatile char*>(const_cast<void*>(place)) = 1;
  ::sigaction(SIGSEGV, &segv_before, nullptr);
  ::sigaction(SIGBUS, &bus_before, nullptr);
  return raised;
}

/// What a process holds of the kernel.
struct Holdings {
  std::ptrdiff_t descriptors = 0;
  std::ptrdiff_t ring_mappings = 0;  ///< mappings of maps and perf events
  std::ptrdiff_t threads = 0;

  friend bool operator==(const Holdings&, const Holdings&) = default;
};
inline std::ostream& operator<<(std::ostream& out, const Holdings& holdings) {
  return out << holdings.descriptors << " descriptors, " << holdings.ring_mappings << " ring mappings, "
             << holdings.threads << " threads";
}
/// Threads of this process. One that was joined may still be on its way out of the kernel: it is none.
inline std::ptrdiff_t living_threads() {
  constexpr unsigned long exiting = 4;  // PF_EXITING, in the ninth field of stat
  std::ptrdiff_t living = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream file(task.path() / "stat");
    std::string stat;
    if (!std::getline(file, stat)) continue;  // gone while we looked
    std::istringstream fields(stat.substr(stat.rfind(')') + 1));
    std::string skipped;
    for (int field = 3; field < 9; ++field) fields >> skipped;
    unsigned long flags = exiting;
    fields >> flags;
    if ((flags & exiting) == 0) ++living;
  }
  return living;
}

inline Holdings holdings() {
  const auto entries = [](const char* directory) {
    return std::distance(std::filesystem::directory_iterator(directory), std::filesystem::directory_iterator());
  };
  Holdings now{.descriptors = entries("/proc/self/fd"), .ring_mappings = 0, .threads = living_threads()};
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find("anon_inode:") != std::string::npos) ++now.ring_mappings;
  }
  return now;
}

/// One record as it lies in a ring.
struct Found {
  std::uint64_t position = 0;
  std::uint32_t header = 0;  ///< ringbuf: the length word; perf: the record's type
  std::uint32_t page_offset = 0;
  std::uint64_t lost = 0;          ///< perf: of a PERF_RECORD_LOST
  std::vector<std::byte> payload;  ///< perf: raw_size bytes
};

/// Reads everything up to the first BUSY record (which is the last of the list) and, if told to, consumes it.
inline std::vector<Found> read_ringbuf(const ringside_ring& ring, bool consume = true) {
  std::vector<Found> found;
  const auto* const data = static_cast<const std::byte*>(ring.data);
  const Positions at = positions_of(ring);
  std::uint64_t position = at.consumer;
  while (position < at.producer) {
    Found record{.position = position, .header = 0, .page_offset = 0, .lost = 0, .payload = {}};
    const std::byte* const place = data + (position & (ring.data_size - 1));
    record.header = __atomic_load_n(reinterpret_cast<const std::uint32_t*>(place), __ATOMIC_ACQUIRE);
    std::memcpy(&record.page_offset, place + 4, 4);
    record.payload.assign(place + 8, place + 8 + ring::ringbuf::length_of(record.header));
    found.push_back(record);
    if (ring::ringbuf::is_busy(record.header)) break;
    position += ring::ringbuf::span_of(record.header);
  }
  if (consume) set_consumer_position(ring, position);
  return found;
}

/// Reads and consumes everything.
inline std::vector<Found> read_perf(const ringside_ring& ring) {
  std::vector<Found> found;
  const auto* const data = static_cast<const std::byte*>(ring.data);
  const Positions at = positions_of(ring);
  std::uint64_t position = at.consumer;
  while (position != at.producer) {
    std::vector<std::byte> bytes(8);
    const auto copy = [&] {
      for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = data[(position + i) & (ring.data_size - 1)];
    };
    copy();
    ring::perf::RecordHeader header{};
    std::memcpy(&header, bytes.data(), sizeof(header));
    if (header.size < 8 || header.size > at.producer - position) {
      ADD_FAILURE() << "perf record of " << header.size << " bytes at " << position;
      break;
    }
    bytes.resize(header.size);
    copy();
    Found record{.position = position, .header = header.type, .page_offset = 0, .lost = 0, .payload = {}};
    if (header.type == ring::perf::type_lost) std::memcpy(&record.lost, bytes.data() + 16, 8);
    if (header.type == ring::perf::type_sample) record.payload.assign(bytes.begin() + 12, bytes.end());
    found.push_back(record);
    position += header.size;
  }
  set_consumer_position(ring, position);
  return found;
}

/// The bytes of a test record, as ring::write_record makes them.
inline std::vector<std::byte> expected_bytes(const ring::RecordIdentity& identity) {
  std::vector<std::byte> bytes(identity.length);
  ring::write_record(bytes, identity);
  return bytes;
}

inline ring::Operation operation(ring::Action action, std::uint32_t size, std::uint16_t source = 0,
                                 std::uint16_t cpu = 0, std::uint8_t flags = 0) {
  return ring::Operation{.action = action, .flags = flags, .source = source, .cpu = cpu, .size = size};
}

/// The kernel's log, with a reader that waits for its next line. Nothing where there is none to open.
class KernelLog {
 public:
  KernelLog() : reader_(::open(file, O_RDONLY | O_NONBLOCK | O_CLOEXEC)), waiting_(::epoll_create1(EPOLL_CLOEXEC)) {
    epoll_event item{};
    item.events = EPOLLIN | EPOLLET;
    ::epoll_ctl(waiting_.get(), EPOLL_CTL_ADD, reader_.get(), &item);
  }

  /// Writes a line. To wake the reader is work for which the calling thread's CPU takes its time until the next tick:
  /// on PREEMPT_RT the wake-ups of rings that come right after it wait as long (real/wakeup_fence.h).
  void write_line() const {
    constexpr std::string_view line = "<7>ringside: a test of wake-ups behind this line\n";
    const Fd writer(::open(file, O_WRONLY | O_CLOEXEC));  // a new one: each may write some lines only
    [[maybe_unused]] const ssize_t ignored = ::write(writer.get(), line.data(), line.size());
  }

 private:
  static constexpr const char* file = "/dev/kmsg";
  Fd reader_;
  Fd waiting_;
};

/// The CPUs that this process may use.
inline std::vector<std::uint32_t> cpus() { return online_cpus().value(); }

}  // namespace ringside::real::test
