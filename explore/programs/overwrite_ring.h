// SPDX-License-Identifier: Apache-2.0
//
// A BPF ring that gives up its oldest records when it is full (BPF_F_RB_OVERWRITE, KERNEL-RINGS 1.11), as the model
// writes it. Its reader is never safe from the writer, so whatever both access counts as atomic, word by word, and what
// is asked is whether the reader believes only what was whole. It is not instrumented; readers are.
#pragma once

#include <cstdint>
#include <functional>

#include "explore/explored.h"
#include "explore/programs/bpf_ring.h"

namespace ringside::explore::programs {

/// Of each record's payload: three words, each the record's number. Two records fit.
inline constexpr std::uint32_t overwrite_record_size = 24;

/// Of the program that is explored now.
RingView overwrite_ring();
/// The reader hands a record on; fails when it is no later one than the last.
void deliver_overwrite(std::uint64_t number);

/// A producer of so many records, numbered from 1, and this reader.
Program overwrite_program(std::uint32_t records, std::function<void()> reader);

}  // namespace ringside::explore::programs
