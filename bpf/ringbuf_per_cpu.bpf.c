// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//
// Producers of BPF ring buffers, one a CPU in an ARRAY_OF_MAPS under the CPU's id: the programs of ringbuf.bpf.c, whose
// records go to the ring of the CPU that they run on and may begin with their time.
#define RINGSIDE_PER_CPU 1
#include "bpf/ringbuf.bpf.c"
