// SPDX-License-Identifier: Apache-2.0
#include "harness/scenario.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "harness/workload.h"
#include "ring/layout.h"

namespace ringside::harness {
namespace {

constexpr std::string_view good = R"(
name = "x"
rings = ["ringbuf"]
[ring]
size = 8192
[[source]]
records = 10
)";

std::string error_of(const std::string& toml) {
  auto scenario = parse_scenario(toml, "x.toml");
  return scenario ? "" : ring::to_string(scenario.error());
}

TEST(Scenario, EveryShippedOneParsesAndIsNamedAsItsFile) {
  EXPECT_GE(shipped_scenarios().size(), 22u);
  for (const Scenario& scenario : shipped_scenarios()) {
    EXPECT_TRUE(find_scenario(scenario.name).has_value()) << scenario.name;
    EXPECT_FALSE(scenario.summary.empty()) << scenario.name;
  }
}

TEST(Scenario, ReadsEveryKey) {
  auto scenario = parse_scenario(R"(
name = "all"
summary = "s"
rings = ["ringbuf"]
worlds = ["model"]
cases = ["A1"]
drive = "stepped"
[ring]
kernel = "6.1"
size = 16384
start = -64
cpus = 2
wakeup_events = 1
[[source]]
cpu = 1
records = 5
action = "output"
size = { min = 16, max = 32 }
wakeup = "force"
force_every = 3
discard_every = 4
discard_run = 2
hold_ns = 7
nested = 1
nested_size = 16
interval_ns = 9
burst = 3
[consumer]
max_records = 8
timeout_ns = 100
work_ns = 50
hold_views = 2
[faults]
eintr_every = 1
spurious_every = 2
hangup_every = 3
stall_every = 5
stall_turns = 6
lock_fails_percent = 4
)",
                                 "all.toml");
  ASSERT_TRUE(scenario) << scenario.error();
  EXPECT_EQ(scenario->ring.start, UINT64_MAX - 63);
  EXPECT_EQ(scenario->ring.kernel, "6.1");
  const SourcePlan source{.cpu = 1,
                          .records = 5,
                          .action = ring::Action::output,
                          .size = {.cycle = {}, .min = 16, .max = 32},
                          .flags = ring::flag_force_wakeup,
                          .force_every = 3,
                          .discard_every = 4,
                          .discard_run = 2,
                          .hold_ns = 7,
                          .nested = 1,
                          .nested_size = 16,
                          .interval_ns = 9,
                          .burst = 3};
  EXPECT_EQ(scenario->sources, std::vector{source});
  EXPECT_EQ(scenario->consumer, (ConsumerPlan{.max_records = 8, .timeout_ns = 100, .work_ns = 50, .hold_views = 2}));
  FaultsPlan faults;
  faults.eintr_every = 1;
  faults.spurious_every = 2;
  faults.hangup_every = 3;
  faults.stall_every = 5;
  faults.stall_turns = 6;
  faults.lock_fails_percent = 4;
  EXPECT_EQ(scenario->faults, faults);
}

TEST(Scenario, AnUnknownKeyIsNamedWithItsLineAndTheNearestKnownOne) {
  EXPECT_EQ(error_of("name = \"x\"\nrings = [\"ringbuf\"]\n[[source]]\nrecord = 10\n"),
            "x.toml:4: key \"source[0].record\": is unknown; did you mean \"records\"?");
}

TEST(Scenario, AWrongTypeOrRangeIsNamedWithWhatWouldBeRight) {
  EXPECT_EQ(error_of("name = \"x\"\nrings = [\"ringbuf\"]\n[[source]]\nrecords = \"ten\"\n"),
            "x.toml:4: key \"source[0].records\": is not an integer; write a number from 1 to 1000000000000");
  EXPECT_EQ(error_of("name = \"x\"\nrings = [\"pipe\"]\n[[source]]\n"),
            "x.toml:2: key \"rings\": holds \"pipe\"; use one of ringbuf, perf, user_ringbuf");
}

TEST(Scenario, ASizeThatIsNoPowerOfTwoIsRefused) {
  EXPECT_EQ(error_of("name = \"x\"\nrings = [\"ringbuf\"]\n[ring]\nsize = 12288\n[[source]]\n"),
            "x.toml: use scenario \"x\": ring.size is 12288, no power of two; use 4096, 8192, 16384, …");
}

TEST(Scenario, BrokenTomlIsNamedWithItsLine) {
  EXPECT_TRUE(error_of("name = \"x\nrings = 3").starts_with("x.toml:1: read TOML: ")) << error_of("name = \"x\nrings");
}

