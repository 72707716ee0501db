// SPDX-License-Identifier: Apache-2.0
//
// The machine: CPUs with their contexts (task < softirq < hardirq < NMI), the rings of one run, the producers that
// carry out ring::Operations on them, and the readiness of the rings. It runs in one of two ways, never mixed at one
// time:
//
//   stepped   one thread. Every operation advances one shared-memory access at a time, and the caller (or the machine's
//             own dice) says which CPU moves next, so that interrupts and other CPUs stand between any two steps.
//             The same seed and the same calls give the same bytes.
//   threaded  every CPU has a thread of its own that carries out operations from end to end with run(); a consumer
//             thread sleeps in wait_blocking().
//
// Stepped, with a consumer that is called between steps:
//
//   MachineOptions options;
//   options.kind = ring::RingKind::ringbuf;
//   options.cpus = 2;
//   options.sources = 2;
//   options.seed = 42;
//   auto machine = Machine::create(options);                  // Result<std::unique_ptr<Machine>>
//   ringside_ring ring = (*machine)->user_view(0);            // what the consumer gets to see
//   (*machine)->arm(Trigger::level);                          // the host's epoll set holds every ring
//
//   (*machine)->begin(0, Context::task, {.action = ring::Action::submit, .source = 0, .cpu = 0, .size = 64});
//   (*machine)->begin(1, Context::task, {.action = ring::Action::submit, .source = 1, .cpu = 1, .size = 64});
//   while ((*machine)->step_any()) {                          // false: idle, all operations and wake-ups have ended
//   }
//
//   host.wait:   if (auto early = machine.begin_wait(ready)) return *early;       // a fault: -EINTR or spurious
//                loop: n = machine.epoll().poll_ready(ready); if (n) return n;    // else step_any(), or let time pass
//   at the end:  judge.finish(machine.ledger(), machine.records_left());
//
// Threaded:
//
//   std::thread producer([&] { for (const auto& operation : script) machine.run(operation); });   // one a CPU
//   host.wait:   return machine.wait_blocking(ready, timeout_ns);                                 // begin_wait
//   included machine.cancel_waits();                                                                       //
//   -ECANCELED for all
//
// Rules for operations (programmer errors assert):
//   - A source carries out one operation at a time, and its records go to one ring (perf: one CPU), or their order
//     would mean nothing. nested_source is another source than source.
//   - A source that holds a record does nothing but settle it: its number is given when it is settled. A settle of a
//     source that holds nothing (its reservation failed) does nothing and is no attempt.
//   - Records of 1 to 15 bytes need a source below RINGSIDE_RECORD_SHORT_SOURCES (ring/record.h).
//   - perf rings take Action::output only, and no record of 1 to 15 bytes that is to be judged: it cannot be told from
//     its padding. BPF ring buffers take every action.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ring/consumer.h"
#include "ring/judge.h"
#include "ring/ledger.h"
#include "ring/operation.h"
#include "ring/result.h"
#include "ring/stamp.h"
#include "sim/clock.h"
#include "sim/context.h"
#include "sim/faults.h"
#include "sim/kernel_version.h"
#include "sim/memory.h"
#include "sim/random.h"
#include "sim/readiness.h"
#include "sim/ring_memory.h"
#include "sim/ringbuf.h"

namespace ringside::sim {

class PerfRingModel;

struct MachineOptions {
  ring::RingKind kind = ring::RingKind::ringbuf;
  std::uint32_t cpus = 1;             ///< 1 to 1024; a perf machine has one ring a CPU, a ringbuf machine one ring ...
  std::uint32_t sources = 1;          ///< 1 to 65536
  std::uint64_t data_size = 4096;     ///< bytes of each ring's data area
  std::uint64_t start_position = 0;   ///< where every position of every ring starts; a multiple of 8
  std::uint32_t wakeup_events = 1;    ///< perf, when watermark_bytes is 0
  std::uint32_t watermark_bytes = 0;  ///< perf: attr.wakeup_watermark with attr.watermark = 1; 0: not set
  bool sample_time = false;           ///< perf: attr.sample_type has TIME beside RAW
  bool overwrite = false;             ///< ringbuf: BPF_F_RB_OVERWRITE [1.11]; needs kernel 6.19
  bool backward = false;              ///< perf: write_backward, mapped for reading only: an overwrite ring [2.10]
  bool per_cpu = false;               ///< ringbuf: ... or one ring a CPU as well; not with overwrite
  ring::Stamp stamp = ring::Stamp::none;  ///< ringbuf: what each record begins with
  KernelVersion kernel = default_kernel_version;
  std::uint64_t seed = 1;      ///< of every choice that the machine makes
  std::int64_t step_ns = 100;  ///< virtual time that one step takes
  FaultPlan faults = {};
  UserMapping user_mapping = default_user_mapping;
};

/// Not thread-safe but for what says so. See the head of the file.
class Machine {
 public:
  /// Errors: sizes and positions that the kernel (or the model) refuses, each with the remedy; ENOMEM.
  static ring::Result<std::unique_ptr<Machine>> create(const MachineOptions& options);
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  // The rings.

