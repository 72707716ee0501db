// SPDX-License-Identifier: Apache-2.0
#include "harness/doctor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "harness/report_example.h"

namespace ringside::harness {
namespace {

Diagnosis diagnosis_of(std::vector<Finding> findings) { return {example::context(), std::move(findings)}; }

const Finding bpf{"bpf_load", "kernel rings", true, true, "a program loads", ""};
const Finding no_bpf{"bpf_load", "kernel rings", false, true, "bpf: EPERM", "run it as root"};
const Finding no_qemu{"qemu", "the kernel matrix", false, false, "no qemu in PATH", "apt-get install qemu"};

std::string table(const Diagnosis& diagnosis) {
  const ring::Result<std::string> text = render(diagnosis, ReportFormat::table, {false, 100});
  return text ? *text : ring::to_string(text.error());
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(Doctor, TheKernelWorldRunsWhenNothingRequiredIsMissing) {
  EXPECT_EQ(kernel_obstacle(diagnosis_of({bpf, no_qemu})), std::nullopt);
  EXPECT_TRUE(has(table(diagnosis_of({bpf, no_qemu})), "kernel  runs here"));
}

TEST(Doctor, NamesWhatKeepsTheKernelWorldAwayAndWhatBringsIt) {
  EXPECT_EQ(kernel_obstacle(diagnosis_of({no_bpf, no_qemu})), "missing: bpf_load; bpf: EPERM; get it: run it as root");
  EXPECT_TRUE(has(table(diagnosis_of({no_bpf})), "kernel  cannot run here"));
}

TEST(Doctor, SaysOfEachMissingThingWhyWhatForAndHow) {
  const std::string text = table(diagnosis_of({bpf, no_qemu}));
  EXPECT_TRUE(has(text, "why: no qemu in PATH")) << text;
  EXPECT_TRUE(has(text, "needed for: the kernel matrix")) << text;
  EXPECT_TRUE(has(text, "get it: apt-get install qemu")) << text;
}

TEST(Doctor, WritesEveryFindingAsJson) {
  const ring::Result<std::string> text = render(diagnosis_of({no_bpf, no_qemu}), ReportFormat::json, {});
  ASSERT_TRUE(text.has_value());
  const auto json = nlohmann::json::parse(*text);
  EXPECT_EQ(json["schema"], "ringside-doctor/1");
  EXPECT_EQ(json["worlds"]["kernel"]["runs"], false);
  EXPECT_EQ(json["findings"][1]["name"], "qemu");
  EXPECT_EQ(json["findings"][1]["state"], "missing");
}

TEST(Doctor, HasNoJunit) { EXPECT_FALSE(render(diagnosis_of({}), ReportFormat::junit, {}).has_value()); }

TEST(Doctor, LooksForEveryToolAndCapability) {
  const Diagnosis diagnosis = diagnose();
  for (const char* name : {"kernel_release", "bpf_load", "btf", "cpus", "clang", "bpftool", "qemu", "kvm"}) {
    EXPECT_TRUE(std::any_of(diagnosis.findings.begin(), diagnosis.findings.end(), [name](const Finding& finding) {
      return finding.name == name;
    })) << name;
  }
  for (const Finding& finding : diagnosis.findings) {
    EXPECT_FALSE(finding.purpose.empty()) << finding.name;
    EXPECT_TRUE(finding.present || !finding.detail.empty()) << finding.name << " is missing without a reason";
  }
}

TEST(Doctor, SaysWhatTheLockLimitIsFor) {
  const Diagnosis diagnosis = diagnose();
  const auto memlock = std::find_if(diagnosis.findings.begin(), diagnosis.findings.end(),
                                    [](const Finding& finding) { return finding.name == "memlock"; });
  ASSERT_NE(memlock, diagnosis.findings.end());
  EXPECT_TRUE(has(memlock->purpose, "perf rings")) << memlock->purpose;
}

TEST(Doctor, LeavesNoDescriptorBehind) {
  const auto descriptors = [] {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return std::distance(begin(all), end(all));
  };
  diagnose();
  const auto before = descriptors();
  diagnose();
  EXPECT_EQ(descriptors(), before);
}

}  // namespace
}  // namespace ringside::harness
