# SPDX-License-Identifier: Apache-2.0
"""ci/kernels.toml: which kernels there are, what each must be able to do and must not, and what is run on each.

Strict: an unknown key, feature or step is an error with the nearest known one, and every error names its place.
"""

import dataclasses
import difflib
import re
import tomllib


class ConfigError(Exception):
    """One line: the place in the file, what is wrong, what would be right."""


@dataclasses.dataclass(frozen=True)
class Skip:
    """What a test or command says when it cannot run: right only on a kernel that lacks the feature."""

    says: re.Pattern
    lacks: str


@dataclasses.dataclass(frozen=True)
class Step:
    """One thing that is done on a kernel, in a guest of its own."""

    name: str
    does: str  # a name in ACTIONS
    time_limit_s: int
    needs: tuple = ()        # features; on a kernel that lacks one the command must say so and end with status 3
    where: tuple = ()        # features; on a kernel that lacks one there is nothing to do
    only_on: tuple = ()      # kernels; empty: all of them
    why: str = ""            # of only_on
    offline: tuple = ()      # CPUs that are taken offline before
    hide: dict = dataclasses.field(default_factory=dict)  # folder that an empty one hides -> feature that goes with it
    arguments: tuple = ()    # of the command
    labels: tuple = ()       # of tests: those with one of these
    only: str = ""           # of tests: pattern of names
    left_out: dict = dataclasses.field(default_factory=dict)     # of tests: pattern of names -> why
    environment: dict = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Kernel:
    """One column of the matrix."""

    name: str
    lacks: frozenset
    smp: int
    memory_mib: int
    write: dict           # files of its /sys and /proc -> what is written there before anything runs
    steps: tuple          # of Step, in the order of the file
    without: dict         # step -> why it is not done here; worked out from the steps' `where` and `only_on`


@dataclasses.dataclass(frozen=True)
class Matrix:
    """The whole file."""

    features: dict        # name -> one line
    skips: tuple
    kernels: tuple

    def expected(self, kernel, feature):
        """Whether that kernel must have the feature; it must not otherwise."""
        return feature not in kernel.lacks

    def why_no_excuse(self, missing, reason, kernel):
        """Why a skip for that reason is wrong where these features are missing; empty when it is right."""
        for skip in self.skips:
            if skip.says.search(reason):
                return "" if skip.lacks in missing else f"skipped, though {kernel} must have {skip.lacks}: {reason}"
        return f"skipped for a reason that ci/kernels.toml does not know: {reason}"


# What a step can do, and the keys that only such steps take.
ACTIONS = {
    "features": set(),
    "rules": set(),
    "doctor": set(),
    "tests": {"labels", "only", "left_out", "environment"},
    "conform": {"arguments"},
    "check": {"arguments"},
    "mutants": {"arguments"},
}
STEP_KEYS = {"does", "time_limit", "needs", "where", "only_on", "why", "offline", "hide"}
KERNEL_KEYS = {"name", "lacks", "smp", "memory", "write"}


def nearest(word, known):
    """`; did you mean "x"?` or the list of what is known."""
    close = difflib.get_close_matches(word, sorted(known), 1)
    return f'did you mean "{close[0]}"?' if close else f"known are {', '.join(sorted(known)) or 'none'}"


class Place:
    """One table of the file and the words for it in errors."""

    def __init__(self, path, name, table):
        self.path = path
        self.name = name
        if not isinstance(table, dict):
            raise self.error(f"is {describe(table)}", "write a table")
        self.table = table

    def error(self, problem, remedy):
        return ConfigError(f"{self.path}: {self.name}: {problem}; {remedy}" if self.name
                           else f"{self.path}: {problem}; {remedy}")

    def only(self, known):
        for key in self.table:
            if key not in known:
                raise self.error(f'unknown key "{key}"', nearest(key, known))

    def take(self, key, kind, what, default=None):
        """The value of a key, which must be of that type; `what` says what would be right."""
        if key not in self.table:
            if default is None:
                raise self.error(f'no key "{key}"', f"write {what}")
            return default
        value = self.table[key]
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise self.error(f"{key} is {describe(value)}", f"write {what}")
        return value

    def items(self, key, kind, what, known=None):
        """The tuple of a list, each item of that type and, if told, one of the known."""
        values = self.take(key, list, what, default=[])
        for value in values:
            if not isinstance(value, kind) or isinstance(value, bool):
                raise self.error(f"{key} has {describe(value)}", f"write {what}")
            if known is not None and value not in known:
                raise self.error(f'{key} names "{value}", which there is not', nearest(value, known))
        return tuple(values)

    def texts(self, key, what):
        """A table of texts."""
        values = self.take(key, dict, what, default={})
        for name, value in values.items():
            if not isinstance(value, str) or not value:
                raise self.error(f"{key}.{name} is {describe(value)}", f"write {what}")
        return values

    def pattern(self, text):
        try:
            return re.compile(text)
        except re.error as problem:
            raise self.error(f'"{text}" is no pattern ({problem})', "write a regular expression") from problem


def describe(value):
    names = {bool: "a truth value", int: "a number", float: "a number", str: "a text", list: "a list",
             dict: "a table"}
    shown = f" {value}" if isinstance(value, (int, float)) else f' "{value}"' if isinstance(value, str) else ""
    return names.get(type(value), "a date") + shown


def mebibytes(place, text):
    match = re.fullmatch(r"([1-9]\d{0,5})([MG])", text)
    if not match:
        raise place.error(f'memory "{text}" is none', "write it as 512M or 2G")
    return int(match[1]) * (1024 if match[2] == "G" else 1)


def seconds(place, text):
    match = re.fullmatch(r"([1-9]\d{0,4})(s|m)", text)
    if not match:
        raise place.error(f'time_limit "{text}" is none', "write it as 90s or 5m")
    return int(match[1]) * (60 if match[2] == "m" else 1)


