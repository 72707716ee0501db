# SPDX-License-Identifier: Apache-2.0
"""What the tests of scripts/vm share: runs of the command with real guests, and a cache that tests may damage.

A test program ends with `main()`. It takes `--kernel NAME` beside unittest's arguments, and its exit status is 77, with
a reason, where QEMU or the kernel cannot be had.
"""

import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from vmlib.cache import default_root

SCRIPTS = pathlib.Path(__file__).resolve().parent
VM = SCRIPTS / "vm"
SKIPPED = 77
KERNEL = "6.1"
# No guest needs as long; a run that does is stuck.
STUCK_S = 240


def alive(pid):
    try:
        state = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in "ZX"


def gone(pids, limit_s=30):
    """Whether all of them end: a signal that was sent may still be on its way."""
    return wait_for(lambda: not any(map(alive, pids)), limit_s)


def wait_for(happened, limit_s=STUCK_S):
    deadline = time.monotonic() + limit_s
    while not happened():
        if time.monotonic() > deadline:
            return False
        os.sched_yield()
    return True


def children(pid):
    try:
        return [int(child) for child in
                pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="utf-8").split()]
    except (FileNotFoundError, ProcessLookupError):
        return []


def qemu_of(process):
    """The pid of the QEMU that this runner started."""
    def find():
        for child in children(process.pid):
            with contextlib.suppress(OSError):
                if os.readlink(f"/proc/{child}/exe").endswith("qemu-system-x86_64"):
                    return child
        return None
    assert wait_for(lambda: find() or process.poll() is not None)
    return find()


class TestCache:
    """A cache of this program's own, but for the kernels: tests damage snapshots. It has one snapshot to begin with."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="vm_test.")
        self.path = pathlib.Path(self.folder.name)
        (self.path / "kernels").symlink_to(default_root() / "kernels")
        self.environment = os.environ | {"RINGSIDE_CACHE": str(self.path), "RINGSIDE_VM_ACCEL": "tcg",
                                         "RINGSIDE_VM_KERNEL": KERNEL}
        subprocess.run([VM, "--", "true"], env=self.environment, stdin=subprocess.DEVNULL, timeout=STUCK_S, check=True)


TEST_CACHE = None


def setUpModule():
    global TEST_CACHE
    TEST_CACHE = TestCache()
    unittest.addModuleCleanup(TEST_CACHE.folder.cleanup)


class VmTestCase(unittest.TestCase):
    """Runs of scripts/vm, and what can be said of how they ended."""

    @classmethod
    def setUpClass(cls):
        cls.cache, cls.environment = TEST_CACHE.path, TEST_CACHE.environment

    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="vm_test.")
        self.addCleanup(scratch.cleanup)
        self.scratch = pathlib.Path(scratch.name)

    def arguments(self, options, command):
        return [str(VM), *map(str, options), "--", *command]

    def vm(self, *command, options=(), environment=None, **how):
        """(status, output, errors) of a run to its end, as bytes."""
        how = {"stdin": subprocess.DEVNULL, "cwd": "/"} | how
        if "input" in how:
            del how["stdin"]
        run = subprocess.run(self.arguments(options, command), capture_output=True, timeout=STUCK_S, check=False,
                             env=self.environment | (environment or {}), **how)
        return run.returncode, run.stdout, run.stderr

    def out(self, script, **how):
        """What a shell script in a guest prints; it must end well and say nothing else."""
        status, output, errors = self.vm("sh", "-c", script, **how)
        self.assertEqual((status, self.without_first_words(errors)), (0, ""), errors)
        return output.decode()

    @staticmethod
    def without_first_words(errors):
        """What was said but for that a snapshot is made: the first run of a kind of guest says that."""
        return "".join(line for line in errors.decode().splitlines(keepends=True) if "making a snapshot" not in line)

    def start(self, *command, options=(), environment=None, **how):
        how = {"stdin": subprocess.PIPE, "cwd": "/"} | how
        process = subprocess.Popen(self.arguments(options, command), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   env=self.environment | (environment or {}), start_new_session=True, **how)
        self.addCleanup(self.stop, process)
        # Whoever reads from a run that is stuck gets to the end of it, and the test fails instead of waiting for ever.
        watchdog = threading.Timer(STUCK_S, process.kill)
        watchdog.start()
        self.addCleanup(watchdog.cancel)
        return process

    @staticmethod
    def stop(process):
        with process:
            process.kill()
        process.wait()

    def kernel_folder(self):
        name = json.loads((self.cache / "kernels/names" / f"{KERNEL}.json").read_text(encoding="utf-8"))["entry"]
        return self.cache / "kernels/entries" / name

    def manifest(self):
        """What the cache knows of the kernel: its release, its version as numbers."""
        return json.loads((self.kernel_folder() / "manifest.json").read_text(encoding="utf-8"))

    def fault(self, run, kind):
        """Asserts that a run ended with a fault of this kind, told in one line, and returns that line and the rest."""
        status, _, errors = run
        first, _, rest = self.without_first_words(errors).partition("\n")
        self.assertEqual(status, 125, errors.decode())
        self.assertTrue(first.startswith(f"scripts/vm: {kind}: "), first)
        return first, rest


def unavailable():
    """Why no guest can run here, or None."""
    if not shutil.which("qemu-system-x86_64"):
        return "qemu-system-x86_64 is not installed (scripts/setup --vm)"
    run = subprocess.run([VM, "--fetch", KERNEL], capture_output=True, text=True, check=False)
    return run.stderr.strip() if run.returncode else None


def main():
    """Runs the tests of the program that is run."""
    global KERNEL
    if "--kernel" in sys.argv:
        position = sys.argv.index("--kernel")
        KERNEL = sys.argv[position + 1]
        del sys.argv[position:position + 2]
    reason = unavailable()
    if reason:
        print(f"no guest can run here: {reason}")
        sys.exit(SKIPPED)
    unittest.main(module="__main__")
