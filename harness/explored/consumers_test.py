#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The consumers of the tree and their mutants under the explorer: the verdict of each, and how many executions it has
when every one was seen. The mutants of `ordering.cc` are wrong in the ordering of one access alone.

usage: consumers_test.py FOLDER [--most EXECUTIONS]
"""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "explore" / "programs"))
from programs_test import PROVED, arguments, check_verdicts, explore  # noqa: E402

# By file and program: the defect, or the number of complete executions (PROVED: rounds of a loop hang on the compiler).
EXPECTED = {
    # Two dumps. Of the records four lie in the ring whole, and a part of another.
    "backward_consumers": {
        "backward_again": "duplicate",
        "backward_goes_on_first": "data_race",
        "backward_half_record": "torn",
        "backward_newest_first": "reordered",
        "backward_not_quiet": "data_race",
        "backward_quiet_first": "data_race",
        "backward_two_laps": "torn",
        "backward_unpaused": "data_race",
        "overwritable_2": 12,
        "overwritable_6": 748,
    },
    "bpf_consumers": {
        "batch_release_1x2": 324,
        "batch_release_2x1": 1904,
        "batch_release_discard": 284,
        "batch_release_full": 91,
        "batch_release_quiet": ("bounded", 54),
        "batch_release_short": 324,
        "batch_release_wrap": 324,
        "bpf_read_into_1x1": 27,
        "bpf_read_into_discard": 838,
        "bpf_read_into_full": 733,
        "bpf_read_into_quiet": ("bounded", 114),
        "bpf_read_into_wrap": 1668,
        "break_at_end": "torn",
        "caches_producer_pos": "uninitialised_read",
        "callback_1x2": 345,
        "callback_2x1": 2216,
        "callback_discard": 284,
        "callback_full": 91,
        "callback_quiet": ("bounded", 54),
        "callback_short": 345,
        "callback_wrap": 345,
        "consumer_pos_relaxed": "use_after_release",
        "consumes_first": "use_after_release",
        "consumes_twice": "deadlock",
        "copies_late": "use_after_release",
        "copy_1x2": 345,
        "copy_2x1": 2216,
        "copy_discard": 284,
        "copy_full": 91,
        "copy_level_fence_quiet": ("bounded", 54),
        "copy_level_quiet": ("bounded", 54),
        "copy_quiet": ("bounded", 54),
        "copy_short": 345,
        "copy_wrap": 345,
        "early_timeout": "early_timeout",
        "guarded_peek_1x1": 27,
        "guarded_peek_discard": 838,
        "guarded_peek_full": 733,
        "guarded_peek_quiet": ("bounded", 114),
        "guarded_peek_wrap": 1668,
        "header_relaxed": "data_race",
        "ignore_busy": "data_race",
        "ignore_discard": "uninitialised_read",
        "iterator_1x1": 27,
        "iterator_discard": 838,
        "iterator_full": 733,
        "iterator_quiet": ("bounded", 114),
        "iterator_wrap": 1668,
        "keeps_batch": "missed_wakeup",
        "keeps_discarded": "missed_wakeup",
        "lease_1x1": 27,
        "lease_discard": 838,
        "lease_full": 733,
        "lease_never_ends": "missed_wakeup",
        "lease_quiet": ("bounded", 114),
        "lease_wrap": 1665,
        "look_without_fence": "missed_wakeup",
        "mutex_peek_1x1": 27,
        "mutex_peek_discard": 838,
        "mutex_peek_full": 733,
        "mutex_peek_quiet": ("bounded", 114),
        "mutex_peek_wrap": 1668,
        "passes_over_busy": "deadlock",
        "peek_consume_1x1": 27,
        "peek_consume_discard": 838,
        "peek_consume_full": 733,
        "peek_consume_quiet": ("bounded", 114),
        "peek_consume_wrap": 1668,
        "prefetch_view_1x2": 345,
        "prefetch_view_2x1": 2216,
        "prefetch_view_discard": 284,
        "prefetch_view_full": 91,
        "prefetch_view_quiet": ("bounded", 54),
        "prefetch_view_short": 345,
        "prefetch_view_wrap": 345,
        "producer_pos_relaxed": "data_race",
        "read_1x1": 27,
        "read_discard": 838,
        "read_full": 733,
        "read_quiet": ("bounded", 114),
        "read_wrap": 1668,
        "reader_tells_untested": "early_timeout",
        "reader_without_fence": "missed_wakeup",
        "release_early": "use_after_release",
        "sleep_without_look": "missed_wakeup",
        "stops_at_discard": "missed_wakeup",
        "store_for_fence": "missed_wakeup",
        "take_1x1": 27,
        "take_discard": 838,
        "take_full": 733,
        "take_quiet": ("bounded", 114),
        "take_wrap": 1668,
        "token_commit_1x1": 27,
        "token_commit_discard": 838,
        "token_commit_full": 463,
        "token_commit_quiet": ("bounded", 114),
        "token_commit_wrap": 1398,
        "visit_1x1": 27,
        "visit_discard": 838,
        "visit_full": 733,
        "visit_quiet": ("bounded", 114),
        "visit_wrap": 1668,
        "wrapped_difference": "missed_wakeup",
        "wrong_rounding": "protocol",
        "zero_copy_1x2": 345,
        "zero_copy_2x1": 2216,
        "zero_copy_discard": 287,
        "zero_copy_full": 91,
        "zero_copy_quiet": ("bounded", 54),
        "zero_copy_short": 345,
        "zero_copy_wrap": 345,
    },
    # Readers used as their contracts forbid, beside those that make the same use harmless.
    "misuse": {
        "close_during_available_bytes": 3,
        "close_during_lease": 6,
        "close_during_peek": "data_race",
        "close_during_read": 301,
        "close_during_visit": "data_race",
        "close_in_lease": "deadlock",
        "drain_a_round": 25,
        "drain_until_empty": "unbounded_drain",
        "flag_consume_twice": 32,
        "flag_peek_read_consume": 32,
        "flag_peek_read_look": 1,
        "flag_peek_read_threads": 70,
        "flag_two_peekers": 72,
        "flush_during_read": 195,
        "lease_sleeps_uncommitted": "busy_spin",
        "lease_uncommitted": 1,
        "mutex_consume_twice": 32,
        "mutex_peek_read_consume": "deadlock",
        "mutex_peek_read_look": "deadlock",
        "mutex_peek_read_threads": 64,
        "mutex_two_peekers": 64,
        "tokens_in_any_order": "use_after_release",
        "tokens_out_of_order": 224,
        "two_readers": "use_after_release",
        "unguarded_consume_twice": "uninitialised_read",
        "unguarded_peek_read_consume": "uninitialised_read",
        "unguarded_peek_read_look": "use_after_release",
        "unguarded_peek_read_threads": "data_race",
        "unguarded_two_peekers": "data_race",
        "view_over_consume": "use_after_release",
    },
    # Two CPUs, a clock and one round of a merge, or two.
    "merge_consumers": {
        "merge_before": "reordered",
        "merge_by_arrival": "reordered",
        "merge_ignores_busy": "reordered",
        "merge_inside": 320,
        "merge_inside_2": 24203,
        "merge_inside_twice": 1562,
        "merge_no_barrier": "reordered",
        "merge_positions_first": "reordered",
        "merge_without_bound": "reordered",
        "merge_without_fence": "reordered",
    },
    # The kernel orders the stores of a payload behind that of overwrite_pos on x86 alone.
    "overwrite_consumers": {
        "overwrite_ignores_pos": "reordered",
        "overwrite_no_second_look": "duplicate",
        "overwrite_snapshot_3": "duplicate",
    },
    "perf_consumers": {
        "count_lost_callbacks": "loss_miscounted",
        "cpu_hands_back_first": "use_after_release",
        "cpu_shows_wrapped": "torn",
        "data_head_relaxed": "data_race",
        "data_tail_relaxed": "use_after_release",
        "drain_all_3": 900,
        "drain_all_full": 17313,
        "drain_all_interrupted": 205,
        "drain_all_wrap": 58,
        "drain_claims_empty": "batch_incomplete",
        "drain_cpu_3": 230,
        "drain_cpu_full": 1497,
        "drain_cpu_interrupted": 65,
        "drain_cpu_wrap": 24,
        "drain_heads_first": "batch_incomplete",
        "drain_partly": "missed_wakeup",
        "forget_lost": "loss_miscounted",
        "parse_for_cpu_3": 230,
        "parse_for_cpu_full": 1497,
        "parse_for_cpu_interrupted": 65,
        "parse_for_cpu_wrap": 24,
        "perf_flag_before_head": "missed_wakeup",
        "read_cuts_padding": "torn",
        "read_into_3": 648,
        "read_into_full": 5505,
        "read_into_interrupted": 134,
        "read_into_wrap": 43,
        "read_loss_as_sample": "torn",
        "read_loss_of_nothing": "loss_miscounted",
        "session_full": 5505,
        "session_merge_full": 5505,
        "session_watermark_3": 648,
        "session_watermark_full": 5505,
        "session_watermark_interrupted": 134,
        "session_watermark_wrap": 43,
    },
    # One sample of each CPU. The order of time is judged of `session_merge` and of the mutants that claim it.
    "perf_pair_consumers": {
        "cpu_by_index": "protocol",
        "drain_all_pair": 96,
        "drain_cpu_pair": 28,
        "drain_one_ring": "batch_incomplete",
        "parse_for_cpu_pair": 28,
        "read_into_pair": 66,
        "read_knows_no_time": "torn",
        "session_by_arrival": "reordered",
        "session_claims_order": "reordered",
        "session_merge_pair": 105,
        "session_no_hold": "reordered",
        "session_pair": 81,
        "session_watermark_pair": 66,
    },
    # One program reads the side, counts itself, writes. "2": two attempts, three flips.
    "swap_consumers": {
        "ab_swap_2": 447,
        "ab_swap_erased_count": "loss_miscounted",
        "ab_swap_full": 107,
        "ab_swap_no_repoll": "batch_incomplete",
        "ab_swap_quiescent": 40,
        "ab_swap_straggler": "batch_incomplete",
        "ab_swap_waits_for_count": "busy_spin",
    },
    "user_producers": {
        "commit_before_write": "data_race",
        "forget_space": "data_race",
        "user_consumer_pos_relaxed": "data_race",
        "user_header_relaxed": "data_race",
        "user_producer_pos_relaxed": "data_race",
        "user_reserve_2": 10,
        "user_reserve_discard": 141,
        "user_reserve_full": PROVED,
        "user_reserve_wrap": 10,
    },
}


class Consumers(unittest.TestCase):
    folder = pathlib.Path()
    most = None

    def test_each_program_has_its_verdict(self):
        late = ("overwrite_no_second_look", "overwrite_snapshot_3", "reader_without_fence")
        check_verdicts(self, self.folder, EXPECTED, self.most, late)

    def verdict(self, file, program, memory):
        return explore(self.folder / file, program, "--memory", memory)[1][program]["verdict"]

    def test_orders_that_x86_keeps_anyway_are_missed_there(self):
        for file, program in (("bpf_consumers", "header_relaxed"), ("bpf_consumers", "producer_pos_relaxed"),
                              ("perf_consumers", "data_head_relaxed"), ("user_producers", "user_header_relaxed")):
            with self.subTest(program=program):
                self.assertEqual(self.verdict(file, program, "tso"), "proved")

    def test_a_look_without_a_fence_misses_a_wake_up_on_x86_too(self):
        self.assertEqual(self.verdict("bpf_consumers", "look_without_fence", "tso"), "failed")
        self.assertEqual(self.verdict("bpf_consumers", "look_without_fence", "sc"), "proved")

    def test_overwrite_rings_are_read_right_on_x86_and_by_nobody_who_looks_once(self):
        for program, verdict in (("overwrite_snapshot_3", "proved"), ("overwrite_no_second_look", "failed"),
                                 ("overwrite_ignores_pos", "failed")):
            with self.subTest(program=program):
                self.assertEqual(self.verdict("overwrite_consumers", program, "tso"), verdict)

    def test_a_clock_is_no_barrier_between_a_reservation_and_its_stamp(self):
        expected = {
            "merge_inside": {"tso": "proved", "sc": "proved"},
            "merge_no_barrier": {"tso": "failed", "sc": "proved"},
            "merge_before": {"tso": "failed", "sc": "failed"},
            # Loads stay in order on x86: the reader's own fence is for other machines.
            "merge_without_fence": {"tso": "proved", "sc": "proved"},
        }
        for program, verdicts in expected.items():
            for memory, verdict in verdicts.items():
                with self.subTest(program=program, memory=memory):
                    self.assertEqual(self.verdict("merge_consumers", program, memory), verdict)

    def test_the_kernels_own_flag_before_its_head_harms_nobody_on_x86(self):
        self.assertEqual(self.verdict("perf_consumers", "perf_flag_before_head", "tso"), "proved")


if __name__ == "__main__":
    Consumers.folder, Consumers.most = arguments()
    unittest.main()