TEST(Scenario, WhatAPerfRingCannotCarryIsRefused) {
  EXPECT_NE(error_of("name = \"x\"\nrings = [\"perf\"]\n[[source]]\nsize = 8\n").find("1 to 15 bytes"),
            std::string::npos);
  EXPECT_NE(error_of("name = \"x\"\nrings = [\"perf\"]\n[[source]]\naction = \"hold\"\n").find("holds or discards"),
            std::string::npos);
}

TEST(Scenario, WhatAUserRingHasNotIsRefused) {
  const auto error = [](const std::string& more) {
    return error_of("name = \"x\"\nrings = [\"user_ringbuf\"]\n" + more);
  };
  EXPECT_NE(error_of("name = \"x\"\nrings = [\"user_ringbuf\", \"perf\"]\n[[source]]\n").find("for other rings"),
            std::string::npos);
  EXPECT_NE(error_of("name = \"x\"\nrings = [\"ringbuf\"]\n[[source]]\n[drain]\nmax_samples = 3\n")
                .find("[drain] or [producer]"),
            std::string::npos);
  for (const char* more : {"drive = \"free\"\n[[source]]\n", "[ring]\ncpus = 2\n[[source]]\n",
                           "[[source]]\n[consumer]\nhold_views = 1\n", "[[source]]\n[faults]\nhangup_every = 2\n"}) {
    EXPECT_NE(error(more).find("what a user ring buffer has not"), std::string::npos) << more;
  }
  for (const char* more : {"[[source]]\naction = \"output\"\n", "[[source]]\nnested = 1\n",
                           "[[source]]\nwakeup = \"no\"\n", "[[source]]\nforce_every = 4\n"}) {
    EXPECT_NE(error(more).find("which are the kernel's"), std::string::npos) << more;
  }
  EXPECT_NE(error("[ring]\nsize = 4096\n[[source]]\nsize = 4089\n").find("the largest sample is 4088"),
            std::string::npos);
  EXPECT_NE(error("[[source]]\nretry = true\n[drain]\nwakeup = \"no\"\n").find("set producer.timeout_ns"),
            std::string::npos);
}

TEST(Scenario, AUserRingIsDrainedAsItsScenarioSays) {
  const auto scenario = parse_scenario(
      "name = \"x\"\nrings = [\"user_ringbuf\"]\n[[source]]\nretry = true\n"
      "[drain]\ninterval_ns = 7\nmax_samples = 3\nwakeup = \"force\"\n[producer]\ntimeout_ns = 9\n",
      "x.toml");
  ASSERT_TRUE(scenario) << scenario.error();
  EXPECT_EQ(scenario->drain, (DrainPlan{.interval_ns = 7, .max_samples = 3, .flags = ring::flag_force_wakeup}));
  EXPECT_EQ(scenario->producer.timeout_ns, 9);
  EXPECT_EQ(largest_payload(ring::RingKind::user_ringbuf, 4096), 4088u);
  EXPECT_EQ(largest_payload(ring::RingKind::user_ringbuf, 1u << 25), 0xffffffu);
}

TEST(Scenario, AnOverwriteRingIsABpfRingOfAKernelThatHasThem) {
  const auto error = [](const char* rings, const std::string& kernel, const std::string& size = "16") {
    return error_of("name = \"x\"\nrings = [" + std::string(rings) + "]\n[ring]\noverwrite = true\n" + kernel +
                    "[[source]]\nsize = " + size + "\n");
  };
  EXPECT_EQ(error("\"ringbuf\"", ""), "");
  EXPECT_EQ(error("\"ringbuf\"", "kernel = \"6.19\"\n"), "");
  EXPECT_EQ(error("\"ringbuf\"", "kernel = \"7.3\"\n"), "");
  EXPECT_EQ(error("\"ringbuf\"", "kernel = \"6.18\"\n"),
            "x.toml: use scenario \"x\": kernel 6.18 has no overwrite rings, which came with 6.19; set ring.kernel to "
            "\"6.19\" or newer, or leave it out");
  for (const char* rings : {"\"perf\"", "\"ringbuf\", \"perf\""}) {
    EXPECT_EQ(error(rings, ""),
              "x.toml: use scenario \"x\": ring.overwrite is a mode of BPF ring buffers; use rings = [\"ringbuf\"]");
  }
  EXPECT_NE(error("\"user_ringbuf\"", "").find("what a user ring buffer has not"), std::string::npos);
  EXPECT_NE(error("\"ringbuf\"", "", "[16, 15]").find("carry only a part of their number"), std::string::npos);
  EXPECT_EQ(error("\"ringbuf\"", "", "[16, 0]"), "");
}

