# SPDX-License-Identifier: Apache-2.0
"""What must be found out about this machine once, and is remembered: whether a guest really runs with KVM (that
/dev/kvm opens says little: nested KVM may hang every guest), and how fast the time-stamp counter ticks."""

import fcntl
import json
import os

from vmlib.runner_faults import Fault
from vmlib.runner_files import write_file
from vmlib.runner_qemu import QEMU, program

PROBE_S = 10
# A counter that is measured anew after a reboot differs by noise; snapshots hold the old number.
SAME_TSC = 0.0005


def boot_id():
    with open("/proc/sys/kernel/random/boot_id", encoding="utf-8") as stream:
        return stream.read().strip()


def qemu_stamp():
    """Names this QEMU as cheaply as can be: another version is another file."""
    status = os.stat(os.path.realpath(program(QEMU)))
    return [status.st_size, status.st_mtime_ns]


class Host:
    """What is known of this machine, for one boot of it and one QEMU; kept in the file host.json of the cache."""

    def __init__(self, cache_dir):
        self.path = os.path.join(cache_dir, "host.json")
        self.stamp = {"boot": boot_id(), "qemu": qemu_stamp()}
        self.facts = self._read()

    def _read(self):
        try:
            with open(self.path, encoding="utf-8") as stream:
                facts = json.load(stream)
            return facts if isinstance(facts, dict) else {}
        except (OSError, ValueError):
            return {}

    def known(self, name):
        fresh = all(self.facts.get(key) == value for key, value in self.stamp.items())
        return self.facts.get(name) if fresh else None

    def learn(self, name, find_out):
        """What is remembered under this name, else what `find_out(old)` says; found out by one run at a time."""
        if self.known(name) is not None:
            return self.known(name)
        os.makedirs(os.path.dirname(self.path), exist_ok=True)
        with open(f"{self.path}.lock", "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self.facts = self._read()
            if self.known(name) is None:
                value = find_out(self.facts.get(name))
                stale = any(self.facts.get(key) != found for key, found in self.stamp.items())
                # The counter's old rate is the one thing that is worth keeping over a reboot.
                kept = {"tsc_khz": self.facts.get("tsc_khz")} if stale else self.facts
                self.facts = {**kept, **self.stamp, name: value}
                write_file(self.path, json.dumps(self.facts).encode())
        return self.facts[name]

    def accel(self, wanted, probe, say):
        """kvm or tcg. `probe(seconds)` boots a guest with KVM and returns None, or why it did not run."""
        if wanted != "auto":
            return wanted
        if not os.access("/dev/kvm", os.R_OK | os.W_OK):
            return "tcg"

        def find_out(_):
            reason = probe(PROBE_S)
            if reason:
                say(f"KVM does not work here ({reason}); using TCG")
            return "tcg" if reason else "kvm"

        return self.learn("accel", find_out)

    def tsc_khz(self, init):
        """How fast the time-stamp counter ticks: guests on TCG see the host's, and cannot find out by themselves.
        `init` is the guest's init, which measures it when it is not process 1."""
        def find_out(old):
            import subprocess  # rarely needed, and slow to import
            try:
                told = subprocess.run([init], capture_output=True, text=True, check=True).stdout
                khz = int(told)
            except (OSError, ValueError, subprocess.CalledProcessError) as problem:
                raise Fault("setup", f"measure the time-stamp counter: {problem}") from problem
            return old if old and abs(khz - old) < old * SAME_TSC else khz

        return self.learn("tsc_khz", find_out)
