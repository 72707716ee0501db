// SPDX-License-Identifier: Apache-2.0
#include "harness/report.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstring>
#include <ctime>
#include <fstream>

#include "harness/report_formats.h"
#include "harness/run_result_json.h"
#include "harness/version.h"

namespace ringside::harness {
namespace {

std::string cpu_model() {
  std::ifstream cpuinfo("/proc/cpuinfo");
  std::string line;
  while (std::getline(cpuinfo, line)) {
    const std::size_t colon = line.find(": ");
    // x86 says `model name`, arm64 and others say nothing of the kind.
    if (line.starts_with("model name") && colon != std::string::npos) return one_line(line.substr(colon + 2));
  }
  return {};
}

std::string signal_name(int signal) {
  const char* const abbreviation = sigabbrev_np(signal);
  return abbreviation != nullptr ? fmt::format("SIG{}", abbreviation) : fmt::format("signal {}", signal);
}

}  // namespace

ReportContext describe_machine() {
  ReportContext context;
  context.ringside_version = version;
  utsname machine{};
  if (uname(&machine) == 0) context.kernel_release = machine.release;
  context.cpu_model = cpu_model();
  const long online = sysconf(_SC_NPROCESSORS_ONLN);
  context.cpus = online > 0 ? static_cast<unsigned>(online) : 0;
  context.date = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
  return context;
}

OutcomeCounts count_outcomes(const Report& report) {
  OutcomeCounts counts;
  for (const RunResult& run : report.runs) {
    switch (run.outcome) {
      case Outcome::clean:
        ++counts.clean;
        break;
      case Outcome::defects:
        ++counts.defects;
        break;
      case Outcome::skipped:
        ++counts.skipped;
        break;
      case Outcome::fault:
        ++counts.fault;
        break;
    }
  }
  return counts;
}

MutantCounts count_mutants(const MutantReport& report) {
  MutantCounts counts;
  for (const MutantResult& result : report.mutants) {
    if (result.run.outcome == Outcome::skipped) {
      ++counts.skipped;
    } else if (result.run.outcome == Outcome::fault) {
      ++counts.fault;
    } else {
      ++(result.convicted() ? counts.convicted : counts.escaped);
    }
  }
  return counts;
}

std::string_view name_of(ReportFormat format) {
  switch (format) {
    case ReportFormat::table:
      return "table";
    case ReportFormat::json:
      return "json";
    case ReportFormat::junit:
      return "junit";
  }
  return "?";
}

std::optional<ReportFormat> report_format_of(std::string_view name) {
  for (const ReportFormat format : {ReportFormat::table, ReportFormat::json, ReportFormat::junit}) {
    if (name_of(format) == name) return format;
  }
  return std::nullopt;
}

template <class AnyReport>
static std::string render_any(const AnyReport& report, ReportFormat format, const TextStyle& style) {
  switch (format) {
    case ReportFormat::table:
      return table_of(report, style);
    case ReportFormat::json:
      return json_of(report);
    case ReportFormat::junit:
      return junit_of(report);
  }
  return {};
}

std::string render(const Report& report, ReportFormat format, const TextStyle& style) {
  return render_any(report, format, style);
}

std::string render(const MutantReport& report, ReportFormat format, const TextStyle& style) {
  return render_any(report, format, style);
}

std::uint64_t accounted_for(const ring::Accounting& accounting) {
  return accounting.delivered + accounting.discarded + accounting.failed + accounting.malformed + accounting.left +
         accounting.overwritten + accounting.missing;
}

void add(ring::Accounting& sum, const ring::Accounting& more) {
  sum.attempts += more.attempts;
  sum.committed += more.committed;
  sum.delivered += more.delivered;
  sum.discarded += more.discarded;
  sum.failed += more.failed;
  sum.malformed += more.malformed;
  sum.left += more.left;
  sum.overwritten += more.overwritten;
  sum.missing += more.missing;
  sum.extra += more.extra;
  sum.reported_lost += more.reported_lost;
  sum.delivered_bytes += more.delivered_bytes;
}

std::string heading(const ReportContext& context, const TextStyle& style) {
  std::string where = fmt::format("Linux {}", context.kernel_release);
  if (!context.cpu_model.empty()) where += fmt::format(", {}", context.cpu_model);
  where += fmt::format(", {}; {}", counted(context.cpus, "CPU"), context.date);
  return fmt::format("{} {}\n", paint(style, Tone::strong, "ringside " + context.ringside_version),
                     paint(style, Tone::faint, "on " + where));
}

std::string seed_lines(const ReportContext& context, const TextStyle& style) {
  return fmt::format("seed {}, the same again: {}\n", seed_text(context.seed),
                     paint(style, Tone::strong, context.command_line));
}

std::string interruption(int signal, std::size_t done, std::size_t planned, const char* noun) {
  if (signal == 0) return {};
  return fmt::format("interrupted by {} after {} of {}; ", signal_name(signal), with_thousands(done),
                     counted(planned, noun));
}

std::string duration_text(double seconds) {
  if (seconds < 100) return fmt::format("{:.1f} s", seconds);
  const auto whole = static_cast<std::uint64_t>(seconds);
  return fmt::format("{} min {:02} s", whole / 60, whole % 60);
}

}  // namespace ringside::harness
