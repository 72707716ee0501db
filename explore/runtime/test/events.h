// SPDX-License-Identifier: Apache-2.0
//
// Threads that wait for descriptors, futexes and time, as plain C++ for Linux.
#pragma once

extern int events_results[2];
extern int events_failed;

void begin_eventfd();
void begin_semaphore_eventfd();
void begin_nonblocking_eventfd();
void write_event();
void read_event();
void take_one();
void try_read_event();

/// An eventfd under epoll; nobody reads it.
void begin_level();
void begin_edge();
void wait_twice();
void wait_a_moment();
void wait_for_ever();
void wait_by_poll();
void poll_a_moment();

/// A ring of which only the positions are left: the producer wakes whoever had consumed all that was there before.
void begin_level_ring();
void begin_edge_ring();
void produce_two();
void produce_two_without_fence();
void consume_two();
void consume_two_with_fence();
void consume_two_or_time_out();
void consume_two_with_fence_or_time_out();
bool lies_unread();
void wait_and_do_nothing();
void poll_and_do_nothing();
void poll_until_two();
void wait_again_and_again();
void wait_a_while_and_write();

void begin_timer();
void wait_for_timer();
void read_timer();

void futex_wait_for_word();
void futex_set_and_wake();
void futex_wake_and_set();
void futex_set_silently();
void atomic_wait_for_word();
void atomic_set_and_notify();
void atomic_release_and_notify();
void atomic_set_silently();
void acquire_std_semaphore();
void release_std_semaphore();
void fulfil_and_await_promise();

void look_at_clocks();
void wait_until_a_second_has_passed();

/// A device that answers calls: `call_device` makes them, and demands the answers.
void begin_device();
void call_device();
void call_device_in_begin();
void call_device_in_vain();

void open_socket();
void make_system_call();
void read_foreign_descriptor();
void overflow_stack();
void read_null();
void compute_for_ever();
void compute_without_access();
