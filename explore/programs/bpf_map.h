// SPDX-License-Identifier: Apache-2.0
//
// The ring of a BPF program under exploration (bpf_ring.h) as its readers come by it: the descriptor of a map, which
// bpf(2) tells about, mmap maps and epoll waits for. So a library's own set-up and its own waiting are explored as they
// stand.
#pragma once

namespace ringside::explore::programs {

/// A descriptor of the ring, as of a BPF_MAP_TYPE_RINGBUF; the calls of this execution on it have answers from now on
/// (answer_calls()). In begin or in a thread.
int open_ring_map();

}  // namespace ringside::explore::programs
