/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Classic litmus tests as plain C and C++: what anybody would write, compiled for the explorer without a change.
 */
#ifndef RINGSIDE_EXPLORE_RUNTIME_TEST_LITMUS_H
#define RINGSIDE_EXPLORE_RUNTIME_TEST_LITMUS_H

#ifdef __cplusplus
extern "C" {
#endif

/* Results, by thread. */
extern int litmus_seen[4];
/* Nonzero: an assertion of the litmus test itself failed. */
extern int litmus_failed;

/* Store buffering. cpp: std::atomic; c: _Atomic; volatile; seq_cst where it says so. */
void cpp_sb_left(void);
void cpp_sb_right(void);
void cpp_sb_seq_cst_left(void);
void cpp_sb_seq_cst_right(void);
void cpp_sb_fences_left(void);
void cpp_sb_fences_right(void);
void c_sb_left(void);
void c_sb_right(void);
void volatile_sb_left(void);
void volatile_sb_right(void);

/* Message passing: 12 plain bytes behind a flag. */
void cpp_mp_send(void);
void cpp_mp_receive(void);
void cpp_mp_receive_relaxed(void);
void c_mp_send(void);
void c_mp_receive(void);
void volatile_mp_send(void);
void volatile_mp_receive(void);

/* Every read-modify-write in every width, and what must come out of them. */
void cpp_updates(void);
/* Adds one, 8, 16, 32 or 64 bits wide. */
void cpp_add_8(void);
void cpp_add_16(void);
void cpp_add_32(void);
void cpp_add_64(void);
int cpp_sums(void);
/* Compare-exchange: takes a ticket; weak in a loop. */
void cpp_take_strong(void);
void cpp_take_weak(void);

/* Races by range: 24 bytes are copied, one of them written; a struct; memset. */
void c_copy_all(void);
void c_write_one(void);
void c_fill_all(void);
void cpp_copy_struct(void);
void cpp_write_member(void);
/* Own memory of each thread: a big local array. */
void c_use_own_stack(void);

/* Initial values that only a static initialiser and begin can have set. */
void litmus_begin(void);
int cpp_static_initialiser_ran(void);

/* A 16-byte atomic, which is refused. */
void cpp_wide(void);

#ifdef __cplusplus
}
#endif

#endif
