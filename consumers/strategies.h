// SPDX-License-Identifier: Apache-2.0
//
// The tables of all strategies, one function a file. Users go by consumers/registry.h.
#pragma once

#include "ring/consumer.h"
#include "ring/producer.h"

namespace ringside::consumers {

const ringside_consumer& copy();
const ringside_consumer& zero_copy();
const ringside_consumer& callback();
const ringside_consumer& libbpf();
const ringside_consumer& overwrite_snapshot();
const ringside_consumer& read();
const ringside_consumer& peek_consume();
const ringside_consumer& guarded_peek();
const ringside_consumer& mutex_peek();
const ringside_consumer& iterator();
const ringside_consumer& visit();
const ringside_consumer& take();
const ringside_consumer& token_commit();
const ringside_consumer& lease();
const ringside_consumer& batch_release();
const ringside_consumer& prefetch_view();
const ringside_consumer& busy_poll();
const ringside_consumer& copy_level();
const ringside_consumer& copy_level_fence();
const ringside_consumer& time_merge();
// BPF rings and perf rings.
const ringside_consumer& read_into();
// Perf rings.
const ringside_consumer& drain_all();
const ringside_consumer& ab_swap();
const ringside_consumer& libbpf_perf();
const ringside_consumer& parse_for_cpu();
const ringside_consumer& drain_cpu();
const ringside_consumer& session();
const ringside_consumer& session_watermark();
const ringside_consumer& session_merge();
const ringside_consumer& overwritable();

// Producers of user ring buffers.
const ringside_producer& user_reserve();
const ringside_producer& libbpf_user();

}  // namespace ringside::consumers
