// SPDX-License-Identifier: Apache-2.0
//
// The memory of a ring, laid out as the kernel lays it out, twice over one memfd: the kernel's own mapping, all of it
// writable, and the user's mapping with exactly the protections that the kernel grants. A store that the kernel would
// refuse faults here too, and describe() says where it went; the memfd behind the read-only pages is open for reading
// only, so that mprotect cannot make them writable either (KERNEL-RINGS 1.3, 2.1).
//
//   ringbuf, user:       guard | consumer page RW | guard | producer page R, data R, data again R | guard
//   user ringbuf, user:  guard | consumer page R | guard | producer page RW, data RW, data again RW | guard
//   perf, user:          guard | control page RW, data R | guard
//
// A guard page can be neither read nor written: what runs off a ring is seen.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "ring/result.h"
#include "sim/memory.h"

namespace ringside::sim {

/// Bytes of a page of this machine.
std::uint32_t page_size_bytes();

/// A reserved range of addresses, given back at destruction. Move-only.
class AddressRange {
 public:
  AddressRange() = default;
  static ring::Result<AddressRange> reserve(std::size_t size_bytes);
  ~AddressRange();
  AddressRange(AddressRange&& other) noexcept;
  AddressRange& operator=(AddressRange&& other) noexcept;

  std::byte* begin() const { return begin_; }
  std::size_t size() const { return size_; }

  /// Maps `size` bytes of `fd` from `file_offset` at `offset` of the range.
  ring::Result<void> map(std::size_t offset, std::size_t size, int fd, std::uint64_t file_offset, bool writable,
                         std::string_view what) const;

 private:
  AddressRange(std::byte* begin, std::size_t size) : begin_(begin), size_(size) {}

  std::byte* begin_ = nullptr;
  std::size_t size_ = 0;
};

/// What the user's mapping shows at an address.
enum class Region : std::uint8_t { consumer_page, producer_page, control_page, data, data_again, guard };
std::string_view name_of(Region region);

struct Place {
  Region region = Region::guard;
  std::uint64_t offset = 0;  ///< bytes from the start of the region; of the guard page for a guard
  friend bool operator==(const Place&, const Place&) = default;
};
/// `data page 3, offset 128`, `consumer page, offset 8`, `guard page after the ring, offset 0`.
std::string describe(const Place& place);

/// How the user sees a ring. `own` is what the kernel does; `kernels` hands out the kernel's own mapping: nothing is
/// protected, but ThreadSanitizer, which knows memory by its address, sees both sides of every access. Under it, `own`
/// hides the consumer's half of the synchronisation, and what one producer hands to the next through it looks like a
/// race.
enum class UserMapping : std::uint8_t { own, kernels };

inline constexpr UserMapping default_user_mapping = under_thread_sanitizer ? UserMapping::kernels : UserMapping::own;

/// On which side of a BPF ring buffer the user stands, and so what the kernel lets it write: the consumer page, or (in
/// a user ring buffer) the producer page and the data [1.3].
enum class UserRole : std::uint8_t { consumer, producer };

/// The memory of one BPF ring buffer.
class RingbufMemory {
 public:
  /// `data_size` as max_entries of the map: a power of two, a multiple of the page size, at most 2^31 [1.2]. Errors:
  /// EINVAL, ENOMEM, and what mmap says.
  static ring::Result<RingbufMemory> create(std::uint64_t data_size, UserMapping mapping = default_user_mapping,
                                            UserRole role = UserRole::consumer);

  std::uint64_t data_size() const { return data_size_; }
  std::byte* kernel_consumer_page() const { return kernel_.begin(); }
  std::byte* kernel_producer_page() const { return kernel_.begin() + page_size_bytes(); }
  /// 2 * data_size bytes; the second half is the first again.
  std::byte* kernel_data() const { return kernel_.begin() + 2 * std::size_t{page_size_bytes()}; }

  // The pages that the user may not write according to its role fault when it does.
  void* user_consumer_page() const;
  const void* user_producer_page() const;
  const void* user_data() const;
  /// The same two for a user that produces.
  void* produced_page() const;
  void* produced_data() const;

  /// What lies at an address of the user's mapping; nothing for any other. Safe in a signal handler.
  std::optional<Place> locate(const void* address) const;

 private:
  RingbufMemory() = default;
  std::uint64_t data_size_ = 0;
  UserMapping mapping_ = UserMapping::own;
  UserRole role_ = UserRole::consumer;
  AddressRange kernel_;
  AddressRange user_;
};

/// The memory of one perf event ring.
class PerfMemory {
 public:
  /// `data_size`: pages, a power of two of them [2.1]; a ring without data pages is not modelled. `writable` is how the
  /// user maps it: a ring whose first mapping is read-only is an overwrite ring, and its control page refuses stores.
  static ring::Result<PerfMemory> create(std::uint64_t data_size, bool writable,
                                         UserMapping mapping = default_user_mapping);

  std::uint64_t data_size() const { return data_size_; }
  std::byte* kernel_control_page() const { return kernel_.begin(); }
  std::byte* kernel_data() const { return kernel_.begin() + page_size_bytes(); }

  void* user_control_page() const;
  const void* user_data() const;

  /// As RingbufMemory::locate.
  std::optional<Place> locate(const void* address) const;

 private:
  PerfMemory() = default;
  std::uint64_t data_size_ = 0;
  UserMapping mapping_ = UserMapping::own;
  AddressRange kernel_;
  AddressRange user_;
};

}  // namespace ringside::sim
