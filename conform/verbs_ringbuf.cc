// SPDX-License-Identifier: Apache-2.0
//
// The verbs for a BPF ring buffer.
#include "conform/verbs.h"

namespace ringside::conform {

namespace {

// bpf_ringbuf_reserve takes a size that the verifier knows: one program branch for each of these.
constexpr std::string_view constant_sizes[] = {
    "0",    "1",    "2",    "3",    "4",    "5",     "6",     "7",     "8",          "9",         "16",   "24",
    "32",   "64",   "100",  "1000", "2040", "4072",  "4079",  "4080",  "4081",       "4088",      "4096", "4104",
    "8176", "8177", "8184", "8192", "8200", "16368", "16369", "16384", "1073741823", "1073741824"};
constexpr std::string_view write_words[] = {"nothing", "half", "all"};

ArgSpec flags_arg() { return number_arg(Arg::flags, "flags", 0, 0xffffffff); }
ArgSpec reserve_flags_arg() { return number_arg(Arg::reserve_flags, "reserve_flags", 0, 0xff); }
ArgSpec size_arg() { return bytes_arg(Arg::size, "size", 0, most_payload); }

std::vector<VerbSpec> make_table() {
  std::vector<VerbSpec> table = {
      {Verb::ringbuf,
       "ringbuf",
       "a fresh BPF ring buffer; overwrite=yes needs kernel 6.19",
       {words_arg(Arg::pages, "pages", page_words), words_arg(Arg::overwrite, "overwrite", no_or_yes),
        words_arg(Arg::look, "look", look_words)},
       0},
      {Verb::output, "output", "bpf_ringbuf_output of `size` bytes", {size_arg(), flags_arg()}, 24},
      {Verb::reserve,
       "reserve",
       "bpf_ringbuf_reserve, write so much of the payload, then submit or discard",
       {words_arg(Arg::size, "size", constant_sizes), reserve_flags_arg(), words_arg(Arg::write, "write", write_words),
        words_arg(Arg::fate, "fate", fate_words), flags_arg()},
       12},
      {Verb::dynptr,
       "dynptr",
       "bpf_ringbuf_reserve_dynptr, write so much of the payload, then submit or discard",
       {bytes_arg(Arg::size, "size", 0, 0xffffffff), reserve_flags_arg(), words_arg(Arg::write, "write", write_words),
        words_arg(Arg::fate, "fate", fate_words), flags_arg()},
       12},
      {Verb::hold,
       "hold",
       "reserve by dynptr and leave the record BUSY until `settle` of the same slot; nothing while the slot holds one",
       {number_arg(Arg::slot, "slot", 0, held_slots - 1), bytes_arg(Arg::size, "size", 0, most_payload)},
       5},
      {Verb::settle,
       "settle",
       "write and submit or discard the record that the slot holds; nothing when it holds none",
       {number_arg(Arg::slot, "slot", 0, held_slots - 1), words_arg(Arg::fate, "fate", fate_words), flags_arg()},
       6},
      {Verb::nested,
       "nested",
       "reserve by dynptr; while it is BUSY a hardirq on this CPU outputs `count` records of `inner` bytes; submit",
       {bytes_arg(Arg::size, "size", 0, most_payload), number_arg(Arg::count, "count", 1, 4),
        bytes_arg(Arg::inner, "inner", 0, 1024), flags_arg()},
       1},
      {Verb::query, "query", "bpf_ringbuf_query", {number_arg(Arg::what, "what", 0, 7)}, 4},
      {Verb::consumer,
       "consumer",
       "store consumer_pos = base + offset, true or not",
       {words_arg(Arg::base, "base", base_words), offset_arg()},
       6},
      {Verb::consume,
       "consume",
       "read as an honest consumer does, at most `count` records; nothing when consumer_pos is no honest one",
       {number_arg(Arg::count, "count", 1, 64)},
       10},
  };
  for (VerbSpec& verb : readiness_verbs(false)) table.push_back(std::move(verb));
  return table;
}

}  // namespace

std::span<const VerbSpec> ringbuf_verbs() {
  static const std::vector<VerbSpec> table = make_table();
  return table;
}

}  // namespace ringside::conform
