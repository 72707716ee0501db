// SPDX-License-Identifier: Apache-2.0
//
// Consumers that come as a shared object and export `ringside_consumer_entry` (ring/consumer.h).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "ring/consumer.h"
#include "ring/result.h"

namespace ringside::harness {

/// Holds a table against the contract: version, size, name, functions, kinds and flags. `origin` says whose table it is
/// in errors ("plugin.so"). Every error names the one thing that is wrong and what would be right.
ring::Result<void> validate_consumer(const ringside_consumer* consumer, const std::string& origin);

/// A loaded plugin. The table and its code stay mapped as long as this lives; it can be moved, not copied.
class Plugin {
 public:
  /// Loads the object at `path`, which is always a path and never looked up in the system's library folders. Its
  /// constructors and its entry run first in a child, which may take `probe_timeout_ms` milliseconds, and in this
  /// process when that went well. Errors: no such file, not a shared object of this machine, undefined symbols, no
  /// entry, a constructor or entry that ends the process or does not return, a table that breaks the contract. Not
  /// thread-safe: forks.
  static ring::Result<Plugin> load(const std::string& path, std::uint64_t probe_timeout_ms = 10'000);

  const ringside_consumer& consumer() const { return *consumer_; }

 private:
  struct Close {
    void operator()(void* library) const;
  };
  using Library = std::unique_ptr<void, Close>;

  /// Loads it in this very process; `tell` hears which step begins.
  static ring::Result<Plugin> load_here(const std::string& path, const std::function<void(const char* step)>& tell);

  Plugin(Library library, const ringside_consumer* consumer) : library_(std::move(library)), consumer_(consumer) {}

  Library library_;
  const ringside_consumer* consumer_;
};

}  // namespace ringside::harness
