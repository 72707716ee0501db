// SPDX-License-Identifier: Apache-2.0
//
// Consumers that come as a shared object and export `ringside_consumer_entry` (ring/consumer.h).
#pragma once

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
  /// Loads the object at `path`, which is always a path and never looked up in the system's library folders. Loading
  /// runs the object's constructors in this process. Errors: no such file, not a shared object of this machine,
  /// undefined symbols, no entry, a table that breaks the contract.
  static ring::Result<Plugin> load(const std::string& path);

  const ringside_consumer& consumer() const { return *consumer_; }

 private:
  struct Close {
    void operator()(void* library) const;
  };
  using Library = std::unique_ptr<void, Close>;

  Plugin(Library library, const ringside_consumer* consumer) : library_(std::move(library)), consumer_(consumer) {}

  Library library_;
  const ringside_consumer* consumer_;
};

}  // namespace ringside::harness
