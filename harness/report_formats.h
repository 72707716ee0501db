// SPDX-License-Identifier: Apache-2.0
//
// The writers behind render(): one file a format. Only report.cc and those files need this.
#pragma once

#include <string>

#include "harness/report.h"

namespace ringside::harness {

std::string table_of(const Report& report, const TextStyle& style);
std::string table_of(const MutantReport& report, const TextStyle& style);
std::string json_of(const Report& report);
std::string json_of(const MutantReport& report);
std::string junit_of(const Report& report);
std::string junit_of(const MutantReport& report);

/// Terms of `attempts = ...` summed up; equal to attempts unless a run's own account does not close.
std::uint64_t accounted_for(const ring::Accounting& accounting);

/// Adds every field.
void add(ring::Accounting& sum, const ring::Accounting& more);

/// The first lines of a table: who ran where and when.
std::string heading(const ReportContext& context, const TextStyle& style);

/// The last lines but one: the seed and the line to paste.
std::string seed_lines(const ReportContext& context, const TextStyle& style);

/// `interrupted by SIGINT after 3 of 40 cells; `, or nothing.
std::string interruption(int signal, std::size_t done, std::size_t planned, const char* noun);

/// `8.1 s`, `2 min 05 s`.
std::string duration_text(double seconds);

}  // namespace ringside::harness
