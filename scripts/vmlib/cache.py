# SPDX-License-Identifier: Apache-2.0
"""The cache of kernels: entries that appear whole or not at all, each with a manifest that damage shows against.

    kernels/entries/NAME/     manifest.json, vmlinux, config, lib/modules/RELEASE
    kernels/names/NAME.json   which entry a name stood for, and when that was looked up
    kernels/index.json        the kernels that the archive lists
    kernels/apt/SUITE/        the private apt of each suite
    kernels/downloads/        packages on their way
    kernels/making/           entries on their way
    kernels/locks/            one lock an entry, held while it is made; one more, held while it is used

This module is on the path of every start of a VM: it imports little, and reads a cached kernel in a few milliseconds.
"""

import contextlib
import fcntl
import json
import os
import pathlib
import shutil
import time

MANIFEST_FORMAT = 1
# Beyond the cheap check of every use, the kernel's bytes are read and hashed this often.
HASH_AGAIN_SECONDS = 24 * 3600
# Locks that mark an entry as used are held until the process ends.
_in_use = []


def default_root():
    """$RINGSIDE_CACHE, or $XDG_CACHE_HOME/ringside, or ~/.cache/ringside."""
    if os.environ.get("RINGSIDE_CACHE"):
        return pathlib.Path(os.environ["RINGSIDE_CACHE"])
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return pathlib.Path(base, "ringside")


class Damaged(Exception):
    """An entry is not what its manifest says; the text says in what."""


