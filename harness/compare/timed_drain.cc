// SPDX-License-Identifier: Apache-2.0
#include "harness/compare/timed_drain.h"

#include <fmt/format.h>
#include <time.h>

#include <array>
#include <cstring>
#include <fstream>
#include <vector>

#include "ring/layout.h"

namespace ringside::harness {

namespace {

constexpr std::array touches{std::pair{Touch::none, "none"}, std::pair{Touch::line, "line"},
                             std::pair{Touch::all, "all"}, std::pair{Touch::copy, "copy"}};

constexpr std::uint64_t cache_bytes_when_unknown = 32u << 20;

std::int64_t ns_of(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
}

class Stopwatch {
 public:
  DrainTime elapsed() const {
    const std::int64_t cpu_ns = ns_of(CLOCK_PROCESS_CPUTIME_ID) - cpu_ns_;
    return {.wall_ns = static_cast<double>(ns_of(CLOCK_MONOTONIC) - wall_ns_), .cpu_ns = static_cast<double>(cpu_ns)};
  }

 private:
  std::int64_t cpu_ns_ = ns_of(CLOCK_PROCESS_CPUTIME_ID);
  std::int64_t wall_ns_ = ns_of(CLOCK_MONOTONIC);
};

std::uint64_t sum_of(const void* data, std::uint64_t bytes) {
  const auto* const words = static_cast<const std::uint64_t*>(data);
  std::uint64_t sum = 0;
  for (std::uint64_t word = 0; word < bytes / 8; ++word) sum += words[word];
  return sum;
}

/// As the kernel tells it, which knows how many CPUs of a virtual machine share a cache. sysconf counts all of the
/// package's.
std::uint64_t last_cache_bytes() {
  for (const char* const index : {"index3", "index2"}) {
    std::ifstream file(fmt::format("/sys/devices/system/cpu/cpu0/cache/{}/size", index));
    std::uint64_t kibibytes = 0;
    if (file >> kibibytes && kibibytes > 0) return kibibytes << 10;
  }
  return cache_bytes_when_unknown;
}

/// The application: takes each record as `touch` says, and gives a view back at once.
template <Touch touch>
class Application {
 public:
  Application(const ringside_consumer& consumer, std::uint64_t most_bytes)
      : consumer_(consumer), buffer_(touch == Touch::copy ? most_bytes : 8) {
    host_.abi_version = RINGSIDE_CONSUMER_ABI;
    host_.struct_size = sizeof(ringside_host);
    host_.context = this;
    host_.deliver = deliver;
    host_.lost = [](void*, std::uint32_t, std::uint64_t) {};
    host_.wait = [](void*, ringside_ready*, std::uint32_t, std::int64_t) { return 0; };
    host_.wait_fd = [](void*, int, std::int64_t) { return 0; };
    host_.now_ns = [](void*) { return ns_of(CLOCK_MONOTONIC); };
    host_.yield = [](void*) {};
    host_.batch_begin = [](void*) {};
    host_.batch_end = [](void*, std::uint32_t) {};
    host_.sleep = [](void*, std::int64_t) { return 0; };
  }
  Application(const Application&) = delete;
  Application& operator=(const Application&) = delete;

  ring::Result<DrainTime> drain(FilledRing& ring) {
    const std::string attempt = fmt::format("time {}", consumer_.name);
    ring.rewind();
    if (const int error = consumer_.open(&ring.set(), &host_, &state_); error != 0) {
      return ring::errno_error(attempt + ": open", -error);
    }
    std::uint64_t drained = 0;
    std::int64_t count = 0;
    const Stopwatch stopwatch;
    while ((count = consumer_.drain(state_, UINT64_MAX)) > 0) drained += static_cast<std::uint64_t>(count);
    const DrainTime time = stopwatch.elapsed();
    consumer_.close(state_);
    if (count < 0) return ring::errno_error(attempt + ": drain", static_cast<int>(-count));
    if (drained != ring.records() || drained != delivered_) {
      return ring::error(
          attempt, fmt::format("it delivered {} of {} records and returned {}", delivered_, ring.records(), drained));
    }
    if (sum_ != expected(ring)) return ring::error(attempt, "what it read is not what lies in the ring");
    return time;
  }

 private:
  static std::uint64_t expected(const FilledRing& ring) {
    if (touch == Touch::none) return 0;
    return touch == Touch::all ? ring.sum_of_words() : ring.sum_of_first_words();
  }

  static int deliver(void* context, const ringside_record* record) {
    auto& self = *static_cast<Application*>(context);
    ++self.delivered_;
    if constexpr (touch == Touch::line) self.sum_ += *static_cast<const std::uint64_t*>(record->data);
    if constexpr (touch == Touch::all) self.sum_ += sum_of(record->data, record->size);
    if constexpr (touch == Touch::copy) {
      std::memcpy(self.buffer_.data(), record->data, std::min<std::uint64_t>(record->size, self.buffer_.size()));
      // The compiler is not to know that nobody reads the copy.
      asm volatile("" : : "r"(self.buffer_.data()) : "memory");
      self.sum_ += sum_of(self.buffer_.data(), 8);
    }
    if (record->token != 0) self.consumer_.release(self.state_, record->token);
    return 0;
  }

  const ringside_consumer& consumer_;
  std::vector<std::byte> buffer_;
  ringside_host host_{};
  void* state_ = nullptr;
  std::uint64_t delivered_ = 0;
  std::uint64_t sum_ = 0;
};

}  // namespace

std::string_view name_of(Touch touch) {
  for (const auto& [value, name] : touches) {
    if (value == touch) return name;
  }
  return "?";
}

std::optional<Touch> touch_of(std::string_view name) {
  for (const auto& [value, known] : touches) {
    if (known == name) return value;
  }
  return std::nullopt;
}

ring::Result<DrainTime> time_drain(const ringside_consumer& consumer, FilledRing& ring, Touch touch) {
  const std::uint64_t most = ring.used_bytes() / ring.records();
  switch (touch) {
    case Touch::none:
      return Application<Touch::none>(consumer, most).drain(ring);
    case Touch::line:
      return Application<Touch::line>(consumer, most).drain(ring);
    case Touch::all:
      return Application<Touch::all>(consumer, most).drain(ring);
    case Touch::copy:
      return Application<Touch::copy>(consumer, most).drain(ring);
  }
  return ring::error("time a drain", "there is no such touch");
}

Caches::Caches(std::uint64_t ring_bytes) : last_cache_bytes_(last_cache_bytes()) {
  if (ring_bytes > last_cache_bytes_) elsewhere_.assign(2 * last_cache_bytes_ / sizeof(std::uint64_t), 1);
}

void Caches::prepare(const FilledRing& ring) {
  const std::uint64_t sum = elsewhere_.empty() ? sum_of(ring.set().rings[0].data, ring.used_bytes())
                                               : sum_of(elsewhere_.data(), elsewhere_.size() * sizeof(std::uint64_t));
  asm volatile("" : : "r"(sum));
}

std::string Caches::method() const {
  const std::uint64_t mebibytes = last_cache_bytes_ >> 20;
  return elsewhere_.empty() ? "the ring read once before each drain"
                            : fmt::format("caches of {} MiB emptied before each drain", mebibytes);
}

DrainTime time_one_pass(const FilledRing& ring) {
  const Stopwatch stopwatch;
  const std::uint64_t sum = sum_of(ring.set().rings[0].data, ring.used_bytes());
  asm volatile("" : : "r"(sum));
  return stopwatch.elapsed();
}

}  // namespace ringside::harness
