#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/in_vm beside a scripts/vm that only says how it was called."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
FAKE_VM = '#!/bin/sh\necho "vm, kernel ${RINGSIDE_VM_KERNEL-in no variable}:"; printf "%s\\n" "$@"; exit 7\n'


class InVmTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.tree = pathlib.Path(scratch.name).resolve()
        (self.tree / "scripts").mkdir()
        shutil.copy(HERE / "in_vm", self.tree / "scripts/in_vm")
        (self.tree / "scripts/vm").write_text(FAKE_VM, encoding="utf-8")
        (self.tree / "scripts/vm").chmod(0o755)

    def launch(self, *command, **variables):
        """Exit status and lines of output."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("RINGSIDE_VM")}
        run = subprocess.run([self.tree / "scripts/in_vm", *command], env=kept | variables, capture_output=True,
                             text=True, check=False)
        return run.returncode, run.stdout.splitlines()

    def test_without_a_kernel_the_program_runs_here(self):
        self.assertEqual(self.launch("sh", "-c", "echo here; exit 3"), (3, ["here"]))
        self.assertEqual(self.launch("echo", "here", RINGSIDE_VM_KERNEL=""), (0, ["here"]))

    def test_with_one_it_runs_there_with_the_tree_in_sight(self):
        self.assertEqual(self.launch("echo", "a b", "", RINGSIDE_VM_KERNEL="6.1"),
                         (7, ["vm, kernel in no variable:", "--kernel", "6.1", "--quiet", "--ro", str(self.tree), "--",
                              "echo", "a b", ""]))

    def test_arguments_for_the_runner_come_before_the_command(self):
        _, lines = self.launch("true", RINGSIDE_VM_KERNEL="6.1", RINGSIDE_VM_ARGUMENTS="--smp 4")
        self.assertEqual(lines[-4:], ["--smp", "4", "--", "true"])

    def test_a_list_of_tests_is_made_here(self):
        self.assertEqual(self.launch("echo", "--gtest_list_tests", RINGSIDE_VM_KERNEL="6.1"),
                         (0, ["--gtest_list_tests"]))


if __name__ == "__main__":
    unittest.main()
