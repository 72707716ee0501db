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
const ringside_consumer& read_into();
const ringside_consumer& drain_all();
const ringside_consumer& libbpf_perf();

// Producers of user ring buffers.
const ringside_producer& user_reserve();
const ringside_producer& libbpf_user();

}  // namespace ringside::consumers
