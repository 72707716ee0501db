// SPDX-License-Identifier: Apache-2.0
//
// Perf event rings that no BPF program feeds: one software event on the calling thread and the ring it is mapped with.
// The kernel itself writes the records, so their number and order follow from what the thread does: one sample for each
// page touched for the first time, or one PERF_RECORD_COMM for each name taken. Such a ring shows what rings fed by
// bpf_perf_event_output cannot: records that are no samples, identity trailers, overwrite and backward rings, pausing.
// It needs no privilege where kernel.perf_event_paranoid is 2 or less.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ostream>
#include <utility>

#include "real/handle.h"
#include "ring/consumer.h"
#include "ring/result.h"

namespace ringside::real {

/// What makes the records of a ring.
enum class PlainEvent : std::uint8_t {
  page_faults,   ///< a PERF_RECORD_SAMPLE for each page fault of the thread in user mode
  thread_names,  ///< a PERF_RECORD_COMM for each prctl(PR_SET_NAME) of the thread; no samples
};

struct PlainPerfOptions {
  PlainEvent event = PlainEvent::page_faults;
  /// Pages of the ring's data: a power of two, or 0 for a ring that stores nothing [KERNEL-RINGS 2.1].
  std::uint32_t data_pages = 8;
  std::uint32_t wakeup_events = 0;    ///< attr.wakeup_events, used when watermark_bytes is 0
  std::uint32_t watermark_bytes = 0;  ///< attr.wakeup_watermark with attr.watermark = 1; 0: not set
  /// attr.sample_type, bits PERF_SAMPLE_* of linux/perf_event.h, 8 bytes of a sample for each of the bits below.
  /// By default PERF_SAMPLE_ADDR alone: samples of 16 bytes that carry the address touched.
  std::uint64_t sample_type = 1u << 3;
  /// Every record that is no sample ends with a trailer of the fields of sample_type that tell who wrote it: TID, TIME,
  /// ID, STREAM_ID, CPU, IDENTIFIER [KERNEL-RINGS 2.7].
  bool sample_id_all = false;
  bool backward = false;   ///< attr.write_backward: data_head goes down [KERNEL-RINGS 2.10]
  bool overwrite = false;  ///< mapped read-only: records never fail, and old ones are written over
};

/// Pages that nothing has touched yet: each makes one page fault, in user mode, when it is touched. Movable.
class FreshPages {
 public:
  /// Address space for `count` pages, which take memory once they are touched. ENOMEM.
  static ring::Result<FreshPages> map(std::size_t count);

  /// Touches the next `count` pages in order, at their first byte. They must be left.
  void touch(std::size_t count);

  std::size_t touched() const { return touched_; }
  std::size_t left() const { return count_ - touched_; }
  /// The address that touching the page of that index touches: what a sample of it carries in PERF_SAMPLE_ADDR.
  std::uint64_t address(std::size_t index) const;

 private:
  FreshPages(Mapping memory, std::size_t count) : memory_(std::move(memory)), count_(count) {}

  Mapping memory_;  // one page more than asked for, which was touched at once
  std::size_t count_;
  std::size_t touched_ = 0;
};

/// The event and its mapped ring. It records what the thread that opened it does while it is enabled; only that thread
/// may enable it and sample faults, any may read the ring. Movable; everything is given back at the end of its life.
class PlainPerfRing {
 public:
  /// Opens the event, disabled, and maps its ring. Errors: EACCES or EPERM where perf_event_paranoid forbids it, EPERM
  /// above the lock limit, EINVAL for data_pages that are no power of two or a sample_type that the kernel refuses.
  /// On an error nothing is left open or mapped.
  static ring::Result<PlainPerfRing> open(const PlainPerfOptions& options);

  /// The ring as consumers see it; cpu is -1, as the event follows its thread. In an overwrite ring nothing is written,
  /// the consumer's position included. Without a mapping, consumer_page and data are null and data_size is 0.
  const ringside_ring& ring() const { return ring_; }
  /// The set of this one ring, with map_fd -1. Points into this object: valid until it is moved or destroyed.
  ringside_ring_set ring_set() const;
  int fd() const { return event_.get(); }

  /// Lets the event record, and stops it. Neither touches the ring.
  ring::Result<void> enable();
  ring::Result<void> disable();
  /// Touches the next `count` pages with the event enabled, which it was not: exactly that many attempts at a sample of
  /// a page_faults ring, in the pages' order.
  ring::Result<void> sample_faults(FreshPages& pages, std::size_t count);

  /// While paused, every record fails and counts as lost [KERNEL-RINGS 2.4.2]. EINVAL without a mapping or data pages.
  ring::Result<void> pause();
  ring::Result<void> resume();

  /// Takes the mapping away. Was it the last of the ring, the ring ends: records are neither stored nor counted, and
  /// poll tells POLLHUP [KERNEL-RINGS 2.1].
  void unmap();
  /// Maps a new ring after unmap(), whose positions begin at 0. Errors as for open.
  ring::Result<void> map();
  /// Takes the mapping away and has the event write into the ring of `other`, of the same thread, from now on.
  ring::Result<void> redirect_to(const PlainPerfRing& other);

  /// The id by which records name the event.
  ring::Result<std::uint64_t> id() const;
  /// What reading the event tells; counts since it was opened, never reset.
  struct Counts {
    std::uint64_t events = 0;  ///< page_faults: faults while enabled; thread_names: 0
    std::uint64_t lost = 0;    ///< PERF_FORMAT_LOST: records of its own that found no place [KERNEL-RINGS 2.7]

    friend bool operator==(const Counts&, const Counts&) = default;
  };
  /// EOPNOTSUPP before kernel 6.0, which has no lost count.
  ring::Result<Counts> counts() const;

 private:
  PlainPerfRing(const PlainPerfOptions& options, Fd event) : options_(options), event_(std::move(event)) {}
  ring::Result<void> control(unsigned long request, unsigned long argument, const char* attempt) const;

  PlainPerfOptions options_;
  Fd event_;
  Mapping mapping_;
  ringside_ring ring_{};
};

std::ostream& operator<<(std::ostream& out, const PlainPerfRing::Counts& counts);

}  // namespace ringside::real
