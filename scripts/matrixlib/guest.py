# SPDX-License-Identifier: Apache-2.0
"""What runs inside the virtual machine: a plan comes in on standard input as JSON, events go out as lines of JSON.

An event is written as soon as it is known, so that a guest that dies has told all before, and which test it was at:

    hello    release and online CPUs, once the plan's files are written, its CPUs offline and its folders hidden
    begin    a test or command begins
    end      a test has ended: outcome, reason, output, seconds
    command  a command has ended: status, stdout, stderr, seconds
    over     everything was done

The tests of one program run in one process, which saves the start of a process a test; when it dies, what it was at
has failed, and the rest runs in a new one.
"""

import json
import os
import re
import select
import signal
import subprocess
import sys
import time

MOST_OUTPUT_CHARACTERS = 20_000
BEGUN = re.compile(r"^\[ RUN      \] (\S+)$")
ENDED = re.compile(r"^\[(       OK |  FAILED  |  SKIPPED )\] ([^\s,]+)(?:, where .*)? \((\d+) ms\)$")
OUTCOMES = {"OK": "passed", "FAILED": "failed", "SKIPPED": "skipped"}


def tell(event, **fields):
    sys.stdout.write(json.dumps({"event": event, **fields}) + "\n")
    sys.stdout.flush()


def one_line(text, most=300):
    line = " ".join(text.split())
    return line if len(line) <= most else line[:most - 1] + "…"


def reason_of(outcome, output):
    """The sentence that a test gave for its outcome: what GoogleTest prints after `Skipped` or `Failure`."""
    word = {"skipped": "Skipped", "failed": "Failure"}.get(outcome)
    if word is None:
        return ""
    told = re.search(rf"^(\S+?):(\d+): {word}\n(.*?)(?=\n\S+:\d+: |\n\[  |\Z)", output, re.S | re.M)
    if not told:
        return one_line(output) or "it gave no reason"
    place = f"{told[1].rsplit('/', 1)[-1]}:{told[2]}: " if outcome == "failed" else ""
    return place + (one_line(told[3]) or "it gave no reason")


def how_it_ended(status):
    if status < 0:
        return f"killed by {signal.Signals(-status).name}"
    return f"exit status {status}"


class Process:
    """A program in a process group of its own, whose lines can be awaited until a deadline."""

    def __init__(self, command, directory, environment):
        # The deadline ends the whole group.
        # pylint: disable-next=consider-using-with
        self.child = subprocess.Popen(command, cwd=directory, env=os.environ | environment, stdin=subprocess.DEVNULL,
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
        self.pending = b""

    def line(self, deadline):
        """The next line; None at the end of the output. Raises TimeoutError."""
        while b"\n" not in self.pending:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.child.stdout], [], [], left)[0]:
                raise TimeoutError
            more = os.read(self.child.stdout.fileno(), 65536)
            if not more:
                rest, self.pending = self.pending, b""
                return rest.decode(errors="replace") if rest else None
            self.pending += more
        line, self.pending = self.pending.split(b"\n", 1)
        return line.decode(errors="replace")

    def end(self):
        """Ends what is left of the group; the status of the program."""
        if self.child.poll() is None:
            try:
                self.child.wait(1)  # its output has ended, so it is about to
            except subprocess.TimeoutExpired:
                pass
        try:
            os.killpg(self.child.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        return self.child.wait()


class ProgramRun:
    """One process of a test program, from its start to its end."""

    def __init__(self, program, tests):
        self.program = program
        self.tests = tests
        self.current = None
        self.output = []
        self.began = 0.0
        self.ended = set()

    def finish(self, outcome, reason="", seconds=None):
        output = "\n".join(self.output)[-MOST_OUTPUT_CHARACTERS:]
        tell("end", test=self.current, outcome=outcome, reason=reason or reason_of(outcome, output),
             output=output if outcome != "passed" else "",
             seconds=time.monotonic() - self.began if seconds is None else seconds)
        self.ended.add(self.current)
        self.current = None
        self.output = []

    def take(self, line):
        begun, ended = BEGUN.match(line), ENDED.match(line)
        if begun:
            self.current, self.began = begun[1], time.monotonic()
            self.output = []
            tell("begin", test=self.current)
        elif ended and ended[2] == self.current:
            self.finish(OUTCOMES[ended[1].strip()], seconds=int(ended[3]) / 1000)
        elif not ended:
            self.output.append(line)

    def run(self, environment):
        """Runs the tests. What is left of them is what the process did not come to."""
        limit_s = self.program["time_limit_s"]
        process = Process(self.program["command"] + ["--gtest_color=no", "--gtest_filter=" + ":".join(self.tests)],
                          self.program["directory"], environment)
        self.began = time.monotonic()
        try:
            while (line := process.line(self.began + limit_s)) is not None:
                self.take(line)
            late = False
        except TimeoutError:
            late = True
        status = process.end()
        if self.current is None and (late or status not in (0, 1)) or not self.ended and self.current is None:
            # Between two tests, or before the first: nothing is known of those that are left.
            self.current = next((test for test in self.tests if test not in self.ended), None)
        if self.current is not None:
            self.finish("failed", f"took longer than {limit_s} s" if late else f"the program died: "
                        f"{how_it_ended(status)}")
        return [test for test in self.tests if test not in self.ended]


def run_program(program, environment):
    left = program["tests"]
    while left:
        left = ProgramRun(program, left).run(environment)


def run_command(command, environment):
    tell("begin", test=command["name"])
    began = time.monotonic()
    with subprocess.Popen(command["command"], cwd=command["directory"], env=os.environ | environment,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          errors="replace", start_new_session=True) as child:
        late = False
        try:
            stdout, stderr = child.communicate(timeout=command["time_limit_s"])
        except subprocess.TimeoutExpired:
            late = True
            os.killpg(child.pid, signal.SIGKILL)
            stdout, stderr = child.communicate()
    tell("command", name=command["name"], status=child.returncode, late=late, stdout=stdout, stderr=stderr,
         seconds=time.monotonic() - began)


def online_cpus():
    with open("/sys/devices/system/cpu/online", encoding="ascii") as stream:
        return stream.read().strip()


def prepare(plan):
    """Writes the plan's files, takes its CPUs offline and hides its folders. Returns a fault, or nothing."""
    try:
        for path, text in plan["write"].items():
            with open(path, "w", encoding="utf-8") as stream:
                stream.write(text)
        for cpu in plan["offline"]:
            with open(f"/sys/devices/system/cpu/cpu{cpu}/online", "w", encoding="ascii") as stream:
                stream.write("0")
        for folder in plan["hide"]:
            subprocess.run(["mount", "-t", "tmpfs", "hidden", folder], check=True, capture_output=True, text=True)
    except OSError as problem:
        return f"{problem.filename}: {problem.strerror}"
    except subprocess.CalledProcessError as problem:
        return one_line(problem.stderr)
    return None


def main():
    plan = json.load(sys.stdin)
    fault = prepare(plan)
    tell("hello", release=os.uname().release, cpus=online_cpus(), fault=fault)
    if fault:
        return 1
    for program in plan["programs"]:
        run_program(program, plan["environment"] | program["environment"])
    for command in plan["commands"]:
        run_command(command, plan["environment"] | command["environment"])
    tell("over")
    return 0


if __name__ == "__main__":
    sys.exit(main())
