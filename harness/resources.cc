// SPDX-License-Identifier: Apache-2.0
#include "harness/resources.h"

#include <filesystem>
#include <fstream>
#include <string>

namespace ringside::harness {

Resources held_resources() {
  Resources held;
  std::error_code error;
  for (std::filesystem::directory_iterator entry("/proc/self/fd", error), end; !error && entry != end;
       entry.increment(error)) {
    ++held.descriptors;
  }
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const bool ring = line.find("anon_inode:") != std::string::npos || line.find("/memfd:") != std::string::npos;
    held.ring_mappings += ring ? 1 : 0;
  }
  return held;
}

}  // namespace ringside::harness
