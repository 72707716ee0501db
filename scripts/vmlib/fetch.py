# SPDX-License-Identifier: Apache-2.0
"""What the archive lists, and how a kernel gets from there into the cache."""

import contextlib
import json
import time

from . import apt, cache as cache_module, names, unpack
from .cache import Damaged
from .errors import KernelError, NotInArchive

INDEX_FORMAT = 2
LOOK_UP_AGAIN_SECONDS = 24 * 3600
# A mirror that could not be reached is not asked again for so long when there is an older index to go by.
TRY_AGAIN_SECONDS = 600


class Index:
    """The kernels that the archive lists: `candidates`, and when they were looked up."""

    def __init__(self, suites, looked_up, tried, missing=()):
        self.suites, self.looked_up, self.tried = suites, looked_up, tried
        self.missing = set(missing)  # files that the archive turned out not to hold

    @property
    def candidates(self):
        """The newest first; of one version, the one of the suite that was named first."""
        every = [candidate for suite in self.suites.values() for candidate in suite
                 if not any(deb.url in self.missing for deb in candidate.debs)]
        return sorted(every, key=lambda candidate: names.order(candidate.version), reverse=True)

    @staticmethod
    def load(path):
        try:
            with open(path, encoding="utf-8") as stream:
                value = json.load(stream)
            if value["format"] != INDEX_FORMAT:
                return None
            suites = {suite: [apt.from_json(row) for row in rows] for suite, rows in value["suites"].items()}
            return Index(suites, value["looked_up"], value["tried"], value["missing"])
        except (OSError, ValueError, KeyError, TypeError, IndexError):
            return None

    def save(self, path):
        cache_module.write_json(path, {"format": INDEX_FORMAT, "looked_up": self.looked_up, "tried": self.tried,
                                       "missing": sorted(self.missing), "suites": self.suites})


def read_index(cache, offline, update, progress):
    """The index of the cache, read again from the archive when it is a day old or `update` says so."""
    path = cache.path("index.json")
    index = Index.load(path)
    if offline:
        return index or Index({}, 0, 0)
    if index and not update and fresh(index):
        return index
    cache.make_folders()
    asked = time.time()
    with cache.locked("index", lambda: progress("waiting for another run that reads the archive's lists")):
        index = Index.load(path) or Index({}, 0, 0)
        # The run that was waited for has just read them.
        if index.looked_up >= asked or (not update and index.suites and fresh(index)):
            return index
        return refresh(cache, index, path, progress)


def fresh(index):
    now = time.time()
    return now - index.looked_up < LOOK_UP_AGAIN_SECONDS or now - index.tried < TRY_AGAIN_SECONDS


def refresh(cache, index, path, progress):
    archive = apt.find_archive()
    arch = apt.architecture()
    kernels, failures = apt.update_suites(archive, cache.path("apt"), arch, progress)
    for suite, why in failures.items():
        older = "; what it listed before is used" if suite in index.suites else ""
        progress(f"suite {suite} left out: {why}{older}" if not older else f"suite {suite}: {why}{older}")
    now = time.time()
    listed = [suite for suite, _ in archive.suites]
    merged = {suite: kernels.get(suite, index.suites.get(suite)) for suite in listed
              if suite in kernels or suite in index.suites}
    if not merged:
        raise KernelError(f"no list of kernels can be had: {next(iter(failures.values()))}; "
                          "is there a network, and is the mirror of the host's apt a Debian archive?")
    index = Index(merged, now if kernels else index.looked_up, now)
    index.save(path)
    return index


def newest_of_each_series(index):
    seen = {}
    for candidate in index.candidates:
        seen.setdefault(names.short(candidate.numbers, candidate.flavour), candidate)
    return list(seen.values())


def entry_name(candidate):
    return f"{candidate.release}_{candidate.version}"


def fetch(cache, spec, wanted, update, progress):
    """Has the kernel that a name stands for in the cache; returns its entry. Raises KernelError."""
    index = read_index(cache, False, update, progress)
    known = sorted({names.short(candidate.numbers, candidate.flavour) for candidate in index.candidates})
    if wanted is None:
        raise names.unknown(spec, known)
    matching = [candidate for candidate in index.candidates
                if wanted.matches(candidate.release, candidate.numbers, candidate.flavour)]
    if not matching:
        raise names.unknown(spec, known)
    for candidate, older in zip(matching, [*matching[1:], None]):
        try:
            entry = have(cache, candidate, progress)
            cache.remember(spec, entry, index.looked_up)
            return entry
        except NotInArchive as problem:
            if older is None:
                raise
            progress(f"{problem}; the next older one is {older.release} ({older.version})")
            note_missing(cache, candidate, progress)
    raise AssertionError("the loop returns or raises")


def note_missing(cache, candidate, progress):
    """Keeps in the index that a kernel is listed but not there, until the lists are read again."""
    path = cache.path("index.json")
    with cache.locked("index", lambda: progress("waiting for another run that reads the archive's lists")):
        index = Index.load(path)
        if index:
            index.missing.update(deb.url for deb in candidate.debs)
            index.save(path)


def have(cache, candidate, progress):
    """Has a kernel in the cache: whole already, or downloaded and unpacked; one run at a time."""
    entry = entry_name(candidate)
    cache.make_folders()
    with cache.locked(entry, lambda: progress(f"waiting for another run that fetches {entry}")):
        try:
            manifest = cache.manifest(entry)
            if manifest:
                cache.check(entry, manifest)
                return entry
        except Damaged:
            progress(f"fetching {entry} again")
        debs = download_all(cache, candidate, progress)
        progress(f"unpacking {candidate.release}", 0, 0)
        with cache.making(entry) as (folder, scratch):
            unpack.lay_out(debs, candidate.release, folder, scratch)
            cache.seal(folder, {"release": candidate.release, "version": candidate.version,
                                "numbers": candidate.numbers, "flavour": candidate.flavour,
                                "suite": candidate.suite,
                                "enforce_module_signatures": candidate.unverified_modules})
        for deb in debs:
            deb.unlink(missing_ok=True)
    return entry


def download_all(cache, candidate, progress):
    """The package files of a kernel."""
    suite = private_apt(cache, candidate)
    unlisted = [deb.package for deb in candidate.debs if deb.sha256 is None]
    if unlisted:
        consequence = "the verified kernel will load only modules that bear its own signature"
        if not candidate.unverified_modules:
            consequence = "kernel and modules are verified"
        progress(f"no longer in the index of {candidate.suite}, had unverified from its pool: {', '.join(unlisted)}; "
                 f"{consequence}")
    files = []
    for deb in candidate.debs:
        try:
            files.append(apt.download(suite, deb, cache.path("downloads"), progress))
        except NotInArchive as problem:
            if not (deb.only_informs and deb.sha256 is None):
                raise
            progress(f"{problem}; {candidate.release} goes without its configuration file")
    return files


def private_apt(cache, candidate):
    archive = apt.find_archive()
    which = dict(archive.suites).get(candidate.suite, "main")
    suite = apt.Suite(archive, candidate.suite, which, cache.path("apt", candidate.suite), apt.architecture())
    suite.lay_out(apt.borrowed_settings())
    return suite


def drop_downloads(cache, everything):
    """Removes packages that interrupted runs left; with `everything` also the lists of apt and the index."""
    for name in ("downloads", *(("apt", "names", "index.json") if everything else ())):
        with contextlib.suppress(FileNotFoundError):
            cache_module.remove(cache.path(name))
