// SPDX-License-Identifier: Apache-2.0
//
// Threads that exclude, wait for, create and join each other, as plain C++ and POSIX.
#pragma once

/// What the programs found; a program's own data is behind its locks.
extern int sync_results[4];
extern int sync_sum;
extern int sync_failed;

void add_unlocked();
void add_with_pthread_mutex();
void add_with_std_mutex();
void add_with_try_lock();
void add_with_spin_lock();
void add_with_semaphore();
void add_with_timed_mutex();
void begin_semaphore();
void lock_recursively();
void lock_checked();
void unlock_without_lock();
void lock_a_then_b();
void lock_b_then_a();

void read_with_rwlock();
void write_with_rwlock();
void write_under_read_lock();

/// A flag behind a mutex and a condition variable: of POSIX, of libstdc++.
void wait_for_flag();
void set_flag_and_signal();
void set_flag_and_broadcast();
void wait_for_std_flag();
void set_std_flag();
/// The flag is looked at before the lock is taken: a signal in between is lost.
void wait_looking_too_early();
void set_flag_unlocked();
void wait_without_flag();
void signal_only();
/// Waits at most a moment; result 0 is what it saw.
void wait_for_flag_a_moment();
/// Waits a moment, again and again, for as long as it takes.
void wait_for_flag_by_moments();
void set_flag_silently();

void pass_barrier();
void begin_barrier();

void create_and_join();
void create_and_race();
void store_buffering_in_std_threads();
void pass_local_by_reference();
void leave_by_exit();
void forget_to_join();

void use_once();
void use_static_local();

void spin_for_flag();
void sleep_for_flag();
void spin_for_two_flags();
void spin_with_compare_exchange();
void spin_a_few_times();
void set_spin_flag();
void count_spin_flag();
void retry_for_three();
void retry_for_one();
void retry_and_count_on_the_stack();
void retry_and_count_in_memory();
void tell_twice();
void retry_until_sum_is_two();
void spin_on_volatile();
void set_volatile_flag();

void throw_out();
void fail_assertion();
void allocate_for_ever();
void use_after_free();
void free_twice();
void pass_block();
void take_block();
void take_block_late();
void free_block_early();
void use_strings();
