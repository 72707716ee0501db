# SPDX-License-Identifier: Apache-2.0
"""The kernels of a Debian archive, by a private apt: its own sources, lists, cache and (empty) list of installed
packages, one root per suite. Of the host's apt only the address of its mirror, its proxies and its passwords are read.

apt checks the signature of each suite and the hashes of its index; what is kept of the index are the rows of kernels,
with the SHA-256 that apt then holds each download against.
"""

import contextlib
import os
import pathlib
import re
import subprocess
import urllib.parse
from typing import NamedTuple

from . import names
from .cache import hash_file
from .errors import DamagedDownload, KernelError, NotInArchive

APT_HELPER = "/usr/lib/apt/apt-helper"
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
# Suite and which of the two archives it lies in. Later releases are added here; a suite that is not there is said once.
SUITES = (("bullseye", "main"), ("bullseye-security", "security"),
          ("bookworm", "main"), ("bookworm-security", "security"), ("bookworm-backports", "main"),
          ("trixie", "main"), ("trixie-security", "security"), ("trixie-backports", "main"),
          ("forky", "main"), ("sid", "main"))
# Mirrors that are frozen at a date serve these with an index past its Valid-Until; what they hold is still signed.
MOVING_SUITES = ("forky", "sid")
# Settings of the host's apt that say how to reach a mirror. Everything else of it is left alone.
BORROWED = re.compile(r"Acquire::(?:(?:https?|ftp|tor)::|Retries|ForceIPv|Check-Valid-Until|Check-Date|Proxy)", re.I)
DOWNLOAD_POLL_SECONDS = 0.2


class Archive(NamedTuple):
    """Where packages come from."""
    main: str
    security: str | None
    keyring: str
    suites: tuple

    def base(self, which):
        return self.main if which == "main" else self.security


class Deb(NamedTuple):
    """One package file. `sha256` is None when no signed index lists it and only the archive's pool has it."""
    package: str
    url: str
    size: int
    sha256: str | None

    @property
    def only_informs(self):
        """Whether it holds the kernel's configuration and lists of modules, and nothing that runs."""
        return self.package.startswith("linux-base-")

    @property
    def file_name(self):
        return urllib.parse.unquote(self.url.rsplit("/", 1)[-1])


class Candidate(NamedTuple):
    """One kernel of the index, with the packages that make it whole."""
    release: str
    flavour: str
    version: str
    suite: str
    debs: tuple

    @property
    def numbers(self):
        return names.upstream(self.version)

    @property
    def unverified_modules(self):
        """Whether nothing signed vouches for the modules but the kernel's own key."""
        return any(deb.sha256 is None and deb.package.startswith("linux-modules-") for deb in self.debs)

    @property
    def size(self):
        return sum(deb.size for deb in self.debs)


def from_json(row):
    return Candidate(row[0], row[1], row[2], row[3], tuple(Deb(*deb) for deb in row[4]))


def run(command, **more):
    """Runs a program to its end; it dies with this one, even when this one is killed."""
    return subprocess.run(["setpriv", "--pdeathsig", "TERM", *command], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, check=False, **more)