  std::uint32_t cpu_count() const;
  std::uint32_t ring_count() const;
  /// One ring as the consumer sees it; valid while the machine lives. fd is -1.
  ringside_ring user_view(std::uint32_t ring) const;
  RingbufModel& ringbuf(std::uint32_t ring = 0);  ///< the ring of a ringbuf machine, or one of them
  PerfRingModel& perf(std::uint32_t ring);        ///< one ring of a perf machine
  /// Where in a ring's user mapping an address lies: `ring 0: data page 0, offset 128`; nothing for other addresses.
  std::optional<std::string> describe(const void* address) const;

  // Readiness. Everything here is thread-safe.

  /// Adds every ring to the host's epoll set, tagged with its index.
  ring::Result<void> arm(Trigger trigger);
  Epoll& epoll();
  /// To be called once at the start of each wait of the consumer. A value ends the wait at once: -EINTR, or a number of
  /// entries in `ready` that are there for nothing (FaultPlan).
  std::optional<int> begin_wait(std::span<ringside_ready> ready);
  /// begin_wait, then a real sleep: entries, 0 at the deadline (real time; < 0: none), -EINTR, -ECANCELED.
  int wait_blocking(std::span<ringside_ready> ready, std::int64_t timeout_ns);
  /// Ends every blocking wait, now and later, with -ECANCELED.
  void cancel_waits();
  /// Puts HUP on a ring for ever and wakes its waiters.
  void hang_up(std::uint32_t ring);
  VirtualClock& clock();

  // Stepped.

  /// Whether that context can start on that CPU now: it must stand above what runs there, and anything but an NMI needs
  /// interrupts on, which the reserve lock turns off.
  bool can_enter(std::uint32_t cpu, Context context) const;
  /// Starts an operation; it advances with step. False, and nothing was done, when the context cannot enter.
  bool begin(std::uint32_t cpu, Context context, const ring::Operation& operation);
  /// Whether the CPU has anything to do: an operation, or a queued wake-up.
  bool runnable(std::uint32_t cpu) const;
  /// Advances a runnable CPU by one step. `done` is the last step of the operation that was on top (of the queued
  /// wake-up, when one was due); `blocked` says that it spins on the reserve lock.
  StepResult step(std::uint32_t cpu);
  /// One step of a runnable CPU drawn from the seed; false when none is runnable.
  bool step_any();
  /// No CPU has anything to do (held records may be open).
  bool idle() const;
  /// The machine's dice, for choices of the caller that shall follow the same seed.
  Random& random();

  // From end to end.

  /// Carries out one operation on operation.cpu, nested records and wake-ups included, and returns 0 or the negative
  /// errno that the producer saw (-ENOSPC for a NULL from reserve). Threaded: one thread a CPU; spins on the reserve
  /// lock, so not while any CPU has stepped operations under way.
  int run(const ring::Operation& operation, Context context = Context::task);

  // What happened. Stepped: at any time; threaded: when no thread runs, but for reserved_so_far.

  /// What the operation that ended last on that CPU returned: 0 or a negative errno.
  int last_result(std::uint32_t cpu) const;
  std::uint64_t operations_ended() const;
  ring::ProducerLedger ledger() const;
  /// Numbered records of that source whose commit has begun: a delivery of that number or above is a phantom. Monotonic
  /// and thread-safe.
  std::uint64_t reserved_so_far(std::uint32_t source) const;
  /// Whether a committed record can be delivered from that ring now: it stands at the consumer's position, discarded
  /// ones passed over. Thread-safe.
  bool deliverable(std::uint32_t ring) const;
  bool any_deliverable() const;
  /// Committed records that are still in their rings, past the consumer's position, per source.
  std::vector<std::uint64_t> records_left() const;
  /// What an overwrite ring gave up before consumer_pos had passed it; nothing for other rings.
  const ring::Overwritten& overwritten() const;
  /// How often the ring's waiters were woken.
  std::uint64_t wakeups(std::uint32_t ring) const;

 private:
  struct State;
  explicit Machine(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace ringside::sim
