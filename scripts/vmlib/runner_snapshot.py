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

from vmlib.runner_monitor import MonitorError
from vmlib.runner_qemu import Guest, escaped

MIB = 1 << 20
# How many are kept, those used last; one takes about 150 MB of disk.
KEPT = 24
SPARE_BYTES = 256 * MIB


class SnapshotError(Exception):
    """A snapshot cannot be made here; the text says why."""


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

    def make(self, machine, empty_directory, boot):
        """Boots the machine with its memory in a file, and keeps it. `boot(start)` starts a guest and waits for HELLO.
        Call with the lock held."""
        free = shutil.disk_usage(self.folder).free
        if free < machine.memory_mib * MIB + SPARE_BYTES:
            raise SnapshotError(f"{self.folder} has {free // MIB} MiB left, a snapshot may take {machine.memory_mib}")
        work = f"{self.path}.{os.getpid()}.tmp"
        try:
            self._make(work, machine, empty_directory, boot)
            os.rename(work, self.path)
        finally:
            shutil.rmtree(work, ignore_errors=True)

    @staticmethod
    def _make(work, machine, empty_directory, boot):
        memory = os.path.join(work, "ram")

        def start():
            shutil.rmtree(work, ignore_errors=True)
            os.makedirs(work)
            return Guest(machine, empty_directory, f"memory-backend-file,mem-path={escaped(memory)},share=on")

        relay = boot(start)
        with open(os.path.join(work, "state"), "w+b") as state:
            try:
                relay.guest.monitor.save(state.fileno())
            finally:
                relay.guest.end()
            state.seek(0)
            digest = hashlib.sha256(state.read()).hexdigest()
        status = os.stat(memory)
        with open(os.path.join(work, "facts.json"), "w", encoding="utf-8") as facts:
            json.dump({"state": digest, "memory": [status.st_size, status.st_mtime_ns]}, facts)

    def restore(self, machine, empty_directory, more=()):
        """A guest that goes on where the snapshot was taken. Its memory is mapped privately: the file never changes."""
        with open(self.state, "rb") as state:
            guest = Guest(machine, empty_directory, f"memory-backend-file,mem-path={escaped(self.memory)},share=off",
                          ["-incoming", "defer", *more])
            try:
                guest.monitor.restore(state.fileno())
            except BaseException as problem:
                complaint = guest.complaint()
                guest.end()
                if isinstance(problem, MonitorError):
                    raise SnapshotError(complaint or str(problem)) from problem
                raise
        return guest


def is_running(pid):
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    except (PermissionError, ValueError):
        pass
    return True


def sweep(cache_dir, keep=KEPT):
    """Removes all but the snapshots that were used last, and what killed runs left. Returns the bytes freed."""
    folder = os.path.join(cache_dir, "snapshots")
    names = os.listdir(folder) if os.path.isdir(folder) else []
    # KEY.PID.tmp and KEY.PID.gone belong to a process.
    left = [name for name in names if name.count(".") == 2 and not is_running(name.split(".")[1])]
    whole = [name for name in names if "." not in name]
    freed = 0
    with contextlib.suppress(OSError):  # another run sweeps, too
        whole.sort(key=lambda name: os.path.getmtime(os.path.join(folder, name)), reverse=True)
        for name in left + whole[keep:]:
            path = os.path.join(folder, name)
            freed += sum(os.stat(os.path.join(path, file)).st_blocks * 512 for file in os.listdir(path))
            gone = os.path.join(folder, f"{name.split('.')[0]}.{os.getpid()}.gone")
            os.rename(path, gone)
            shutil.rmtree(gone)
    return freed
