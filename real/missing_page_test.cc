// SPDX-License-Identifier: Apache-2.0
#include "real/missing_page.h"

#include <poll.h>

#include <thread>

#include "real/kernel_test.h"

namespace ringside::real {
namespace {

class MissingPageTest : public test::KernelTest {};

// Reads the page on a thread, which sleeps until the page is there.
class Reader {
 public:
  explicit Reader(const MissingPage& page)
      : thread_([this, place = reinterpret_cast<const std::uint32_t*>(page.address())] {
          value_ = *static_cast<const volatile std::uint32_t*>(place);
        }) {}
  std::uint32_t value() {
    thread_.join();
    return value_;
  }

 private:
  std::uint32_t value_ = 0;
  std::thread thread_;
};

void await_fault(const MissingPage& page) {
  pollfd item{.fd = page.fd(), .events = POLLIN, .revents = 0};
  ASSERT_EQ(::poll(&item, 1, -1), 1);
}

TEST_F(MissingPageTest, HoldsItsReaderUntilItIsSuppliedAndAgainOnceTakenBack) {
  auto page = MissingPage::create();
  ASSERT_TRUE(page) << page.error();
  for (const std::uint32_t value : {7u, 8u, 9u}) {
    Reader reader(*page);
    await_fault(*page);
    EXPECT_TRUE(page->supply(value));
    EXPECT_EQ(reader.value(), value);
    EXPECT_TRUE(page->take_back());
  }
}

TEST_F(MissingPageTest, IsSuppliedOnce) {
  auto page = MissingPage::create();
  ASSERT_TRUE(page) << page.error();
  ASSERT_TRUE(page->supply(1));
  const auto again = page->supply(2);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, EEXIST);
}

TEST_F(MissingPageTest, ReadsAsZerosOnceAbandoned) {
  auto page = MissingPage::create();
  ASSERT_TRUE(page) << page.error();
  Reader reader(*page);
  await_fault(*page);
  page->abandon();
  EXPECT_EQ(reader.value(), 0u);
}

}  // namespace
}  // namespace ringside::real
