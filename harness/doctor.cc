// SPDX-License-Identifier: Apache-2.0
//
// The kernel's side is probed by real/capabilities.h; here are the tools around it, and the telling.
#include "harness/doctor.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/kvm.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "harness/report_formats.h"
#include "harness/run_result_json.h"
#include "real/capabilities.h"

namespace ringside::harness {
namespace {

using Json = nlohmann::ordered_json;

bool is_program(const std::string& path) {
  struct stat status{};
  return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && access(path.c_str(), X_OK) == 0;
}

/// The first of the programs that PATH has. Debian keeps bpftool in /usr/sbin, which a user's PATH may lack.
std::optional<std::string> find_program(const std::vector<std::string>& names) {
  const char* const variable = std::getenv("PATH");
  const std::string folders = fmt::format("{}:/usr/sbin:/sbin", variable != nullptr ? variable : "/usr/bin:/bin");
  for (const std::string& name : names) {
    std::string_view rest = folders;
    while (!rest.empty()) {
      const std::size_t colon = std::min(rest.find(':'), rest.size());
      const std::string path = fmt::format("{}/{}", rest.substr(0, colon), name);
      if (colon != 0 && is_program(path)) return path;
      rest.remove_prefix(std::min(colon + 1, rest.size()));
    }
  }
  return std::nullopt;
}

Finding probe_program(const char* name, const char* purpose, const std::vector<std::string>& programs,
                      const char* remedy) {
  Finding finding{name, purpose, false, false, {}, {}};
  if (const std::optional<std::string> path = find_program(programs)) {
    finding.present = true;
    finding.detail = *path;
    return finding;
  }
  finding.detail = fmt::format("no {} in PATH", programs.front());
  finding.remedy = remedy;
  return finding;
}

Finding probe_qemu() {
  constexpr const char* purpose = "the kernel matrix: other kernels in virtual machines";
  utsname machine{};
  const std::string processor = uname(&machine) == 0 ? machine.machine : "x86_64";
  return probe_program("qemu", purpose, {"qemu-system-" + processor},
                       "apt-get install qemu-system-x86 (or qemu-system-arm, by processor)");
}

/// Opening /dev/kvm says that virtual machines may be asked for, not that one boots: nested set-ups open it and hang.
Finding probe_kvm() {
  Finding finding{"kvm", "a fast kernel matrix; without it the virtual machines are emulated", false, false, {}, {}};
  const int device = open("/dev/kvm", O_RDWR | O_CLOEXEC);
  if (device < 0) {
    finding.detail = fmt::format("open /dev/kvm: {}", ring::errno_name(errno));
    finding.remedy = errno == EACCES ? "adduser $USER kvm, then log in again"
                                     : "modprobe kvm_amd or kvm_intel; in a virtual machine, nested virtualisation";
    return finding;
  }
  finding.present = true;
  finding.detail =
      fmt::format("/dev/kvm opens, API {}; that is no proof that a guest boots", ioctl(device, KVM_GET_API_VERSION, 0));
  close(device);
  return finding;
}

Finding probe_cpus() {
  const long online = sysconf(_SC_NPROCESSORS_ONLN);
  Finding finding{"cpus", "producers and consumer at the same time", online >= 2, false, {}, {}};
  finding.detail = fmt::format("{} online", online);
  if (!finding.present) finding.remedy = "a machine with 2 CPUs or more; with one, runs take turns and take longer";
  return finding;
}

Json finding_json(const Finding& finding) {
  Json json;
  json["name"] = finding.name;
  json["state"] = finding.present ? "present" : "missing";
  json["required"] = finding.required;
  json["purpose"] = finding.purpose;
  json["detail"] = finding.detail;
  json["remedy"] = finding.remedy;
  return json;
}

std::string diagnosis_json(const Diagnosis& diagnosis) {
  Json json;
  json["schema"] = "ringside-doctor/1";
  json["ringside_version"] = diagnosis.context.ringside_version;
  json["kernel_release"] = diagnosis.context.kernel_release;
  json["cpu_model"] = diagnosis.context.cpu_model;
  json["date"] = diagnosis.context.date;
  const std::optional<std::string> obstacle = kernel_obstacle(diagnosis);
  json["worlds"]["model"] = {{"runs", true}, {"reason", ""}};
  json["worlds"]["kernel"] = {{"runs", !obstacle}, {"reason", obstacle.value_or("")}};
  json["findings"] = Json::array();
  for (const Finding& finding : diagnosis.findings) json["findings"].push_back(finding_json(finding));
  return dump(json, 2) + '\n';
}

GridCell state_of(const Finding& finding) {
  if (finding.present) return {"present", Tone::good};
  return {"missing", finding.required ? Tone::bad : Tone::warning};
}

std::string missing_text(const Diagnosis& diagnosis, const TextStyle& style) {
  std::string text;
  for (const Finding& finding : diagnosis.findings) {
    if (finding.present) continue;
    if (text.empty()) text = fmt::format("\n{}\n", paint(style, Tone::strong, "Missing"));
    text += fmt::format("  {}{}\n", paint(style, state_of(finding).tone, finding.name),
                        finding.required ? ": no kernel ring without it" : "");
    text += wrapped("why: " + one_line(finding.detail), 4, style.columns);
    text += wrapped("needed for: " + one_line(finding.purpose), 4, style.columns);
    if (!finding.remedy.empty()) text += fmt::format("    get it: {}\n", one_line(finding.remedy));
  }
  return text;
}

std::string worlds_text(const Diagnosis& diagnosis, const TextStyle& style) {
  const std::optional<std::string> obstacle = kernel_obstacle(diagnosis);
  std::string text = fmt::format("\n{}\n", paint(style, Tone::strong, "Worlds"));
  text += fmt::format("  model   {}\n", paint(style, Tone::good, "runs here"));
  if (!obstacle) return text + fmt::format("  kernel  {}\n", paint(style, Tone::good, "runs here"));
  text += fmt::format("  kernel  {}\n", paint(style, Tone::bad, "cannot run here"));
  return text + wrapped(*obstacle, 10, style.columns);
}

std::string diagnosis_table(const Diagnosis& diagnosis, const TextStyle& style) {
  Grid grid{{"", "", ""}, {}, true, {}};
  for (const Finding& finding : diagnosis.findings) {
    const std::string& told = finding.present && !finding.detail.empty() ? finding.detail : finding.purpose;
    grid.rows.push_back({{finding.name, Tone::plain}, state_of(finding), {one_line(told), Tone::faint}});
  }
  return heading(diagnosis.context, style) + '\n' + to_text(grid, style) + missing_text(diagnosis, style) +
         worlds_text(diagnosis, style);
}

}  // namespace

std::vector<Finding> Diagnosis::obstacles() const {
  std::vector<Finding> missing;
  std::copy_if(findings.begin(), findings.end(), std::back_inserter(missing),
               [](const Finding& finding) { return finding.required && !finding.present; });
  return missing;
}

Diagnosis diagnose() {
  Diagnosis diagnosis;
  diagnosis.context = describe_machine();
  for (const real::Capability& capability : real::capabilities()) {
    diagnosis.findings.push_back({capability.name, capability.summary, capability.present, capability.required,
                                  capability.detail, capability.remedy});
  }
  diagnosis.findings.push_back(probe_cpus());
  diagnosis.findings.push_back(
      probe_program("clang", "building the BPF programs", {"clang-19", "clang"}, "apt-get install clang-19"));
  diagnosis.findings.push_back(
      probe_program("bpftool", "building the BPF programs", {"bpftool"}, "apt-get install bpftool"));
  diagnosis.findings.push_back(probe_qemu());
  diagnosis.findings.push_back(probe_kvm());
  return diagnosis;
}

std::optional<std::string> kernel_obstacle(const Diagnosis& diagnosis) {
  const std::vector<Finding> missing = diagnosis.obstacles();
  if (missing.empty()) return std::nullopt;
  std::vector<std::string> names;
  for (const Finding& finding : missing) names.push_back(finding.name);
  const Finding& first = missing.front();
  std::string line = fmt::format("missing: {}; {}", joined(names), one_line(first.detail));
  if (!first.remedy.empty()) line += fmt::format("; get it: {}", one_line(first.remedy));
  return line;
}

ring::Result<std::string> render(const Diagnosis& diagnosis, ReportFormat format, const TextStyle& style) {
  switch (format) {
    case ReportFormat::table:
      return diagnosis_table(diagnosis, style);
    case ReportFormat::json:
      return diagnosis_json(diagnosis);
    case ReportFormat::junit:
      break;
  }
  return ring::error("write the diagnosis as junit", "it has no test cases", "use --format table or json");
}

}  // namespace ringside::harness
