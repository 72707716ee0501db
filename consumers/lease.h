// SPDX-License-Identifier: Apache-2.0
//
// Strategy `lease`: exclusive use of the reader for as long as the user's function runs. Within it, several records are
// read where they lie and handed back by one commit.
//
// The contract: any thread may ask for a lease; while one is out, others are told `in_use`. Views are valid until the
// next commit, or the end of the lease, which commits what is left. Discarded records between views are handed back
// with what follows them. A read that finds nothing behind records that are not committed does not sleep on them, for
// they keep back their space, the kernel's wake-ups and an end of readiness (KERNEL-RINGS 4.2, 4.4): it tells
// `uncommitted`. close may be called by any thread; it ends the waits and returns when the lease is over, so that a
// function that closes its own reader waits for itself.
#pragma once

#include <algorithm>
#include <mutex>

#include "consumers/blocking_reader.h"
#include "consumers/reader_strategy.h"

namespace ringside::consumers {

template <class Steps, class Poller>
class LeaseReader : public ReaderCalls<Steps, Poller> {
  using Base = ReaderCalls<Steps, Poller>;
  using Base::reader_;

 public:
  /// What the user's function is given; its calls are that thread's alone.
  class Lease {
   public:
    explicit Lease(LeaseReader& owner) : owner_(owner) {}

    /// Waits for the next record and shows it.
    Told read_sample(RecordView& view) { return owner_.read_sample(view); }
    /// Hands back all that was read.
    void commit() { owner_.commit(); }

   private:
    LeaseReader& owner_;
  };

  using Base::Base;

  /// Calls `function(lease)`; false if somebody has the lease already.
  template <class Function>
  bool with_lease(Function&& function) {
    const std::unique_lock lease(leased_, std::try_to_lock);
    if (!lease.owns_lock()) return false;
    Lease mine(*this);
    function(mine);
    if constexpr (Steps::commits_at_the_end) commit();
    return true;
  }

  void close() {
    reader_.close();
    const std::lock_guard wait_for_the_lease(leased_);
  }

 private:
  Told read_sample(RecordView& view) {
    const Told told = uncommitted_ == 0 ? reader_.next() : next_behind_uncommitted();
    if (told != Told::record) return told;
    view = reader_.view();
    reader_.rings().reader().advance();
    ++uncommitted_;
    return Told::record;
  }

  Told next_behind_uncommitted() {
    if constexpr (!Steps::sleeps_uncommitted) return reader_.next_behind_views();
    return reader_.wait_for([this] { return reader_.find_behind_views(); }, [] { return false; });
  }

  void commit() {
    reader_.rings().publish_all();  // (C4)
    uncommitted_ = 0;
  }

  std::mutex leased_;
  std::uint64_t uncommitted_ = 0;  // records
};

/// Up to eight records a commit.
template <class Steps>
class LeaseConsumer : public ReaderStrategy<LeaseConsumer<Steps>> {
 public:
  static constexpr std::uint64_t most_in_a_lease = 8;

  LeaseConsumer(const ringside_ring_set& rings, const ringside_host& host)
      : ReaderStrategy<LeaseConsumer>(host), reader_(rings, host) {}

  int start() { return reader_.start(); }
  LeaseReader<Steps, HostPoller>& reader() { return reader_; }

  std::int64_t drain(std::uint64_t max_records) {
    reader_.set_deadline(already_past);
    const auto round = reader_.rings().one_round();
    Lot lot;
    std::uint64_t delivered = 0;
    do {
      lot = read_lot(std::min(max_records - delivered, most_in_a_lease));
      delivered += lot.count;
    } while (lot.last.told == Told::record && !lot.last.stop && delivered < max_records);
    return answer_of_drain(delivered, error_of(lot.last.told));
  }

  Took take_one() { return read_lot(1).last; }

 private:
  /// What one lease came to.
  struct Lot {
    std::uint64_t count = 0;
    Took last;
  };

  Lot read_lot(std::uint64_t most) {
    Lot lot;
    const bool mine = reader_.with_lease([&](auto& lease) {
      RecordView view;
      while (lot.count < most && !lot.last.stop) {
        lot.last.told = lease.read_sample(view);
        if (lot.last.told != Told::record) return;
        ++lot.count;
        lot.last.stop = this->deliver(view);  // (C3) is the host's
      }
    });
    if (!mine) lot.last.told = Told::in_use;
    return lot;
  }

  LeaseReader<Steps, HostPoller> reader_;
};

}  // namespace ringside::consumers
