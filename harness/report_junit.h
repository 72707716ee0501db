// SPDX-License-Identifier: Apache-2.0
//
// JUnit XML out of plain cases, for every report that has such a form.
#pragma once

#include <string>
#include <vector>

#include "harness/report.h"

namespace ringside::harness {

/// One case of a JUnit document.
struct JunitCase {
  std::string suite;  ///< `kernel.ringbuf`
  std::string name;
  double seconds = 0;
  const char* outcome = nullptr;  ///< "failure", "error", "skipped", or nullptr: passed
  std::string type;
  std::string message;
  std::string body;
  std::string said = {};  ///< of a case that passed: what it found; may be empty
};

/// The document. Suites stand in the order of `suites`, those without a case are left out.
std::string junit_document(const char* name, const std::vector<std::string>& suites,
                           const std::vector<JunitCase>& cases, const ReportContext& context, double seconds);

}  // namespace ringside::harness
