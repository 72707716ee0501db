#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/summary against result files as ctest writes them."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

SUMMARY = pathlib.Path(__file__).resolve().parent / "summary"

PASSED = '<testcase name="a.passes" status="run"><system-out/></testcase>'
FAILED = '<testcase name="a.fails" status="fail"><failure message="Timeout"/><system-out>x</system-out></testcase>'
SKIPPED = ('<testcase name="a.skips" status="notrun"><skipped message="SKIP_REGULAR_EXPRESSION_MATCHED"/><system-out>'
           "[ RUN      ] a.skips\nreal/a_test.cc:4: Skipped\nno BTF\nhere\n[  SKIPPED ] a.skips (0 ms)\n"
           "</system-out></testcase>")
NOT_BUILT = ('<testcase name="a_NOT_BUILT" status="notrun"><skipped message="Unable to find executable"/>'
             "<system-out/></testcase>")
DISABLED = '<testcase name="a.off" status="disabled"><system-out/></testcase>'
LABELS = {"tests": [{"name": "a.skips", "properties": [{"name": "LABELS", "value": ["kernel"]}]},
                    {"name": "a.passes", "properties": [{"name": "TIMEOUT", "value": 9}]}]}


def summary(cases, *arguments, labels=None):
    """Exit status and lines of the summary of these cases."""
    with tempfile.TemporaryDirectory() as folder:
        results, tests = pathlib.Path(folder, "results.xml"), pathlib.Path(folder, "tests.json")
        results.write_text(f"<testsuite>{''.join(cases)}</testsuite>", encoding="utf-8")
        tests.write_text(json.dumps(labels or LABELS), encoding="utf-8")
        run = subprocess.run([sys.executable, SUMMARY, results, "--tests", tests, *arguments], capture_output=True,
                             text=True, check=False)
        return run.returncode, run.stdout.splitlines()


class SummaryTest(unittest.TestCase):
    def test_passed_tests_are_only_counted(self):
        self.assertEqual(summary([PASSED, PASSED]), (0, ["2 passed, 0 failed, 0 skipped"]))

    def test_a_failed_test_is_named_and_fails_the_run(self):
        self.assertEqual(summary([PASSED, FAILED]),
                         (1, ["failed:", "  a.fails: Timeout", "    x", "1 passed, 1 failed, 0 skipped"]))

    def test_a_failed_test_shows_the_end_of_its_output(self):
        output = "\n".join(f"line {number}" for number in range(1, 51))
        _, told = summary([FAILED.replace(">x<", f">{output}<")])
        self.assertEqual(told[2:4], ["    ... 10 lines before", "    line 11"])
        self.assertEqual(told[-2], "    line 50")

    def test_a_skipped_test_is_named_with_its_reason(self):
        self.assertEqual(summary([PASSED, SKIPPED]),
                         (0, ["skipped:", "  a.skips: no BTF here", "1 passed, 0 failed, 1 skipped"]))

    def test_a_skipped_kernel_test_fails_where_it_could_run(self):
        status, told = summary([PASSED, SKIPPED], "--require-kernel")
        self.assertEqual((status, told[-1]), (1, "1 passed, 1 failed, 0 skipped"))
        self.assertIn("though this machine can run it: no BTF here", told[1])

    def test_a_skipped_test_without_the_label_may_skip_there(self):
        labels = {"tests": [{"name": "a.skips", "properties": [{"name": "LABELS", "value": ["unit"]}]}]}
        self.assertEqual(summary([SKIPPED], "--require-kernel", labels=labels)[0], 0)

    def test_a_test_that_was_not_built_fails(self):
        status, told = summary([NOT_BUILT])
        self.assertEqual((status, told[-1]), (1, "0 passed, 1 failed, 0 skipped"))

    def test_a_disabled_test_counts_as_skipped(self):
        self.assertEqual(summary([DISABLED])[1][-1], "0 passed, 0 failed, 1 skipped")

    def test_no_test_at_all_is_a_failure(self):
        status, told = summary([])
        self.assertEqual((status, told[-1]), (1, "0 passed, 1 failed, 0 skipped"))

    def test_a_result_file_that_is_none_is_an_error_of_its_own(self):
        run = subprocess.run([sys.executable, SUMMARY, __file__], capture_output=True, text=True, check=False)
        self.assertEqual((run.returncode, run.stdout), (2, ""))
        self.assertRegex(run.stderr, "^scripts/summary: read the results of ctest: ")


if __name__ == "__main__":
    unittest.main()
