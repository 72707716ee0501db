#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The programs that ship: the verdict of each, and how many executions it has when every one was seen.

usage: programs_test.py FOLDER [--most EXECUTIONS]
"""
import argparse
import json
import pathlib
import subprocess
import sys
import unittest

# Without a number: how many rounds of a loop that spins are seen hangs on what the compiler leaves in registers.
PROVED = None

# By file and program: the defect, or the number of complete executions.
EXPECTED = {
    "busy_spins": {
        "q2_busy_head_committed": PROVED,
        "q2_busy_head_held": "busy_spin",
        "spin_at_discarded": "busy_spin",
        "spin_past_discarded": PROVED,
    },
    "missed_wakeups": {
        "a1_fence_edge": 9,
        "a1_fence_timeout": 30,
        "a1_release_edge": "missed_wakeup",
        "a1_release_level": 18,
        "a1_release_timeout": "missed_wakeup",
        "a2_seq_cst_store_edge": "missed_wakeup",
    },
    "bpf_rings": {
        "bpf_1x1": 1,
        "bpf_1x2": 5,
        "bpf_1x3": 27,
        "bpf_1x6": 4629,
        "bpf_2x1": 20,
        "bpf_2x2": 6066,
        "bpf_3x1": 918,
        "bpf_4x1": 70032,
        "bpf_full": 3,
        "bpf_wrap": 5,
        "c1_reopened_at_position": 1,
        "c1_reopened_at_zero": "uninitialised_read",
        "d1_header_acquired": 5,
        "d1_header_relaxed": "data_race",
    },
    "perf_rings": {
        "d2_data_head_acquired": 12,
        "d2_data_head_relaxed": "data_race",
        "f2_backwards_until_behind": 15,
        "f2_backwards_until_equal": "uninitialised_read",
        "f2_forwards_until_equal": 19,
    },
    "ring_views": {
        "g1_view_given_up": 1,
        "g1_view_kept": "use_after_release",
        "padding_left_alone": 1,
        "padding_read": "uninitialised_read",
        "payload_filled": 1,
        "payload_not_filled": "uninitialised_read",
        "position_stored_relaxed": "use_after_release",
    },
}


def explore(path, *arguments):
    """Exit status and reports, by program."""
    command = [path, "--format", "json", "--quiet", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, {program["name"]: program for program in json.loads(done.stdout)["programs"]}


def check_reports(test, file, reports, expected):
    """Each of the programs has the verdict that check_verdicts() would want of it."""
    for name, wanted in expected.items():
        report = reports[name]
        found = report["failure"]["defect"] if report["failure"] else report["complete"]
        with test.subTest(file=file, program=name):
            verdict, count = wanted if isinstance(wanted, tuple) else ("proved", wanted)
            if count is not PROVED:
                test.assertEqual(found, count, report["failure"] and report["failure"]["what"])
            test.assertEqual(report["verdict"], "failed" if isinstance(wanted, str) else verdict)


def has_more(wanted, most):
    count = wanted[1] if isinstance(wanted, tuple) else wanted
    return count is PROVED or isinstance(count, int) and count > most


def check_verdicts(test, folder, expected, most=None, late=()):
    """Every program of every file has the verdict that is expected of it, and there are no others. `expected`, by file
    and program: the defect; the number of complete executions; or ("bounded", number). `most`: no more executions of
    any, for a build that is slow; those that have more are good as far as they are seen, and so are the `late` ones,
    which fail after many."""
    for file, programs in expected.items():
        _, reports = explore(folder / file, *(("--executions", str(most)) if most else ()))
        test.assertEqual(set(reports), set(programs), file)
        cut = {name for name, wanted in programs.items() if most and (name in late or has_more(wanted, most))}
        for name in cut:
            with test.subTest(file=file, program=name):
                test.assertIsNone(reports[name]["failure"])
        check_reports(test, file, reports, {name: programs[name] for name in programs if name not in cut})


def arguments():
    """(folder, most executions or None) of the command line; what is unittest's is left there."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--most", type=int)
    options, sys.argv[1:] = parser.parse_known_args()
    return options.folder, options.most