TEST(Scenario, OneRingACpuAndStampsAreOfBpfRingsThatRefuse) {
  const auto error = [](const char* rings, const std::string& keys, const std::string& source = "size = 16\n") {
    return error_of("name = \"x\"\nrings = [" + std::string(rings) + "]\n[ring]\nsize = 4096\n" + keys +
                    "[[source]]\n" + source);
  };
  EXPECT_EQ(error("\"ringbuf\"", "per_cpu = true\n"), "");
  EXPECT_EQ(error("\"ringbuf\"", "per_cpu = true\nstamp = \"before\"\n"), "");
  const std::string refused =
      "x.toml: use scenario \"x\": ring.per_cpu and ring.stamp are about BPF ring buffers that do not overwrite; use "
      "rings = [\"ringbuf\"] without ring.overwrite";
  EXPECT_EQ(error("\"perf\"", "per_cpu = true\n"), refused);
  EXPECT_EQ(error("\"ringbuf\", \"perf\"", "per_cpu = true\n"), refused);
  EXPECT_EQ(error("\"ringbuf\"", "per_cpu = true\noverwrite = true\n"), refused);
  EXPECT_EQ(
      error("\"ringbuf\"", "stamp = \"inside\"\n"),
      "x.toml: use scenario \"x\": it stamps the records of one ring, where they do not lie in the order of their "
      "stamps; set ring.per_cpu = true");
  const std::string stamped = "per_cpu = true\nstamp = \"inside\"\n";
  EXPECT_NE(error("\"ringbuf\"", stamped, "action = \"output\"\n").find("nobody can do inside an output"),
            std::string::npos);
  // A ring of 4096 bytes has room for one payload of 4080, of which the stamp takes 8.
  EXPECT_EQ(error("\"ringbuf\"", stamped, "size = 4072\n"), "");
  EXPECT_NE(error("\"ringbuf\"", stamped, "size = 4073\n").find("the largest payload is 4072"), std::string::npos);
}

TEST(Scenario, TimesAndGapsAmongCpusAreOfPerfRings) {
  const auto error = [](const std::string& head, const char* key) {
    return error_of("name = \"x\"\n" + head + "[ring]\n" + key + "\n[[source]]\n");
  };
  const std::string perf = "rings = [\"perf\"]\n";
  EXPECT_EQ(error(perf, "sample_time = true"), "");
  EXPECT_EQ(error(perf + "worlds = [\"model\"]\n", "cpu_step = 2"), "");
  EXPECT_EQ(error(perf, "cpu_step = 2"),
            "x.toml: use scenario \"x\": ring.cpu_step is nothing that a kernel can be asked for; set worlds = "
            "[\"model\"]");
  for (const char* key : {"sample_time = true", "cpu_step = 2"}) {
    EXPECT_EQ(error("rings = [\"ringbuf\", \"perf\"]\n", key),
              "x.toml: use scenario \"x\": ring.sample_time and ring.cpu_step are about perf rings; use rings = "
              "[\"perf\"]");
  }
}

TEST(Scenario, TwoSidesAreThoseOfPerfRingsAndOfProgramsThatOneAtATimeMayBeHeld) {
  const std::string perf = "name = \"x\"\nrings = [\"perf\"]\n";
  const std::string sides = "[ring]\nsides = 2\ncpus = 2\n";
  const std::string source = "[[source]]\n";
  const std::string held = "[[source]]\naction = \"hold\"\n";
  EXPECT_TRUE(parse_scenario(perf + sides + source + held + "cpu = 1\n", "x.toml"));
  const auto refused = [](const std::string& text, const char* why) {
    EXPECT_NE(error_of(text).find(why), std::string::npos) << error_of(text);
  };
  refused("name = \"x\"\nrings = [\"ringbuf\"]\n" + sides + source, "sides of perf rings");
  refused(perf + sides + source + "nested = 1\n", "nested records");
  refused(perf + sides + held, "takes its CPU");
  refused(perf + sides + source + held, "takes its CPU");
  refused(perf + sides + held + held + "cpu = 1\n", "takes its CPU");
  refused(perf + "drive = \"free\"\n" + sides + source, "are stepped");
  refused(perf + sides + "start = 8\n" + source, "start at 0");
}

