# SPDX-License-Identifier: Apache-2.0
"""Source packages of a Debian release, by a private apt as the kernels' (vmlib/apt.py), for tests of code as it stands.

apt checks the release's signature and the hashes of what it downloads; the sources are unpacked once, as the package
has them (its patches applied), and kept in the cache with a manifest that damage shows against.

    sources/entries/PACKAGE_SUITE/   manifest.json, tree
    sources/apt/SUITE/               the private apt
"""

import re

from . import apt
from .cache import Cache, Damaged
from .errors import KernelError

SUITE = "bookworm"
NOBODY_ANSWERS = re.compile(r"Could not (?:connect|resolve)|Connection (?:failed|timed out|refused)|Temporary failure|"
                            r"Network is unreachable|No route to host", re.I)


class Unavailable(KernelError):
    """There is no archive to ask: no network, no mirror, nothing to check its signatures with."""


def resolve(package, *, cache_dir, suite=SUITE, offline=False, progress):
    """The folder of a package's sources, had from the archive when the cache does not hold them. Raises KernelError."""
    cache = Cache(cache_dir, "sources")
    entry = f"{package}_{suite}"
    with cache.locked(entry, lambda: progress(f"waiting for another run that fetches the sources of {package}")):
        if not is_there(cache, entry, progress):
            if offline:
                raise Unavailable(f"the sources of {package} are not in {cache.folder}; run scripts/setup --sources")
            fetch(cache, entry, package, suite, progress)
    return cache.path("entries", entry, "tree")


def is_there(cache, entry, progress):
    try:
        manifest = cache.manifest(entry)
        if manifest is None:
            return False
        cache.check(entry, manifest)
        return True
    except Damaged as damage:
        progress(f"{entry} is damaged: {damage}; fetching it again")
        return False


def fetch(cache, entry, package, suite, progress):
    cache.make_folders()
    private = private_apt(cache, suite)
    progress(f"reading the archive's list of sources in {suite}", 0, 0)
    told = apt.run(["apt-get", "update", "-q"], env=private.environment())
    if told.returncode:
        problem = Unavailable if NOBODY_ANSWERS.search(told.stderr) else KernelError
        raise problem(f"read the list of sources in {suite}: {apt.reason_of(told.stderr)}")
    with cache.making(entry) as (folder, scratch):
        progress(f"downloading the sources of {package}", 0, 0)
        told = apt.run(["apt-get", "source", "-q", "--download-only", package], env=private.environment(), cwd=scratch)
        if told.returncode:
            raise KernelError(f"download the sources of {package}: {apt.reason_of(told.stderr)}")
        description, = scratch.glob("*.dsc")
        told = apt.run(["dpkg-source", "--extract", description.name, "tree"], cwd=scratch)
        if told.returncode:
            raise KernelError(f"unpack {description.name}: {apt.reason_of(told.stderr)}")
        (scratch / "tree").rename(folder / "tree")
        version = re.search(r"^Version: (.+)$", description.read_text(), re.M)[1]
        cache.seal(folder, {"package": package, "version": version, "suite": suite})


def private_apt(cache, suite):
    try:
        archive = apt.find_archive()
    except KernelError as problem:
        raise Unavailable(str(problem)) from problem
    private = apt.Suite(archive, suite, "main", cache.path("apt", suite), apt.architecture(), kind="deb-src")
    private.lay_out(apt.borrowed_settings())
    return private