def hidden(place, features):
    hide = place.texts("hide", 'hide as a table: "folder" = "feature"')
    for feature in hide.values():
        if feature not in features:
            raise place.error(f'hide names "{feature}", which is no feature', nearest(feature, features))
    return hide


def read_step(place, name, features, kernels):
    does = place.take("does", str, f"one of {', '.join(ACTIONS)}")
    if does not in ACTIONS:
        raise place.error(f'does "{does}", which no step can', nearest(does, ACTIONS))
    place.only(STEP_KEYS | ACTIONS[does])
    left_out = place.texts("left_out", 'left_out as a table: "pattern of names" = "why"')
    only = place.take("only", str, "a pattern of names", default="")
    for pattern in (only, *left_out):
        place.pattern(pattern)
    labels = place.items("labels", str, 'labels of ctest, as ["kernel"]')
    if does == "tests" and not labels:
        raise place.error("has no labels", 'write labels of ctest, as ["kernel"]')
    only_on = place.items("only_on", str, "a list of kernels", kernels)
    why = place.take("why", str, "why it is done on these kernels only", default=None if only_on else "")
    return Step(name=name, does=does, labels=labels, only=only, left_out=left_out, only_on=only_on, why=why,
                time_limit_s=seconds(place, place.take("time_limit", str, "time_limit as 90s or 5m")),
                needs=place.items("needs", str, "a list of features", features),
                where=place.items("where", str, "a list of features", features),
                offline=place.items("offline", int, "a list of CPU numbers, as [1, 3]"),
                hide=hidden(place, features),
                arguments=place.items("arguments", str, "a list of texts"),
                environment=place.texts("environment", 'environment as a table: NAME = "value"'))


def why_not(step, kernel, lacks):
    """Why a step is not done on a kernel; empty when it is."""
    if step.only_on and kernel not in step.only_on:
        return f"only on {', '.join(step.only_on)}: {step.why}"
    missing = [feature for feature in step.where if feature in lacks]
    return f"without {', '.join(missing)} there is nothing to do" if missing else ""


def steps_of(place, kernel, lacks, file):
    """The steps of one kernel, those of the file changed by the kernel's tables, and why others are not done."""
    chosen, without = [], {}
    for name, table in file.table["step"].items():
        changed = place.take(name, dict, "a table", default={})
        own = Place(place.path, f"{place.name}.{name}", {**table, **changed})
        step = read_step(own, name, file.table["features"], names_of_kernels(file))
        why = why_not(step, kernel, lacks)
        if why:
            without[name] = why
        else:
            chosen.append(step)
    return tuple(chosen), without


def names_of_kernels(file):
    return [entry["name"] for entry in file.table["kernel"] if isinstance(entry, dict) and "name" in entry]


def read_kernel(path, number, table, file):
    place = Place(path, f"kernel {number}", table)
    name = place.take("name", str, 'name as "6.12" or "newest-rt"')
    place.name = f'kernel "{name}"'
    steps, features = file.table["step"], file.table["features"]
    place.only(KERNEL_KEYS | set(steps))
    guest = {**file.take("guest", dict, "a table"), **table}
    whole = Place(path, place.name, guest)
    lacks = frozenset(place.items("lacks", str, "a list of features", features))
    chosen, without = steps_of(place, name, lacks, file)
    smp = whole.take("smp", int, "smp as a number of CPUs")
    if not 1 <= smp <= 64:
        raise place.error(f"smp is {smp}", "write a number from 1 to 64")
    write = whole.texts("write", 'write as a table: "file" = "what"')
    return Kernel(name=name, smp=smp, steps=chosen, without=without, write=write, lacks=lacks,
                  memory_mib=mebibytes(place, whole.take("memory", str, "memory as 512M or 2G")))


def read_skip(path, number, table, features):
    place = Place(path, f"skip {number}", table)
    place.only({"says", "lacks"})
    lacks = place.take("lacks", str, "the feature whose lack makes the skip right")
    if lacks not in features:
        raise place.error(f'lacks names "{lacks}", which is no feature', nearest(lacks, features))
    return Skip(place.pattern(place.take("says", str, "a pattern of the reason")), lacks)


def load(path):
    """Reads the file. Raises ConfigError."""
    try:
        with open(path, "rb") as stream:
            table = tomllib.load(stream)
    except OSError as problem:
        raise ConfigError(f"{path}: {problem.strerror}") from problem
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        raise ConfigError(f"{path}: no TOML: {problem}") from problem
    file = Place(path, "", table)
    file.only({"guest", "features", "skip", "step", "kernel"})
    features = file.texts("features", 'features as a table: name = "what it is"')
    steps = file.take("step", dict, "the steps as tables: [step.tests]")
    guest = Place(path, "guest", file.take("guest", dict, "a table with smp and memory"))
    guest.only({"smp", "memory", "write"})
    entries = file.take("kernel", list, "kernels as [[kernel]]")
    for name, step in steps.items():
        if name in KERNEL_KEYS:
            raise file.error(f'a step is named "{name}"', "give it a name that is no key of a kernel")
        read_step(Place(path, f"step.{name}", step), name, features, names_of_kernels(file))
    kernels = tuple(read_kernel(path, number, entry, file) for number, entry in enumerate(entries, start=1))
    names = [kernel.name for kernel in kernels]
    for name in names:
        if names.count(name) > 1:
            raise file.error(f'kernel "{name}" is there twice', "give each once")
    return Matrix(features=features, kernels=kernels,
                  skips=tuple(read_skip(path, number, entry, features)
                              for number, entry in enumerate(file.take("skip", list, "[[skip]]", default=[]), 1)))
