// SPDX-License-Identifier: Apache-2.0
//
// Reports made by hand for the tests of the formats: nothing here was run.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "harness/report.h"

namespace ringside::harness::example {

inline ReportContext context() {
  ReportContext made;
  made.ringside_version = "1.2.3";
  made.kernel_release = "6.1.0-test";
  made.cpu_model = "Test CPU";
  made.cpus = 2;
  made.date = "2026-11-30T00:24:37Z";
  made.command_line = "ringside check --seed 0x00000000000000ff";
  made.seed = 255;
  return made;
}

/// A clean run of 100 attempts: 90 delivered, 7 discarded, 3 failed.
inline RunResult clean_run(std::string consumer, std::string scenario, WorldKind world = WorldKind::model,
                           ring::RingKind ring = ring::RingKind::ringbuf) {
  RunResult run;
  run.spec = {std::move(consumer), std::move(scenario), world, ring, 255, 0};
  run.outcome = Outcome::clean;
  run.verdict.accounting.attempts = 100;
  run.verdict.accounting.committed = 90;
  run.verdict.accounting.delivered = 90;
  run.verdict.accounting.discarded = 7;
  run.verdict.accounting.failed = 3;
  run.wall_seconds = 0.25;
  run.repeat = "ringside check --consumer " + run.spec.consumer + " --scenario " + run.spec.scenario;
  return run;
}

/// The same with defects of these kinds; `lost` takes its records off the delivered ones.
inline RunResult bad_run(std::string consumer, std::string scenario, const std::vector<ring::DefectKind>& kinds,
                         WorldKind world = WorldKind::model, ring::RingKind ring = ring::RingKind::ringbuf) {
  RunResult run = clean_run(std::move(consumer), std::move(scenario), world, ring);
  run.outcome = Outcome::defects;
  for (const ring::DefectKind kind : kinds) {
    run.verdict.defects.push_back({kind, 0, 1, 77, 4, "source 1 record 77 is the first one", 1204});
    if (kind != ring::DefectKind::lost) continue;
    run.verdict.accounting.delivered -= 4;
    run.verdict.accounting.missing += 4;
  }
  return run;
}

inline RunResult skipped_run(std::string consumer, std::string scenario, std::string reason,
                             WorldKind world = WorldKind::kernel) {
  RunResult run = clean_run(std::move(consumer), std::move(scenario), world);
  run.verdict = {};
  run.outcome = Outcome::skipped;
  run.reason = std::move(reason);
  return run;
}

inline RunResult fault_run(std::string consumer, std::string scenario, std::string reason) {
  RunResult run = skipped_run(std::move(consumer), std::move(scenario), std::move(reason), WorldKind::model);
  run.outcome = Outcome::fault;
  return run;
}

inline Report report_of(std::vector<RunResult> runs) {
  Report report;
  report.context = context();
  report.planned = runs.size();
  report.runs = std::move(runs);
  report.duration_seconds = 1.5;
  return report;
}

/// A program that failed in the 105th execution.
inline MutantResult explored_mutant(std::string mutant, ring::DefectKind own, ring::DefectKind expected,
                                    ring::DefectKind found) {
  MutantResult result;
  result.mutant = mutant;
  result.own = own;
  result.expected = expected;
  result.run.spec = {mutant, mutant, WorldKind::explored, ring::RingKind::ringbuf, 255, 0};
  result.run.outcome = Outcome::defects;
  result.run.verdict.defects.push_back({.kind = found, .detail = "asleep beside a record: consumer"});
  result.run.wall_seconds = 0.01;
  result.run.repeat = "ringside explore " + mutant;
  result.executions = 105;
  return result;
}

inline MutantResult mutant_of(RunResult run, ring::DefectKind expected) {
  MutantResult result;
  result.mutant = run.spec.consumer;
  result.own = result.expected = expected;
  result.run = std::move(run);
  return result;
}

}  // namespace ringside::harness::example
