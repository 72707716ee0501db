// SPDX-License-Identifier: Apache-2.0
#include "ring/io.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>
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

TEST(Io, AFileIsReplacedAsAWholeOrNotAtAll) {
  const std::string folder = testing::TempDir() + "ringside_io_" + std::to_string(::getpid());
  ASSERT_EQ(::mkdir(folder.c_str(), 0700), 0);
  const std::string path = folder + "/file";
  const auto text = [&path] {
    const int file = ::open(path.c_str(), O_RDONLY);
    const std::string read = read_all(file);
    ::close(file);
    return read;
  };
  ASSERT_TRUE(replace_file(path, "a longer text"));
  ASSERT_TRUE(replace_file(path, "text"));
  EXPECT_EQ(text(), "text");
  // A folder cannot be replaced by a file, nor a file be written where there is no folder.
  EXPECT_EQ(to_string(replace_file(folder, "text").error()), "write " + folder + ": EISDIR");
  EXPECT_NE(::access((folder + "." + std::to_string(::getpid()) + ".new").c_str(), F_OK), 0);
  EXPECT_EQ(replace_file(path + "/file", "text").error().code, ENOTDIR);
  EXPECT_EQ(text(), "text");
  ::unlink(path.c_str());
  ::rmdir(folder.c_str());
}

TEST(Io, WhatCannotBeReadIsEmpty) { EXPECT_EQ(read_all(-1), ""); }

}  // namespace
}  // namespace ringside::ring