TEST(Scenario, UnannouncedRecordsNeedADeadline) {
  EXPECT_NE(error_of(std::string(good) + "wakeup = \"no\"\n").find("gives the consumer no deadline"),
            std::string::npos);
  EXPECT_EQ(error_of(std::string(good) + "wakeup = \"no\"\n[consumer]\ntimeout_ns = 1\n"), "");
}

TEST(Scenario, WhatAKernelCannotDoNeedsTheModelAlone) {
  EXPECT_NE(error_of("name = \"x\"\nrings = [\"ringbuf\"]\n[ring]\nstart = -8\n[[source]]\n")
                .find("cannot be brought to position 18446744073709551608; set worlds = [\"model\"]"),
            std::string::npos);
  EXPECT_NE(error_of("name = \"x\"\nrings = [\"ringbuf\"]\n[[source]]\n[faults]\nlock_fails_percent = 1\n")
                .find("set worlds = [\"model\"]"),
            std::string::npos);
}

TEST(Scenario, AnUnknownNameIsAnsweredWithTheNearest) {
  auto scenario = find_scenario("stedy");
  ASSERT_FALSE(scenario);
  EXPECT_EQ(ring::to_string(scenario.error()).find("did you mean \"steady\"?") != std::string::npos, true)
      << scenario.error();
}

TEST(Scenario, AMissingFileIsNamedWithItsErrno) {
  auto scenario = find_scenario("./no/such.toml");
  ASSERT_FALSE(scenario);
  EXPECT_EQ(scenario.error().code, ENOENT);
}

TEST(Scenario, AKernelThatTheModelCannotBeIsRefused) {
  const auto with = [](const std::string& kernel) {
    return error_of("name = \"x\"\nrings = [\"ringbuf\"]\n[ring]\nkernel = \"" + kernel + "\"\n[[source]]\n");
  };
  const std::string remedy = "; write a release from 5.8 to 7.3, such as \"6.12\" or \"6.12.118\"";
  EXPECT_EQ(with("abc"), "x.toml:4: key \"ring.kernel\": is \"abc\", no version of a kernel" + remedy);
  for (const char* unknown : {"5.7.19", "7.4", "2.6", "99.0"}) {
    EXPECT_EQ(with(unknown), "x.toml:4: key \"ring.kernel\": is \"" + std::string(unknown) +
                                 "\", which the model does not know" + remedy);
  }
  for (const char* known : {"5.8", "5.8.0", "6.12.118", "7.3", "7.3.1"}) EXPECT_EQ(with(known), "") << known;
}

TEST(Scenario, AnEmptyListOfRingsIsToldFromAMissingOne) {
  EXPECT_EQ(error_of("name = \"x\"\nrings = []\n[[source]]\n"),
            "x.toml:2: key \"rings\": is empty; name \"ringbuf\", \"perf\" or both, or \"user_ringbuf\"");
  EXPECT_NE(error_of("name = \"x\"\n[[source]]\n").find("\"rings\": is missing"), std::string::npos);
}

/// Why the file at that path is no scenario.
std::string reason_of(const std::string& path) {
  const auto scenario = load_scenario(path);
  if (scenario) return "it was read";
  EXPECT_NE(scenario.error().attempt.find(path), std::string::npos) << scenario.error();
  return scenario.error().reason;
}

TEST(Scenario, WhatIsNoFileIsRefusedBeforeItIsRead) {
  // /dev/zero never ends, and a FIFO without a writer never begins.
  EXPECT_EQ(reason_of("/dev/zero"), "it is a device");
  EXPECT_EQ(reason_of("/proc/self"), "it is a directory");
  const std::string fifo = testing::TempDir() + "ringside_scenario_test.fifo";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_EQ(reason_of(fifo), "it is a FIFO");
  std::filesystem::remove(fifo);
}

TEST(Scenario, AFileThatIsEmptyOrTooLargeIsRefused) {
  const std::string path = testing::TempDir() + "ringside_scenario_test.toml";
  std::ofstream(path, std::ios::trunc).flush();
  EXPECT_EQ(reason_of(path), "it is empty");
  std::string text{good};
  text += "#" + std::string((1u << 20) - text.size() - 1, 'x');
  std::ofstream(path, std::ios::trunc) << text;
  EXPECT_EQ(reason_of(path), "it was read");  // 1 MiB
  std::ofstream(path, std::ios::trunc) << text << 'x';
  EXPECT_EQ(reason_of(path), "it is larger than 1 MiB");
  std::filesystem::remove(path);
}

