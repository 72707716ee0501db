// SPDX-License-Identifier: Apache-2.0
#include "cli/conform_commands.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/reporting.h"
#include "conform/campaign.h"
#include "harness/conform_report.h"
#include "harness/doctor.h"
#include "harness/nearest.h"
#include "harness/text_file.h"
#include "ring/signals.h"

namespace ringside::cli {
namespace {

using ring::Result;

// A million operations on the three kinds of ring: half a minute on two CPUs.
constexpr std::uint64_t default_scripts = 3400;
// Against one broken rule: nearly all are caught by the first hundred.
constexpr std::uint64_t default_scripts_a_rule = 10'000;

/// Nothing when the kernel can be asked here. What lies in a perf ring's own state only its BTF tells.
Result<void> require_kernel(const char* attempt, bool perf) {
  const harness::Diagnosis diagnosis = harness::diagnose();
  if (const std::optional<std::string> obstacle = kernel_obstacle(diagnosis)) {
    return ring::error(attempt, *obstacle, "`ringside doctor` tells more");
  }
  const auto btf = std::find_if(diagnosis.findings.begin(), diagnosis.findings.end(),
                                [](const harness::Finding& finding) { return finding.name == "btf"; });
  if (!perf || btf == diagnosis.findings.end() || btf->present) return {};
  return ring::error(attempt, fmt::format("missing: btf; {}", harness::one_line(btf->detail)),
                     "boot a kernel with CONFIG_DEBUG_INFO_BTF=y, or do without perf: --ring ringbuf user_ringbuf");
}

bool asks_perf(const std::vector<ring::RingKind>& kinds) {
  return std::find(kinds.begin(), kinds.end(), ring::RingKind::perf) != kinds.end();
}

int print_rules(const Invocation& invocation, const OutputFile& output) {
  const auto kernel = conform::running_kernel();
  if (!kernel) return fail(kernel.error(), exit_fault);
  const Result<std::string> text = version_rules_text(*kernel, invocation.format, style_of(output));
  if (!text) return fail(text.error(), exit_usage);
  if (const Result<void> written = output.write(*text); !written) return fail(written.error(), exit_cannot);
  return exit_clean;
}

/// The campaign as asked for, with its progress on standard error.
conform::CampaignOptions campaign_options(const Invocation& invocation, ProgressPrinter& printer) {
  conform::CampaignOptions options;
  if (!invocation.conform.rings.empty()) options.kinds = invocation.conform.rings;
  options.seed = invocation.options.seed;
  options.jobs = static_cast<std::uint32_t>(std::min<std::uint64_t>(invocation.conform.jobs, 1u << 16));
  options.stop = [] { return ring::interrupted_by() != 0; };
  if (!invocation.quiet) {
    options.progress = [&printer](const conform::CampaignProgress& progress) { printer.tell(progress); };
  }
  return options;
}

Result<std::vector<sim::Rule>> chosen_rules(const std::vector<std::string>& only) {
  std::vector<sim::Rule> rules;
  std::vector<std::string> known;
  for (const sim::RuleFace& face : sim::rules()) known.emplace_back(face.name);
  for (const std::string& name : only.empty() ? known : only) {
    const std::optional<sim::Rule> rule = sim::rule_named(name);
    if (!rule) {
      return ring::error(fmt::format("find rule \"{}\"", harness::one_line(name)), "no rule has that name",
                         harness::suggestion(name, known));
    }
    rules.push_back(*rule);
  }
  return rules;
}

/// Runs `execute`, which fills in the report's results, and concludes.
template <class AnyReport, class Execute>
int run_and_report(const Invocation& invocation, const OutputFile& output, const char* noun, bool perf,
                   AnyReport report, const Execute& execute) {
  if (const Result<void> able = require_kernel("play scripts on kernel rings", perf); !able) {
    return fail(able.error(), exit_cannot);
  }
  if (!invocation.quiet && !invocation.repeat.empty()) write_remark(fmt::format("{}\n", invocation.repeat));
  ProgressPrinter printer(ring::ProgressLine::on_standard_error(), noun);
  const ring::SignalGuard signals;
  const double begin = ring::steady_seconds();
  const Result<void> executed = execute(report, campaign_options(invocation, printer));
  printer.finish();
  if (!executed) return fail(executed.error(), exit_fault);
  report.duration_seconds = ring::steady_seconds() - begin;
  report.interrupted_by = ring::interrupted_by();
  return conclude(invocation, output, report);
}

int run_campaign(const Invocation& invocation, const OutputFile& output) {
  const std::uint64_t scripts = invocation.conform.scripts != 0 ? invocation.conform.scripts : default_scripts;
  const std::vector<ring::RingKind> kinds =
      invocation.conform.rings.empty() ? conform::CampaignOptions{}.kinds : invocation.conform.rings;
  return run_and_report(invocation, output, "script", asks_perf(kinds),
                        begun_report<harness::ConformReport>(invocation, scripts * kinds.size()),
                        [&](harness::ConformReport& report, conform::CampaignOptions options) -> Result<void> {
                          options.scripts = scripts;
                          auto campaign = conform::run_campaign(options);
                          if (!campaign) return tl::unexpected(campaign.error());
                          report.campaign = std::move(*campaign);
                          return {};
                        });
}

int run_rules(const Invocation& invocation, const OutputFile& output) {
  const auto rules = chosen_rules(invocation.conform.only);
  if (!rules) return fail(rules.error(), exit_usage);
  const bool perf = std::any_of(rules->begin(), rules->end(),
                                [](sim::Rule rule) { return sim::face_of(rule).kind == ring::RingKind::perf; });
  return run_and_report(invocation, output, "rule", perf, begun_report<harness::RuleReport>(invocation, rules->size()),
                        [&](harness::RuleReport& report, conform::CampaignOptions options) -> Result<void> {
                          options.scripts =
                              invocation.conform.scripts != 0 ? invocation.conform.scripts : default_scripts_a_rule;
                          auto results = conform::run_mutants(*rules, options);
                          if (!results) return tl::unexpected(results.error());
                          report.rules = std::move(*results);
                          return {};
                        });
}

Result<conform::Script> read_script(const std::string& path) {
  const auto text = harness::read_text_file(path, "script", "name a file that holds the lines `ringside conform` gave");
  if (!text) return tl::unexpected(text.error());
  return conform::parse_script(*text, harness::one_line(path));
}

}  // namespace

int conform(const Invocation& invocation) {
  const ConformAsk& ask = invocation.conform;
  if (ask.rules && (ask.mutants || !ask.only.empty())) {
    return fail({"read --rules", "it only prints, and goes with no other work", "leave --mutants and --rule out", 0},
                exit_usage);
  }
  if (!ask.only.empty() && !ask.mutants) {
    return fail({"read --rule", "it says which rules to break", "add --mutants", 0}, exit_usage);
  }
  if (ask.mutants && !ask.rings.empty()) {
    return fail({"read --ring", "--mutants goes by rules", "name them by --rule", 0}, exit_usage);
  }
  const Result<OutputFile> output = OutputFile::prepare(invocation.output);
  if (!output) return fail(output.error(), exit_usage);
  if (ask.rules) return print_rules(invocation, *output);
  return ask.mutants ? run_rules(invocation, *output) : run_campaign(invocation, *output);
}

int replay(const Invocation& invocation) {
  const Result<conform::Script> script = read_script(invocation.file);
  if (!script) return fail(script.error(), exit_usage);
  const Result<OutputFile> output = OutputFile::prepare(invocation.output);
  if (!output) return fail(output.error(), exit_usage);
  auto report = begun_report<harness::ReplayReport>(invocation, 1);
  report.file = invocation.file;
  report.script = *script;
  if (const Result<void> able = require_kernel("play a script on a kernel ring", script->kind == ring::RingKind::perf);
      !able) {
    return fail(able.error(), exit_cannot);
  }
  const double begin = ring::steady_seconds();
  auto played = conform::play_here(*script);
  // What the kernel refuses of a set-up is what this machine cannot do.
  if (!played) return fail(played.error(), exit_cannot);
  report.played = std::move(*played);
  report.duration_seconds = ring::steady_seconds() - begin;
  return conclude(invocation, *output, report);
}

}  // namespace ringside::cli