class Programs(unittest.TestCase):
    folder = pathlib.Path()
    most = None

    def test_each_program_has_its_verdict(self):
        check_verdicts(self, self.folder, EXPECTED, self.most)

    def test_the_simplest_missed_wake_up_is_short(self):
        _, reports = explore(self.folder / "missed_wakeups", "a1_release_edge")
        failure = reports["a1_release_edge"]["failure"]
        self.assertLessEqual(len(failure["steps"]), 21)
        self.assertLessEqual(failure["interruptions"] + failure["stale"], 2)
        story = " ".join(failure["story"])
        for part in ("although producer had already stored", "sleeps for ever", "However", "a full fence"):
            self.assertIn(part, story)

    def test_under_sc_no_wake_up_is_missed(self):
        for name in ("a1_release_edge", "a2_seq_cst_store_edge"):
            status, reports = explore(self.folder / "missed_wakeups", name, "--memory", "sc")
            self.assertEqual((status, reports[name]["verdict"]), (0, "proved"))

    def test_on_x86_a_seq_cst_store_is_a_fence_and_a_release_store_is_none(self):
        for name, verdict in (("a1_release_edge", "failed"), ("a2_seq_cst_store_edge", "proved")):
            _, reports = explore(self.folder / "missed_wakeups", name, "--memory", "tso")
            self.assertEqual(reports[name]["verdict"], verdict)

    def test_on_x86_every_store_of_a_position_releases_but_none_waits_for_a_later_read(self):
        for name, verdict in (("position_stored_relaxed", "proved"), ("g1_view_kept", "failed")):
            for memory in ("sc", "tso"):
                _, reports = explore(self.folder / "ring_views", name, "--memory", memory)
                self.assertEqual(reports[name]["verdict"], verdict, memory)

    def test_every_step_of_explored_code_has_its_line(self):
        _, reports = explore(self.folder / "missed_wakeups", "a1_release_edge")
        for step in reports["a1_release_edge"]["failure"]["steps"]:
            self.assertRegex(step["source"], r"^(explore/programs|sim|explore)/[a-z_]+\.(cc|h):[0-9]+$")

    def test_every_failure_comes_again_by_its_token(self):
        for file, expected in EXPECTED.items():
            broken = [name for name, wanted in expected.items() if isinstance(wanted, str)]
            if not broken:
                continue
            _, reports = explore(self.folder / file, *broken)
            for name in broken:
                failure = reports[name]["failure"]
                _, again = explore(self.folder / file, "--replay", failure["token"])
                with self.subTest(program=name):
                    for key in ("defect", "what", "rival", "span", "steps"):
                        self.assertEqual(again[name]["failure"][key], failure[key], key)

    def test_walks_find_each_kind_of_defect(self):
        for file, name in (("busy_spins", "spin_at_discarded"), ("missed_wakeups", "a1_release_timeout"),
                           ("ring_views", "g1_view_kept"), ("ring_views", "position_stored_relaxed"),
                           ("ring_views", "padding_read")):
            for way in ("random", "pct"):
                _, reports = explore(self.folder / file, name, "--search", way)
                failure = reports[name]["failure"]
                self.assertEqual(failure["defect"], EXPECTED[file][name], way)
                _, again = explore(self.folder / file, "--replay", failure["token"])
                self.assertEqual(again[name]["failure"]["steps"], failure["steps"], way)

    def test_a_spin_goes_on_within_a_walk_when_something_comes(self):
        for way in ("random", "pct"):
            _, reports = explore(self.folder / "busy_spins", "spin_past_discarded", "--search", way, "--executions",
                                 "1000")
            report = reports["spin_past_discarded"]
            self.assertEqual((report["verdict"], report["complete"], report["blocked"]), ("bounded", 1000, 0))

    def test_a_story_says_what_was_handed_back_and_by_which_step(self):
        for file, name, parts in (
                ("ring_views", "g1_view_kept",
                 ("consumer stores 0x10 in consumer_pos (step", "That hands back positions 0 to 0x10 of the ring",
                  "Only after that it reads record 1 payload (step", "must come after the last look")),
                ("ring_views", "position_stored_relaxed",
                 ("consumer reads record 1 payload (step", "which hands back positions 0 to 0x10 of the ring",
                  "is relaxed and does not release", "It must be a release store")),
                ("ring_views", "padding_read",
                 ("which claims positions 0 to 0x18 of the ring", "nobody has written bytes 20 to 23 when consumer")),
                ("busy_spins", "spin_at_discarded",
                 ("goes round for ever, awake", "looks at record 1 header and sees 0x40000008")),
                ("missed_wakeups", "a1_release_timeout",
                 ("sleeps until a timeout", "Unread lies what begins with record 2 header: positions 0x10 to 0x20"))):
            _, reports = explore(self.folder / file, name)
            story = " ".join(reports[name]["failure"]["story"])
            for part in parts:
                self.assertIn(part, story)

    def test_a_race_is_told_with_both_lines(self):
        _, reports = explore(self.folder / "bpf_rings", "d1_header_relaxed")
        self.assertRegex(reports["d1_header_relaxed"]["failure"]["what"],
                         r"; at [a-z/]+bpf_ring\.cc:[0-9]+ and [a-z/]+bpf_consumer\.h:[0-9]+$")

    def test_parts_are_together_the_whole(self):
        path = self.folder / "bpf_rings"
        parts = [explore(path, "bpf_1x3", "--shard", f"{part}/3")[1]["bpf_1x3"]["complete"] for part in (1, 2, 3)]
        self.assertEqual(sum(parts), EXPECTED["bpf_rings"]["bpf_1x3"])

    def test_walks_find_the_missed_wake_up_too(self):
        for way in (("--search", "random"), ("--search", "pct"), ("--preemptions", "2")):
            _, reports = explore(self.folder / "missed_wakeups", "a1_release_edge", *way)
            self.assertEqual(reports["a1_release_edge"]["verdict"], "failed", way)


if __name__ == "__main__":
    Programs.folder, Programs.most = arguments()
    unittest.main()
