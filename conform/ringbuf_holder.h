// SPDX-License-Identifier: Apache-2.0
//
// A thread that holds a record of a kernel ring BUSY: it sleeps in the middle of the `hold` program of
// bpf/conform_ringbuf.bpf.c, between reserve and commit, while the script goes on. It lives as long as the lab, on the
// same CPU, so that a hold costs a few switches of context. Internal to conform/.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>

#include "bpf/conform_ringbuf.h"
#include "real/handle.h"
#include "real/missing_page.h"
#include "ring/result.h"

namespace ringside::conform {

/// Not thread-safe: one thread gives it orders.
class RingbufHolder {
 public:
  /// `order`: the block of `slot` that it shares with the program. Errors: without userfaultfd, threads, descriptors.
  static ring::Result<std::unique_ptr<RingbufHolder>> start(int program, std::uint32_t slot,
                                                            conform_ringbuf_hold& order, std::uint32_t cpu);
  /// Discards what is held.
  ~RingbufHolder();
  RingbufHolder(const RingbufHolder&) = delete;
  RingbufHolder& operator=(const RingbufHolder&) = delete;

  bool holds() const { return holds_; }
  /// Reserves by dynptr. Returns what the helper did: 0, and the record is BUSY; or a negative errno. Nothing may be
  /// held.
  ring::Result<std::int64_t> hold(std::uint32_t ring, std::uint32_t size);
  /// Has the program write the shared payload and commit the record; its wake-up has run when this returns.
  ring::Result<void> settle(bool discard, std::uint64_t flags);

 private:
  RingbufHolder(int program, std::uint32_t slot, conform_ringbuf_hold& order, real::MissingPage page);
  void serve(std::uint32_t cpu);
  ring::Result<void> run() const;
  ring::Result<void> await_end();

  int program_;
  std::uint32_t slot_;
  conform_ringbuf_hold* order_;
  real::MissingPage page_;
  real::Fd ordered_;                // readable while the thread has an order
  real::Fd ended_;                  // readable once it has carried it out
  std::atomic<bool> stops_{false};  // the order is to end
  ring::Result<void> outcome_;      // of the last order; handed over by ended_
  bool holds_ = false;
  std::thread thread_;
};

}  // namespace ringside::conform
