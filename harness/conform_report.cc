// SPDX-License-Identifier: Apache-2.0
#include "harness/conform_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "harness/report_formats.h"
#include "harness/report_junit.h"
#include "harness/run_result_json.h"

namespace ringside::harness {
namespace {

using Json = nlohmann::ordered_json;

std::string text_of(const conform::Deviation& deviation) {
  std::ostringstream text;
  text << deviation;
  return text.str();
}

/// The script, moved in, to be copied into a file and replayed.
std::string script_block(const conform::Script& script) {
  std::istringstream lines(conform::to_text(script));
  std::string block;
  for (std::string line; std::getline(lines, line);) block += "    " + line + '\n';
  return block;
}

std::string finding_text(const conform::Finding& finding, const TextStyle& style) {
  const conform::Shrunk& shrunk = finding.shrunk;
  return wrapped(text_of(shrunk.deviation), 2, style.columns) +
         fmt::format("  script {}, cut down from {} to {}:\n", finding.index, counted(finding.found_ops, "operation"),
                     shrunk.script.ops.size()) +
         script_block(shrunk.script);
}

std::string rate_text(std::uint64_t operations, double seconds) {
  return with_thousands(seconds > 0 ? static_cast<std::uint64_t>(static_cast<double>(operations) / seconds) : 0);
}

std::uint64_t operations_of(const ConformReport& report) {
  std::uint64_t sum = 0;
  for (const conform::KindResult& kind : report.campaign.kinds) sum += kind.operations;
  return sum;
}

std::uint64_t scripts_of(const ConformReport& report) {
  std::uint64_t sum = 0;
  for (const conform::KindResult& kind : report.campaign.kinds) sum += kind.scripts;
  return sum;
}

std::string table_of(const ConformReport& report, const TextStyle& style) {
  std::string text = heading(report.context, style);
  text += fmt::format("\n{}\n", paint(style, Tone::strong, "The model and the running kernel, operation by operation"));
  Grid grid{{"ring", "scripts", "operations", "a second", ""}, {}, false, {}};
  for (const conform::KindResult& kind : report.campaign.kinds) {
    grid.rows.push_back({{std::string(ring::name_of(kind.kind)), Tone::plain},
                         {with_thousands(kind.scripts), Tone::plain},
                         {with_thousands(kind.operations), Tone::plain},
                         {rate_text(kind.operations, kind.seconds), Tone::plain},
                         kind.finding ? GridCell{"✗ deviates", Tone::bad} : GridCell{"✓ agree", Tone::good}});
  }
  text += to_text(grid, style);
  for (const conform::KindResult& kind : report.campaign.kinds) {
    if (!kind.finding) continue;
    text += fmt::format("\n{}\n", paint(style, Tone::strong, std::string(ring::name_of(kind.kind)) + " deviates"));
    text += finding_text(*kind.finding, style);
    text += "  keep these lines in a file and play them again: ringside replay FILE\n";
  }
  text += '\n' + seed_lines(report.context, style);
  return text + verdict_line(report, style) + '\n';
}

/// What became of one rule.
GridCell cell_of(const conform::MutantResult& rule) {
  if (rule.not_on_this_kernel) return {"– not on this kernel", Tone::faint};
  if (!rule.finding) return {fmt::format("✗ escaped {}", counted(rule.scripts, "script")), Tone::bad};
  return {fmt::format("✓ {}, {:.1f} s", counted(rule.finding->shrunk.script.ops.size(), "operation"), rule.seconds),
          Tone::good};
}

std::string table_of(const RuleReport& report, const TextStyle& style) {
  std::string text = heading(report.context, style);
  text += fmt::format("\n{}\n", paint(style, Tone::strong, "Models that break one rule each"));
  Grid grid{{"", "rule", "caught by"}, {}, false, {}};
  for (const conform::MutantResult& rule : report.rules) {
    const sim::RuleFace& face = sim::face_of(rule.rule);
    grid.rows.push_back(
        {{std::string(face.name), Tone::plain}, {std::string(face.section), Tone::plain}, cell_of(rule)});
  }
  text += to_text(grid, style);
  for (const conform::MutantResult& rule : report.rules) {
    if (rule.not_on_this_kernel) continue;
    const sim::RuleFace& face = sim::face_of(rule.rule);
    text += fmt::format("\n{}\n", paint(style, Tone::strong, face.name));
    text +=
        wrapped(fmt::format("rule {}: {}; this model: {}", face.section, face.holds, face.broken), 2, style.columns);
    text += rule.finding ? finding_text(*rule.finding, style)
                         : fmt::format("  escaped {}\n", counted(rule.scripts, "script"));
  }
  text += '\n' + seed_lines(report.context, style);
  return text + verdict_line(report, style) + '\n';
}

std::string table_of(const ReplayReport& report, const TextStyle& style) {
  std::string text = heading(report.context, style);
  text += fmt::format("\n{}\n", paint(style, Tone::strong, report.file));
  const std::size_t played = report.played.operations;
  text += fmt::format("  {} on a {}\n", counted(played, "operation"), ring::name_of(report.script.kind));
  if (report.played.deviation) {
    const conform::Deviation& deviation = *report.played.deviation;
    text += fmt::format("  operation {}:\n", std::min(deviation.op + 1, report.script.ops.size()));
    text += wrapped(text_of(deviation), 2, style.columns);
  }
  return text + '\n' + verdict_line(report, style) + '\n';
}

Json json_of(const conform::Deviation& deviation) {
  return {{"op", deviation.op},
          {"operation", deviation.operation},
          {"what", deviation.what},
          {"kernel", deviation.kernel},
          {"model", deviation.model}};
}

Json json_of(const std::optional<conform::Finding>& finding) {
  if (!finding) return nullptr;
  return {{"script_index", finding->index},
          {"found_operations", finding->found_ops},
          {"operations", finding->shrunk.script.ops.size()},
          {"tried", finding->shrunk.tried},
          {"deviation", json_of(finding->shrunk.deviation)},
          {"script", conform::to_text(finding->shrunk.script)}};
}

std::string json_of(const ConformReport& report) {
  Json json = json_document("ringside-conform/1", report);
  json["operations"] = operations_of(report);
  json["rings"] = Json::array();
  for (const conform::KindResult& kind : report.campaign.kinds) {
    json["rings"].push_back({{"ring", ring::name_of(kind.kind)},
                             {"scripts", kind.scripts},
                             {"operations", kind.operations},
                             {"seconds", kind.seconds},
                             {"finding", json_of(kind.finding)}});
  }
  return dump(json, 2) + '\n';
}

std::string json_of(const RuleReport& report) {
  Json json = json_document("ringside-model-mutants/1", report);
  json["rules"] = Json::array();
  for (const conform::MutantResult& rule : report.rules) {
    const sim::RuleFace& face = sim::face_of(rule.rule);
    json["rules"].push_back({{"rule", face.name},
                             {"section", face.section},
                             {"ring", ring::name_of(face.kind)},
                             {"holds", face.holds},
                             {"broken", face.broken},
                             {"not_on_this_kernel", rule.not_on_this_kernel},
                             {"scripts", rule.scripts},
                             {"operations", rule.operations},
                             {"seconds", rule.seconds},
                             {"finding", json_of(rule.finding)}});
  }
  return dump(json, 2) + '\n';
}

std::string json_of(const ReplayReport& report) {
  Json json = json_document("ringside-replay/1", report);
  json["file"] = report.file;
  json["ring"] = ring::name_of(report.script.kind);
  json["operations"] = report.played.operations;
  json["deviation"] = report.played.deviation ? json_of(*report.played.deviation) : Json(nullptr);
  return dump(json, 2) + '\n';
}

JunitCase passed_case(std::string suite, std::string_view name, double seconds) {
  return {
      .suite = std::move(suite), .name = std::string(name), .seconds = seconds, .type = {}, .message = {}, .body = {}};
}

std::string junit_of(const ConformReport& report) {
  std::vector<JunitCase> cases;
  for (const conform::KindResult& kind : report.campaign.kinds) {
    JunitCase& one = cases.emplace_back(passed_case("conform", ring::name_of(kind.kind), kind.seconds));
    if (!kind.finding) continue;
    one.outcome = "failure";
    one.type = "deviation";
    one.message = text_of(kind.finding->shrunk.deviation);
    one.body = conform::to_text(kind.finding->shrunk.script);
  }
  return junit_document("ringside conform", {"conform"}, cases, report.context, report.duration_seconds);
}

std::string junit_of(const RuleReport& report) {
  std::vector<JunitCase> cases;
  for (const conform::MutantResult& rule : report.rules) {
    JunitCase& one = cases.emplace_back(passed_case("rules", sim::face_of(rule.rule).name, rule.seconds));
    if (rule.not_on_this_kernel) {
      one.outcome = "skipped";
      one.message = "the running kernel has no overwrite rings";
    } else if (!rule.finding) {
      one.outcome = "failure";
      one.type = "escaped";
      one.message = fmt::format("escaped {}", counted(rule.scripts, "script"));
    }
  }
  return junit_document("ringside conform --mutants", {"rules"}, cases, report.context, report.duration_seconds);
}

std::string junit_of(const ReplayReport& report) {
  std::vector<JunitCase> cases{passed_case("replay", report.file, report.duration_seconds)};
  if (report.played.deviation) {
    cases.front().outcome = "failure";
    cases.front().type = "deviation";
    cases.front().message = text_of(*report.played.deviation);
  }
  return junit_document("ringside replay", {"replay"}, cases, report.context, report.duration_seconds);
}

template <class AnyReport>
std::string render_any(const AnyReport& report, ReportFormat format, const TextStyle& style) {
  if (format == ReportFormat::json) return json_of(report);
  return format == ReportFormat::junit ? junit_of(report) : table_of(report, style);
}

/// `5.13, 5.10.37, 5.11.21`: the release, then the series that got it later.
std::string since_text(const sim::VersionRule& rule) {
  std::vector<std::string> releases;
  for (const sim::KernelVersion& version : rule.since) {
    const std::string release = sim::to_string(version);
    releases.push_back(version.patch == 0 ? release.substr(0, release.size() - 2) : release);
  }
  return joined(releases);
}

std::string rules_json(const sim::KernelVersion& kernel) {
  Json json;
  json["schema"] = "ringside-rules/1";
  json["kernel"] = sim::to_string(kernel);
  json["rules"] = Json::array();
  for (const sim::VersionRule& rule : sim::version_rules()) {
    Json since = Json::array();
    for (const sim::KernelVersion& version : rule.since) since.push_back(sim::to_string(version));
    json["rules"].push_back({{"name", rule.name},
                             {"ring", ring::name_of(rule.kind)},
                             {"section", rule.section},
                             {"holds", rule.holds},
                             {"before", rule.before},
                             {"since", std::move(since)},
                             {"evidence", rule.evidence},
                             {"modelled", rule.modelled},
                             {"here", sim::holds(rule, kernel)}});
  }
  return dump(json, 2) + '\n';
}

std::string rules_table(const sim::KernelVersion& kernel, const TextStyle& style) {
  std::string text = fmt::format("{}\n", paint(style, Tone::strong, "Rules that not every kernel has"));
  Grid grid{{"", "since", fmt::format("{}", sim::to_string(kernel)), "model"}, {}, false, {}};
  for (const sim::VersionRule& rule : sim::version_rules()) {
    const bool here = sim::holds(rule, kernel);
    grid.rows.push_back({{std::string(rule.name), Tone::plain},
                         {since_text(rule), Tone::plain},
                         here ? GridCell{"✓ holds", Tone::good} : GridCell{"– no", Tone::faint},
                         {rule.modelled ? "by version" : "as here", Tone::plain}});
  }
  text += to_text(grid, style);
  for (const sim::VersionRule& rule : sim::version_rules()) {
    std::string told = fmt::format("{} [{}]: {}; before: {}", rule.name, rule.section, rule.holds, rule.before);
    if (!rule.evidence.empty()) told += fmt::format(" ({})", rule.evidence);
    text += (rule.id == sim::version_rules().front().id ? "\n" : "") + wrapped(told, 2, style.columns);
  }
  return text;
}

}  // namespace

ring::Result<std::string> version_rules_text(const sim::KernelVersion& kernel, ReportFormat format,
                                             const TextStyle& style) {
  if (format == ReportFormat::junit) {
    return ring::error("write the rules of kernels as junit", "junit has no place for them", "use table or json");
  }
  return format == ReportFormat::json ? rules_json(kernel) : rules_table(kernel, style);
}

bool ConformReport::deviates() const {
  return std::ranges::any_of(campaign.kinds, [](const conform::KindResult& kind) { return kind.finding.has_value(); });
}

std::size_t RuleReport::escaped() const {
  return static_cast<std::size_t>(std::ranges::count_if(
      rules, [](const conform::MutantResult& rule) { return !rule.finding && !rule.not_on_this_kernel; }));
}

std::string render(const ConformReport& report, ReportFormat format, const TextStyle& style) {
  return render_any(report, format, style);
}
std::string render(const RuleReport& report, ReportFormat format, const TextStyle& style) {
  return render_any(report, format, style);
}
std::string render(const ReplayReport& report, ReportFormat format, const TextStyle& style) {
  return render_any(report, format, style);
}

std::string verdict_line(const ConformReport& report, const TextStyle& style) {
  std::string text = interruption(report.interrupted_by, scripts_of(report), report.planned, "script");
  text += report.deviates() ? "DEVIATES" : "the model agrees with the kernel";
  text += fmt::format(": {} operations in {} scripts; {}", with_thousands(operations_of(report)),
                      with_thousands(scripts_of(report)), duration_text(report.duration_seconds));
  return paint(style, report.deviates() ? Tone::bad : Tone::good, text);
}

std::string verdict_line(const RuleReport& report, const TextStyle& style) {
  const auto elsewhere = static_cast<std::size_t>(
      std::ranges::count_if(report.rules, [](const auto& rule) { return rule.not_on_this_kernel; }));
  const std::size_t tried = report.rules.size() - elsewhere;
  std::string text = interruption(report.interrupted_by, report.rules.size(), report.planned, "rule");
  if (report.escaped() != 0) {
    text += fmt::format("ESCAPED: {} of {}", report.escaped(), counted(tried, "broken rule"));
  } else {
    text += fmt::format("every one of {} was caught", counted(tried, "broken rule"));
  }
  if (elsewhere != 0) text += fmt::format("; {} not on this kernel", elsewhere);
  text += fmt::format("; {}", duration_text(report.duration_seconds));
  return paint(style, report.escaped() != 0 ? Tone::bad : Tone::good, text);
}

std::string verdict_line(const ReplayReport& report, const TextStyle& style) {
  if (!report.played.deviation) return paint(style, Tone::good, "the model agrees with the kernel");
  return paint(style, Tone::bad, "DEVIATES: " + report.played.deviation->what);
}

}  // namespace ringside::harness
