// SPDX-License-Identifier: Apache-2.0
//
// A batch as a consumer tells of it: where it begins, and what is claimed of the rings where it ends. A host that is
// older than batches is told nothing.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ring/consumer.h"

namespace ringside::consumers {

inline bool knows_batches(const ringside_host& host) {
  return host.struct_size >= offsetof(ringside_host, batch_end) + sizeof(host.batch_end);
}

inline void begin_batch(const ringside_host& host) {
  if (knows_batches(host)) host.batch_begin(host.context);
}

/// `claim`: RINGSIDE_BATCH_*.
inline void end_batch(const ringside_host& host, std::uint32_t claim) {
  if (knows_batches(host)) host.batch_end(host.context, claim);
}

}  // namespace ringside::consumers
