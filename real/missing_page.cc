// SPDX-License-Identifier: Apache-2.0
#include "real/missing_page.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace ringside::real {

namespace {

ring::Result<Fd> open_userfaultfd() {
  Fd fd(static_cast<int>(::syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK)));
  if (!fd) {
    // Where the system call is refused, the device may be allowed (since 6.1).
    const Fd device(::open("/dev/userfaultfd", O_RDWR | O_CLOEXEC));
    if (device) fd = Fd(::ioctl(device.get(), USERFAULTFD_IOC_NEW, O_CLOEXEC | O_NONBLOCK));
  }
  if (!fd) {
    return ring::errno_error("open userfaultfd", errno,
                             "run as root or with CAP_SYS_PTRACE, or allow /dev/userfaultfd");
  }
  uffdio_api api{};
  api.api = UFFD_API;
  if (::ioctl(fd.get(), UFFDIO_API, &api) != 0) return ring::errno_error("set up userfaultfd", errno);
  return fd;
}

}  // namespace

ring::Result<MissingPage> MissingPage::create() {
  MissingPage result;
  auto fd = open_userfaultfd();
  if (!fd) return tl::unexpected(fd.error());
  auto page = Mapping::anonymous(page_bytes(), "a page that is missing until it is supplied");
  if (!page) return tl::unexpected(page.error());
  uffdio_register range{};
  range.range.start = reinterpret_cast<std::uintptr_t>(page->data());
  range.range.len = page->size();
  range.mode = UFFDIO_REGISTER_MODE_MISSING;
  if (::ioctl(fd->get(), UFFDIO_REGISTER, &range) != 0) {
    return ring::errno_error("register page with userfaultfd", errno);
  }
  result.content_.resize(page->size());
  result.page_ = std::move(*page);
  result.fd_ = std::move(*fd);
  return result;
}

ring::Result<void> MissingPage::supply(std::uint32_t value) {
  std::memcpy(content_.data(), &value, sizeof(value));
  uffdio_copy copy{};
  copy.dst = address();
  copy.src = reinterpret_cast<std::uintptr_t>(content_.data());
  copy.len = page_.size();
  if (::ioctl(fd_.get(), UFFDIO_COPY, &copy) != 0) return ring::errno_error("supply page of a hold", errno);
  return {};
}

ring::Result<void> MissingPage::take_back() {
  if (::madvise(page_.data(), page_.size(), MADV_DONTNEED) != 0) {
    return ring::errno_error("take back page of a hold", errno);
  }
  return {};
}

}  // namespace ringside::real