class Cache:
    """The folder `kernels` of a cache, or another that is kept in the same way."""

    def __init__(self, root, kind="kernels"):
        self.folder = os.path.join(os.path.abspath(root), kind)

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    def make_folders(self):
        for name in ("entries", "names", "apt", "downloads", "making", "locks"):
            os.makedirs(self.path(name), exist_ok=True)

    @contextlib.contextmanager
    def locked(self, name, waiting=None):
        """Holds the lock `name` alone; calls `waiting` once when another process has it."""
        os.makedirs(self.path("locks"), exist_ok=True)
        handle = os.open(self.path("locks", f"{name}.lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if waiting:
                    waiting()
                fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)

    def use(self, name):
        """Marks an entry as used now, and as in use until this process ends: prune() leaves it."""
        with contextlib.suppress(OSError):  # a cache that cannot be written to is not pruned either
            handle = os.open(self.path("locks", f"{name}.use"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
            _in_use.append(handle)
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
            os.utime(self.path("locks", f"{name}.use"))

    def last_used(self, name):
        try:
            return os.stat(self.path("locks", f"{name}.use")).st_mtime
        except OSError:
            return 0.0

    def entries(self):
        try:
            return sorted(os.listdir(self.path("entries")))
        except OSError:
            return []

    def manifest(self, name):
        """The manifest of an entry, None when there is no such entry. Raises Damaged."""
        if not os.path.isdir(self.path("entries", name)):
            return None
        try:
            with open(self.path("entries", name, "manifest.json"), encoding="utf-8") as stream:
                manifest = json.load(stream)
        except (OSError, ValueError):
            raise Damaged("its manifest cannot be read") from None
        if manifest.get("format") != MANIFEST_FORMAT:
            raise Damaged("it was made by another version of this program")
        return manifest

    def check(self, name, manifest):
        """Raises Damaged when an entry is not what its manifest says.

        A file whose size and times are those of the last check is taken to be unchanged; any other is hashed. The
        kernel itself is hashed once a day whatever its times say.
        """
        entry = self.path("entries", name)
        stamps = self._stamps(name)
        old = time.time() - stamps.get("hashed", 0) > HASH_AGAIN_SECONDS
        changed = False
        for path, (size, digest) in manifest["files"].items():
            try:
                status = os.stat(f"{entry}/{path}")
            except OSError:
                raise Damaged(f"{path} is missing") from None
            if status.st_size != size:
                raise Damaged(f"{path} has {status.st_size} bytes instead of {size}")
            stamp = [status.st_mtime_ns, status.st_ctime_ns]
            if stamps["files"].get(path) != stamp or (old and path == "vmlinux"):
                if hash_file(f"{entry}/{path}") != digest:
                    raise Damaged(f"{path} has other content than it had")
                stamps["files"][path] = stamp
                changed = True
        if changed:
            stamps["hashed"] = time.time()
            with contextlib.suppress(OSError):
                write_json(self.path("entries", name, "stamps.json"), stamps)

    def _stamps(self, name):
        try:
            with open(self.path("entries", name, "stamps.json"), encoding="utf-8") as stream:
                stamps = json.load(stream)
            return stamps if isinstance(stamps.get("files"), dict) else {"files": {}}
        except (OSError, ValueError, AttributeError):
            return {"files": {}}

    @contextlib.contextmanager
    def making(self, name):
        """Gives (folder for the entry, scratch folder); puts the entry in its place when the block ends well.

        Call with the entry's lock held: what a killed run left of this entry is removed first.
        """
        self.make_folders()
        work = self.path("making", name)
        remove(work)
        entry, scratch = pathlib.Path(work, "entry"), pathlib.Path(work, "scratch")
        entry.mkdir(parents=True)
        scratch.mkdir()
        try:
            yield entry, scratch
            target = self.path("entries", name)
            if os.path.lexists(target):
                os.rename(target, os.path.join(work, "replaced"))
            os.rename(entry, target)
            sync_folder(self.path("entries"))
        finally:
            remove(work)

    def seal(self, entry, facts):
        """Writes the manifest of a finished entry; returns the digest of its content."""
        files = {}
        for folder, _, names in os.walk(entry):
            for name in names:
                path = os.path.join(folder, name)
                files[os.path.relpath(path, entry)] = [os.stat(path).st_size, hash_file(path)]
        files = dict(sorted(files.items()))
        digest = content_digest(files)
        write_json(os.path.join(entry, "manifest.json"),
                   {"format": MANIFEST_FORMAT, **facts, "digest": digest, "files": files})
        stamps = {}
        for path in files:
            status = os.stat(os.path.join(entry, path))
            stamps[path] = [status.st_mtime_ns, status.st_ctime_ns]
        write_json(os.path.join(entry, "stamps.json"), {"hashed": time.time(), "files": stamps})
        return digest

    def remembered(self, spec):
        """(entry, time of the look-up) of a name that was resolved before, or None."""
        try:
            with open(self.path("names", f"{spec}.json"), encoding="utf-8") as stream:
                record = json.load(stream)
            return record["entry"], record["looked_up"]
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def remember(self, spec, entry, looked_up):
        self.make_folders()
        write_json(self.path("names", f"{spec}.json"), {"entry": entry, "looked_up": looked_up})

    def size(self, name):
        """Bytes that an entry takes on the disk."""
        return disk_usage(self.path("entries", name))

    def drop(self, name):
        """Removes an entry: it is gone from its place at once."""
        with self.locked(name):
            gone = self.path("making", f"{name}.dropped")
            remove(gone)
            os.makedirs(self.path("making"), exist_ok=True)
            if os.path.lexists(self.path("entries", name)):
                os.rename(self.path("entries", name), gone)
            remove(gone)

    def in_use(self, name):
        """Whether a running process uses an entry."""
        try:
            handle = os.open(self.path("locks", f"{name}.use"), os.O_RDWR | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return False
        except BlockingIOError:
            return True
        finally:
            os.close(handle)


def content_digest(files):
    import hashlib
    summary = hashlib.sha256()
    for path, (_, digest) in sorted(files.items()):
        summary.update(f"{digest}  {path}\n".encode())
    return summary.hexdigest()


def hash_file(path):
    import hashlib
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def write_json(path, value):
    """Writes a file that is seen whole or not at all."""
    temporary = f"{path}.{os.getpid()}"
    with open(temporary, "w", encoding="utf-8") as stream:
        json.dump(value, stream)
        stream.flush()
        os.fsync(stream.fileno())
    os.replace(temporary, path)


def sync_folder(path):
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def remove(path):
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    elif os.path.lexists(path):
        os.unlink(path)


def disk_usage(path):
    total = 0
    for folder, _, names in os.walk(path):
        for name in names:
            with contextlib.suppress(OSError):
                total += os.lstat(os.path.join(folder, name)).st_blocks * 512
    return total
