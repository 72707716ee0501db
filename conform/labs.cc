// SPDX-License-Identifier: Apache-2.0
//
// Which sides belong to which kind of ring.
#include "conform/play.h"

namespace ringside::conform {

Sides sides_of(ring::RingKind kind, Lab& lab, const ModelOptions& options) {
  const auto make_model = kind == ring::RingKind::ringbuf ? make_ringbuf_model
                          : kind == ring::RingKind::perf  ? make_perf_model
                                                          : make_user_ringbuf_model;
  return Sides{.kernel = [&lab](const Script& script) { return lab.side(script); },
               .model = [make_model, options](const Script& script,
                                              const Facts& facts) { return make_model(script, options, facts); }};
}

ring::Result<std::unique_ptr<Lab>> make_lab(ring::RingKind kind, std::uint32_t cpu) {
  switch (kind) {
    case ring::RingKind::ringbuf:
      return make_ringbuf_lab(cpu);
    case ring::RingKind::perf:
      return make_perf_lab(cpu);
    case ring::RingKind::user_ringbuf:
      break;
  }
  return make_user_ringbuf_lab(cpu);
}

}  // namespace ringside::conform
