// SPDX-License-Identifier: Apache-2.0
#include "conform/generate.h"

#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <charconv>
#include <functional>
#include <limits>

namespace ringside::conform {

namespace {

using ring::RingKind;
using Type = ArgSpec::Type;

/// Draws from RapidCheck's random stream.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : random_(seed) {}

  std::uint64_t below(std::uint64_t bound) {
    assert(bound > 0);
    return random_.next() % bound;
  }
  bool chance(std::uint64_t count, std::uint64_t of) { return below(of) < count; }
  /// In [least, most].
  std::int64_t between(std::int64_t least, std::int64_t most) {
    const auto count = static_cast<std::uint64_t>(most) - static_cast<std::uint64_t>(least) + 1;
    const std::uint64_t drawn = count == 0 ? random_.next() : below(count);
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(least) + drawn);
  }
  template <class T, std::size_t size>
  T one_of(const std::array<T, size>& values) {
    return values[below(size)];
  }

 private:
  rc::Random random_;
};

std::int64_t data_bytes(RingKind kind, const Op& setup) {
  const VerbSpec& spec = spec_of(kind, setup.verb);
  const auto pages = std::ranges::find(spec.args, Arg::pages, &ArgSpec::arg);
  const std::string_view word = pages->words[static_cast<std::size_t>(value_of(kind, setup, Arg::pages))];
  std::int64_t count = 0;
  std::from_chars(word.data(), word.data() + word.size(), count);
  // A perf ring without data has no edges; those of one page are as good as any.
  return std::max<std::int64_t>(count, 1) * 4096;
}

/// What one script is like.
struct Taste {
  bool lies = false;      ///< positions and headers that no honest user stores
  bool small = false;     ///< records of a few bytes, so that rings fill to the last one
  std::int64_t data = 0;  ///< bytes of the ring
};

bool is_lie(Verb verb) {
  return verb == Verb::consumer || verb == Verb::tail || verb == Verb::head || verb == Verb::user_header ||
         verb == Verb::user_producer;
}

/// A size about which the ring cares: its end, a page, what perf can still tell.
std::int64_t edge_size(Dice& dice, std::int64_t data) {
  constexpr std::int64_t page = 4096;
  constexpr std::array<std::int64_t, 6> bases = {0, page, 0, 65516, 65536, 131072};
  std::int64_t base = dice.one_of(bases);
  if (base == 0) base = data;
  if (base == 65516 || base == 131072) return base + dice.between(-9, 9);
  return base + dice.between(-32, 8);
}

std::int64_t drawn_size(Dice& dice, const Taste& taste) {
  const std::uint64_t kind = dice.below(20);
  if (taste.small || kind < 9) return dice.between(0, taste.small ? 40 : 64);
  if (kind < 15) return dice.between(0, taste.data / 2);
  if (kind < 17) return dice.between(0, taste.data);
  if (kind < 19) return edge_size(dice, taste.data);
  return std::int64_t{1} << dice.below(31);
}

/// How far a lying position is off: a little, about a ring, or beyond all measure.
std::int64_t drawn_offset(Dice& dice, const Taste& taste) {
  const std::int64_t sign = dice.chance(1, 2) ? 1 : -1;
  const std::uint64_t kind = dice.below(16);
  if (kind < 4) return 0;
  if (kind < 7) return sign * 8 * dice.between(0, 8);
  if (kind < 8) return sign * dice.between(0, 64);
  if (kind < 10) return sign * taste.data * dice.between(1, 3);
  if (kind < 14) return sign * taste.data + dice.between(-40, 40);
  if (kind < 15) return sign * 8 * dice.between(0, taste.data / 8);
  return dice.one_of(std::array{std::int64_t{1} << 40, std::numeric_limits<std::int64_t>::min(),
                                std::numeric_limits<std::int64_t>::max(), std::int64_t{1} << 32});
}

