// SPDX-License-Identifier: Apache-2.0
//
// Runs as JSON. Reading is strict: a missing key, an unknown one or a value of the wrong type is an error with its
// path, because the two ends of this text are of the same build and any difference is a fault of ours.
#include "harness/run_result_json.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

namespace ringside::harness {
namespace {

using Json = nlohmann::ordered_json;

/// Every field of Accounting with its key, so that writing and reading cannot drift apart.
constexpr std::pair<const char*, std::uint64_t ring::Accounting::*> accounting_fields[] = {
    {"attempts", &ring::Accounting::attempts},
    {"committed", &ring::Accounting::committed},
    {"delivered", &ring::Accounting::delivered},
    {"discarded", &ring::Accounting::discarded},
    {"failed", &ring::Accounting::failed},
    {"malformed", &ring::Accounting::malformed},
    {"left", &ring::Accounting::left},
    {"overwritten", &ring::Accounting::overwritten},
    {"missing", &ring::Accounting::missing},
    {"extra", &ring::Accounting::extra},
    {"reported_lost", &ring::Accounting::reported_lost},
    {"delivered_bytes", &ring::Accounting::delivered_bytes},
};

Json spec_json(const RunSpec& spec) {
  Json json;
  json["consumer"] = spec.consumer;
  json["scenario"] = spec.scenario;
  json["world"] = name_of(spec.world);
  json["ring"] = ring::name_of(spec.ring);
  json["seed"] = seed_text(spec.seed);
  json["records"] = spec.records;
  return json;
}

Json defect_json(const ring::Defect& defect) {
  Json json;
  json["kind"] = ring::name_of(defect.kind);
  json["ring"] = defect.ring;
  json["source"] = defect.source;
  json["sequence"] = defect.sequence;
  json["count"] = defect.count;
  json["detail"] = defect.detail;
  json["records"] = defect.records;
  return json;
}

Json verdict_json(const ring::Verdict& verdict) {
  Json json;
  json["defects"] = Json::array();
  for (const ring::Defect& defect : verdict.defects) json["defects"].push_back(defect_json(defect));
  json["not_observable"] = verdict.not_observable;
  json["notes"] = verdict.notes;
  for (const auto& [key, field] : accounting_fields) json["accounting"][key] = verdict.accounting.*field;
  return json;
}

/// Takes one object apart, key by key. The first thing that is wrong stays; everything after it reads as nothing.
class ObjectReader {
 public:
  ObjectReader(const Json& value, std::string path, std::optional<std::string>& wrong)
      : path_(std::move(path)), wrong_(wrong) {
    if (value.is_object()) {
      object_ = &value;
    } else {
      complain(path_.empty() ? "the text" : path_, "an object");
    }
  }

  const Json& child(const char* key) {
    static const Json nothing;
    ++taken_;
    if (object_ == nullptr) return nothing;
    const auto found = object_->find(key);
    if (found != object_->end()) return *found;
    complain(path_of(key), "there");
    return nothing;
  }

  std::string text(const char* key) {
    const Json& value = child(key);
    if (value.is_string()) return value.get<std::string>();
    complain(path_of(key), "a string");
    return {};
  }

  template <class Integer>
  Integer number(const char* key) {
    const Json& value = child(key);
    if (value.is_number_unsigned() && std::in_range<Integer>(value.get<std::uint64_t>())) return value.get<Integer>();
    complain(path_of(key), fmt::format("a number from 0 to {}", std::numeric_limits<Integer>::max()));
    return 0;
  }

  double real(const char* key) {
    const Json& value = child(key);
    if (value.is_number()) return value.get<double>();
    complain(path_of(key), "a number");
    return 0;
  }

  std::vector<std::string> texts(const char* key) {
    std::vector<std::string> values;
    for (const Json& value : array(key)) {
      if (value.is_string()) {
        values.push_back(value.get<std::string>());
      } else {
        complain(path_of(key), "an array of strings");
      }
    }
    return values;
  }

  const Json& array(const char* key) {
    static const Json empty = Json::array();
    const Json& value = child(key);
    if (value.is_array()) return value;
    complain(path_of(key), "an array");
    return empty;
  }

  /// A name out of a closed list.
  template <class Value>
  Value one_of(const char* key, std::initializer_list<Value> values) {
    const std::string name = text(key);
    for (const Value value : values) {
      if (name_of(value) == name) return value;
    }
    complain(path_of(key), "a known name");
    return *values.begin();
  }

  std::string path_of(std::string_view key) const {
    return path_.empty() ? std::string{key} : fmt::format("{}.{}", path_, key);
  }

  /// Keys that nobody asked for. Call when every key has been taken.
  void close() {
    if (object_ != nullptr && object_->size() > taken_) {
      complain(path_.empty() ? "the object" : path_, "without further keys");
    }
  }

  void complain(const std::string& where, const std::string& expected) {
    if (!wrong_) wrong_ = fmt::format("{} must be {}", where, expected);
  }