// The wrap scenario promises that records cross the ring's end at every 8-byte offset. In a BPF ring every record that
// is reserved takes its span; the offsets at which the end cuts a span are those where a span covers a multiple of N.
TEST(Scenario, WrapCutsRecordsAtEveryOffset) {
  const auto scenario = find_scenario("wrap");
  ASSERT_TRUE(scenario);
  const std::uint64_t size = scenario->ring.size;
  const SizePlan& sizes = scenario->sources[0].size;
  std::uint64_t position = 0;
  std::set<std::uint64_t> cuts;  // bytes of the span before the end
  for (std::uint64_t number = 0; number < scenario->sources[0].records; ++number) {
    const std::uint64_t span = ring::ringbuf::span_of(size_of(sizes, number, 0));
    const std::uint64_t before_end = size - position % size;
    if (before_end < span) cuts.insert(before_end);
    position += span;
  }
  for (std::uint64_t offset = 8; offset < ring::ringbuf::span_of(sizes.max) - 8; offset += 8) {
    EXPECT_TRUE(cuts.contains(offset)) << "no record has its first " << offset << " bytes before the end";
  }
}

TEST(Workload, IssuesWhatTheScenarioSaysAndNoMore) {
  const auto scenario = find_scenario("discards");
  ASSERT_TRUE(scenario);
  Workload workload(*scenario, ring::RingKind::ringbuf, 0);
  std::vector<std::uint64_t> submitted(2), discarded(2), longest_run(2), run(2);
  for (auto& source : workload.sources()) {
    while (!source.done()) {
      const ring::Operation operation = source.take(0);
      const bool discard = operation.action == ring::Action::discard;
      ++(discard ? discarded : submitted)[operation.source];
      run[operation.source] = discard ? run[operation.source] + 1 : 0;
      longest_run[operation.source] = std::max(longest_run[operation.source], run[operation.source]);
    }
  }
  EXPECT_EQ(submitted, (std::vector<std::uint64_t>{3000, 2500}));
  EXPECT_EQ(discarded, (std::vector<std::uint64_t>{3000 / 3, 2500 / 500 * 1000}));
  EXPECT_EQ(longest_run, (std::vector<std::uint64_t>{1, 1000}));
}

TEST(Workload, SharesANumberOfRecordsByTheScenariosProportion) {
  const auto scenario = find_scenario("busy_head");  // 60 held, 1200 others
  ASSERT_TRUE(scenario);
  const Workload workload(*scenario, ring::RingKind::ringbuf, 126);
  EXPECT_EQ(workload.records_of(0), 6u);
  EXPECT_EQ(workload.records_of(1), 120u);
}

TEST(Workload, LargestFitsAndOneMoreWouldNot) {
  EXPECT_EQ(largest_payload(ring::RingKind::ringbuf, 4096), 4080u);  // 4096 - 16
  EXPECT_EQ(largest_payload(ring::RingKind::perf, 4096), 4076u);     // 8 + up8(4076 + 4) = 4088 = 4096 - 8
  EXPECT_EQ(ring::perf::sample_bytes(4076), 4088u);
  EXPECT_EQ(largest_payload(ring::RingKind::perf, 1 << 20), 65516u);
}

TEST(Workload, ABurstIsOneEventAndTheNextComesAfterTheInterval) {
  SourcePlan plan;
  plan.burst = 3;
  plan.interval_ns = 100;
  SourceWorkload source(plan, 0, 1, ring::RingKind::ringbuf, 4080, 6);
  source.take(0);
  EXPECT_TRUE(source.in_burst());
  EXPECT_EQ(source.due_ns(), 0);
  source.take(0);
  source.take(0);
  EXPECT_FALSE(source.in_burst());
  EXPECT_EQ(source.due_ns(), 100);
}

TEST(Workload, AHeldRecordIsSettledAfterItsTime) {
  SourcePlan plan;
  plan.action = ring::Action::hold;
  plan.hold_ns = 50;
  plan.interval_ns = 100;
  SourceWorkload source(plan, 0, 1, ring::RingKind::ringbuf, 4080, 1);
  EXPECT_EQ(source.take(10).action, ring::Action::hold);
  EXPECT_FALSE(source.done());
  EXPECT_EQ(source.due_ns(), 60);
  EXPECT_EQ(source.take(60).action, ring::Action::settle_submit);
  EXPECT_TRUE(source.done());
}

}  // namespace
}  // namespace ringside::harness
