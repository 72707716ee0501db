# SPDX-License-Identifier: Apache-2.0
"""KVM where a guest really runs with it, else TCG. That /dev/kvm opens says little: nested KVM may hang every guest."""

import fcntl
import json
import os

from vmlib.runner_initrd import write_file
from vmlib.runner_qemu import QEMU, program

PROBE_S = 10


def boot_id():
    with open("/proc/sys/kernel/random/boot_id", encoding="utf-8") as stream:
        return stream.read().strip()


def qemu_stamp():
    """Names this QEMU as cheaply as can be: another version is another file."""
    status = os.stat(os.path.realpath(program(QEMU)))
    return [status.st_size, status.st_mtime_ns]


def choose(wanted, cache_dir, probe, say):
    """kvm or tcg. `probe(seconds)` boots a guest with KVM and returns None, or why it did not; it is asked once for
    each boot of this machine and each QEMU."""
    if wanted != "auto":
        return wanted
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return "tcg"
    path = os.path.join(cache_dir, "accel.json")
    known = {"boot": boot_id(), "qemu": qemu_stamp()}
    remembered = read(path)
    if all(remembered.get(key) == value for key, value in known.items()):
        return remembered["accel"]
    os.makedirs(cache_dir, exist_ok=True)
    with open(os.path.join(cache_dir, "accel.lock"), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        remembered = read(path)
        if all(remembered.get(key) == value for key, value in known.items()):
            return remembered["accel"]
        reason = probe(PROBE_S)
        if reason:
            say(f"KVM does not work here ({reason}); using TCG")
        accel = "tcg" if reason else "kvm"
        write_file(path, json.dumps({**known, "accel": accel}).encode())
    return accel


def read(path):
    try:
        with open(path, encoding="utf-8") as stream:
            remembered = json.load(stream)
        return remembered if remembered.get("accel") in ("kvm", "tcg") else {}
    except (OSError, ValueError, AttributeError):
        return {}