std::int64_t drawn_wakeup(Dice& dice, const Taste& taste) {
  const std::uint64_t kind = dice.below(10);
  if (kind < 5) return dice.between(0, 5);
  if (kind < 7) return 8 * dice.between(1, 16) + dice.between(-1, 1);
  if (kind < 8) return taste.data / 2 + 8 * dice.between(-2, 2);
  if (kind < 9) return taste.data + 8 * dice.between(-2, 2);
  return dice.one_of(std::array{std::int64_t{0x80000000}, std::int64_t{0x7fffffff}, std::int64_t{0xffffffff}});
}

std::int64_t drawn_flags(Dice& dice, const ArgSpec& spec) {
  if (dice.chance(1, 2)) return 0;
  if (dice.chance(9, 10)) return dice.between(0, std::min<std::int64_t>(spec.most, 3));
  return dice.chance(1, 2) ? dice.between(0, std::min<std::int64_t>(spec.most, 8)) : dice.between(0, spec.most);
}

std::int64_t drawn_word(Dice& dice, const ArgSpec& spec) {
  const auto count = static_cast<std::uint64_t>(spec.most) + 1;
  // Seldom a ring without data, an event that stands for a mistake of the caller.
  const bool has_odd_words = spec.arg == Arg::pages || spec.arg == Arg::slot;
  if (!has_odd_words) return static_cast<std::int64_t>(dice.below(count));
  std::uint64_t drawn = dice.below(count);
  const auto odd = [&spec](std::uint64_t word) {
    return spec.words[word] == "0" || spec.words[word] == "other" || spec.words[word] == "empty" ||
           spec.words[word] == "outside";
  };
  for (int again = 0; again < 2 && odd(drawn); ++again) drawn = dice.below(count);
  return static_cast<std::int64_t>(drawn);
}

std::int64_t drawn_bits(Dice& dice, const ArgSpec& spec) {
  // The first word is the plainest choice of all.
  if (dice.chance(2, 5)) return 1;
  const std::int64_t drawn = dice.between(0, spec.most);
  return dice.chance(4, 5) ? drawn | 1 : drawn;
}

std::int64_t drawn_number(Dice& dice, const ArgSpec& spec) {
  switch (spec.arg) {
    case Arg::flags:
      return drawn_flags(dice, spec);
    case Arg::reserve_flags:
      return dice.chance(15, 16) ? 0 : dice.between(0, spec.most);
    case Arg::length:
      return dice.chance(2, 3) ? dice.between(0, 64) : std::int64_t{1} << dice.below(30);
    case Arg::stop:
      return dice.chance(1, 2) ? 0 : dice.between(0, 4);
    default:
      return dice.between(spec.least, spec.most);
  }
}

std::int64_t drawn_bytes(Dice& dice, const ArgSpec& spec, const Taste& taste) {
  if (spec.arg == Arg::offset) return drawn_offset(dice, taste);
  const bool counts_wakeups = spec.arg == Arg::wakeup || spec.arg == Arg::b_wakeup;
  const std::int64_t drawn = counts_wakeups ? drawn_wakeup(dice, taste) : drawn_size(dice, taste);
  return std::clamp(drawn, spec.least, spec.most);
}

std::int64_t drawn_value(Dice& dice, const ArgSpec& spec, const Taste& taste) {
  switch (spec.type) {
    case Type::words:
      return drawn_word(dice, spec);
    case Type::bits:
      return drawn_bits(dice, spec);
    case Type::bytes:
      return drawn_bytes(dice, spec, taste);
    case Type::number:
      return drawn_number(dice, spec);
  }
  return 0;
}

Op drawn_op(Dice& dice, const VerbSpec& spec, const Taste& taste) {
  Op op{.verb = spec.verb, .values = {}};
  for (std::size_t at = 0; at < spec.args.size(); ++at) op.values[at] = drawn_value(dice, spec.args[at], taste);
  return op;
}

const VerbSpec& drawn_verb(Dice& dice, std::span<const VerbSpec> verbs, const Taste& taste) {
  const auto weight = [&taste](const VerbSpec& verb) { return taste.lies || !is_lie(verb.verb) ? verb.weight : 0; };
  std::uint64_t sum = 0;
  for (const VerbSpec& verb : verbs) sum += weight(verb);
  std::uint64_t drawn = dice.below(sum);
  for (const VerbSpec& verb : verbs) {
    if (drawn < weight(verb)) return verb;
    drawn -= weight(verb);
  }
  return verbs.back();
}

