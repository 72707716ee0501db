// SPDX-License-Identifier: Apache-2.0
//
// The verbs for perf rings: two events of the script's own thread, a with a ring, b without one at first.
#include "conform/verbs.h"

namespace ringside::conform {

namespace {

constexpr std::string_view event_words[] = {"a", "b"};
/// Slots of the PERF_EVENT_ARRAY.
constexpr std::string_view slot_words[] = {"a", "b", "other", "empty", "outside"};
constexpr std::string_view field_words[] = {"raw", "tid",        "time", "id",    "stream_id",
                                            "cpu", "identifier", "addr", "period"};
/// Where an output is when another one comes in between: nest raised and nothing read yet, head moved and nothing
/// written yet, data_head stored and nest not yet reset, nest reset and head not yet looked at again.
constexpr std::string_view point_words[] = {"entered", "reserved", "published", "left"};
// The plainest first: a script is cut down towards it.
constexpr std::string_view perf_page_words[] = {"1", "2", "4", "0"};

ArgSpec event_arg() { return words_arg(Arg::event, "event", event_words); }
ArgSpec size_arg() { return bytes_arg(Arg::size, "size", 0, most_payload); }

std::vector<VerbSpec> make_table() {
  std::vector<VerbSpec> table = {
      {Verb::perf,
       "perf",
       "two events, a mapped with so many pages; wakeup is wakeup_events, or wakeup_watermark with watermark=yes",
       {words_arg(Arg::pages, "pages", perf_page_words), words_arg(Arg::readonly, "readonly", no_or_yes),
        words_arg(Arg::backward, "backward", no_or_yes), words_arg(Arg::watermark, "watermark", no_or_yes),
        bytes_arg(Arg::wakeup, "wakeup", 0, 0xffffffff), bits_arg(Arg::fields, "fields", field_words),
        words_arg(Arg::id_all, "id_all", no_or_yes), words_arg(Arg::b_backward, "b_backward", no_or_yes),
        words_arg(Arg::b_watermark, "b_watermark", no_or_yes), bytes_arg(Arg::b_wakeup, "b_wakeup", 0, 0xffffffff),
        bits_arg(Arg::b_fields, "b_fields", field_words), words_arg(Arg::b_id_all, "b_id_all", no_or_yes),
        words_arg(Arg::look, "look", look_words)},
       0},
      {Verb::perf_output,
       "output",
       "bpf_perf_event_output of `size` bytes to a slot: a, b, an event of another type, an empty slot, none at all",
       {words_arg(Arg::slot, "slot", slot_words), size_arg(), number_arg(Arg::flags, "flags", 0, 0x3)},
       36},
      {Verb::perf_nested,
       "nested",
       "output, and when it has come to that point another one of `inner` bytes within it, on the same CPU",
       {event_arg(), size_arg(), bytes_arg(Arg::inner, "inner", 0, 1024), words_arg(Arg::at, "at", point_words)},
       2},
      {Verb::comm,
       "comm",
       "the thread takes a name of so many letters: a PERF_RECORD_COMM of each event that is enabled",
       {number_arg(Arg::letters, "letters", 0, 15)},
       4},
      {Verb::tail,
       "tail",
       "store data_tail = base + offset, true or not; base producer is data_head, consumer is data_tail",
       {event_arg(), words_arg(Arg::base, "base", base_words), offset_arg()},
       7},
      {Verb::head,
       "head",
       "the user scribbles on data_head",
       {event_arg(), number_arg(Arg::value, "value", 0, 0xffffffff)},
       1},
      {Verb::perf_consume,
       "consume",
       "read as an honest consumer does, at most `count` records; nothing when data_tail is no honest one",
       {event_arg(), number_arg(Arg::count, "count", 1, 64)},
       10},
      {Verb::pause,
       "pause",
       "PERF_EVENT_IOC_PAUSE_OUTPUT of the event's ring",
       {event_arg(), words_arg(Arg::on, "on", no_or_yes)},
       3},
      {Verb::enable,
       "enable",
       "PERF_EVENT_IOC_ENABLE or DISABLE",
       {event_arg(), words_arg(Arg::on, "on", no_or_yes)},
       2},
      {Verb::reset, "reset", "PERF_EVENT_IOC_RESET", {event_arg()}, 1},
      {Verb::map,
       "map",
       "mmap of the event; nothing while this script has it mapped twice",
       {event_arg(), words_arg(Arg::pages, "pages", perf_page_words), words_arg(Arg::readonly, "readonly", no_or_yes)},
       3},
      {Verb::unmap, "unmap", "munmap of the event's last mapping; nothing while it is not mapped", {event_arg()}, 2},
      {Verb::redirect,
       "redirect",
       "PERF_EVENT_IOC_SET_OUTPUT of one event to another, or to itself",
       {event_arg(), words_arg(Arg::to, "to", event_words)},
       4},
      {Verb::detach, "detach", "PERF_EVENT_IOC_SET_OUTPUT of -1", {event_arg()}, 1},
  };
  for (VerbSpec& verb : readiness_verbs(true)) table.push_back(std::move(verb));
  return table;
}

}  // namespace

std::span<const VerbSpec> perf_verbs() {
  static const std::vector<VerbSpec> table = make_table();
  return table;
}

}  // namespace ringside::conform
