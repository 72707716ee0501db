// SPDX-License-Identifier: Apache-2.0
//
// A consumer that neither claims to report losses nor reports any is not convicted of it; it is said all the same.
#pragma once

#include <algorithm>

#include "ring/judge.h"

namespace ringside::harness {

inline void unclaimed_loss_becomes_note(ring::Verdict& verdict) {
  const auto loss = std::find_if(verdict.defects.begin(), verdict.defects.end(), [](const ring::Defect& defect) {
    return defect.kind == ring::DefectKind::loss_miscounted;
  });
  if (loss == verdict.defects.end()) return;
  verdict.notes.push_back("does not claim to report losses: " + loss->detail);
  verdict.defects.erase(loss);
}

}  // namespace ringside::harness
