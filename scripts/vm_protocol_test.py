#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What scripts/vm and its guests say to each other, and what is read from their console; without a guest."""

import contextlib
import io
import pathlib
import re
import signal
import types
import unittest
import unittest.mock

from vmlib import runner, runner_qemu, runner_stream
from vmlib.runner_console import Console

SCRIPTS = pathlib.Path(__file__).resolve().parent


class ProtocolTest(unittest.TestCase):
    """Without a guest."""

    def test_both_sides_have_the_same_numbers(self):
        header = (SCRIPTS / "vmlib/guest/protocol.h").read_text(encoding="utf-8")
        theirs = {name.removeprefix("FRAME_") if name != "FRAME_PAYLOAD_MAX" else name: int(value)
                  for name, value in re.findall(r"^  ([A-Z_]+) = (\d+),", header, re.M)}
        self.assertEqual(theirs, {name: getattr(runner_stream, name, None) for name in theirs})
        self.assertEqual(len(theirs), 31)

    def test_a_snapshot_is_of_the_whole_command_line(self):
        def identity(**changes):
            options = {"smp": 2, "memory_mib": 512, "rw": [], "append": "", **changes}
            accel = options.pop("accel", "tcg")
            return runner_qemu.Machine("vmlinux", "initrd", "9p", types.SimpleNamespace(**options), accel).identity()

        with unittest.mock.patch.object(runner_qemu, "program", lambda name: name):
            usual = identity()
            self.assertEqual(usual, identity(rw=["/a/directory"]))
            for changes in ({"smp": 3}, {"memory_mib": 513}, {"append": "quiet"}, {"accel": "kvm"},
                            {"rw": list("abcde")}):
                self.assertNotEqual(usual, identity(**changes), changes)
            # What nobody thought of here: another processor, say.
            called = runner_qemu.qemu_arguments
            with unittest.mock.patch.object(runner_qemu, "qemu_arguments", lambda *of: [*called(*of), "-new", "thing"]):
                self.assertNotEqual(usual, identity())

    def test_frames_are_found_in_whatever_pieces_they_arrive(self):
        frames = [(5, b"abc"), (3, b""), (6, bytes(runner_stream.FRAME_PAYLOAD_MAX))]
        data = b"".join(runner_stream.frame(*each) for each in frames)
        for size in (1, 7, 8, 9, 65536, len(data)):
            decoder, found = runner_stream.Decoder(), []
            for at in range(0, len(data), size):
                found += decoder.feed(data[at:at + size])
            self.assertEqual(found, frames)

    def test_the_first_sign_of_a_crash_is_the_one_that_is_told(self):
        for text, told in (("[    1.5] BUG: kernel NULL pointer dereference, address: 0\n"
                            "[    1.6] Oops: 0002 [#1] PREEMPT SMP\n"
                            "[    1.7] Kernel panic - not syncing: Fatal exception\n",
                            "kernel oops: BUG: kernel NULL pointer dereference, address: 0"),
                           ("[    2.0] Kernel panic - not syncing: sysrq triggered crash\n",
                            "kernel panic: sysrq triggered crash"),
                           ("[    2.0] rcu: INFO: rcu_preempt self-detected stall on CPU\n", None)):
            console = Console()
            console.add(text.encode())
            self.assertEqual(console.crash(), told)

    def test_a_console_cannot_steer_the_terminal(self):
        console = Console()
        console.add(b"\x1b[2J\x1b]0;title\x07one\r\n\x1bctwo\x00\n")
        self.assertNotIn("\x1b", "".join(console.end()))
        self.assertNotIn("\x07", "".join(console.end()))

    def test_an_error_of_its_own_is_not_taken_for_the_status_of_the_command(self):
        def broken(*_):
            raise ValueError("planted")

        told = io.StringIO()
        handlers = {number: signal.getsignal(number) for number in (*runner.ENDING, signal.SIGTTIN)}
        with unittest.mock.patch.object(runner, "run", broken), contextlib.redirect_stderr(told):
            self.assertEqual(runner.main([], 0), 125)
        for number, handler in handlers.items():
            signal.signal(number, handler)
        self.assertTrue(told.getvalue().startswith("scripts/vm: setup: an error of scripts/vm itself"))

    def test_of_a_long_console_only_the_end_is_kept(self):
        console = Console()
        for number in range(100_000):
            console.add(b"line %d\n" % number)
        self.assertLess(len(console.data), 600_000)
        self.assertEqual(console.end()[-1], "line 99999")


if __name__ == "__main__":
    unittest.main()
