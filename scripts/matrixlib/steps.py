# SPDX-License-Identifier: Apache-2.0
"""From a step to a plan for the guest, and from the guest's events to cells."""

import json
import shlex
import sys

from matrixlib import suite
from matrixlib.cells import FAIL, PASS, SKIP, Cell, Row

MOST_DETAIL_CHARACTERS = 20_000


def one_line(text, most=300):
    line = " ".join(text.split())
    return line if len(line) <= most else line[:most - 1] + "…"


def missing(kernel, step):
    """The features that the step finds missing: those that the kernel lacks and those that it hides itself."""
    return kernel.lacks | set(step.hide.values())


def lacking(kernel, step):
    """What the step needs and finds missing."""
    return [name for name in step.needs if name in missing(kernel, step)]


def is_refused(kernel, step):
    """Whether the step is a command that cannot run on this kernel, and must say so. Tests skip one by one instead."""
    return step.does in suite.COMMANDS and bool(lacking(kernel, step))


def has_own_guest(kernel, step):
    """A command that the kernel cannot run says so in the guest of the first step."""
    return not is_refused(kernel, step) or bool(step.hide)


class Setting:
    """What all steps of a run share: the tree, the build, its tests, the matrix and the seed."""

    def __init__(self, root, build, tests, matrix, seed):
        self.root = root
        self.build = build
        self.tests = tests
        self.matrix = matrix
        self.seed = seed

    @property
    def ringside(self):
        return str(self.build / "bin" / "ringside")


