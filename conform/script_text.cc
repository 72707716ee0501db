// SPDX-License-Identifier: Apache-2.0
//
// Scripts as text. Everything that may stand in a line comes from the tables of verbs, and so does what a reader is
// told when something else stands there.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "conform/script.h"

namespace ringside::conform {

namespace {

constexpr std::string_view first_line = "ringside-script 1";
constexpr std::string_view last_line = "end";
constexpr ring::RingKind kinds[] = {ring::RingKind::ringbuf, ring::RingKind::user_ringbuf, ring::RingKind::perf};

std::string bits_text(const ArgSpec& spec, std::int64_t value) {
  std::string text;
  for (std::size_t bit = 0; bit < spec.words.size(); ++bit) {
    if ((value >> bit & 1) == 0) continue;
    if (!text.empty()) text += '+';
    text += spec.words[bit];
  }
  return text.empty() ? "none" : text;
}

std::string value_text(const ArgSpec& spec, std::int64_t value) {
  if (spec.type == ArgSpec::Type::words) return std::string(spec.words[static_cast<std::size_t>(value)]);
  return spec.type == ArgSpec::Type::bits ? bits_text(spec, value) : fmt::format("{}", value);
}

std::string listed(std::span<const std::string_view> words) { return fmt::format("{}", fmt::join(words, ", ")); }

/// What may stand as a value.
std::string allowed_text(const ArgSpec& spec) {
  if (spec.type == ArgSpec::Type::words) return fmt::format("{} is one of {}", spec.name, listed(spec.words));
  if (spec.type == ArgSpec::Type::bits) {
    return fmt::format("{} is none or some of {}, joined by +", spec.name, listed(spec.words));
  }
  return fmt::format("{} is a number from {} to {}", spec.name, spec.least, spec.most);
}

std::string args_text(const VerbSpec& verb) {
  if (verb.args.empty()) return fmt::format("{} takes no arguments", verb.name);
  std::vector<std::string_view> names;
  for (const ArgSpec& spec : verb.args) names.push_back(spec.name);
  return fmt::format("{} takes {}", verb.name, listed(names));
}

std::string verbs_text(ring::RingKind kind) {
  std::vector<std::string_view> names{last_line};
  for (const VerbSpec& verb : verbs_of(kind).subspan(1)) names.push_back(verb.name);
  return fmt::format("operations on a {} are {}", ring::name_of(kind), listed(names));
}

/// Where the reader stands.
struct Place {
  std::string_view where;
  std::size_t line = 0;
  std::size_t column = 0;
};

/// One line's word and where it starts, from 1.
struct Word {
  std::string_view text;
  std::size_t column = 0;
};

tl::unexpected<ring::Error> bad(const Place& place, std::string reason, std::string remedy) {
  return ring::error(fmt::format("read script {}:{}:{}", place.where, place.line, place.column), std::move(reason),
                     std::move(remedy));
}

/// What was written, fit for one line of a message.
std::string shown(std::string_view text) {
  constexpr std::size_t most = 40;
  std::string result;
  for (const char letter : text.substr(0, most)) {
    const auto code = static_cast<unsigned char>(letter);
    if (code < 0x20 || code == 0x7f) {
      result += fmt::format("\\x{:02x}", code);
    } else {
      result += letter;
    }
  }
  return text.size() > most ? result + "..." : result;
}

std::vector<Word> words_in(std::string_view line) {
  line = line.substr(0, line.find('#'));
  std::vector<Word> words;
  constexpr std::string_view blanks = " \t\r";
  for (std::size_t at = line.find_first_not_of(blanks); at != std::string_view::npos;) {
    const std::size_t end = std::min(line.find_first_of(blanks, at), line.size());
    words.push_back({line.substr(at, end - at), at + 1});
    at = line.find_first_not_of(blanks, end);
  }
  return words;
}

std::optional<std::int64_t> read_number(std::string_view text) {
  const bool hex = text.starts_with("0x");
  const std::string_view digits = hex ? text.substr(2) : text;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, hex ? 16 : 10);
  if (error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

std::optional<std::int64_t> read_bits(const ArgSpec& spec, std::string_view text) {
  if (text == "none") return 0;
  std::int64_t value = 0;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find('+', at), text.size());
    const auto word = std::ranges::find(spec.words, text.substr(at, end - at));
    if (word == spec.words.end()) return std::nullopt;
    value |= std::int64_t{1} << (word - spec.words.begin());
    at = end + 1;
  }
  return value;
}

std::optional<std::int64_t> read_value(const ArgSpec& spec, std::string_view text) {
  switch (spec.type) {
    case ArgSpec::Type::words: {
      const auto word = std::ranges::find(spec.words, text);
      if (word == spec.words.end()) return std::nullopt;
      return word - spec.words.begin();
    }
    case ArgSpec::Type::bits:
      return read_bits(spec, text);
    case ArgSpec::Type::number:
    case ArgSpec::Type::bytes:
      break;
  }
  const auto value = read_number(text);
  if (!value || *value < spec.least || *value > spec.most) return std::nullopt;
  return value;
}

/// The arguments of one line, each of the verb's exactly once, in any order.
ring::Result<Op> read_args(const VerbSpec& verb, std::span<const Word> words, Place place) {
  Op op{.verb = verb.verb, .values = {}};
  std::vector<bool> given(verb.args.size());
  for (const Word& word : words) {
    place.column = word.column;
    const std::size_t sign = word.text.find('=');
    const std::string_view name = word.text.substr(0, sign);
    const auto spec = std::ranges::find(verb.args, name, &ArgSpec::name);
    if (spec == verb.args.end()) {
      return bad(place, fmt::format("\"{}\" is no argument of {}", shown(name), verb.name), args_text(verb));
    }
    const auto index = static_cast<std::size_t>(spec - verb.args.begin());
    if (given[index]) return bad(place, fmt::format("{} is given twice", spec->name), "give it once");
    const std::string_view text = sign == std::string_view::npos ? std::string_view{} : word.text.substr(sign + 1);
    const auto value = read_value(*spec, text);
    if (!value) {
      place.column += std::min(sign, word.text.size() - 1) + 1;
      return bad(place, fmt::format("\"{}\" is no value of {}", shown(text), spec->name), allowed_text(*spec));
    }
    given[index] = true;
    op.values[index] = *value;
  }
  const auto missing = std::ranges::find(given, false);
  if (missing == given.end()) return op;
  const ArgSpec& spec = verb.args[static_cast<std::size_t>(missing - given.begin())];
  return bad(place, fmt::format("{} has no {}", verb.name, spec.name), allowed_text(spec));
}

/// Reads a script line by line.
class Reader {
 public:
  Reader(std::string_view text, std::string_view where) : text_(text), place_{where, 0, 1} {}

