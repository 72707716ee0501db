# SPDX-License-Identifier: Apache-2.0
"""Snapshots of booted guests: the guest's memory as a file, which each run maps privately, and its devices' state.

    snapshots/KEY/ram, state, facts.json    a snapshot; appears whole or not at all, and never changes
    snapshots/KEY.lock                      held while it is made, so that it is made once

A guest is stopped once it said HELLO; nothing about the command is in it. KEY names all that the guest was made of.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import time

from vmlib.runner_faults import Fault
from vmlib.runner_monitor import Monitor, MonitorError
from vmlib.runner_qemu import Guest

# Used last, so many are kept; one takes about 150 MB of disk.
KEPT = 24


class Snapshot:
    """The place of one snapshot, made or not."""

    def __init__(self, cache_dir, parts):
        key = hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:24]
        self.folder = os.path.join(cache_dir, "snapshots")
        self.path = os.path.join(self.folder, key)
        self.memory = os.path.join(self.path, "ram")
        self.state = os.path.join(self.path, "state")
        self.facts = os.path.join(self.path, "facts.json")

    def is_whole(self):
        """Whether it is there and its files are as they were made: the state by its content, the memory, which is
        large, by size and time."""
        try:
            with open(self.facts, encoding="utf-8") as stream:
                facts = json.load(stream)
            status = os.stat(self.memory)
            with open(self.state, "rb") as stream:
                digest = hashlib.sha256(stream.read()).hexdigest()
            return facts == {"state": digest, "memory": [status.st_size, status.st_mtime_ns]}
        except (OSError, ValueError):
            return False

    def exists(self):
        return os.path.exists(self.path)

    def remove(self):
        """Takes it out of sight at once. Who restored it keeps its files."""
        gone = f"{self.path}.{os.getpid()}.gone"
        with contextlib.suppress(FileNotFoundError):
            os.rename(self.path, gone)
            shutil.rmtree(gone)

    @contextlib.contextmanager
    def locked(self, waiting):
        """Holds this snapshot's lock; calls `waiting` once when another run has it."""
        os.makedirs(self.folder, exist_ok=True)
        with open(f"{self.path}.lock", "w", encoding="utf-8") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                waiting()
                fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def use(self):
        with contextlib.suppress(OSError):
            os.utime(self.path)

    def make(self, machine, shares, boot):
        """Boots the machine with its memory in a file, and keeps it. `boot(start)` starts a guest and waits for HELLO.
        Call with the lock held."""
        work = f"{self.path}.{os.getpid()}.tmp"
        for left in os.listdir(self.folder):  # of makers that were killed
            if left.startswith(os.path.basename(self.path) + ".") and left.endswith((".tmp", ".gone")):
                shutil.rmtree(os.path.join(self.folder, left), ignore_errors=True)
        try:
            self._make(work, machine, shares, boot)
            os.rename(work, self.path)
        except (MonitorError, OSError) as problem:
            raise Fault("setup", f"make a snapshot: {problem}") from problem
        finally:
            shutil.rmtree(work, ignore_errors=True)

    @staticmethod
    def _make(work, machine, shares, boot):
        memory, state = os.path.join(work, "ram"), os.path.join(work, "state")

        def start():
            shutil.rmtree(work, ignore_errors=True)
            os.makedirs(work)
            return Guest(machine, f"memory-backend-file,mem-path={memory},share=on", shares)

        with open(os.path.join(os.path.dirname(work), f"{os.path.basename(work)}.state"), "w+b") as sink:
            os.unlink(sink.name)
            relay = boot(start)
            try:
                Monitor(relay.guest.monitor).save(sink.fileno())
            finally:
                relay.guest.end()
            sink.seek(0)
            data = sink.read()
        with open(state, "wb") as stream:
            stream.write(data)
        status = os.stat(memory)
        with open(os.path.join(work, "facts.json"), "w", encoding="utf-8") as stream:
            json.dump({"state": hashlib.sha256(data).hexdigest(),
                       "memory": [status.st_size, status.st_mtime_ns]}, stream)

    def restore(self, machine, shares):
        """A guest that goes on where the snapshot was taken."""
        with open(self.state, "rb") as state:
            guest = Guest(machine, f"memory-backend-file,mem-path={self.memory},share=off", shares,
                          ["-incoming", "defer"])
            try:
                Monitor(guest.monitor).restore(state.fileno())
            except BaseException:
                guest.end()
                raise
        return guest


def sweep(cache_dir, keep=KEPT):
    """Removes all but the snapshots that were used last. Returns the bytes that were freed."""
    folder = os.path.join(cache_dir, "snapshots")
    freed = 0
    with contextlib.suppress(FileNotFoundError):
        found = [os.path.join(folder, name) for name in os.listdir(folder) if "." not in name]
        for path in sorted(found, key=os.path.getmtime, reverse=True)[keep:]:
            with contextlib.suppress(OSError):
                freed += sum(os.stat(os.path.join(path, name)).st_blocks * 512 for name in os.listdir(path))
                gone = f"{path}.{os.getpid()}.gone"
                os.rename(path, gone)
                shutil.rmtree(gone)
                os.unlink(f"{path}.lock")
    return freed
