// SPDX-License-Identifier: Apache-2.0
//
// What the tests of the judge share: records as bytes, and ledgers of producers that committed all they tried.
#pragma once

#include <initializer_list>
#include <vector>

#include "ring/judge.h"
#include "ring/layout.h"

namespace ringside::ring::test {

inline std::vector<std::byte> bytes_of(const RecordIdentity& identity) {
  std::vector<std::byte> bytes(identity.length);
  write_record(bytes, identity);
  return bytes;
}

/// A committed record of source 0.
inline std::vector<std::byte> record(std::uint64_t sequence, std::uint32_t length = 32, std::uint16_t source = 0) {
  return bytes_of({.source = source, .state = RecordState::committed, .length = length, .sequence = sequence});
}

/// The same as a perf ring hands it out: with padding.
inline std::vector<std::byte> padded(std::vector<std::byte> bytes, std::byte filler = std::byte{0xee}) {
  bytes.resize(perf::raw_size(bytes.size()), filler);
  return bytes;
}

/// Each source committed that many numbered records, all into ring 0.
inline ProducerLedger committed(std::initializer_list<std::uint64_t> counts) {
  ProducerLedger ledger;
  for (const std::uint64_t count : counts) {
    SourceLedger source;
    source.attempts = count;
    source.committed = count;
    ledger.sources.push_back(source);
  }
  return ledger;
}

inline std::vector<DefectKind> kinds_of(const Verdict& verdict) {
  std::vector<DefectKind> kinds;
  for (const Defect& defect : verdict.defects) kinds.push_back(defect.kind);
  return kinds;
}

using Kinds = std::vector<DefectKind>;

}  // namespace ringside::ring::test
