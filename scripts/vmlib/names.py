# SPDX-License-Identifier: Apache-2.0
"""Names of kernels as users write them (6.1, 6.12-rt, 6.12.43, newest-cloud, 6.1.0-57-amd64), and their order."""

import re
from typing import NamedTuple

from .errors import KernelError

FLAVOURS = ("generic", "cloud", "rt")
FORMS = "5.10, 6.12.43, newest (each may end in -rt or -cloud), a release as `uname -r` gives it, a file or a directory"
NAME = re.compile(r"(?:(?P<newest>newest)|(?P<version>\d+\.\d+(?:\.\d+)?))(?:-(?P<flavour>generic|cloud|rt))?")
RELEASE = re.compile(r"\d+\.\d+\S*-\S+")


class Wanted(NamedTuple):
    """What a name asks for: the newest kernel of a flavour, one of a series or patch level, or one exact release."""
    version: tuple
    flavour: str
    release: str | None

    def matches(self, release, version, flavour):
        if self.release is not None:
            return release == self.release
        return flavour == self.flavour and version[:len(self.version)] == self.version


def parse(spec):
    """The Wanted that a name stands for, or None when it is no such name."""
    match = NAME.fullmatch(spec)
    if match:
        version = () if match["newest"] else numbers(match["version"])
        return Wanted(version, match["flavour"] or "generic", None)
    if RELEASE.fullmatch(spec):
        return Wanted((), "", spec)
    return None


def is_path(spec):
    return "/" in spec or spec in (".", "..")


def numbers(version):
    """The leading numbers of a version: 6.1.192-3 is (6, 1, 192)."""
    return tuple(int(part) for part in re.match(r"\d+(?:\.\d+)*", version)[0].split("."))


def upstream(version):
    """The kernel's own version of a package version, with three numbers at least: 6.16-1 is (6, 16, 0)."""
    found = numbers(version.split(":", 1)[-1])
    return found + (0,) * (3 - len(found))


def order(version):
    """A sort key that orders package versions as dpkg does (deb-version(7))."""
    epoch, _, rest = version.rpartition(":")
    main, _, revision = rest.rpartition("-") if "-" in rest else (rest, "", "0")
    return int(epoch or 0), _part_order(main), _part_order(revision)


def _part_order(part):
    # Letters sort before other characters, a tilde before everything, even before the end (0).
    def weight(character):
        if character == "~":
            return -1
        return ord(character) if character.isalpha() else ord(character) + 256

    key = []
    for text, digits in re.findall(r"(\D*)(\d*)", part):
        key += [tuple(map(weight, text)) + (0,), int(digits or 0)]
    return tuple(key)


def short(version, flavour):
    """The name of a series: (6, 12, 43) and rt give 6.12-rt."""
    return f"{version[0]}.{version[1]}" + ("" if flavour == "generic" else f"-{flavour}")


def unknown(spec, known):
    """The error for a name that no kernel answers to; `known` are the names of series that would do."""
    if not known:
        return KernelError(f"no kernel '{spec}': neither is anything else cached or listed; names are {FORMS}")
    return KernelError(f"no kernel '{spec}'; the nearest is {nearest(spec, known)}; "
                       f"there are {series_of(known)}, newest")


def series_of(known):
    """The names in one list; flavours that go with every series are said once."""
    known = sorted(known, key=lambda name: (numbers(name), name))
    plain = [name for name in known if "-" not in name]
    everywhere = [flavour for flavour in FLAVOURS[1:] if plain and all(f"{name}-{flavour}" in known for name in plain)]
    rest = [name for name in known if "-" not in name or name.partition("-")[2] not in everywhere]
    each = f" (each also -{' and -'.join(everywhere)})" if everywhere else ""
    return ", ".join(rest) + each


def nearest(spec, known):
    """The name that is most like `spec`: by version where it has one, of the same flavour where there is one."""
    match = re.match(r"\D*(\d+)(?:\.(\d+))?", spec)
    if not match:
        return "newest"
    major, minor = int(match[1]), int(match[2] or 0)
    flavour = next((f"-{word}" for word in FLAVOURS[1:] if f"-{word[0]}" in spec), "")
    alike = [name for name in known if name.endswith(flavour) and (flavour or "-" not in name)] or known
    return min(alike, key=lambda name: (abs(numbers(name)[0] - major), abs(numbers(name)[1] - minor), numbers(name)))