class StepRun:
    """One step on one kernel: the plan of what is left to do, and a column that the events fill."""

    def __init__(self, setting, kernel, step, column, refused=()):
        """`refused`: steps whose commands must say, in this one's guest, that they cannot run on this kernel."""
        self.setting = setting
        self.refused = {other.name: other for other in (*refused, *([step] if is_refused(kernel, step) else []))}
        self.kernel = kernel
        self.step = step
        self.column = column
        self.running = None   # what the guest has begun and not ended
        self.over = False
        self.fault = ""       # the guest cannot be brought to where the step begins
        self.lacking = lacking(kernel, step)
        self._programs, self._commands = self._work()
        self._row_of_test = {}
        for program in self._programs:
            for name in program["tests"]:
                self._row_of_test[name] = self._test_row(name)

    # What is to be done.

    def _work(self):
        """(test programs, commands) of the whole step."""
        step = self.step
        if step.does == "features":
            return [], [self._command("features", [sys.executable, str(self.setting.root / "scripts/kernel_ready"),
                                                   "--features"]),
                        self._command("rules", [self.setting.ringside, "conform", "--rules", "--format", "json"]),
                        self._command("doctor", [self.setting.ringside, "doctor", "--format", "json"]),
                        *(self._command(name, self._ringside_command(other)) for name, other in self.refused.items())]
        if step.does == "tests":
            tests = suite.chosen(self.setting.tests, step)
            return suite.programs(tests), suite.commands(tests)
        return [], [self._command(step.name, self._ringside_command(step))]

    def _command(self, name, command):
        return {"name": name, "command": command, "directory": str(self.setting.root), "environment": {},
                "time_limit_s": self.step.time_limit_s}

    def _ringside_command(self, step):
        world = ["--world", "kernel"] if step.does in ("check", "mutants") else []
        return [self.setting.ringside, step.does, *world, "--seed", self.setting.seed, *step.arguments,
                "--format", "json", "--quiet"]

    def plan(self):
        """What is left to do, as the guest takes it."""
        def open_tests(program):
            return [name for name in program["tests"] if self._row_of_test[name] not in self.column.cells]
        programs = [program | {"tests": open_tests(program)} for program in self._programs]
        return {"write": self.kernel.write, "offline": list(self.step.offline), "hide": list(self.step.hide),
                "environment": self._environment(),
                "programs": [program for program in programs if program["tests"]],
                "commands": [command for command in self._commands if command is not None]}

    def _environment(self):
        # A test that needs more than the kernel has must skip; any other must fail rather than skip.
        able = not self.lacking
        return {"RINGSIDE_REQUIRE_KERNEL": "1" if able else "0"} | self.step.environment

    def has_work(self):
        plan = self.plan()
        return bool(plan["programs"] or plan["commands"])

    # What came of it.

    def _test_row(self, name):
        group, dot, rest = name.rpartition(".")
        return Row(self.step.name, group, rest) if dot else Row(self.step.name, "", name)

    def _row(self, group, name):
        return Row(self.step.name, group, name)

    def own_row(self):
        """The row of what can be said of the step as a whole only."""
        return self._row("", "the step itself")

    def add(self, row, cell):
        self.column.add(row, cell)

    def take(self, event):
        """One event of the guest."""
        kind = event["event"]
        if kind == "hello":
            self.column.release = event["release"]
            if event["fault"]:
                self.fault = event["fault"]
        elif kind == "begin":
            self.running = event["test"]
        elif kind == "end":
            self.running = None
            self._take_test(event)
        elif kind == "command":
            self.running = None
            self._done(event["name"])
            self._take_command(event)
        elif kind == "over":
            self.over = True

    def _done(self, name):
        self._commands = [command for command in self._commands if command["name"] != name]

    def _take_test(self, event):
        row = self._row_of_test.get(event["test"]) or self._test_row(event["test"])
        outcome = {"passed": PASS, "failed": FAIL, "skipped": SKIP}[event["outcome"]]
        self.add(row, self._judged(Cell(outcome, event["reason"], event["output"], event["seconds"])))

    def _judged(self, cell):
        """A skip must be right by the matrix."""
        if cell.outcome != SKIP:
            return cell
        wrong = self.setting.matrix.why_no_excuse(missing(self.kernel, self.step), cell.reason, self.kernel.name)
        return Cell(FAIL, wrong, cell.detail, cell.seconds) if wrong else cell

    def _take_command(self, event):
        name = event["name"]
        readers = {"features": self._take_features, "rules": self._take_rules, "doctor": self._take_doctor,
                   "conform": self._take_conform, "check": self._take_check, "mutants": self._take_mutants}
        does = name if self.step.does == "features" else self.step.does
        reader = (self._take_test_command if does == "tests" else self._take_refusal if name in self.refused else
                  readers[does])
        row = self._row_of_command(name)
        if event["late"]:
            self.add(row, self._failure(event, f"took longer than {self.step.time_limit_s} s"))
        elif event["status"] == 3 and does in suite.COMMANDS and name not in self.refused:
            self.add(row, self._failure(event, f"says that it cannot run, though nothing is lacking: "
                                               f"{one_line(event['stderr'])}"))
        else:
            try:
                reader(event)
            except (ValueError, KeyError, TypeError):
                self.add(row, self._failure(event, f"ended with status {event['status']} and no report: "
                                                   f"{one_line(event['stderr']) or 'it said nothing'}"))

    def _row_of_command(self, name):
        """The row of what can be said of a command as a whole only."""
        if self.step.does == "tests":
            return self._test_row(name)
        if name in self.refused or name == self.step.name:
            return Row(name, "", "the step itself")
        return self._row(name, "")

    def _failure(self, event, reason):
        detail = (event["stdout"] + event["stderr"])[-MOST_DETAIL_CHARACTERS:]
        return Cell(FAIL, reason, detail, event["seconds"])

    def _take_test_command(self, event):
        row = self._test_row(event["name"])
        if event["status"] == 0:
            self.add(row, Cell(PASS, seconds=event["seconds"]))
        else:
            lines = (event["stderr"] or event["stdout"]).strip().splitlines()
            self.add(row, self._failure(event, f"exit status {event['status']}: "
                                               f"{one_line(lines[-1]) if lines else 'it said nothing'}"))

    def _take_features(self, event):
        if event["status"] != 0:
            raise ValueError(event["stderr"])
        told = {}
        for line in event["stdout"].splitlines():
            name, _, answer = line.partition(" ")
            told[name] = answer
        for name in told.keys() | self.setting.matrix.features.keys():
            self.add(self._row("feature", name), self._feature_cell(name, told))

    def _feature_cell(self, name, told):
        if name not in self.setting.matrix.features:
            return Cell(FAIL, f"scripts/kernel_ready asks for {name}, which ci/kernels.toml does not name")
        if name not in told:
            return Cell(FAIL, f"ci/kernels.toml names {name}, which scripts/kernel_ready does not ask for")
        present = told[name] == "yes"
        expected = self.setting.matrix.expected(self.kernel, name)
        if present == expected:
            return Cell(PASS, detail=told[name], told="yes" if present else "no")
        if present:
            return Cell(FAIL, f"{self.kernel.name} must not have {name}, and has it", told="yes")
        return Cell(FAIL, f"{self.kernel.name} must have {name}: {told[name]}", told="no")

    def _take_rules(self, event):
        """Ringside's own table of versions, held against what the kernel answered for the features of the same name."""
        for rule in json.loads(event["stdout"])["rules"]:
            feature = self.column.cells.get(self._row("feature", rule["name"]))
            if feature is None or not feature.told:
                continue
            here = "yes" if rule["here"] else "no"
            agrees = here == feature.told
            self.add(self._row("version table", rule["name"]),
                     Cell(PASS if agrees else FAIL, told=here, reason="" if agrees else
                          f"sim/kernel_version.cc says {here}, the kernel {feature.told}"))

    def _take_doctor(self, event):
        world = json.loads(event["stdout"])["worlds"]["kernel"]
        row = self._row("doctor", "finds that kernel rings run")
        told = "yes" if world["runs"] else "no"
        reason = one_line(world["reason"]) or "nothing is missing"
        if world["runs"] != (not self.lacking):
            self.add(row, Cell(FAIL, f"says {told}: {reason}", told=told))
        elif event["status"] != (3 if self.lacking else 0):
            self.add(row, Cell(FAIL, f"says {told}, and ends with status {event['status']}", told=told))
        else:
            self.add(row, Cell(PASS, detail=reason, told=told))

    def _take_refusal(self, event):
        """A command that lacks what it needs must say so in one line, and end with status 3."""
        step = self.refused[event["name"]]
        wanted = ", ".join(lacking(self.kernel, step))
        lines = event["stderr"].strip().splitlines()
        if event["status"] != 3:
            cell = self._failure(event, f"ran without {wanted}: status {event['status']}")
        elif len(lines) != 1 or event["stdout"]:
            cell = self._failure(event, f"must say in one line what it lacks, and says: "
                                        f"{one_line(event['stderr'] + event['stdout'])}")
        else:
            cell = Cell(SKIP, f"without {wanted}: {one_line(lines[0])}")
        self.add(self._row_of_command(step.name), cell)

    def _repeat(self, command):
        """The line that does it again."""
        words = ["scripts/vm", "--kernel", self.kernel.name, "--smp", str(self.kernel.smp), "--memory",
                 f"{self.kernel.memory_mib}M", "--"]
        return f"{shlex.join(words)} {command}"

    def _take_conform(self, event):
        for ring in json.loads(event["stdout"])["rings"]:
            finding = ring["finding"]
            cell = Cell(PASS, seconds=ring["seconds"])
            if finding:
                told = one_line(json.dumps(finding.get("deviation", finding)))
                cell = Cell(FAIL, told, json.dumps(finding, indent=1), ring["seconds"])
            elif not ring["scripts"]:
                cell = Cell(FAIL, "no script was played")
            self.add(self._row("", ring["ring"]), cell)
        self._status_agrees(event)

    def _take_check(self, event):
        for run in json.loads(event["stdout"])["runs"]:
            self.add(self._row(run["ring"], f"{run['consumer']}.{run['scenario']}"), self._run_cell(run))
        self._status_agrees(event)

    def _run_cell(self, run, wrong=None):
        """The cell of one run; `wrong`: why it failed, when the outcome is not the question."""
        repeat = self._repeat(run["repeat"])
        seconds = run["wall_seconds"]
        if run["outcome"] == "skipped":
            return self._judged(Cell(SKIP, one_line(run["reason"]), repeat, seconds))
        if wrong is None and run["outcome"] != "clean":
            defects = [f"{defect['kind']} ×{defect['count']}: {defect['detail']}"
                       for defect in (run.get("verdict") or {}).get("defects", ())]
            wrong = "; ".join(defects) or run["reason"]
        if wrong:
            return Cell(FAIL, one_line(wrong), f"{repeat}\n{json.dumps(run, indent=1)}", seconds)
        return Cell(PASS, seconds=seconds)

    def _take_mutants(self, event):
        for mutant in json.loads(event["stdout"])["mutants"]:
            run = mutant["run"]
            wrong = "" if mutant["convicted"] else f"escaped: should show {mutant['expected']}"
            self.add(self._row(run["ring"], mutant["mutant"]), self._run_cell(run, wrong))
        self._status_agrees(event)

    def _status_agrees(self, event):
        """A command that ends badly although no row says why has failed all the same."""
        rows = [row for row in self.column.cells if row.step == self.step.name]
        failed = any(self.column.cells[row].outcome == FAIL for row in rows)
        if not rows or (event["status"] != 0 and not failed):
            self.add(self.own_row(), self._failure(
                event, f"ended with status {event['status']}: {one_line(event['stderr']) or 'it said nothing'}"))

    def guest_ended(self, reason, console):
        """The guest did not come to the end of its plan: what it was at has failed, or the step as a whole."""
        if self.running is None:
            self.add(self.own_row(), Cell(FAIL, reason, console))
            return
        name, self.running = self.running, None
        self._done(name)
        self.add(self._row_of_test.get(name) or self._row_of_command(name), Cell(FAIL, reason, console))

    def give_up(self, reason):
        """What is left of the step will not be done."""
        plan = self.plan()
        left = sum(len(program["tests"]) for program in plan["programs"]) + len(plan["commands"])
        if left:
            self.add(self.own_row(), Cell(FAIL, f"{left} of its tests were not run: {reason}"
                                          if self.step.does == "tests" else f"not run: {reason}"))
