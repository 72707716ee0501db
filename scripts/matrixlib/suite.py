# SPDX-License-Identifier: Apache-2.0
"""Which tests there are: ctest's own list, and how a guest runs them."""

import dataclasses
import json
import re
import subprocess

# Emulated guests are slow; a time limit of ctest's is multiplied by this.
SLOWNESS = 5
DEFAULT_TIME_LIMIT_S = 120
LAUNCHER = "/scripts/in_vm"
# Steps that are one command of ringside.
COMMANDS = {"conform", "check", "mutants"}


class SuiteError(Exception):
    """One line: the tests of the build cannot be listed."""


@dataclasses.dataclass(frozen=True)
class Test:
    """One test of ctest. `filter` is its name within a GoogleTest program; None for any other command."""

    name: str
    labels: frozenset
    command: tuple
    directory: str
    time_limit_s: int
    environment: tuple = ()
    filter: str | None = None


def properties_of(entry):
    return {item["name"]: item["value"] for item in entry.get("properties", [])}


def read_test(entry):
    properties = properties_of(entry)
    command = entry["command"]
    # What ctest puts before a program of ours, so that it may run in a guest: here it does.
    if command[0].endswith(LAUNCHER):
        command = command[1:]
    filters = [word.removeprefix("--gtest_filter=") for word in command[1:] if word.startswith("--gtest_filter=")]
    return Test(name=entry["name"], labels=frozenset(properties.get("LABELS", ())),
                command=tuple(command[:1] if filters else command), filter=filters[0] if filters else None,
                environment=tuple(properties.get("ENVIRONMENT", ())),
                directory=properties.get("WORKING_DIRECTORY", "."),
                time_limit_s=int(SLOWNESS * float(properties.get("TIMEOUT", DEFAULT_TIME_LIMIT_S))))


def parse(text):
    """The tests of what `ctest --show-only=json-v1` prints. A test without a command was not built."""
    tests = json.loads(text)["tests"]
    missing = [entry["name"] for entry in tests if "command" not in entry]
    if missing:
        raise SuiteError(f"{missing[0]} has no program; build everything first")
    return [read_test(entry) for entry in tests]


def read(build):
    """The tests of a build directory. Raises SuiteError."""
    if not (build / "CTestTestfile.cmake").is_file():
        raise SuiteError(f"{build} is no build with tests; run cmake --preset release && cmake --build build/release")
    try:
        run = subprocess.run(["ctest", "--test-dir", str(build), "--show-only=json-v1"], capture_output=True, text=True,
                             check=False)
    except OSError as problem:
        raise SuiteError(f"run ctest: {problem.strerror}; scripts/setup installs it") from problem
    if run.returncode:
        lines = (run.stderr or run.stdout).strip().splitlines()
        raise SuiteError(f"list the tests of {build}: {lines[-1] if lines else 'ctest failed'}; build everything first")
    return parse(run.stdout)


def chosen(tests, step):
    """The tests of a step: with one of its labels and the names that it wants, but for those that it leaves out."""
    return [test for test in tests if test.labels & set(step.labels) and re.search(step.only, test.name)
            and not any(re.search(pattern, test.name) for pattern in step.left_out)]


def variables(environment):
    """NAME=VALUE, as ctest has it."""
    return dict(variable.split("=", 1) for variable in environment)


def programs(tests):
    """What the guest runs: the GoogleTest programs, each once, with the filters of its tests."""
    grouped = {}
    for test in tests:
        if test.filter is not None:
            grouped.setdefault((test.command, test.directory, test.environment), []).append(test)
    return [{"command": list(command), "directory": directory, "environment": variables(environment),
             "tests": [test.filter for test in members], "time_limit_s": max(test.time_limit_s for test in members)}
            for (command, directory, environment), members in grouped.items()]


def commands(tests):
    """What the guest runs besides: tests that are commands of their own."""
    return [{"name": test.name, "command": list(test.command), "directory": test.directory,
             "environment": variables(test.environment), "time_limit_s": test.time_limit_s}
            for test in tests if test.filter is None]
