# SPDX-License-Identifier: Apache-2.0
"""From the name of a kernel to a kernel that can be booted.

    kernel = resolve("6.12-rt", cache_dir=default_root(), progress=Progress())

A name that was looked up less than a day ago costs a few milliseconds and no network. Otherwise the index of the
archive is read, by a private apt (vmlib/apt.py), and what is not in the cache is downloaded, unpacked once
(vmlib/unpack.py) and kept (vmlib/cache.py).
"""

import time
from dataclasses import dataclass, replace
from pathlib import Path

from . import names
from .cache import Cache, Damaged, default_root
from .errors import KernelError

__all__ = ["Kernel", "KernelError", "Row", "default_root", "listing", "prune", "resolve"]

LOOK_UP_AGAIN_SECONDS = 24 * 3600
POOL_NOTE = "modules from the archive's pool, checked by the kernel's own key"


@dataclass(frozen=True)
class Kernel:
    """A kernel that can be booted."""
    name: str  # as the user wrote it: 6.1, 6.1-rt, newest, a path
    release: str  # what `uname -r` says: 6.1.0-57-amd64
    version: tuple  # of the sources: (6, 1, 192)
    flavour: str  # generic, cloud, rt; file for one that came from a path
    vmlinux: Path  # an ELF kernel
    config: Path | None
    modules: Path | None  # .../lib/modules/RELEASE with its modules.dep; modules may be compressed
    digest: str  # names the content of kernel and modules
    # Nothing signed vouches for the modules but the kernel's own key: boot with module.sig_enforce=1, leave them whole.
    enforce_module_signatures: bool = False


@dataclass(frozen=True)
class Row:
    """One kernel that is cached or can be had."""
    name: str  # what to ask for: 6.1, 6.1-rt; the release when a name stands for a newer one
    release: str
    version: str  # of the package
    flavour: str
    suite: str
    cached: bool
    size_bytes: int  # on the disk when cached, else to download; 0 when not known
    note: str


def resolve(spec, *, cache_dir, offline=False, update=False, progress):
    """The kernel that `spec` names, had from the archive when the cache does not hold it. Raises KernelError.

    `offline` never goes to the network; `update` looks the name up again. `progress` is called with a text alone for
    what must be said, and with (text, bytes done, bytes in all) during long steps (vmlib/progress.py).
    """
    cache = Cache(cache_dir)
    try:
        if names.is_path(spec):
            from .local import resolve_path
            return resolve_path(spec, cache, progress)
        return resolve_name(spec, cache, offline, update, progress)
    except OSError as problem:
        if problem.filename and not str(problem.filename).startswith(cache.folder):
            raise KernelError(f"read {problem.filename}: {problem.strerror}") from problem
        raise KernelError(f"keep kernels in {cache.folder}: {problem.strerror}; "
                          "give it room, or name another place in RINGSIDE_CACHE") from problem


def resolve_name(spec, cache, offline, update, progress):
    wanted = names.parse(spec)
    if wanted and not update:
        entry = looked_up(cache, spec, offline)
        kernel = entry and from_cache(cache, entry, spec, progress)
        if kernel:
            return kernel
    if offline:
        return newest_cached(cache, spec, wanted, progress)
    from .fetch import fetch
    kernel = from_cache(cache, fetch(cache, spec, wanted, update, progress), spec, progress)
    if kernel is None:
        raise KernelError(f"the kernel {spec} was had and is damaged already; is the disk of {cache.folder} sound?")
    return kernel


def from_cache(cache, entry, spec, progress):
    """The Kernel of an entry; None, said aloud, when it is damaged, and silently when it is not there."""
    try:
        manifest = cache.manifest(entry)
        if manifest is None:
            return None
        cache.check(entry, manifest)
    except Damaged as problem:
        progress(f"the cached kernel {entry} is damaged: {problem}")
        return None
    cache.use(entry)
    return kernel_of(cache, entry, manifest, spec)


