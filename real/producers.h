// SPDX-License-Identifier: Apache-2.0
//
// The producers of kernel rings: our BPF programs, loaded for one map, and what drives them.
//
//   Producers       the loaded programs, their counters, and the ledger made of these
//   ScriptProducer  a list of operations, one after the other, on the CPU that each names (lockstep)
//   Hold            one record that stays BUSY until it is settled
//   Flood           threads pinned to CPUs that produce as fast as they can
//
// A source is written by one of these at a time; that is the caller's to keep. The last source
// (prefill_source) is reserved for prefilling rings. All of them hold the loaded programs alive; nothing is pinned, and
// each destructor ends what it began and joins its threads.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "real/cpu_ringbufs.h"
#include "real/perf_rings.h"
#include "real/ringbuf.h"
#include "ring/ledger.h"
#include "ring/operation.h"
#include "ring/result.h"
#include "ring/stamp.h"

namespace ringside::real {

class Program;  // the loaded BPF object

inline constexpr std::uint32_t max_sources = 63;     ///< sources 0 ... max_sources - 1 are the caller's
inline constexpr std::uint32_t prefill_source = 63;  ///< writes what prefill() puts into a ring

struct ProducersOptions {
  /// The largest record that any operation asks for, in bytes, oversize ones included. 0: the larger of 72 KiB and the
  /// ring's size up to 128 KiB. Each producer needs a buffer of this size in the kernel.
  std::uint32_t max_record_bytes = 0;
  /// Floods' threads and holds that may exist at once. 0: the online CPUs and 8.
  std::uint32_t max_concurrent = 0;
  /// Whether floods and holds are wanted. Loading for a ring buffer takes about 17 ms of CPU time with both, 16 without
  /// holds, 5 without floods and 4 with neither; for perf rings 3 ms, without floods half of that.
  bool floods = true;
  bool holds = true;
  ring::Stamp stamp = ring::Stamp::none;  ///< CpuRingbufs: what records begin with, but for those of `output`
};

class Producers {
 public:
  /// Loads the programs that write this map. The map may be closed afterwards. EPERM without CAP_BPF.
  static ring::Result<Producers> load(const RingbufMap& ring, const ProducersOptions& options = {});
  /// A record goes to the ring of the CPU that its program runs on; where that has none it fails with ENOENT.
  static ring::Result<Producers> load(const CpuRingbufs& rings, const ProducersOptions& options = {});
  /// Needs CAP_PERFMON too. Map-only rings are fine.
  static ring::Result<Producers> load(const PerfRings& rings, const ProducersOptions& options = {});

  /// Loads the programs of an A/B swap (ringside_swap) of two sets of rings on the same CPUs.
  /// A source below `sources` has one id on side 0 and another, higher by `sources`, on side 1; the ids above are those
  /// of closing sources, one a ring, side 0's first.
  static ring::Result<Producers> load_swap(const PerfRings& side_0, const PerfRings& side_1, std::uint32_t sources,
                                           const ProducersOptions& options = {});
  /// Of an A/B swap: its words; programs that have chosen a side and are not over, at least; and those that have
  /// counted themselves, at least, when samples is read after this.
  ringside_swap* swap() const;
  std::uint64_t in_flight(std::uint32_t side) const;
  std::uint64_t counted() const;

  /// What sources 0 ... source_count-1 did. Exact once their producers have ended or stand still. A source's ring is
  /// the one of the CPU of its last attempt.
  ring::ProducerLedger ledger(std::uint32_t source_count) const;

  /// How many numbered records of the source can be in the ring or have been there (JudgeOptions). One load from
  /// memory; thread-safe; monotonic.
  std::uint64_t reserved_so_far(std::uint32_t source) const;
  /// Records committed and attempts made by the source so far. Thread-safe.
  std::uint64_t committed_so_far(std::uint32_t source) const;
  std::uint64_t attempts_so_far(std::uint32_t source) const;

  /// Advances an empty ring by `bytes` (a multiple of 8; ringbuf 0 or at least 8, perf 0 or at least 16) by records of
  /// prefill_source that are consumed at once, so that its positions are not 0 at the start of a run. The ring must be
  /// this object's; for perf, of CPU ring.cpu. No consumer and no other producer of that ring may run. What the kernel
  /// counts towards a perf ring's next wake-up moves on too, but no wake-up is left pending.
  ring::Result<void> prefill(const ringside_ring& ring, std::uint64_t bytes);

  /// For the other classes of this header.
  explicit Producers(std::shared_ptr<Program> program) : program_(std::move(program)) {}
  const std::shared_ptr<Program>& program() const { return program_; }

 private:
  std::shared_ptr<Program> program_;
};

/// Executes operations. Not thread-safe; at most one for each Producers may run at a time.
class ScriptProducer {
 public:
  static ring::Result<ScriptProducer> create(const Producers& producers);
  ~ScriptProducer();
  ScriptProducer(ScriptProducer&&) noexcept;
  ScriptProducer& operator=(ScriptProducer&&) noexcept;

