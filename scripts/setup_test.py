#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/setup on machines that are made up: its commands are found in a folder of our own that says what is there."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

SETUP = pathlib.Path(__file__).resolve().parent / "setup"
ALL = subprocess.run([SETUP, "--list"], capture_output=True, text=True, check=True).stdout.split()


class Machine:
    """A machine on which only these packages are installed; its apt-get, id and sudo are ours and log their calls."""

    def __init__(self, folder, installed, root=True, sudo=False, debian=True, apt_status=0):
        self.folder = pathlib.Path(folder)
        self.log = self.folder / "calls"
        self.log.touch()
        for command in ("sh", "sed", "env"):
            (self.folder / command).symlink_to(shutil.which(command))
        self.command("id", f"echo {0 if root else 1000}")
        if debian:
            listing = "".join(f"{package} installed\n" for package in installed)
            (self.folder / "installed").write_text(listing, encoding="utf-8")
            self.command("dpkg-query", f"echo dpkg-query >>{self.log}\nwhile read -r line; do echo \"$line\"; done "
                                       f"<{self.folder / 'installed'}")
            self.command("apt-get", f"echo apt-get \"$@\" >>{self.log}\nexit {apt_status}")
        if sudo:
            self.command("sudo", f"echo sudo >>{self.log}\nexec \"$@\"")

    def command(self, name, body):
        (self.folder / name).write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
        (self.folder / name).chmod(0o755)

    def setup(self, *arguments):
        """Exit status, output and errors of scripts/setup, and the commands it called."""
        run = subprocess.run([SETUP, *arguments], capture_output=True, text=True, check=False,
                             env=os.environ | {"PATH": str(self.folder)})
        return run.returncode, run.stdout, run.stderr, self.log.read_text(encoding="utf-8").splitlines()


class SetupTest(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.addCleanup(self.scratch.cleanup)

    def machine(self, installed, **how):
        return Machine(self.scratch.name, installed, **how)

    def test_where_all_is_there_it_asks_once_and_changes_nothing(self):
        self.assertEqual(self.machine(ALL).setup(), (0, "", "", ["dpkg-query"]))

    def test_it_installs_only_what_is_missing(self):
        status, _, _, calls = self.machine(ALL[1:]).setup()
        self.assertEqual(status, 0)
        self.assertEqual(calls, ["dpkg-query", "apt-get update -q",
                                 f"apt-get install -q -y --no-install-recommends {ALL[0]}"])

    def test_a_package_whose_name_begins_another_is_not_taken_for_it(self):
        self.assertIn("g++", ALL)
        status, _, errors, _ = self.machine([name if name != "g++" else "g++-12" for name in ALL]).setup("--check")
        self.assertEqual((status, errors), (1, "scripts/setup: missing: g++\n"))

    def test_check_names_what_is_missing_and_installs_nothing(self):
        status, _, errors, calls = self.machine(ALL[2:]).setup("--check")
        self.assertEqual((status, errors, calls), (1, f"scripts/setup: missing: {ALL[0]} {ALL[1]}\n", ["dpkg-query"]))

    def test_check_passes_where_all_is_there(self):
        self.assertEqual(self.machine(ALL).setup("--check")[0], 0)

    def test_without_root_it_goes_through_sudo(self):
        status, _, _, calls = self.machine(ALL[1:], root=False, sudo=True).setup()
        self.assertEqual(status, 0)
        self.assertEqual(calls.count("sudo"), 2)

    def test_without_root_and_sudo_it_says_what_to_run(self):
        status, _, errors, _ = self.machine(ALL[1:], root=False).setup()
        self.assertEqual(status, 3)
        self.assertEqual(errors, "scripts/setup: no root and no sudo; as root run: "
                                 f"apt-get install --no-install-recommends {ALL[0]}\n")

    def test_another_system_is_told_in_one_line(self):
        status, _, errors, _ = self.machine([], debian=False).setup()
        self.assertEqual((status, errors.count("\n")), (3, 1))
        self.assertIn("is not Debian (no apt-get)", errors)

    def test_a_failure_of_apt_is_told_in_one_line(self):
        status, _, errors, _ = self.machine(ALL[1:], apt_status=100).setup()
        self.assertEqual((status, errors.count("\n")), (3, 1))
        self.assertIn("apt-get update failed", errors)

    def test_an_unknown_argument_is_wrong_usage(self):
        status, _, errors, calls = self.machine(ALL).setup("--chekc")
        self.assertEqual((status, calls), (2, []))
        self.assertIn("unknown argument '--chekc'", errors)

    def test_developers_get_more(self):
        status, _, errors, _ = self.machine(ALL).setup("--check", "--dev")
        self.assertEqual((status, errors), (1, "scripts/setup: missing: ccache clang-tidy-19 gdb shellcheck\n"))


if __name__ == "__main__":
    unittest.main()