/// Edges that one operation can be moved to while another one goes.
constexpr std::array<std::int64_t, 6> edges_below_data = {16, 24, 2040, 2048, 8, 4072};

using Change = std::function<Script()>;

/// The changes that make a script simpler, in the order in which they are tried.
class Changes {
 public:
  explicit Changes(const Script& script) : script_(script) {}

  /// They point to this object.
  std::vector<Change> all() {
    remove_runs();
    if (script_.ops.size() <= few) remove_pairs();
    shrink_values(script_.setup, [](Script& target, const Op& op) { target.setup = op; });
    for (std::size_t at = 0; at < script_.ops.size(); ++at) {
      shrink_values(script_.ops[at], [at](Script& target, const Op& op) { target.ops[at] = op; });
    }
    if (script_.ops.size() <= few) merge_records();
    if (script_.ops.size() <= few) trade_for_edges();
    return std::move(changes_);
  }

 private:
  static constexpr std::size_t few = 24;

  /// Half of the operations, a quarter, …, each single one.
  void remove_runs() {
    const std::size_t count = script_.ops.size();
    for (std::size_t run = std::max<std::size_t>(count / 2, 1); count > 0; run /= 2) {
      for (std::size_t at = 0; at < count; at += run) {
        changes_.push_back([this, at, run] {
          Script simpler = script_;
          const auto first = simpler.ops.begin() + static_cast<std::ptrdiff_t>(at);
          simpler.ops.erase(first, first + static_cast<std::ptrdiff_t>(std::min(run, simpler.ops.size() - at)));
          return simpler;
        });
      }
      if (run == 1) break;
    }
  }

  void remove_pairs() {
    for (std::size_t second = 1; second < script_.ops.size(); ++second) {
      for (std::size_t first = 0; first < second; ++first) {
        changes_.push_back([this, first, second] { return without(first, second); });
      }
    }
  }

  Script without(std::size_t first, std::size_t second) const {
    Script simpler = script_;
    simpler.ops.erase(simpler.ops.begin() + static_cast<std::ptrdiff_t>(second));
    simpler.ops.erase(simpler.ops.begin() + static_cast<std::ptrdiff_t>(first));
    return simpler;
  }

  /// The values that are simpler than one of that argument, simplest first.
  static rc::Seq<std::int64_t> simpler_values(const ArgSpec& spec, std::int64_t value) {
    if (spec.type == Type::bits) {
      rc::Seq<std::int64_t> result;
      for (std::int64_t bit = 1; bit <= spec.most; bit <<= 1) {
        if ((value & bit) != 0) result = rc::seq::concat(std::move(result), rc::seq::just(value & ~bit));
      }
      return result;
    }
    if (spec.type == Type::words) return rc::seq::range(std::int64_t{0}, value);
    // The smallest int64_t has no opposite to shrink through.
    if (value == std::numeric_limits<std::int64_t>::min()) return rc::seq::just(std::int64_t{0}, value / 2);
    const std::int64_t target = spec.least > 0 ? spec.least : 0;
    return rc::shrink::towards(value, target);
  }

  template <class Put>
  void shrink_values(const Op& op, Put put) {
    const VerbSpec& verb = spec_of(script_.kind, op.verb);
    for (std::size_t at = 0; at < verb.args.size(); ++at) {
      auto values = simpler_values(verb.args[at], op.values[at]);
      for (auto value = values.next(); value; value = values.next()) {
        changes_.push_back([this, op, at, put, value = *value] {
          Op simpler = op;
          simpler.values[at] = value;
          Script script = script_;
          put(script, simpler);
          return script;
        });
      }
    }
  }

  /// One operation for two: a record that takes the room of both, header and all.
  void merge_records() {
    for (std::size_t second = 1; second < script_.ops.size(); ++second) {
      for (std::size_t first = 0; first < second; ++first) merge(first, second);
    }
  }