  ring::Result<Script> read() {
    if (!next() || line_ != first_line) {
      return bad(place_, fmt::format("the first line is not \"{}\"", first_line), "is this a script?");
    }
    if (!next()) return cut_short();
    if (auto setup = read_setup(); !setup) return tl::unexpected(setup.error());
    while (next()) {
      if (words_.front().text == last_line && words_.size() == 1) return read_rest();
      auto op = read_op();
      if (!op) return tl::unexpected(op.error());
      script_.ops.push_back(*op);
    }
    return cut_short();
  }

 private:
  /// Goes to the next line on which something stands.
  bool next() {
    while (!text_.empty()) {
      const std::size_t end = std::min(text_.find('\n'), text_.size());
      line_ = text_.substr(0, end);
      text_.remove_prefix(std::min(end + 1, text_.size()));
      ++place_.line;
      words_ = words_in(line_);
      if (words_.empty()) continue;
      place_.column = words_.front().column;
      return true;
    }
    return false;
  }

  ring::Result<Script> cut_short() {
    place_.column = 1;
    ++place_.line;
    return bad(place_, "the file ends before its last line", fmt::format("a script ends with \"{}\"", last_line));
  }

  ring::Result<Script> read_rest() {
    if (next()) return bad(place_, fmt::format("something follows \"{}\"", last_line), "it is the last line");
    return script_;
  }

  ring::Result<void> read_setup() {
    for (const ring::RingKind kind : kinds) {
      const VerbSpec& setup = verbs_of(kind).front();
      if (setup.name != words_.front().text) continue;
      auto op = read_args(setup, std::span(words_).subspan(1), place_);
      if (!op) return tl::unexpected(op.error());
      script_.kind = kind;
      script_.setup = *op;
      return {};
    }
    return bad(place_, fmt::format("\"{}\" is no kind of ring", shown(words_.front().text)),
               "the second line sets up a ringbuf, a user_ringbuf or a perf ring");
  }

  ring::Result<Op> read_op() const {
    const auto verbs = verbs_of(script_.kind).subspan(1);
    const auto verb = std::ranges::find(verbs, words_.front().text, &VerbSpec::name);
    if (verb == verbs.end()) {
      return bad(place_, fmt::format("unknown operation \"{}\"", shown(words_.front().text)), verbs_text(script_.kind));
    }
    return read_args(*verb, std::span(words_).subspan(1), place_);
  }

  std::string_view text_;
  std::string_view line_;
  std::vector<Word> words_;
  Place place_;
  Script script_;
};

}  // namespace

std::string to_text(ring::RingKind kind, const Op& op) {
  const VerbSpec& verb = spec_of(kind, op.verb);
  std::string text(verb.name);
  for (std::size_t at = 0; at < verb.args.size(); ++at) {
    text += fmt::format(" {}={}", verb.args[at].name, value_text(verb.args[at], op.values[at]));
  }
  return text;
}

std::string to_text(const Script& script) {
  std::string text = fmt::format("{}\n{}\n", first_line, to_text(script.kind, script.setup));
  for (const Op& op : script.ops) text += to_text(script.kind, op) + '\n';
  return text + std::string(last_line) + '\n';
}

std::ostream& operator<<(std::ostream& out, const Script& script) { return out << to_text(script); }

ring::Result<Script> parse_script(std::string_view text, std::string_view where) { return Reader(text, where).read(); }

}  // namespace ringside::conform
