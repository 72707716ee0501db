// SPDX-License-Identifier: Apache-2.0
#include "sim/ring_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bit>
#include <cassert>
#include <cstring>
#include <utility>

namespace ringside::sim {

using ring::Result;

std::uint32_t page_size_bytes() {
  static const auto bytes = static_cast<std::uint32_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

Result<AddressRange> AddressRange::reserve(std::size_t size_bytes) {
  void* begin = mmap(nullptr, size_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (begin == MAP_FAILED) {
    return ring::errno_error("reserve " + std::to_string(size_bytes) + " bytes of address space", errno,
                             "use a smaller ring");
  }
  return AddressRange(static_cast<std::byte*>(begin), size_bytes);
}

AddressRange::~AddressRange() {
  if (begin_ != nullptr) munmap(begin_, size_);
}

AddressRange::AddressRange(AddressRange&& other) noexcept
    : begin_(std::exchange(other.begin_, nullptr)), size_(std::exchange(other.size_, 0)) {}

AddressRange& AddressRange::operator=(AddressRange&& other) noexcept {
  std::swap(begin_, other.begin_);
  std::swap(size_, other.size_);
  return *this;
}

Result<void> AddressRange::map(std::size_t offset, std::size_t size, int fd, std::uint64_t file_offset, bool writable,
                               std::string_view what) const {
  const int protection = writable ? PROT_READ | PROT_WRITE : PROT_READ;
  void* placed = mmap(begin_ + offset, size, protection, MAP_SHARED | MAP_FIXED, fd, static_cast<off_t>(file_offset));
  if (placed == MAP_FAILED) {
    return ring::errno_error("map " + std::string(what) + " of a model ring", errno, "use a smaller ring");
  }
  return {};
}

namespace {

// A descriptor that is closed at the end of its scope: mappings outlive it.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

// One memfd, opened for both sides: `writable` for what may be written, `readable` for what may not, ever.
struct RingFile {
  Descriptor writable;
  Descriptor readable;
};

Result<RingFile> make_file(std::uint64_t size_bytes) {
  Descriptor writable(memfd_create("ringside-ring", MFD_CLOEXEC));
  if (writable.get() < 0) return ring::errno_error("create the memory of a model ring", errno);
  if (ftruncate(writable.get(), static_cast<off_t>(size_bytes)) != 0) {
    return ring::errno_error("size the memory of a model ring to " + std::to_string(size_bytes) + " bytes", errno,
                             "use a smaller ring");
  }
  const std::string path = "/proc/self/fd/" + std::to_string(writable.get());
  Descriptor readable(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (readable.get() < 0) {
    return ring::errno_error("open the memory of a model ring for reading", errno, "mount /proc");
  }
  return RingFile{std::move(writable), std::move(readable)};
}

std::optional<std::uint64_t> offset_in(const AddressRange& range, const void* address) {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  const auto begin = reinterpret_cast<std::uintptr_t>(range.begin());
  if (at < begin || at - begin >= range.size()) return std::nullopt;
  return at - begin;
}

bool is_pages_of_two(std::uint64_t size_bytes) {
  return std::has_single_bit(size_bytes) && size_bytes % page_size_bytes() == 0;
}

}  // namespace

std::string_view name_of(Region region) {
  switch (region) {
    case Region::consumer_page:
      return "consumer page";
    case Region::producer_page:
      return "producer page";
    case Region::control_page:
      return "control page";
    case Region::data:
      return "data page";
    case Region::data_again:
      return "second mapping of data page";
    case Region::guard:
      return "guard page outside the ring";
  }
  return "?";
}

std::string describe(const Place& place) {
  std::string text(name_of(place.region));
  std::uint64_t offset = place.offset;
  if (place.region == Region::data || place.region == Region::data_again) {
    text += ' ' + std::to_string(offset / page_size_bytes());
    offset %= page_size_bytes();
  }
  return text + ", offset " + std::to_string(offset);
}

// The file: consumer page, producer page, data. The kernel maps it as it lies, and the data once more behind it. The
// user's range, in pages: 0 guard, 1 consumer, 2 guard, 3 producer, 4 data, 4 + n data again, 4 + 2n guard.
Result<RingbufMemory> RingbufMemory::create(std::uint64_t data_size, UserMapping mapping, UserRole role) {
  if (!is_pages_of_two(data_size) || data_size > (std::uint64_t{1} << 31)) {
    return ring::errno_error("create a BPF ring buffer of " + std::to_string(data_size) + " bytes", EINVAL,
                             "use a power of two that is a multiple of the page size (" +
                                 std::to_string(page_size_bytes()) + ") and at most 2147483648");
  }
  const std::uint64_t page = page_size_bytes();
  Result<RingFile> file = make_file(2 * page + data_size);
  if (!file) return tl::make_unexpected(file.error());
  RingbufMemory memory;
  memory.data_size_ = data_size;
  memory.mapping_ = mapping;
  memory.role_ = role;

  Result<AddressRange> kernel = AddressRange::reserve(2 * page + 2 * data_size);
  if (!kernel) return tl::make_unexpected(kernel.error());
  memory.kernel_ = std::move(*kernel);
  Result<AddressRange> user = AddressRange::reserve(5 * page + 2 * data_size);
  if (!user) return tl::make_unexpected(user.error());
  memory.user_ = std::move(*user);

  const int rw = file->writable.get();
  const int ro = file->readable.get();
  const bool produces = role == UserRole::producer;
  const int consumer_fd = produces ? ro : rw;
  const int producer_fd = produces ? rw : ro;
  const auto mapped =
      memory.kernel_.map(0, 2 * page + data_size, rw, 0, true, "the pages")
          .and_then([&] { return memory.kernel_.map(2 * page + data_size, data_size, rw, 2 * page, true, "the data"); })
          .and_then([&] { return memory.user_.map(page, page, consumer_fd, 0, !produces, "the consumer page"); })
          .and_then([&] {
            return memory.user_.map(3 * page, page + data_size, producer_fd, page, produces, "the producer's pages");
          })
          .and_then([&] {
            return memory.user_.map(4 * page + data_size, data_size, producer_fd, 2 * page, produces, "the data");
          });
  if (!mapped) return tl::make_unexpected(mapped.error());
  return memory;
}

void* RingbufMemory::user_consumer_page() const {
  return mapping_ == UserMapping::kernels ? kernel_consumer_page() : user_.begin() + page_size_bytes();
}

const void* RingbufMemory::user_producer_page() const {
  return mapping_ == UserMapping::kernels ? kernel_producer_page() : user_.begin() + 3 * std::size_t{page_size_bytes()};
}

const void* RingbufMemory::user_data() const {
  return mapping_ == UserMapping::kernels ? kernel_data() : user_.begin() + 4 * std::size_t{page_size_bytes()};
}

void* RingbufMemory::produced_page() const {
  assert(role_ == UserRole::producer);
  return const_cast<void*>(user_producer_page());
}

void* RingbufMemory::produced_data() const {
  assert(role_ == UserRole::producer);
  return const_cast<void*>(user_data());
}

std::optional<Place> RingbufMemory::locate(const void* address) const {
  const std::optional<std::uint64_t> offset = offset_in(user_, address);
  if (!offset) return std::nullopt;
  const std::uint64_t page = page_size_bytes();
  switch (*offset / page) {
    case 0:
    case 2:
      return Place{Region::guard, *offset % page};
    case 1:
      return Place{Region::consumer_page, *offset % page};
    case 3:
      return Place{Region::producer_page, *offset % page};
    default:
      break;
  }
  const std::uint64_t in_data = *offset - 4 * page;
  if (in_data < data_size_) return Place{Region::data, in_data};
  if (in_data < 2 * data_size_) return Place{Region::data_again, in_data - data_size_};
  return Place{Region::guard, in_data - 2 * data_size_};
}

// The file: control page, data. The user's range, in pages: 0 guard, 1 control page, 2 data, 2 + n guard.
Result<PerfMemory> PerfMemory::create(std::uint64_t data_size, bool writable, UserMapping mapping) {
  if (!is_pages_of_two(data_size)) {
    return ring::errno_error("create a perf ring of " + std::to_string(data_size) + " data bytes", EINVAL,
                             "use a power of two of pages (" + std::to_string(page_size_bytes()) + " bytes each)");
  }
  const std::uint64_t page = page_size_bytes();
  Result<RingFile> file = make_file(page + data_size);
  if (!file) return tl::make_unexpected(file.error());
  PerfMemory memory;
  memory.data_size_ = data_size;
  memory.mapping_ = mapping;

  Result<AddressRange> kernel = AddressRange::reserve(page + data_size);
  if (!kernel) return tl::make_unexpected(kernel.error());
  memory.kernel_ = std::move(*kernel);
  Result<AddressRange> user = AddressRange::reserve(3 * page + data_size);
  if (!user) return tl::make_unexpected(user.error());
  memory.user_ = std::move(*user);

  const int rw = file->writable.get();
  const int ro = file->readable.get();
  const auto mapped =
      memory.kernel_.map(0, page + data_size, rw, 0, true, "the pages")
          .and_then([&] { return memory.user_.map(page, page, writable ? rw : ro, 0, writable, "the control page"); })
          .and_then([&] { return memory.user_.map(2 * page, data_size, ro, page, false, "the data"); });
  if (!mapped) return tl::make_unexpected(mapped.error());
  return memory;
}

void* PerfMemory::user_control_page() const {
  return mapping_ == UserMapping::kernels ? kernel_control_page() : user_.begin() + page_size_bytes();
}

const void* PerfMemory::user_data() const {
  return mapping_ == UserMapping::kernels ? kernel_data() : user_.begin() + 2 * std::size_t{page_size_bytes()};
}

std::optional<Place> PerfMemory::locate(const void* address) const {
  const std::optional<std::uint64_t> offset = offset_in(user_, address);
  if (!offset) return std::nullopt;
  const std::uint64_t page = page_size_bytes();
  if (*offset < page) return Place{Region::guard, *offset};
  if (*offset < 2 * page) return Place{Region::control_page, *offset - page};
  if (*offset < 2 * page + data_size_) return Place{Region::data, *offset - 2 * page};
  return Place{Region::guard, *offset - 2 * page - data_size_};
}

}  // namespace ringside::sim
