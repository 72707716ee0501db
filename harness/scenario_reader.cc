// SPDX-License-Identifier: Apache-2.0
#include "harness/scenario_reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "harness/nearest.h"

namespace ringside::harness {

namespace {

std::string one_of(const std::vector<std::string>& allowed) {
  return fmt::format("use one of {}", fmt::join(allowed, ", "));
}

}  // namespace

void ReadState::fail(const toml::source_region& where, const std::string& key, std::string reason, std::string remedy) {
  if (failure) return;
  failure = ring::Error{.attempt = fmt::format("{}:{}: key \"{}\"", origin, where.begin.line, key),
                        .reason = std::move(reason),
                        .remedy = std::move(remedy),
                        .code = 0};
}

const toml::node* TableReader::node(std::string_view key) {
  known_.emplace_back(key);
  return table_.get(key);
}

void TableReader::fail(std::string_view key, std::string reason, std::string remedy) {
  const toml::node* found = table_.get(key);
  state_.fail(found != nullptr ? found->source() : table_.source(), path_of(key), std::move(reason), std::move(remedy));
}

std::optional<std::int64_t> TableReader::read_integer(std::string_view key, std::int64_t min, std::int64_t max) {
  const toml::node* found = node(key);
  if (found == nullptr) return std::nullopt;
  const auto value = found->value_exact<std::int64_t>();
  if (!value) {
    fail(key, "is not an integer", fmt::format("write a number from {} to {}", min, max));
    return std::nullopt;
  }
  if (*value < min || *value > max) {
    fail(key, fmt::format("is {}", *value), fmt::format("use a number from {} to {}", min, max));
    return std::nullopt;
  }
  return value;
}

void TableReader::boolean(std::string_view key, bool& value) {
  const toml::node* found = node(key);
  if (found == nullptr) return;
  if (const auto read = found->value_exact<bool>()) {
    value = *read;
  } else {
    fail(key, "is not true or false", "write true or false");
  }
}

std::optional<std::string> TableReader::text(std::string_view key, const std::vector<std::string>& allowed) {
  const toml::node* found = node(key);
  if (found == nullptr) return std::nullopt;
  auto value = found->value_exact<std::string>();
  if (!value) {
    fail(key, "is not a text", allowed.empty() ? "write it in quotation marks" : one_of(allowed));
    return std::nullopt;
  }
  if (!allowed.empty() && std::find(allowed.begin(), allowed.end(), *value) == allowed.end()) {
    fail(key, fmt::format("is \"{}\"", *value), one_of(allowed));
    return std::nullopt;
  }
  return value;
}

std::vector<std::string> TableReader::texts(std::string_view key, const std::vector<std::string>& allowed) {
  std::vector<std::string> values;
  const toml::node* found = node(key);
  if (found == nullptr) return values;
  const toml::array* list = found->as_array();
  if (list == nullptr) {
    fail(key, "is not a list", "write [\"…\", \"…\"]");
    return values;
  }
  for (const auto& item : *list) {
    auto value = item.value_exact<std::string>();
    if (!value) {
      fail(key, "holds something that is not a text", "write [\"…\", \"…\"]");
    } else if (!allowed.empty() && std::find(allowed.begin(), allowed.end(), *value) == allowed.end()) {
      fail(key, fmt::format("holds \"{}\"", *value), one_of(allowed));
    } else {
      values.push_back(std::move(*value));
    }
  }
  return values;
}

const toml::table* TableReader::table(std::string_view key) {
  const toml::node* found = node(key);
  if (found == nullptr) return nullptr;
  if (!found->is_table()) fail(key, "is not a table", fmt::format("write [{}]", path_of(key)));
  return found->as_table();
}

const toml::array* TableReader::tables(std::string_view key) {
  const toml::node* found = node(key);
  if (found == nullptr) return nullptr;
  if (!found->is_array_of_tables()) {
    fail(key, "is not a list of tables", fmt::format("write [[{}]]", path_of(key)));
    return nullptr;
  }
  return found->as_array();
}

void TableReader::finish() {
  for (const auto& [key, value] : table_) {
    const std::string name{key.str()};
    if (std::find(known_.begin(), known_.end(), name) != known_.end()) continue;
    state_.fail(key.source(), path_of(name), "is unknown", suggestion(name, known_));
  }
}

}  // namespace ringside::harness
