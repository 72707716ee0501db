// SPDX-License-Identifier: Apache-2.0
//
// Small programs on a ring of 32 bytes and what is to be said of each: the rules of laps.h as litmus tests.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "explore/search.h"

namespace ringside::explore {

struct RingUseCase {
  std::string name;
  std::optional<FailureKind> expected;  ///< nothing: clean
  std::uint64_t consumed = 0;           ///< when everything begins
  std::uint64_t produced = 0;
  /// The first thread is the kernel's.
  std::vector<std::function<void()>> threads;
};

/// The ring that these programs are about.
struct UsedRing {
  Atomic<std::uint64_t> consumed;
  Atomic<std::uint64_t> produced;
  Atomic<std::uint32_t> flag;
  alignas(8) std::array<std::byte, 32> data{};

  std::byte* at(std::uint64_t position) { return &data[position % data.size()]; }
  void read(std::uint64_t position, std::size_t size = 8) { plain_read(at(position), size); }
  void write(std::uint64_t position, std::size_t size = 8) { plain_write(at(position), size); }
  /// As the kernel: a header and a payload, of which so many bytes are filled, once there is space.
  void produce(std::uint64_t position, std::size_t filled = 8) {
    await(&consumed, 8, Order::acquire, [=](std::uint64_t value) { return position + 16 - value <= 32; });
    write(position);
    if (filled != 0) write(position + 8, filled);
    produced.store(position + 16, Order::release);
  }
  void await_produced(std::uint64_t position, Order order = Order::acquire) {
    await(&produced, 8, order, [=](std::uint64_t value) { return value == position; });
  }
  void pass_flag(Order order) { flag.store(1, order); }
  void await_flag(Order order) { flag.await_equal(1, order); }
};

inline UsedRing used_ring;

inline Program program_of(const RingUseCase& given) {
  return {.begin =
              [consumed = given.consumed, produced = given.produced] {
                used_ring = UsedRing{};
                used_ring.consumed.set(consumed);
                used_ring.produced.set(produced);
              },
          .threads = given.threads,
          .end = {},
          .kernel_threads = {0},
          .rings = {{.name = "the ring",
                     .consumed = &used_ring.consumed,
                     .produced = &used_ring.produced,
                     .data = used_ring.data.data(),
                     .size_bytes = used_ring.data.size()}}};
}

/// What is read of bytes that are handed back, one record of which is there.
inline std::vector<RingUseCase> handing_back_cases() {
  constexpr auto late = FailureKind::use_after_release;
  const auto idle = [] {};
  UsedRing& ring = used_ring;
  const auto one = [&](std::string name, std::optional<FailureKind> expected, std::function<void()> consumer) {
    return RingUseCase{std::move(name), expected, 0, 16, {idle, std::move(consumer)}};
  };
  return {
      one("a record is read and then handed back", {}, [&] { ring.read(8), ring.consumed.store(16, Order::release); }),
      one("a record is handed back and then read", late,
          [&] { ring.consumed.store(16, Order::release), ring.read(8); }),
      one("its header is loaded atomically after that", late,
          [&] { ring.consumed.store(16, Order::release), atomic_load(ring.at(0), 4, Order::acquire); }),
      one("a record is handed back relaxed", late, [&] { ring.read(8), ring.consumed.store(16, Order::relaxed); }),
      one("relaxed, behind a release fence", {},
          [&] { ring.read(8), atomic_fence(Order::release), ring.consumed.store(16, Order::relaxed); }),
      one("relaxed, with the fence before the read", late,
          [&] { atomic_fence(Order::release), ring.read(8), ring.consumed.store(16, Order::relaxed); }),
      one("by an update that releases", {}, [&] { ring.read(8), ring.consumed.fetch_add(16, Order::release); }),
      one("by an update that does not", late, [&] { ring.read(8), ring.consumed.fetch_add(16, Order::relaxed); }),
      one("half of a record, of which the rest is read later", {},
          [&] { ring.read(0), ring.consumed.store(8, Order::release), ring.read(8); }),
      one("the position goes backwards", {},
          [&] { ring.read(8), ring.consumed.store(16, Order::release), ring.consumed.store(0, Order::release); }),
      one("the position goes beyond what was produced", {},
          [&] { ring.read(8), ring.consumed.store(1000, Order::release); }),
      {"a record across the end of the ring and of all positions",
       late,
       UINT64_MAX - 7,
       8,
       {idle, [&] { ring.consumed.store(8, Order::release), ring.read(0); }}},
      {"the same in the right order",
       {},
       UINT64_MAX - 7,
       8,
       {idle, [&] { ring.read(UINT64_MAX - 7), ring.read(0), ring.consumed.store(8, Order::release); }}},
      {"two readers who know nothing of each other",
       late,
       0,
       16,
       {idle, [&] { ring.read(8); }, [&] { ring.consumed.store(16, Order::release); }}},
      {"two readers of whom the one waits for the other",
       {},
       0,
       16,
       {idle, [&] { ring.read(8), ring.pass_flag(Order::release); },
        [&] { ring.await_flag(Order::acquire), ring.consumed.store(16, Order::release); }}},
      {"two readers of whom the one waits too weakly",
       late,
       0,
       16,
       {idle, [&] { ring.read(8), ring.pass_flag(Order::release); },
        [&] { ring.await_flag(Order::relaxed), ring.consumed.store(16, Order::release); }}},
      {"two readers' positions pass each other",
       late,
       0,
       32,
       {idle, [&] { ring.read(8), ring.consumed.store(16, Order::release); },
        [&] { ring.read(24), ring.consumed.store(32, Order::release); }}},
      {"the kernel may read what it likes",
       {},
       0,
       16,
       {[&] { ring.await_flag(Order::relaxed), ring.read(8); },
        [&] { ring.consumed.store(16, Order::release), ring.pass_flag(Order::relaxed); }}},
  };
}

/// What is read of the next lap: positions from 32 on lie where those from 0 on did.
inline std::vector<RingUseCase> next_lap_cases() {
  constexpr auto late = FailureKind::use_after_release;
  constexpr auto unwritten = FailureKind::uninitialised_read;
  UsedRing& ring = used_ring;
  const auto hand_back = [&] { ring.read(8), ring.consumed.store(16, Order::release); };
  const auto lap = [&](std::string name, std::optional<FailureKind> expected, std::function<void()> kernel,
                       std::function<void()> consumer) {
    return RingUseCase{std::move(name), expected, 0, 32, {std::move(kernel), std::move(consumer)}};
  };
  return {
      lap(
          "the next lap's record is read", {}, [&] { ring.produce(32); },
          [&, hand_back] { hand_back(), ring.await_produced(48), ring.read(32), ring.read(40); }),
      lap(
          "the next lap's payload is not filled", unwritten, [&] { ring.produce(32, 0); },
          [&, hand_back] { hand_back(), ring.await_produced(48), ring.read(40); }),
      lap(
          "nor all of it", unwritten, [&] { ring.produce(32, 5); },
          [&, hand_back] { hand_back(), ring.await_produced(48), ring.read(40); }),
      lap(
          "it is not filled, and the reader does not know of it", late, [&] { ring.produce(32, 0); },
          [&, hand_back] { hand_back(), ring.await_produced(48, Order::relaxed), ring.read(40); }),
      lap(
          "a writer that does not look whether there is space", late,
          [&] { ring.await_flag(Order::relaxed), ring.write(40), ring.flag.store(2, Order::release); },
          [&] {
            ring.consumed.store(16, Order::release), ring.pass_flag(Order::relaxed);
            ring.flag.await_equal(2), ring.read(40);
          }),
  };
}

/// What is read of the first lap, of which nothing is there.
inline std::vector<RingUseCase> first_lap_cases() {
  constexpr auto unwritten = FailureKind::uninitialised_read;
  UsedRing& ring = used_ring;
  const auto lap = [&](std::string name, std::optional<FailureKind> expected, std::function<void()> kernel,
                       std::function<void()> consumer) {
    return RingUseCase{std::move(name), expected, 64, 64, {std::move(kernel), std::move(consumer)}};
  };
  return {
      lap(
          "a record is read", {}, [&] { ring.produce(64); }, [&] { ring.await_produced(80), ring.read(72); }),
      lap(
          "the first bytes of a payload are read, and no more are filled", {}, [&] { ring.produce(64, 5); },
          [&] { ring.await_produced(80), ring.read(72, 5); }),
      lap(
          "its padding is read, too", unwritten, [&] { ring.produce(64, 5); },
          [&] { ring.await_produced(80), ring.read(72, 6); }),
      lap(
          "nothing is there", unwritten, [] {}, [&] { ring.read(64); }),
      lap(
          "what lies beyond is read", unwritten, [&] { ring.produce(64); },
          [&] { ring.await_produced(80), ring.read(80); }),
      lap(
          "a real write that nothing orders", FailureKind::data_race, [&] { ring.produce(64); },
          [&] { ring.await_produced(80, Order::relaxed), ring.read(72); }),
  };
}

inline std::vector<RingUseCase> ring_use_cases() {
  std::vector<RingUseCase> all = handing_back_cases();
  for (const auto& more : {next_lap_cases(), first_lap_cases()}) all.insert(all.end(), more.begin(), more.end());
  return all;
}

inline std::string verdict_of(const std::optional<FailureKind>& kind) {
  return kind ? std::string{name_of(*kind)} : "clean";
}

inline std::string verdict_of(const RingUseCase& given) {
  const SearchResult result = search(program_of(given));
  return result.failure ? verdict_of(result.failure->kind) : "clean";
}

}  // namespace ringside::explore