  /// Runs them in order and returns when the last record is committed and its wake-ups are done. One result for each
  /// operation: 0 or a negative errno, which the ledger has counted: ENOSPC for a failed reservation, EAGAIN for a
  /// failed bpf_ringbuf_output, ENOSPC, ENOENT, ... for a perf output, ETIMEDOUT when the nested interrupt did not come
  /// (the record itself was committed); ENOENT for a settle whose hold had failed.
  ///
  /// ringbuf: all actions. `hold` starts a Hold of that source, `settle_*` settles it. Nested records (by
  /// bpf_ringbuf_output, from hardirq) are reserved while the operation's own record is BUSY: they lie behind it.
  /// perf: `output` only. Nested records lie before the operation's own, which is made in one go.
  ///
  /// Errors (nothing is run): an unknown CPU, a source above max_sources, a size above max_record_bytes or above
  /// 2^24-1 other than by output, an action that the ring kind has not, an operation of a source that holds a record,
  /// a settle of one that holds none.
  ring::Result<std::vector<int>> run(std::span<const ring::Operation> operations);

  /// Whether that source holds a record.
  bool holds(std::uint32_t source) const;

 private:
  struct State;
  explicit ScriptProducer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

struct HoldOptions {
  std::uint32_t source = 0;
  std::uint32_t cpu = 0;    ///< where it reserves and commits
  std::uint32_t size = 64;  ///< bytes of the record
  std::uint8_t flags = 0;   ///< wake-up flags of the commit
};

/// One record of a ring buffer, reserved and BUSY. The program that holds it sleeps in the kernel on a thread of its
/// own and costs no CPU time; killing the process discards the record.
class Hold {
 public:
  /// Returns when the record is reserved and its draft written: BUSY is in the ring. ENOSPC when the reservation failed
  /// (counted in the ledger). EPERM where userfaultfd is not allowed.
  static ring::Result<Hold> start(const Producers& producers, const HoldOptions& options);
  ~Hold();  ///< discards what is still held
  Hold(Hold&&) noexcept;
  Hold& operator=(Hold&&) noexcept;

  /// Commits the record and joins the thread; the record's wake-up is done then. `action` is settle_submit or
  /// settle_discard. Once only.
  ring::Result<void> settle(ring::Action action);

 private:
  struct State;
  explicit Hold(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

struct StraggleOptions {
  std::uint32_t source = 0;  ///< of an A/B swap
  std::uint32_t cpu = 0;     ///< where it runs, and takes all of the CPU until it is let go
  std::uint32_t size = 64;   ///< bytes of its record
};

/// A program of an A/B swap that has read the transfer count and has neither counted itself nor put its record out. The
/// caller must be able to run on another CPU meanwhile.
class Straggler {
 public:
  /// Returns when it has chosen its side. One at a time for each Producers.
  static ring::Result<Straggler> start(const Producers& producers, const StraggleOptions& options);
  ~Straggler();
  Straggler(Straggler&&) noexcept;
  Straggler& operator=(Straggler&&) noexcept;

  /// Lets it go and waits until its record is put out. Its result: 0 or a negative errno. ETIMEDOUT when it was held
  /// for more than two seconds and went on by itself. Once only.
  ring::Result<int> finish();

 private:
  struct State;
  explicit Straggler(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// What one flood thread does. Sizes in bytes.
struct FloodThread {
  std::uint32_t cpu = 0;     ///< pinned there
  std::uint32_t source = 0;  ///< its own: no other thread may have it
  std::uint64_t records = 0;
  /// true: until `records` more are committed or discarded, however many attempts fail (steady). false: that many
  /// attempts (burst).
  bool until_committed = true;
  std::uint32_t min_size = 64;
  std::uint32_t max_size = 64;      ///< above min_size: each size is drawn by the record's ordinal, repeatably
  std::uint8_t flags = 0;           ///< ringbuf wake-up flags of every record
  std::uint32_t force_every = 0;    ///< every n-th record forces a wake-up; 0 never
  std::uint32_t discard_every = 0;  ///< ringbuf: every n-th is discarded; 0 never
  bool by_output = false;           ///< ringbuf: bpf_ringbuf_output instead of reserve and submit
  /// Failures in a row after which the thread yields the CPU before it goes on; 0 never. One by default, so that a full
  /// ring costs few failures; a burst that is to overflow has 0.
  std::uint32_t yield_after = 1;
  /// Produce only what this ring has room for, and yield while it has none: nothing fails, and a perf ring loses
  /// nothing, as long as no other source writes to it. Must outlive the flood. nullptr: do not look.
  const ringside_ring* room_of = nullptr;
};

/// Threads that produce as fast as they can, each on its CPU.
class Flood {
 public:
  /// Starts all threads, or none: an error (CPU offline, too many, sizes) leaves nothing running.
  static ring::Result<Flood> start(const Producers& producers, std::span<const FloodThread> threads);
  ~Flood();  ///< stops and joins
  Flood(Flood&&) noexcept;
  Flood& operator=(Flood&&) noexcept;

  /// Whether every thread has ended and the wake-ups of its records are done. Thread-safe.
  bool done() const;
  /// Tells the threads to end after the record they are at. Returns at once. Thread-safe, safe in a signal handler.
  void stop() const;
  /// Waits for the threads. The first thread's error, if any had one.
  ring::Result<void> join();
  /// An eventfd, readable from when done() is true: for an epoll set. Lives as long as this object.
  int done_fd() const;

 private:
  struct State;
  explicit Flood(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace ringside::real