 private:
  const Json* object_ = nullptr;
  std::string path_;
  std::optional<std::string>& wrong_;
  std::size_t taken_ = 0;
};

std::optional<std::uint64_t> parse_seed_text(std::string_view text) {
  if (!text.starts_with("0x")) return std::nullopt;
  std::uint64_t seed = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data() + 2, end, seed, 16);
  if (failure != std::errc{} || stop != end) return std::nullopt;
  return seed;
}

/// The keys of the spec stand beside those of the result.
RunSpec read_spec(ObjectReader& object) {
  RunSpec spec;
  spec.consumer = object.text("consumer");
  spec.scenario = object.text("scenario");
  spec.world = object.one_of("world", {WorldKind::model, WorldKind::kernel, WorldKind::explored});
  spec.ring = object.one_of("ring", {ring::RingKind::ringbuf, ring::RingKind::perf, ring::RingKind::user_ringbuf});
  const std::optional<std::uint64_t> seed = parse_seed_text(object.text("seed"));
  if (!seed) object.complain(object.path_of("seed"), "0x and up to 16 hexadecimal digits");
  spec.seed = seed.value_or(0);
  spec.records = object.number<std::uint64_t>("records");
  return spec;
}

ring::Defect read_defect(ObjectReader object) {
  ring::Defect defect;
  const std::optional<ring::DefectKind> kind = ring::defect_kind_of(object.text("kind"));
  if (!kind) object.complain(object.path_of("kind"), "the name of a defect");
  defect.kind = kind.value_or(ring::DefectKind{});
  defect.ring = object.number<std::uint32_t>("ring");
  defect.source = object.number<std::uint32_t>("source");
  defect.sequence = object.number<std::uint64_t>("sequence");
  defect.count = object.number<std::uint64_t>("count");
  defect.detail = object.text("detail");
  defect.records = object.number<std::uint64_t>("records");
  object.close();
  return defect;
}

ring::Verdict read_verdict(ObjectReader object, std::optional<std::string>& wrong) {
  ring::Verdict verdict;
  for (const Json& value : object.array("defects")) {
    verdict.defects.push_back(read_defect({value, object.path_of("defects[]"), wrong}));
  }
  verdict.not_observable = object.texts("not_observable");
  verdict.notes = object.texts("notes");
  ObjectReader accounting(object.child("accounting"), object.path_of("accounting"), wrong);
  for (const auto& [key, field] : accounting_fields) {
    verdict.accounting.*field = accounting.number<std::uint64_t>(key);
  }
  accounting.close();
  object.close();
  return verdict;
}

ring::Result<Json> parse(std::string_view text) {
  try {
    return Json::parse(text);
  } catch (const Json::parse_error& failure) {
    return ring::error("read a run result", fmt::format("byte {} is not JSON", failure.byte));
  }
}

}  // namespace

std::string_view name_of(WorldKind world) {
  switch (world) {
    case WorldKind::model:
      return "model";
    case WorldKind::kernel:
      return "kernel";
    case WorldKind::explored:
      return "explored";
  }
  return "?";
}

std::string_view name_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::clean:
      return "clean";
    case Outcome::defects:
      return "defects";
    case Outcome::skipped:
      return "skipped";
    case Outcome::fault:
      return "fault";
  }
  return "?";
}

std::string seed_text(std::uint64_t seed) { return fmt::format("0x{:016x}", seed); }

std::string dump(const nlohmann::ordered_json& value, int indent) {
  return value.dump(indent, ' ', false, Json::error_handler_t::replace);
}

nlohmann::ordered_json to_json(const RunResult& result) {
  Json json = spec_json(result.spec);
  json["outcome"] = name_of(result.outcome);
  json["reason"] = result.reason;
  // JSON has no infinity: a clock that gave one is told as no time at all.
  json["wall_seconds"] = std::isfinite(result.wall_seconds) ? result.wall_seconds : 0.0;
  json["repeat"] = result.repeat;
  json["verdict"] = verdict_json(result.verdict);
  return json;
}

std::string to_json_line(const RunResult& result) { return dump(to_json(result), -1); }

ring::Result<RunResult> run_result_from_json(std::string_view text) {
  const ring::Result<Json> json = parse(text);
  if (!json) return tl::unexpected(json.error());
  std::optional<std::string> wrong;
  ObjectReader object(*json, "", wrong);
  RunResult result;
  result.spec = read_spec(object);
  result.outcome = object.one_of("outcome", {Outcome::clean, Outcome::defects, Outcome::skipped, Outcome::fault});
  result.reason = object.text("reason");
  result.verdict = read_verdict({object.child("verdict"), "verdict", wrong}, wrong);
  result.wall_seconds = object.real("wall_seconds");
  result.repeat = object.text("repeat");
  object.close();
  if (wrong) return ring::error("read a run result", *wrong);
  return result;
}

}  // namespace ringside::harness
