// SPDX-License-Identifier: Apache-2.0
#include "ring/terminal.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>

namespace ringside::ring {
namespace {

TEST(Terminal, ShowsColoursWhereItIsOneAndNobodyAsksForNone) {
  const int terminal = ::open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
  ASSERT_GE(terminal, 0);
  ::setenv("TERM", "xterm", 1);
  ::unsetenv("NO_COLOR");
  EXPECT_TRUE(shows_colour(terminal));
  ::setenv("NO_COLOR", "1", 1);
  EXPECT_FALSE(shows_colour(terminal));
  EXPECT_TRUE(is_drawn_on(terminal));
  ::setenv("TERM", "dumb", 1);
  EXPECT_FALSE(is_drawn_on(terminal));
  ::setenv("TERM", "xterm", 1);
  const winsize size{.ws_row = 40, .ws_col = 123, .ws_xpixel = 0, .ws_ypixel = 0};
  ASSERT_EQ(::ioctl(terminal, TIOCSWINSZ, &size), 0);
  EXPECT_EQ(columns_of(terminal, 80), 123u);
  ::close(terminal);
}

TEST(Terminal, AFileIsNone) {
  const int file = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  ASSERT_GE(file, 0);
  ::setenv("TERM", "xterm", 1);
  ::unsetenv("NO_COLOR");
  EXPECT_FALSE(is_drawn_on(file));
  EXPECT_FALSE(shows_colour(file));
  EXPECT_EQ(columns_of(file, 80), 80u);
  ::close(file);
}

}  // namespace
}  // namespace ringside::ring