def kernel_of(cache, entry, manifest, spec):
    folder = Path(cache.path("entries", entry))
    files = manifest["files"]
    release = manifest["release"]
    return Kernel(name=spec, release=release, version=tuple(manifest["numbers"]), flavour=manifest["flavour"],
                  vmlinux=folder / "vmlinux", config=folder / "config" if "config" in files else None,
                  modules=folder / "lib/modules" / release if f"lib/modules/{release}/modules.dep" in files else None,
                  digest=manifest["digest"], enforce_module_signatures=manifest["enforce_module_signatures"])


def cached_manifests(cache):
    """(entry, manifest) of what is cached and whole enough to have a manifest, the newest version first."""
    found = []
    for entry in cache.entries():
        try:
            manifest = cache.manifest(entry)
        except Damaged:
            continue
        if manifest and "version" in manifest:
            found.append((entry, manifest))
    return sorted(found, key=lambda pair: names.order(pair[1]["version"]), reverse=True)


def newest_cached(cache, spec, wanted, progress):
    manifests = cached_manifests(cache)
    for entry, manifest in manifests:
        if wanted and wanted.matches(manifest["release"], tuple(manifest["numbers"]), manifest["flavour"]):
            kernel = from_cache(cache, entry, spec, progress)
            if kernel:
                return kernel
    there = [names.short(manifest["numbers"], manifest["flavour"]) for _, manifest in manifests]
    if not there:
        raise KernelError(f"no kernel '{spec}' in the cache, which is empty, and offline nothing can be had")
    raise KernelError(f"no kernel '{spec}' in the cache, and offline nothing can be had; cached are "
                      f"{', '.join(dict.fromkeys(there))}")


def listing(cache_dir, *, offline=False, update=False, progress=lambda *_: None):
    """What is cached, and the newest of each series and flavour that can be had: Rows, the oldest version first."""
    from .fetch import entry_name, newest_of_each_series, read_index
    cache = Cache(cache_dir)
    rows = {entry: cached_row(cache, entry, manifest) for entry, manifest in cached_manifests(cache)}
    for candidate in newest_of_each_series(read_index(cache, offline, update, progress)):
        name = names.short(candidate.numbers, candidate.flavour)
        known = looked_up(cache, name)
        named = known if known in rows else entry_name(candidate)
        if entry_name(candidate) not in rows:
            note = POOL_NOTE if candidate.unverified_modules else ""
            size = 0 if candidate.unverified_modules else candidate.size
            rows[entry_name(candidate)] = Row(candidate.release, candidate.release, candidate.version,
                                              candidate.flavour, candidate.suite, False, size, note)
        rows[named] = replace(rows[named], name=name)
    return sorted(rows.values(), key=lambda row: (names.order(row.version), row.flavour))


def cached_row(cache, entry, manifest):
    note = POOL_NOTE if manifest["enforce_module_signatures"] else ""
    return Row(manifest["release"], manifest["release"], manifest["version"], manifest["flavour"], manifest["suite"],
               True, cache.size(entry), note)


def looked_up(cache, name, however_long_ago=False):
    """The entry that a name stands for by its last look-up; None when that is a day old, or never was."""
    known = cache.remembered(name)
    return known[0] if known and (however_long_ago or time.time() - known[1] < LOOK_UP_AGAIN_SECONDS) else None


def prune(cache_dir, keep):
    """Removes all but the `keep` entries that were used last; one that is in use stays. With keep 0 also the index.

    Returns (entry, digest, bytes) of what was removed.
    """
    from .fetch import drop_downloads
    cache = Cache(cache_dir)
    removed = []
    by_use = sorted(cache.entries(), key=cache.last_used, reverse=True)
    for entry in by_use[keep:]:
        if cache.in_use(entry):
            continue
        try:
            digest = (cache.manifest(entry) or {}).get("digest", "")
        except Damaged:
            digest = ""
        removed.append((entry, digest, cache.size(entry)))
        cache.drop(entry)
    drop_downloads(cache, everything=keep == 0)
    return removed
