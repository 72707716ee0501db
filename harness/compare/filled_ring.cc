// SPDX-License-Identifier: Apache-2.0
#include "harness/compare/filled_ring.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

#include "real/inspect.h"
#include "real/producers.h"
#include "ring/layout.h"
#include "ring/operation.h"

namespace ringside::harness {

namespace {

namespace rb = ring::ringbuf;

std::uint64_t word_at(const std::byte* place) {
  std::uint64_t word = 0;
  std::memcpy(&word, place, sizeof word);
  return word;
}

}  // namespace

ring::Result<std::unique_ptr<FilledRing>> FilledRing::fill(WorldKind world, std::uint64_t ring_bytes,
                                                           std::uint32_t record_bytes) {
  std::unique_ptr<FilledRing> filled(new FilledRing);
  const std::uint64_t span = rb::span_of(record_bytes);
  // One byte of a full ring stays free [KERNEL-RINGS 1.5].
  filled->records_ = (ring_bytes - 1) / span;
  filled->used_bytes_ = filled->records_ * span;
  if (filled->records_ == 0) {
    return ring::errno_error(fmt::format("fill a ring of {} bytes with records of {}", ring_bytes, record_bytes),
                             EINVAL, "take a larger ring");
  }
  auto done = world == WorldKind::kernel ? filled->fill_kernel(ring_bytes, record_bytes)
                                         : filled->fill_model(ring_bytes, record_bytes);
  if (!done) return tl::unexpected(done.error());
  filled->set_.kind = RINGSIDE_RINGBUF;
  filled->set_.ring_count = 1;
  filled->set_.rings = &filled->ring_;
  filled->set_.map_fd = filled->ring_.fd;
  filled->sum_up();
  return filled;
}

ring::Result<void> FilledRing::fill_kernel(std::uint64_t ring_bytes, std::uint32_t record_bytes) {
  auto map = real::RingbufMap::create(ring_bytes);
  if (!map) return tl::unexpected(map.error());
  auto producers = real::Producers::load(*map, {.holds = false});
  if (!producers) return tl::unexpected(producers.error());
  const auto cpus = real::online_cpus();
  if (!cpus) return tl::unexpected(cpus.error());
  const real::FloodThread thread{.cpu = cpus->back(),
                                 .records = records_,
                                 .min_size = record_bytes,
                                 .max_size = record_bytes,
                                 .flags = ring::flag_no_wakeup};
  auto flood = real::Flood::start(*producers, {&thread, 1});
  if (!flood) return tl::unexpected(flood.error());
  if (auto joined = flood->join(); !joined) return joined;
  map_.emplace(std::move(*map));
  ring_ = map_->ring();
  return {};
}

ring::Result<void> FilledRing::fill_model(std::uint64_t ring_bytes, std::uint32_t record_bytes) {
  sim::MachineOptions options;
  options.data_size = ring_bytes;
  auto machine = sim::Machine::create(options);
  if (!machine) return tl::unexpected(machine.error());
  for (std::uint64_t record = 0; record < records_; ++record) {
    (*machine)->run({.action = ring::Action::submit, .flags = ring::flag_no_wakeup, .size = record_bytes});
  }
  machine_ = std::move(*machine);
  ring_ = machine_->user_view(0);
  return {};
}

void FilledRing::sum_up() {
  const auto* const data = static_cast<const std::byte*>(ring_.data);
  for (std::uint64_t position = 0; position < used_bytes_;) {
    const auto length = rb::length_of(static_cast<std::uint32_t>(word_at(data + position)));
    const std::byte* const payload = data + position + rb::header_bytes;
    sum_of_first_words_ += word_at(payload);
    for (std::uint32_t at = 0; at + 8 <= length; at += 8) sum_of_words_ += word_at(payload + at);
    position += rb::span_of(length);
  }
}

void FilledRing::rewind() { real::set_consumer_position(ring_, 0); }

}  // namespace ringside::harness
