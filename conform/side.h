// SPDX-License-Identifier: Apache-2.0
//
// One side of a conformance run: a ring of the running kernel, or the model's, that carries out the operations of a
// script and shows everything that can be compared. Each kind of ring has one of each:
//
//   auto kernel = lab.kernel_side(script);                   // a fresh ring
//   auto model = model_side(script, options, (*kernel)->facts());
//   for (ordinal, op) { a = kernel->apply(op, ordinal);  b = model->apply(op, ordinal);  compare a, b, views }
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "conform/script.h"
#include "ring/result.h"
#include "sim/kernel_version.h"
#include "sim/rule.h"

namespace ringside::conform {

/// What one operation told whoever asked for it.
struct Outcome {
  std::int64_t result = 0;             ///< what the call returned: 0, a count, a negative errno
  std::vector<std::uint64_t> details;  ///< whatever else it told: ready items, lengths and hashes of what was delivered

  friend bool operator==(const Outcome&, const Outcome&) = default;
};

/// One number of a ring's state, one piece of its memory.
struct NamedNumber {
  std::string_view name;
  std::uint64_t value = 0;
};
struct NamedBytes {
  std::string_view name;
  std::span<const std::byte> bytes;
};

/// Everything that a side shows after an operation. Both sides name the same things in the same order.
struct View {
  std::vector<NamedNumber> numbers;
  std::vector<NamedBytes> areas;
  void clear() { numbers.clear(), areas.clear(); }
};

/// What only the kernel can know, told to the model: before the first operation, and as it stands after each one.
struct Facts {
  std::uint64_t event_id[2] = {};  ///< perf: of event a and b
  std::uint32_t pid = 0;
  std::uint32_t tid = 0;
  std::uint32_t cpu = 0;
  std::uint64_t clock_before_ns = 0;  ///< CLOCK_MONOTONIC around the operation: a record's time lies between
  std::uint64_t clock_after_ns = 0;
  /// perf: the data of the ring that each event writes to, as the operation left it; the model takes the times of its
  /// records from there, once it has seen that they are possible.
  std::span<const std::byte> data[2] = {};
};

/// Not thread-safe; a kernel side belongs to the thread that made it, which is pinned to one CPU.
class Side {
 public:
  virtual ~Side() = default;
  /// Carries out one operation. Errors are of the harness (a program that cannot be run), never of the ring.
  virtual ring::Result<Outcome> apply(const Op& op, std::uint64_t ordinal) = 0;
  /// poll of every descriptor and epoll_wait of every set, in order: what `look=always` asks after each operation.
  virtual ring::Result<Outcome> look() = 0;
  /// Fills in everything that can be compared. Takes no flag and changes nothing.
  virtual ring::Result<void> show(View& view) = 0;
  /// Kernel sides: what the model is to be told. Model sides: their own.
  virtual const Facts& facts() const = 0;
};

/// The running kernel as a place where scripts are played: programs that are loaded once. Must be made, used and
/// destroyed on one thread, which it pins to `cpu`.
class Lab {
 public:
  virtual ~Lab() = default;
  /// A side with a fresh ring. Errors: what the kernel refuses of the set-up, or lacks.
  virtual ring::Result<std::unique_ptr<Side>> side(const Script& script) = 0;
};

/// Of each kind of ring. On PREEMPT_RT a wake-up may come after the operation that made it: take make_lab() of play.h.
/// Errors: EPERM and whatever else keeps the programs from being loaded.
ring::Result<std::unique_ptr<Lab>> make_ringbuf_lab(std::uint32_t cpu);
ring::Result<std::unique_ptr<Lab>> make_user_ringbuf_lab(std::uint32_t cpu);
ring::Result<std::unique_ptr<Lab>> make_perf_lab(std::uint32_t cpu);

struct ModelOptions {
  sim::KernelVersion kernel = sim::default_kernel_version;
  sim::Rule broken = sim::Rule::none;  ///< a model that breaks this rule
};

/// A model side. `facts` are the kernel side's and must live as long; its values are read at each operation. Errors:
/// what the model cannot set up.
ring::Result<std::unique_ptr<Side>> make_ringbuf_model(const Script& script, const ModelOptions& options,
                                                       const Facts& facts);
ring::Result<std::unique_ptr<Side>> make_user_ringbuf_model(const Script& script, const ModelOptions& options,
                                                            const Facts& facts);
ring::Result<std::unique_ptr<Side>> make_perf_model(const Script& script, const ModelOptions& options,
                                                    const Facts& facts);

}  // namespace ringside::conform
