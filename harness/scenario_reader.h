// SPDX-License-Identifier: Apache-2.0
//
// Strict reading of a TOML table: every key is named once, with its type and range; a key that nobody asked for is an
// error, with the nearest known key beside it. The first error wins and is kept; later reads do nothing.
#pragma once

#include <toml++/toml.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ring/result.h"

namespace ringside::harness {

/// Where reading stands: the origin of the text and the first error.
struct ReadState {
  std::string origin;
  std::optional<ring::Error> failure;

  void fail(const toml::source_region& where, const std::string& key, std::string reason, std::string remedy);
};

/// One table of the file. Not copyable: its destructor does not check, finish() does.
class TableReader {
 public:
  TableReader(const toml::table& table, std::string path, ReadState& state)
      : table_(table), path_(std::move(path)), state_(state) {}
  TableReader(const TableReader&) = delete;
  TableReader& operator=(const TableReader&) = delete;

  /// The node of a key, or null; the key counts as known from now on.
  const toml::node* node(std::string_view key);
  bool has(std::string_view key) const { return table_.contains(key); }

  /// Reads an integer in [min, max] into `value` when the key is there.
  template <class T>
  void integer(std::string_view key, T& value, std::int64_t min, std::int64_t max) {
    if (const auto read = read_integer(key, min, max)) value = static_cast<T>(*read);
  }
  void boolean(std::string_view key, bool& value);
  /// Reads a text; one of `allowed` unless that is empty. Returns nothing when absent or wrong.
  std::optional<std::string> text(std::string_view key, const std::vector<std::string>& allowed = {});
  /// Reads a list of texts.
  std::vector<std::string> texts(std::string_view key, const std::vector<std::string>& allowed = {});
  /// A table below this one, or null.
  const toml::table* table(std::string_view key);
  /// An array of tables below this one, or null.
  const toml::array* tables(std::string_view key);

  void fail(std::string_view key, std::string reason, std::string remedy);
  std::string path_of(std::string_view key) const {
    return path_.empty() ? std::string(key) : path_ + "." + std::string(key);
  }
  /// Refuses keys that were not asked for.
  void finish();

 private:
  std::optional<std::int64_t> read_integer(std::string_view key, std::int64_t min, std::int64_t max);

  const toml::table& table_;
  std::string path_;
  ReadState& state_;
  std::vector<std::string> known_;
};

}  // namespace ringside::harness
