// SPDX-License-Identifier: Apache-2.0
#include "real/quiet_libbpf.h"

#include <bpf/libbpf.h>
#include <gtest/gtest.h>

#include <cerrno>

namespace ringside::real {
namespace {

std::string told(int code) { return ring::to_string(load_error("a ring", code, "5.19 or later").value()); }

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

TEST(LoadError, AsksForPrivilegeWhereItLacksAndOnlyThere) {
  EXPECT_TRUE(has(told(EPERM), "run as root")) << told(EPERM);
  EXPECT_FALSE(has(told(EACCES), "run as root")) << told(EACCES);
  EXPECT_FALSE(has(told(EINVAL), "run as root")) << told(EINVAL);
}

TEST(LoadError, NamesTheVerifierAndTheKernelThatWillDo) {
  EXPECT_TRUE(has(told(EACCES), "the verifier of this kernel refused them")) << told(EACCES);
  EXPECT_TRUE(has(told(EINVAL), "needs kernel 5.19 or later")) << told(EINVAL);
}

TEST(LoadError, CarriesWhatLibbpfSaidLast) {
  const QuietLibbpf quiet;
  // libbpf warns of an object that is none.
  EXPECT_EQ(bpf_object__open_mem("no ELF", 6, nullptr), nullptr);
  EXPECT_TRUE(has(told(EINVAL), "(libbpf: libbpf: ")) << told(EINVAL);
}

TEST(QuietLibbpf, MayBeMadeWithinAnother) {
  const QuietLibbpf outer;
  {
    const QuietLibbpf inner;
  }
  EXPECT_EQ(bpf_object__open_mem("no ELF", 6, nullptr), nullptr);
  EXPECT_TRUE(has(told(EINVAL), "(libbpf: libbpf: ")) << "it still talks to the outer one: " << told(EINVAL);
}

}  // namespace
}  // namespace ringside::real