  void merge(std::size_t first, std::size_t second) {
    const auto place = size_place(script_.ops[first]);
    const auto other = size_place(script_.ops[second]);
    if (!place || !other) return;
    const ArgSpec& spec = spec_of(script_.kind, script_.ops[first].verb).args[*place];
    const std::int64_t sum = script_.ops[first].values[*place] + script_.ops[second].values[*other];
    // A header is 8 bytes; perf's samples have 4 more, and padding may go either way.
    for (const std::int64_t room : {8, 12, 16, 24}) {
      if (sum + room > spec.most) continue;
      changes_.push_back([this, first, second, place, size = sum + room] {
        Script simpler = script_;
        simpler.ops[first].values[*place] = size;
        simpler.ops.erase(simpler.ops.begin() + static_cast<std::ptrdiff_t>(second));
        return simpler;
      });
    }
  }

  /// Where the size of an operation's record stands, when it may be any.
  std::optional<std::size_t> size_place(const Op& op) const {
    const VerbSpec& verb = spec_of(script_.kind, op.verb);
    for (std::size_t place = 0; place < verb.args.size(); ++place) {
      if (verb.args[place].arg == Arg::size && verb.args[place].type == Type::bytes) return place;
    }
    return std::nullopt;
  }

  /// One operation less, and another one so large that it may do the work of both.
  void trade_for_edges() {
    const std::int64_t data = data_bytes(script_.kind, script_.setup);
    for (std::size_t at = 0; at < script_.ops.size(); ++at) {
      const VerbSpec& verb = spec_of(script_.kind, script_.ops[at].verb);
      for (std::size_t place = 0; place < verb.args.size(); ++place) {
        if (verb.args[place].type != Type::bytes || verb.args[place].arg == Arg::offset) continue;
        for (const std::int64_t below : edges_below_data) trade(at, place, data - below);
        for (std::int64_t more = 8; more <= 64; more += 8) trade(at, place, script_.ops[at].values[place] + more);
      }
    }
  }

  void trade(std::size_t at, std::size_t place, std::int64_t value) {
    const ArgSpec& spec = spec_of(script_.kind, script_.ops[at].verb).args[place];
    if (value < spec.least || value > spec.most) return;
    for (std::size_t gone = 0; gone < script_.ops.size(); ++gone) {
      if (gone == at) continue;
      changes_.push_back([this, at, place, value, gone] {
        Script simpler = script_;
        simpler.ops[at].values[place] = value;
        simpler.ops.erase(simpler.ops.begin() + static_cast<std::ptrdiff_t>(gone));
        return simpler;
      });
    }
  }

  const Script& script_;
  std::vector<Change> changes_;
};

}  // namespace

Script generate(RingKind kind, std::uint64_t seed, std::uint64_t index, const GenerateOptions& options) {
  // One stream for each script: an odd multiplier keeps neighbours apart.
  Dice dice(seed ^ (index + 1) * 0x9e3779b97f4a7c15ull ^ static_cast<std::uint64_t>(kind) << 56);
  const auto verbs = verbs_of(kind);
  Script script;
  script.kind = kind;
  Taste taste{.lies = dice.chance(1, 2), .small = dice.chance(1, 4), .data = 4096};
  script.setup = drawn_op(dice, verbs.front(), taste);
  if (kind == RingKind::ringbuf && !options.overwrite) set_value(kind, script.setup, Arg::overwrite, 0);
  taste.data = data_bytes(kind, script.setup);
  const std::uint64_t count = 1 + dice.below(options.most_ops);
  script.ops.reserve(count);
  while (script.ops.size() < count) {
    script.ops.push_back(drawn_op(dice, drawn_verb(dice, verbs.subspan(1), taste), taste));
  }
  return script;
}

struct Simpler::State {
  explicit State(const Script& from) : script(from), maker(script), changes(maker.all()) {}
  // The changes point to their maker, and that to the script.
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  Script script;
  Changes maker;
  std::vector<Change> changes;
  std::size_t tried = 0;
};

Simpler::Simpler(const Script& script) : state_(std::make_unique<State>(script)) {}
Simpler::~Simpler() = default;

std::optional<Script> Simpler::next() {
  if (state_->tried == state_->changes.size()) return std::nullopt;
  return state_->changes[state_->tried++]();
}

}  // namespace ringside::conform