def start(command, environment):
    """Starts a program that dies with this one; what it writes to its standard error can be read."""
    return subprocess.Popen(["setpriv", "--pdeathsig", "TERM", *command], env=environment, stdin=subprocess.DEVNULL,
                            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


@contextlib.contextmanager
def ended(children):
    """Ends the children that still run when the block is left early."""
    try:
        yield
    finally:
        for child in children:
            if child.poll() is None:
                child.terminate()
        for child in children:
            child.wait()
            child.stderr.close()


def architecture():
    return run(["dpkg", "--print-architecture"]).stdout.strip()


def find_archive():
    """The archive that the environment names, or the Debian mirror of the host's own apt."""
    keyring = os.environ.get("RINGSIDE_DEBIAN_KEYRING", KEYRING)
    suites = SUITES
    if "RINGSIDE_DEBIAN_SUITES" in os.environ:
        suites = tuple((suite, "security" if suite.endswith("-security") else "main")
                       for suite in os.environ["RINGSIDE_DEBIAN_SUITES"].split())
    main = os.environ.get("RINGSIDE_DEBIAN_MIRROR")
    security = os.environ.get("RINGSIDE_DEBIAN_SECURITY_MIRROR")
    if not main:
        main, security = mirrors_of_host()
    if not os.path.exists(keyring):
        raise KernelError(f"no keyring {keyring} to check kernel packages with; run scripts/setup --vm")
    return Archive(main, security, keyring, suites)


def mirrors_of_host():
    """The addresses of the Debian archive and of its security archive that the host's own apt uses."""
    # Prints what an update would fetch and fetches nothing; unlike other listings it needs no earlier update.
    told = run(["apt-get", "update", "--print-uris"]).stdout
    known = {suite for suite, _ in SUITES} | {"oldstable", "stable", "testing", "unstable"}
    main = security = None
    for uri, suite in re.findall(r"^'(.+?)/dists/(\S+)/InRelease'", told, re.M):
        if suite.endswith("-security") and suite.removesuffix("-security") in known:
            security = security or uri
        elif suite in known:
            main = main or uri
    if main is None:
        raise KernelError("the host's apt names no Debian mirror to have kernels from; "
                          "name one in RINGSIDE_DEBIAN_MIRROR (an http address)")
    if security is None and main.endswith("/debian"):
        security = f"{main}-security"
    return main, security


def borrowed_settings():
    """The lines of the host's apt configuration that say how a mirror is reached (proxies, retries, passwords)."""
    lines = [line for line in run(["apt-config", "dump"]).stdout.splitlines() if BORROWED.match(line)]
    found = dict(re.findall(r'^Dir::(Etc|Etc::netrc|Etc::netrcparts) "(.*)";$',
                            run(["apt-config", "dump", "Dir::Etc"]).stdout, re.M))
    etc = os.path.join("/", found.get("Etc", "etc/apt"))
    for key, default in (("Etc::netrc", "auth.conf"), ("Etc::netrcparts", "auth.conf.d")):
        lines.append(f'Dir::{key} "{os.path.join(etc, found.get(key, default))}";')
    return lines


class Suite:
    """The private apt of one suite: of its packages, or with kind `deb-src` of their sources."""

    def __init__(self, archive, suite, which, root, arch, kind="deb"):
        self.suite, self.root, self.arch = suite, pathlib.Path(root), arch
        self.base = archive.base(which)
        self.kind = kind
        self.keyring = archive.keyring

    def lay_out(self, borrowed):
        """Makes the folders and the configuration anew: they hold nothing that is not known here."""
        for folder in ("state/lists/partial", "cache/archives/partial", "etc/apt.conf.d", "etc/preferences.d",
                       "etc/sources.list.d", "etc/trusted.gpg.d"):
            (self.root / folder).mkdir(parents=True, exist_ok=True)
        (self.root / "status").write_text("")
        (self.root / "etc/sources.list").write_text(
            f"{self.kind} [arch={self.arch} signed-by={self.keyring}] {self.base} {self.suite} main\n")
        settings = [f'Dir::Etc "{self.root}/etc";', f'Dir::State "{self.root}/state";',
                    f'Dir::State::status "{self.root}/status";', f'Dir::Cache "{self.root}/cache";',
                    # Lists stay compressed, no binary caches: 10 MB a suite instead of 120.
                    'Dir::Cache::pkgcache "";', 'Dir::Cache::srcpkgcache "";', 'Acquire::GzipIndexes "true";',
                    'Acquire::Languages "none";', 'Acquire::Retries "1";',
                    'Acquire::http::Timeout "30";', 'Acquire::https::Timeout "30";',
                    # The cache is the user's own; apt's user for downloads could not write there.
                    'APT::Sandbox::User "root";', 'APT::Update::Error-Mode "any";', f'APT::Architecture "{self.arch}";',
                    *borrowed]
        if self.suite in MOVING_SUITES:
            settings.append('Acquire::Check-Valid-Until "false";')
        # Read before the host's apt.conf.d would be, and Dir::Etc then points away from that.
        (self.root / "apt.conf").write_text("\n".join(settings) + "\n")

    def environment(self):
        return {**os.environ, "APT_CONFIG": str(self.root / "apt.conf"), "LC_ALL": "C"}

    def start_update(self):
        """Has apt fetch and check the index; a process to be waited for."""
        return start(["apt-get", "update", "-q"], self.environment())

    def kernels(self):
        """The kernels that the checked index lists."""
        told = run(["apt-get", "indextargets", "--format", "$(FILENAME)", "Created-By: Packages"],
                   env=self.environment()).stdout.splitlines()
        packages = {}
        for path in told:
            text = run([APT_HELPER, "cat-file", path], env=self.environment()).stdout
            for stanza in text.split("\n\n"):
                if stanza.lstrip("\n").startswith("Package: linux-"):
                    fields = dict(re.findall(r"^([A-Za-z0-9-]+): (.*)$", stanza, re.M))
                    packages[fields["Package"], fields["Version"]] = fields
        return kernels_of(packages, self.base, self.suite, self.arch)


def reason_of(stderr):
    """What apt says went wrong, in one line."""
    lines = stderr.splitlines() or ["no reason given"]
    # That an index is not signed is an error, by whom it is signed instead only a warning.
    signatures = [line for line in lines if "GPG error" in line]
    errors = [line for line in lines if line.startswith("E: ")]
    return re.sub("^[EW]: ", "", (signatures or errors or lines)[0]).strip()


def kernels_of(packages, base, suite, arch):
    """The Candidates among the packages of one index."""
    # linux-image-6.1.0-57-rt-amd64 is a kernel, linux-image-rt-amd64 and linux-image-6.1-rt-amd64 name others,
    # -unsigned and -dbg are not wanted.
    pattern = re.compile(rf"linux-image-(\d\S*?-(?:(cloud|rt)-)?{re.escape(arch)})")
    found = []
    for (package, version), fields in packages.items():
        match = pattern.fullmatch(package)
        if not match or "linux-image-" in fields.get("Depends", ""):
            continue
        release, flavour = match[1], match[2] or "generic"
        parts = [f"linux-{part}-{release}" for part in ("binary", "modules", "base")
                 if f"linux-{part}-{release} " in fields.get("Depends", "")]
        # Split by degrees: first one package, then (6.18) the configuration apart, then (6.19) everything.
        if f"linux-binary-{release}" not in parts:
            parts.insert(0, package)
        first = packages.get((parts[0], version))
        if first:
            debs = tuple(deb_of(packages, part, version, first, base, arch) for part in parts)
            found.append(Candidate(release, flavour, version, suite, debs))
    return found


def deb_of(packages, package, version, sibling, base, arch):
    """The Deb of a package; one that the index has dropped lies in the pool, beside its sibling's source package."""
    fields = packages.get((package, version))
    if fields:
        return Deb(package, f"{base}/{urllib.parse.quote(fields['Filename'])}", int(fields["Size"]), fields["SHA256"])
    pool = sibling["Filename"].rsplit("/", 2)[0]
    file_name = f"{package}_{version.split(':', 1)[-1]}_{arch}.deb"
    return Deb(package, f"{base}/{urllib.parse.quote(f'{pool}/linux/{file_name}')}", 0, None)


def update_suites(archive, root, arch, progress):
    """Fetches the index of each suite, all at once: {suite: Candidates}, and {suite: why not}."""
    borrowed = borrowed_settings()
    failures = {name: "the host's apt names no security mirror" for name, which in archive.suites
                if archive.base(which) is None}
    suites = [Suite(archive, name, which, pathlib.Path(root) / name, arch) for name, which in archive.suites
              if name not in failures]
    for suite in suites:
        suite.lay_out(borrowed)
    progress("reading the archive's lists of kernels", 0, 0)
    updates = [suite.start_update() for suite in suites]
    kernels = {}
    with ended(updates):
        for suite, update in zip(suites, updates):
            stderr = update.communicate()[1]
            if update.returncode:
                failures[suite.suite] = f"read the index of {suite.suite}: {reason_of(stderr)}"
            else:
                kernels[suite.suite] = suite.kernels()
    return kernels, failures


def download(suite, deb, folder, progress):
    """Has apt fetch a package into `folder`, resuming where an earlier try ended; returns its path.

    apt holds it against the SHA-256 of the index; what does not match does not stay.
    """
    target = pathlib.Path(folder) / deb.file_name
    if deb.sha256 is None:
        target.unlink(missing_ok=True)  # nothing would show that the part that is there is damaged
    elif target.exists() and target.stat().st_size >= deb.size:
        if hash_file(target) == deb.sha256:
            return target
        target.unlink()
    part = target.exists()
    try:
        download_by_apt(suite, deb, target, progress)
    except DamagedDownload:
        if not part:
            raise
        progress(f"the part of {target.name} that was there is damaged; downloading it from its start")
        download_by_apt(suite, deb, target, progress)
    return target


def download_by_apt(suite, deb, target, progress):
    command = [APT_HELPER, "download-file", deb.url, str(target)]
    if deb.sha256:
        command.append(f"SHA256:{deb.sha256}")
    child = start(command, suite.environment())
    with ended([child]):
        stderr = watch(child, target, deb, progress)
    if child.returncode == 0:
        return
    if re.search(r"\b404\b|File not found|Not Found", stderr):
        raise NotInArchive(f"download {deb.file_name}: the archive no longer holds it")
    if "Hash Sum mismatch" in stderr or "unexpected size" in stderr:
        for name in (target, target.with_name(f"{target.name}.FAILED")):
            name.unlink(missing_ok=True)
        raise DamagedDownload(f"download {deb.file_name}: it is not what the signed index says (Hash Sum mismatch)")
    raise KernelError(f"download {deb.file_name}: {reason_of(stderr)}")


def watch(child, target, deb, progress):
    """Waits for a download and tells how far it has come; returns what apt wrote to its standard error."""
    while True:
        try:
            return child.communicate(timeout=DOWNLOAD_POLL_SECONDS)[1]
        except subprocess.TimeoutExpired:
            with contextlib.suppress(OSError):
                progress(f"downloading {deb.package}", target.stat().st_size, deb.size)
