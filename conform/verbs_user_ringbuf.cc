// SPDX-License-Identifier: Apache-2.0
//
// The verbs for a user ring buffer: the script is its producer, the kernel drains it.
#include "conform/verbs.h"

namespace ringside::conform {

namespace {

ArgSpec slot_arg() { return number_arg(Arg::slot, "slot", 0, held_slots - 1); }
constexpr std::string_view header_bits[] = {"discard", "busy"};

std::vector<VerbSpec> make_table() {
  std::vector<VerbSpec> table = {
      {Verb::user_ringbuf,
       "user_ringbuf",
       "a fresh user ring buffer",
       {words_arg(Arg::pages, "pages", page_words), words_arg(Arg::look, "look", look_words)},
       0},
      {Verb::user_reserve,
       "reserve",
       "user_ring_buffer__reserve into a slot, and the payload written; nothing while the slot holds a sample, or "
       "producer_pos is no multiple of 8",
       {slot_arg(), bytes_arg(Arg::size, "size", 0, 0xffffffff)},
       16},
      {Verb::user_settle,
       "settle",
       "user_ring_buffer__submit or __discard of the slot's sample; nothing when it holds none",
       {slot_arg(), words_arg(Arg::fate, "fate", fate_words)},
       16},
      {Verb::user_header,
       "header",
       "store a length word of `length` and these bits at base + offset, rounded down to a multiple of 8",
       {words_arg(Arg::base, "base", base_words), offset_arg(), number_arg(Arg::length, "length", 0, 0x3fffffff),
        bits_arg(Arg::bits, "bits", header_bits)},
       6},
      {Verb::user_producer,
       "producer",
       "store producer_pos = base + offset, true or not",
       {words_arg(Arg::base, "base", base_words), offset_arg()},
       6},
      {Verb::drain,
       "drain",
       "bpf_user_ringbuf_drain; the callback stops at sample number `stop` (0: at none), or when it got over 1 MiB",
       {number_arg(Arg::flags, "flags", 0, 0xffffffff), number_arg(Arg::stop, "stop", 0, 64)},
       16},
      {Verb::drain_nested,
       "drain_nested",
       "drain, and from within the first callback, if there is one, a hardirq drains with `inner` flags: -EBUSY",
       {number_arg(Arg::flags, "flags", 0, 3), number_arg(Arg::inner, "inner", 0, 3)},
       1},
  };
  for (VerbSpec& verb : readiness_verbs(false)) table.push_back(std::move(verb));
  return table;
}

}  // namespace

std::span<const VerbSpec> user_ringbuf_verbs() {
  static const std::vector<VerbSpec> table = make_table();
  return table;
}

}  // namespace ringside::conform
