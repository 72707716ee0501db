#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/test and .ci/run in a small tree of their own, whose tests pass, fail, skip or hang as each case needs."""

import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent

# CTest gives up on nothing here and needs no compiler: a project without languages, tests that are shell commands.
HEAD = ("cmake_minimum_required(VERSION 3.25)\nproject(small LANGUAGES NONE)\nenable_testing()\n"
        "foreach(label unit props kernel)\n  add_custom_target(tests_${label})\nendforeach()\n")


def test(name, command, label="unit"):
    """One test of the small tree; it skips when it prints SKIP."""
    return (f'add_test(NAME {name} COMMAND sh -c [==[{command}]==])\n'
            f'set_tests_properties({name} PROPERTIES LABELS {label} SKIP_REGULAR_EXPRESSION "SKIP")\n')


def alive(pid):
    """Whether the process runs: one that ended and was not collected yet does not."""
    try:
        state = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in "ZX"


def gone(pids, limit_s=30):
    """Whether all of them end: a signal that was sent may still be on its way."""
    deadline = time.monotonic() + limit_s
    while any(map(alive, pids)):
        if time.monotonic() > deadline:
            return False
        os.sched_yield()
    return True


class RunnerTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.root = pathlib.Path(scratch.name)
        for name in ("scripts/lib.sh", "scripts/in_vm", "scripts/test", "scripts/summary", "scripts/kernel_ready",
                     ".ci/run", "CMakePresets.json"):
            (self.root / name).parent.mkdir(exist_ok=True)
            shutil.copy(ROOT / name, self.root / name)
        # What is installed and what other kernels do are not this test's questions.
        self.script("scripts/matrix",
                    "echo 'clean: 1,000 cells passed, 0 failed, 20 skipped; 2 kernels, 1 s'; echo logs")
        self.script("scripts/setup", "")

    def script(self, name, text):
        (self.root / name).write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
        (self.root / name).chmod(0o755)

    def start(self, tests, *command, **environment):
        (self.root / "CMakeLists.txt").write_text(HEAD + tests, encoding="utf-8")
        return subprocess.Popen([self.root / command[0], *command[1:]], stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True, cwd="/", start_new_session=True,
                                env=os.environ | {"RINGSIDE_REQUIRE_KERNEL": "0"} | environment)

    def run_to_end(self, tests, *command, **environment):
        """Exit status and last line."""
        process = self.start(tests, *command, **environment)
        output, _ = process.communicate()
        return process.returncode, output.splitlines()[-1]

    def test_the_last_line_counts_and_the_exit_status_agrees(self):
        self.assertEqual(self.run_to_end(test("a", "true") + test("b", "true"), "scripts/test"),
                         (0, "2 passed, 0 failed, 0 skipped"))
        tests = test("a", "true") + test("b", "false") + test("c", "echo SKIP")
        self.assertEqual(self.run_to_end(tests, "scripts/test"), (1, "1 passed, 1 failed, 1 skipped"))

    def test_labels_choose_tests_with_either(self):
        tests = test("a", "true", "unit") + test("b", "true", "props") + test("c", "false", "kernel")
        self.assertEqual(self.run_to_end(tests, "scripts/test", "--label", "unit", "--label", "props"),
                         (0, "2 passed, 0 failed, 0 skipped"))

    def test_labels_of_programs_build_what_these_need_and_no_more(self):
        tests = "add_custom_target(other ALL COMMAND false)\n" + test("a", "true") + test("b", "true", "tidy")
        self.assertEqual(self.run_to_end(tests, "scripts/test", "--label", "unit"),
                         (0, "1 passed, 0 failed, 0 skipped"))
        for labels in ((), ("--label", "unit", "--label", "tidy")):
            self.assertEqual(self.run_to_end(tests, "scripts/test", *labels), (1, "0 passed, 1 failed, 0 skipped"))

    def test_other_arguments_go_to_ctest(self):
        self.assertEqual(self.run_to_end(test("a", "true") + test("b", "false"), "scripts/test", "-R", "a"),
                         (0, "1 passed, 0 failed, 0 skipped"))

    def test_a_skipped_kernel_test_fails_only_where_it_can_run(self):
        tests = test("a", "true") + test("b", "echo SKIP", "kernel")
        self.assertEqual(self.run_to_end(tests, "scripts/test", RINGSIDE_REQUIRE_KERNEL="0"),
                         (0, "1 passed, 0 failed, 1 skipped"))
        self.assertEqual(self.run_to_end(tests, "scripts/test", RINGSIDE_REQUIRE_KERNEL="1"),
                         (1, "1 passed, 1 failed, 0 skipped"))

    def test_tests_are_told_whether_the_kernel_is_required(self):
        tests = test("a", 'test "$RINGSIDE_REQUIRE_KERNEL" = 1')
        self.assertEqual(self.run_to_end(tests, "scripts/test", RINGSIDE_REQUIRE_KERNEL="1")[0], 0)

    def test_a_build_that_fails_is_one_failure(self):
        tests = "add_custom_target(broken ALL COMMAND false)\n" + test("a", "true")
        self.assertEqual(self.run_to_end(tests, "scripts/test"), (1, "0 passed, 1 failed, 0 skipped"))

    def test_no_test_at_all_is_a_failure(self):
        self.assertEqual(self.run_to_end(test("a", "true"), "scripts/test", "--label", "none"),
                         (1, "0 passed, 1 failed, 0 skipped"))

    def test_wrong_usage_is_told_apart(self):
        self.assertEqual(self.run_to_end("", "scripts/test", "--preset", "fast")[0], 2)
        self.assertEqual(self.run_to_end("", "scripts/test", "--label")[0], 2)

    def test_a_signal_ends_everything_that_was_started(self):
        for number, status in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            with self.subTest(number):
                pids = self.root / f"pids-{number}"
                os.mkfifo(pids)
                # The test starts a process of its own and tells both numbers; reading them waits for that.
                process = self.start(test("a", f"sleep 600 & echo $$ $! >{pids}; wait"), "scripts/test")
                started = [int(pid) for pid in pids.read_text(encoding="utf-8").split()]
                self.assertTrue(all(map(alive, started)))
                process.send_signal(number)
                process.communicate()
                self.assertEqual(process.returncode, status)
                self.assertTrue(gone(started), started)

    def test_ci_sums_all_runs_up(self):
        tests = test("a", "true") + test("b", "true", "props") + test("c", "true", "tidy")
        # All three as the README gives it, the matrix, unit and props with ASan, unit with TSan.
        self.assertEqual(self.run_to_end(tests, ".ci/run"), (0, "1006 passed, 0 failed, 20 skipped"))

    def test_ci_fails_when_a_kernel_of_the_matrix_does(self):
        self.script("scripts/matrix", "printf 'Failed\\n  6.1  a: torn\\n'; "
                    "echo 'FAILED: 7 cells passed, 1 failed, 2 skipped; 2 kernels, 1 s'; exit 1")
        process = self.start(test("a", "true"), ".ci/run")
        lines = process.communicate()[0].splitlines()
        self.assertEqual((process.returncode, lines[-1]), (1, "10 passed, 1 failed, 2 skipped"))
        self.assertIn("  6.1  a: torn", lines[lines.index("== all runs"):])

    def test_ci_fails_when_a_run_says_no_counts(self):
        self.script("scripts/matrix", "echo oops; exit 3")
        self.assertEqual(self.run_to_end(test("a", "true"), ".ci/run"), (1, "3 passed, 1 failed, 0 skipped"))

    def test_ci_fails_when_one_run_fails_and_still_does_the_others(self):
        tests = ('if("${CMAKE_CXX_FLAGS}" MATCHES "address")\n' + test("a", "echo because; false") + "else()\n"
                 + test("a", "true") + "endif()\n")
        process = self.start(tests, ".ci/run")
        lines = process.communicate()[0].splitlines()
        self.assertEqual((process.returncode, lines[-1]), (1, "1002 passed, 1 failed, 20 skipped"))
        # The end of the log is enough to know what broke, although another run came after.
        self.assertEqual(lines[lines.index("== all runs") + 1:-1],
                         ["failed: scripts/test --preset asan-ubsan --label unit --label props", "failed:",
                          "  a: failed", "    because", "0 passed, 1 failed, 0 skipped"])


if __name__ == "__main__":
    unittest.main()
