// SPDX-License-Identifier: Apache-2.0
#include "harness/sample_times.h"

#include "real/inspect.h"
#include "ring/layout.h"

namespace ringside::harness {

namespace {

constexpr std::size_t padding = 7;

}  // namespace

SampleTimes::SampleTimes(const World& world) : world_(world), times_(world.source_count()) {
  for (std::uint32_t ring = 0; ring < world.ring_count(); ++ring) seen_.push_back(world.positions(ring).producer);
}

void SampleTimes::look() {
  for (std::uint32_t index = 0; index < seen_.size(); ++index) {
    const std::uint64_t end = world_.positions(index).producer;
    const ringside_ring& ring = world_.ring(index);
    while (seen_[index] != end) {
      ring::perf::RecordHeader header{};
      real::copy_wrapped(ring, seen_[index], reinterpret_cast<std::byte*>(&header), sizeof header);
      if (header.size < sizeof header) return;  // no ring of ours: the consumer will say so
      if (header.type == ring::perf::type_sample) read(ring, seen_[index], header.size);
      seen_[index] += header.size;
    }
  }
}

void SampleTimes::read(const ringside_ring& ring, std::uint64_t position, std::uint64_t record_bytes) {
  bytes_.resize(record_bytes);
  real::copy_wrapped(ring, position, bytes_.data(), record_bytes);
  const real::PerfRecordContent sample = real::read_perf_record(bytes_, world_.rings().sample_type);
  const auto reading =
      ring::read_record(sample.raw, padding, [](std::uint16_t, ring::RecordState) { return std::uint64_t{0}; });
  if (reading.kind != ring::RecordReading::Kind::proven || reading.identity.source >= times_.size()) return;
  // A source's samples lie in the order of their numbers.
  std::vector<std::uint64_t>& times = times_[reading.identity.source];
  if (reading.identity.sequence == times.size()) times.push_back(sample.time_ns);
}

std::optional<std::uint64_t> SampleTimes::of(const ring::RecordReading& reading) const {
  const ring::RecordIdentity& identity = reading.identity;
  if (reading.kind != ring::RecordReading::Kind::proven || identity.source >= times_.size()) return std::nullopt;
  if (identity.sequence >= times_[identity.source].size()) return std::nullopt;
  return times_[identity.source][identity.sequence];
}

}  // namespace ringside::harness
