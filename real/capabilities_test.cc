// SPDX-License-Identifier: Apache-2.0
#include "real/capabilities.h"

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <set>

#include "real/kernel_test.h"
#include "ring/sanitizers.h"

namespace ringside::real {
namespace {

// Compilers do not tell; our preset has AddressSanitizer with it.
constexpr bool has_undefined_behavior_sanitizer = RINGSIDE_ADDRESS_SANITIZER != 0;

const Capability& named(const std::vector<Capability>& all, const std::string& name) {
  const auto found = std::find_if(all.begin(), all.end(), [&](const Capability& one) { return one.name == name; });
  EXPECT_NE(found, all.end()) << name;
  return *found;
}

TEST(CapabilitiesTest, EachHasANameOfItsOwnAndWhatIsMissingHasARemedy) {
  std::set<std::string> names;
  for (const Capability& capability : capabilities()) {
    EXPECT_TRUE(names.insert(capability.name).second) << capability;
    EXPECT_FALSE(capability.summary.empty()) << capability;
    EXPECT_FALSE(capability.detail.empty()) << capability;
    EXPECT_EQ(capability.present, capability.remedy.empty()) << capability;
  }
  EXPECT_EQ(names.size(), 15u);
}

TEST(CapabilitiesTest, ProbingLeavesNothingBehind) {
  capabilities();
  const test::Holdings before = test::holdings();
  capabilities();
  EXPECT_EQ(test::holdings(), before);
}

TEST(CapabilitiesTest, FirstMissingIsARequiredOne) {
  std::vector<Capability> all(3);
  all[0] = {.name = "a", .summary = "", .present = false, .required = false, .detail = "", .remedy = ""};
  all[1] = {.name = "b", .summary = "", .present = true, .required = true, .detail = "", .remedy = ""};
  all[2] = {.name = "c", .summary = "", .present = true, .required = false, .detail = "", .remedy = ""};
  EXPECT_EQ(first_missing(all), nullptr);
  all[1].present = false;
  EXPECT_EQ(first_missing(all), &all[1]);
}

using PrivilegedTest = test::KernelTest;

TEST_F(PrivilegedTest, EveryRequiredOneIsPresentHere) {
  const auto all = capabilities();
  EXPECT_EQ(first_missing(all), nullptr);
  EXPECT_TRUE(named(all, "bpf_load").present);
  EXPECT_TRUE(named(all, "ringbuf_program").present);
}

TEST_F(PrivilegedTest, AnUnprivilegedProcessIsToldWhatItLacks) {
  // The child drops root and reports by its exit status which claim failed.
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    if (::setresgid(65534, 65534, 65534) != 0 || ::setresuid(65534, 65534, 65534) != 0) ::_exit(1);
    const auto all = capabilities();
    const Capability& load = named(all, "bpf_load");
    if (load.present || load.detail != "EPERM" || load.remedy.empty()) ::_exit(2);
    if (first_missing(all) == nullptr) ::_exit(3);
    const auto ring = RingbufMap::create(4096);
    if (ring || ring.error().code != EPERM || ring.error().remedy.empty()) ::_exit(4);
    const auto rings = PerfRings::create({});
    if (rings || rings.error().code != EPERM) ::_exit(5);
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

bool create_everything() {
  const auto ring = RingbufMap::create(4096);
  if (!ring) return false;
  const auto producers = Producers::load(*ring);
  if (!producers) return false;
  if (!Hold::start(*producers, {.size = 8})) return false;
  if (!Flood::start(*producers, std::vector<FloodThread>{{.records = 1}})) return false;
  const auto rings = PerfRings::create({});
  return rings && Producers::load(*rings);
}

TEST_F(PrivilegedTest, WhereverCreationFailsNothingIsLeft) {
  if (has_undefined_behavior_sanitizer) {
    GTEST_SKIP() << "UndefinedBehaviorSanitizer opens a pipe to check an object's type, and here no descriptor is left";
  }
  // Each descriptor in turn is the one that the process cannot have; the last round succeeds.
  capabilities();
  const test::Holdings before = test::holdings();
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  int failures = 0;
  for (rlim_t extra = 0;; ++extra) {
    // Counting the open ones opens one itself, so the base is counted before the limit falls.
    rlimit low = limit;
    low.rlim_cur = static_cast<rlim_t>(before.descriptors) - 1 + extra;
    ASSERT_LT(extra, 60u);
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
    const bool made = create_everything();
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
    ASSERT_EQ(test::holdings(), before) << "after a failure with " << extra << " descriptors";
    if (made) break;
    ++failures;
  }
  EXPECT_GT(failures, 5);
}

}  // namespace
}  // namespace ringside::real
