/* SPDX-License-Identifier: Apache-2.0 OR BSD-2-Clause OR GPL-2.0-only */
/*
 * The self-proving test record, in the C that user space and BPF programs share, so that both sides cannot drift apart.
 *
 * A record says who wrote it, which one it is and how long it is, and every other byte of it follows from these. So a
 * record alone shows where it belongs and whether one byte of it is wrong.
 *
 * 16 bytes and more (all fields little endian):
 *   0  u32 length (30 bits) | state (2 bits, the top ones)
 *   4  u16 source
 *   6  u16 check: the low 16 bits of the key
 *   8  u64 sequence
 *   16 words: word i of the payload is key + (i + 1) * RINGSIDE_RECORD_STRIDE; a last partial word is cut
 * 1 to 15 bytes (the source must be below 8):
 *   0  state (2 bits, the top ones) | source (3 bits) | sequence (its low 3 bits)
 *   1  sequence bits 3 to 34, a byte each, as many as fit
 *   5  bytes of the key, from its lowest; after the eighth from its lowest again
 * 0 bytes: nothing; such records are counted, not told apart.
 *
 * The state proves that a record may be seen at all: a producer writes `draft` as soon as it has the space, and
 * rewrites the record as `committed` just before it commits, or as `doomed` just before it discards. Each (source,
 * state) counts its own sequence from 0, and an attempt that failed gives its number to the next.
 */
#ifndef RINGSIDE_RING_RECORD_FORMAT_H
#define RINGSIDE_RING_RECORD_FORMAT_H

#ifdef __bpf__
typedef __u64 ringside_u64;
typedef __u32 ringside_u32;
#define RINGSIDE_INLINE static __attribute__((always_inline)) inline
#else
#include <stdint.h>
typedef uint64_t ringside_u64;
typedef uint32_t ringside_u32;
#define RINGSIDE_INLINE static inline
#endif

#define RINGSIDE_RECORD_HEADER_BYTES 16u
#define RINGSIDE_RECORD_SHORT_SOURCES 8u
#define RINGSIDE_RECORD_STRIDE 0x9e3779b97f4a7c15ull

#define RINGSIDE_STATE_COMMITTED 1u
#define RINGSIDE_STATE_DRAFT 2u
#define RINGSIDE_STATE_DOOMED 3u

/* The 64-bit key of a record: a mix of all that identifies it, each input bit reaching every output bit. */
RINGSIDE_INLINE ringside_u64 ringside_record_key(ringside_u32 source, ringside_u32 state, ringside_u32 length,
                                                 ringside_u64 sequence) {
  /* Widened by assignment: a C cast is an error in our C++, a C++ cast one in C. */
  ringside_u64 wide_source = source;
  ringside_u64 wide_state = state;
  ringside_u64 x = sequence * 0xd6e8feb86659fd93ull + ((wide_source << 32) ^ (wide_state << 62) ^ length);
  x ^= x >> 32;
  x *= 0xd6e8feb86659fd93ull;
  x ^= x >> 29;
  x *= 0xa0761d6478bd642full;
  x ^= x >> 32;
  return x;
}

/* Word `index` of the payload of a record of 16 bytes and more: the eight bytes at 16 + 8 * index, little endian. */
RINGSIDE_INLINE ringside_u64 ringside_record_word(ringside_u64 key, ringside_u64 index) {
  return key + (index + 1) * RINGSIDE_RECORD_STRIDE;
}

/* The byte at `offset` (below 15) of a record of 1 to 15 bytes. */
RINGSIDE_INLINE ringside_u64 ringside_record_short_byte(ringside_u32 source, ringside_u32 state, ringside_u64 sequence,
                                                        ringside_u64 key, ringside_u32 offset) {
  if (offset == 0) return (state << 6) | (source << 3) | (sequence & 7);
  if (offset < 5) return (sequence >> (8 * offset - 5)) & 0xffu;
  return (key >> (8 * ((offset - 5) & 7))) & 0xffu;
}

#endif /* RINGSIDE_RING_RECORD_FORMAT_H */
