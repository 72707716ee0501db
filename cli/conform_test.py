#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`ringside conform` and `ringside replay` on the running kernel, as their users meet them.

Usage: conform_test.py RINGSIDE [unittest arguments]
"""
import json
import signal
import subprocess
import sys
import unittest
from pathlib import Path

import command_test
from command_test import Case, DEADLINE_S, environment, ringside

GOOD = """ringside-script 1
ringbuf pages=1 overwrite=no look=always
epoll_add set=0 trigger=edge
output size=8 flags=0
output size=24 flags=4
consume count=1
end
"""


class Conform(Case):
    def test_the_model_agrees_with_this_kernel(self):
        result = ringside("conform", "--scripts", "100", "--seed", "11", "--format", "json")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        rings = json.loads(result.stdout)["rings"]
        self.assertEqual([ring["ring"] for ring in rings], ["ringbuf", "user_ringbuf", "perf"])
        for ring in rings:
            self.assertEqual((ring["scripts"], ring["finding"]), (100, None))
            self.assertGreater(ring["operations"], 5000)

    def test_the_same_seed_plays_the_same_operations_whatever_the_jobs(self):
        counts = [json.loads(ringside("conform", "--ring", "ringbuf", "--scripts", "50", "--seed", "3", "--format",
                                      "json", "--jobs", jobs).stdout)["operations"] for jobs in ("1", "2")]
        self.assertEqual(counts[0], counts[1])

    def test_the_table_ends_with_seed_and_verdict(self):
        result = ringside("conform", "--ring", "perf", "--scripts", "10", "--seed", "5")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        lines = result.stdout.splitlines()
        self.assertIn("the same again: ringside conform --ring perf --scripts 10 --seed 0x0000000000000005", lines[-2])
        self.assertIn("the model agrees with the kernel: ", lines[-1])

    def test_a_signal_ends_it_and_reports_what_was_played(self):
        process = subprocess.Popen([command_test.RINGSIDE, "conform", "--ring", "ringbuf", "--scripts", "100M"],
                                   env=environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.kill)
        for line in process.stderr:
            if "; now ringbuf" in line:
                break
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=DEADLINE_S)
        self.assertEqual(process.returncode, 128 + signal.SIGINT)
        self.assertIn("interrupted by SIGINT after ", out)

    def test_a_broken_model_is_caught_and_its_script_shown(self):
        result = ringside("conform", "--mutants", "--rule", "ringbuf_wakeup_modulo", "perf_lost_space", "--seed", "1")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn("every one of 2 broken rules was caught", result.stdout)
        self.assertEqual(result.stdout.count("    ringside-script 1\n"), 2)

    def test_a_broken_model_that_escapes_makes_the_status_1(self):
        result = ringside("conform", "--mutants", "--rule", "ringbuf_dynptr_limit", "--scripts", "1", "--seed", "1")
        self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
        self.assertIn("ESCAPED: 1 of 1 broken rule", result.stdout)

    def test_the_rules_of_kernels_are_a_table_and_json(self):
        result = ringside("conform", "--rules")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertIn("6.19", result.stdout)
        rules = json.loads(ringside("conform", "--rules", "--format", "json").stdout)["rules"]
        self.assertGreater(len(rules), 10)
        self.assertEqual({type(rule["here"]) for rule in rules}, {bool})


class WithoutBtf(Case):
    """On a kernel that does not tell its own types, as far as this mount namespace knows."""

    HIDE = ("unshare", "--mount", "sh", "-c", 'mount -t tmpfs hidden /sys/kernel/btf && exec "$@"', "sh")

    def test_what_plays_on_perf_rings_is_status_3_and_says_what_is_missing(self):
        for arguments in (["--scripts", "5"], ["--ring", "perf"], ["--mutants", "--rule", "perf_space"]):
            with self.subTest(arguments=arguments):
                self.assert_refused(ringside("conform", "--quiet", *arguments, wrapper=self.HIDE), 3, "missing: btf",
                                    "--ring ringbuf user_ringbuf")

    def test_other_rings_are_played_all_the_same(self):
        result = ringside("conform", "--quiet", "--ring", "ringbuf", "user_ringbuf", "--scripts", "5",
                          wrapper=self.HIDE)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)


class Replay(Case):
    def script(self, text):
        path = self.folder / "a.script"
        path.write_text(text, encoding="utf-8")
        return str(path)

    def test_a_script_is_played_again(self):
        result = ringside("replay", self.script(GOOD))
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertIn("4 operations on a ringbuf", result.stdout)

    def test_what_a_broken_model_was_caught_by_agrees_with_the_true_one(self):
        report = ringside("conform", "--mutants", "--rule", "perf_watermark_compare", "--format", "json")
        self.assertEqual(report.returncode, 0, report.stderr)
        script = json.loads(report.stdout)["rules"][0]["finding"]["script"]
        result = ringside("replay", self.script(script), "--format", "json")
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertIsNone(json.loads(result.stdout)["deviation"])

    def test_a_set_up_that_this_kernel_refuses_is_status_3(self):
        rules = json.loads(ringside("conform", "--rules", "--format", "json").stdout)["rules"]
        if next(rule for rule in rules if rule["name"] == "ringbuf_overwrite")["here"]:
            self.skipTest("this kernel has overwrite rings")
        self.assert_refused(ringside("replay", self.script(GOOD.replace("overwrite=no", "overwrite=yes"))), 3, "6.19")


if __name__ == "__main__":
    command_test.RINGSIDE = str(Path(sys.argv[1]).resolve())
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
