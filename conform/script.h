// SPDX-License-Identifier: Apache-2.0
//
// A script: one ring as it is set up, and operations on it one after another, by its producers and by a consumer that
// may lie. The same script is played on the model and on the running kernel (conform/side.h), so every operation means
// something whatever came before it: one that finds nothing to work on (a record to settle where none is held) does
// nothing, on both sides alike. That is what lets a script be cut down to the shortest that still shows a deviation.
//
// The verbs and their arguments are data (verbs_of): the reader, the writer, the generator and the messages about bad
// input all follow that table. As text, a script is one line for each operation:
//
//   ringside-script 1
//   ringbuf pages=1 overwrite=no look=always
//   hold slot=0 size=24 reserve_flags=0
//   consumer base=producer offset=-4079
//   output size=8 flags=0
//   settle slot=0 fate=submit flags=0
//   end
//
// The `end` shows that the file is whole. `#` starts a comment.
#pragma once

#include <array>
#include <cstdint>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ring/result.h"
#include "ring/ring_kind.h"

namespace ringside::conform {

/// What one line does. The table of verbs says what each means.
enum class Verb : std::uint8_t {
  // set-ups, one for each kind of ring
  ringbuf,
  user_ringbuf,
  perf,
  // BPF ring buffer
  output,
  reserve,
  dynptr,
  hold,
  settle,
  nested,
  query,
  consumer,
  consume,
  // user ring buffer
  user_reserve,
  user_settle,
  user_header,
  user_producer,
  drain,
  drain_nested,
  // perf ring
  perf_output,
  perf_nested,
  comm,
  tail,
  head,
  perf_consume,
  pause,
  enable,
  reset,
  map,
  unmap,
  redirect,
  detach,
  // readiness, every kind
  poll,
  epoll_add,
  epoll_modify,
  epoll_remove,
  epoll_wait,
};

/// Names of arguments.
enum class Arg : std::uint8_t {
  pages,
  overwrite,
  look,
  size,
  flags,
  reserve_flags,
  write,
  fate,
  slot,
  count,
  inner,
  what,
  base,
  offset,
  length,
  bits,
  stop,
  event,
  to,
  on,
  readonly,
  backward,
  watermark,
  wakeup,
  fields,
  id_all,
  b_backward,
  b_watermark,
  b_wakeup,
  b_fields,
  b_id_all,
  value,
  set,
  trigger,
  letters,
  at,
};

/// What an argument can be. `words`: the value is the index of one of them. `bits`: the value has bit i set for word i,
/// written `raw+tid`, or `none`. `number`: an integer from least to most; `bytes` are numbers about which the size of
/// the ring matters.
struct ArgSpec {
  Arg arg;
  std::string_view name;
  enum class Type : std::uint8_t { number, bytes, words, bits } type = Type::number;
  std::int64_t least = 0;
  std::int64_t most = 0;
  std::span<const std::string_view> words = {};
};

struct VerbSpec {
  Verb verb;
  std::string_view name;
  std::string_view meaning;  ///< one sentence
  std::vector<ArgSpec> args;
  std::uint32_t weight = 1;  ///< how often the generator takes it, beside the other verbs of the ring
};

/// The verbs for one kind of ring, its set-up first. Lives as long as the program.
std::span<const VerbSpec> verbs_of(ring::RingKind kind);
const VerbSpec& spec_of(ring::RingKind kind, Verb verb);

inline constexpr std::size_t most_args = 16;

/// One line. An argument's value stands at its place in the verb's table.
struct Op {
  Verb verb = Verb::ringbuf;
  std::array<std::int64_t, most_args> values = {};

  friend bool operator==(const Op&, const Op&) = default;
};

struct Script {
  ring::RingKind kind = ring::RingKind::ringbuf;
  Op setup;
  std::vector<Op> ops;

  friend bool operator==(const Script&, const Script&) = default;
};

/// The value of an argument that the verb has.
std::int64_t value_of(ring::RingKind kind, const Op& op, Arg arg);
/// Sets it. The argument must be one of the verb's.
void set_value(ring::RingKind kind, Op& op, Arg arg, std::int64_t value);

/// One line as text, without a line feed.
std::string to_text(ring::RingKind kind, const Op& op);
/// A whole file.
std::string to_text(const Script& script);
std::ostream& operator<<(std::ostream& out, const Script& script);

/// Reads a file. Errors name `where`, line and column, and what is allowed there: an unknown verb or argument, a
/// missing argument, a value out of its range, a file without its `end`, a verb of another kind of ring.
ring::Result<Script> parse_script(std::string_view text, std::string_view where);

/// The bytes that operation number `ordinal` writes as its payload: they differ from operation to operation, so that
/// what an earlier one left shows.
void fill_payload(std::span<std::byte> payload, std::uint64_t ordinal);

}  // namespace ringside::conform
