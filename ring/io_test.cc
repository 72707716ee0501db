// SPDX-License-Identifier: Apache-2.0
#include "ring/io.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <thread>

namespace ringside::ring {
namespace {

TEST(Io, WhatIsMoreThanAPipeHoldsArrivesWhole) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  std::string text(1'000'000, ' ');
  for (std::size_t at = 0; at < text.size(); ++at) text[at] = static_cast<char>(at % 251);
  int failure = -1;
  std::thread writer([&] {
    failure = write_all(ends[1], text);
    ::close(ends[1]);
  });
  EXPECT_EQ(read_all(ends[0]), text);
  writer.join();
  EXPECT_EQ(failure, 0);
  ::close(ends[0]);
}

TEST(Io, AWriteThatFailsIsTold) {
  const int full = ::open("/dev/full", O_WRONLY);
  ASSERT_GE(full, 0);
  EXPECT_EQ(write_all(full, "text"), ENOSPC);
  ::close(full);
}

TEST(Io, WhatCannotBeReadIsEmpty) { EXPECT_EQ(read_all(-1), ""); }

}  // namespace
}  // namespace ringside::ring
