# SPDX-License-Identifier: Apache-2.0
"""Virtual machines side by side: each step of each kernel in a guest of its own, as memory and processors allow.

A kernel's first step is done before its others, which may then run at the same time. A guest that dies costs what it
was at; what is left of the step runs in a new one, a few times at most. Nothing that happens on one kernel stops
another.
"""

import json
import os
import re
import subprocess
import tempfile
import threading
import time

RUNNER_FAULT = 125
MOST_GUESTS_A_STEP = 4
GUEST_OVERHEAD_MIB = 256   # what an emulator takes besides the guest's memory
END_GRACE_S = 10
FAULT_LINE = re.compile(r"^scripts/vm: ([a-z]+): (.*)$", re.M)
# After these faults another guest would do no better.
HOPELESS = {"usage", "setup", "kernel", "boot", "timeout"}
MOST_CONSOLE_CHARACTERS = 8000
# A kernel that changes its own text puts a breakpoint there for a moment. QEMU without KVM may run into one that has
# gone already: an oops that no machine shows (docs/vm.md).
EMULATOR_FAULT = re.compile(r"kernel oops: Oops: int3\b")


class Ending:
    """How a guest ended: `kind` is empty when the plan came to its end, else a kind of scripts/vm's or `status`."""

    def __init__(self, kind="", reason="", console=""):
        self.kind = kind
        self.reason = reason
        self.console = console


def available_mib():
    with open("/proc/meminfo", encoding="ascii") as stream:
        found = re.search(r"^MemAvailable:\s+(\d+) kB", stream.read(), re.M)
    return int(found[1]) // 1024


def usable_processors():
    return len(os.sched_getaffinity(0))


def default_jobs():
    """One guest for every two processors. Its own processors wait for each other all the time, and what waits spins:
    with less than that to run on they take several times as long (docs/matrix.md)."""
    return max(1, usable_processors() // 2)


class Guest:
    """One run of scripts/vm with the guest's side of the matrix as its command."""

    def __init__(self, command, plan, log):
        self.command = command
        self.plan = plan
        self.log = log
        self.child = None
        self.lock = threading.Lock()
        self.ended = False

    def run(self, take):
        """Feeds every event to `take`; returns the Ending."""
        over = False
        with tempfile.TemporaryFile() as plan, open(self.log, "a+b") as log:
            plan.write(json.dumps(self.plan).encode())
            plan.seek(0)
            began_at = log.seek(0, os.SEEK_END)
            with self.lock:
                if self.ended:
                    return Ending("interrupted", "interrupted")
                # When this program is killed, its runners end, and each takes its guest along.
                self.child = subprocess.Popen(["setpriv", "--pdeathsig", "TERM", "--", *self.command], stdin=plan,
                                              stdout=subprocess.PIPE, stderr=log, start_new_session=True)
            noise = []
            for line in self.child.stdout:
                event = parse_event(line)
                if event is None:
                    noise.append(line.decode(errors="replace"))
                    continue
                over = over or event["event"] == "over"
                take(event)
            status = self.child.wait()
            log.seek(began_at)
            told = log.read().decode(errors="replace")
        return ending_of(status, over, told, "".join(noise[-50:]))

    def end(self):
        """Ends it, from another thread; at once when it has not begun."""
        with self.lock:
            self.ended = True
            if self.child is not None and self.child.poll() is None:
                self.child.terminate()

    def kill(self):
        with self.lock:
            if self.child is not None and self.child.poll() is None:
                self.child.kill()


def parse_event(line):
    try:
        event = json.loads(line)
    except ValueError:
        return None
    return event if isinstance(event, dict) and "event" in event else None


def ending_of(status, over, told, noise):
    if status == RUNNER_FAULT:
        faults = FAULT_LINE.findall(told)
        kind, what = faults[-1] if faults else ("status", "scripts/vm failed and gave no reason")
        return Ending(kind, f"{kind}: {what}", told[-MOST_CONSOLE_CHARACTERS:])
    if over and status == 0:
        return Ending()
    reason = f"the guest's side of the matrix ended with status {status}"
    return Ending("status", reason, (noise + told)[-MOST_CONSOLE_CHARACTERS:])


class Task:
    """One step of one kernel."""

    def __init__(self, run, expected_s, first):
        self.run = run
        self.expected_s = expected_s
        self.first = first  # the task that must be done before, or None
        self.done = False
        self.began = None
        self.hopeless = ""  # why no guest of this kernel can be had

    @property
    def memory_mib(self):
        return self.run.kernel.memory_mib + GUEST_OVERHEAD_MIB


class Pool:
    """Runs all tasks. `command_of(task)` is the scripts/vm to run, `log_of(task)` where its remarks go."""

    def __init__(self, tasks, jobs, memory_mib, command_of, log_of, watcher):
        self.waiting = list(tasks)
        self.jobs = jobs
        self.memory_mib = memory_mib
        self.command_of = command_of
        self.log_of = log_of
        self.watcher = watcher
        self.running = {}  # Task -> Guest or None
        self.changed = threading.Condition()
        self.stopping = False

    def _next(self):
        """The longest task that can begin now; None when there is none. Called with the lock held."""
        if self.stopping or len(self.running) >= self.jobs:
            return None
        free_mib = self.memory_mib - sum(task.memory_mib for task in self.running)
        ready = [task for task in self.waiting if task.first is None or task.first.done]
        ready = [task for task in ready if not self.running or task.memory_mib <= free_mib]
        # A kernel's first step opens the way for its others.
        return max(ready, key=lambda task: (task.first is None, task.expected_s), default=None)

    def run(self):
        """Returns when everything is done, or stop() was called and every guest has ended."""
        threads = []
        with self.changed:
            while self.waiting and not self.stopping or self.running:
                task = self._next()
                if task is None:
                    self.changed.wait(1)
                    self.watcher.tick()
                    continue
                self.waiting.remove(task)
                self.running[task] = None
                task.began = time.monotonic()
                thread = threading.Thread(target=self._carry_out, args=(task,))
                threads.append(thread)
                thread.start()
        for thread in threads:
            thread.join()

    def _carry_out(self, task):
        self.watcher.began(task)
        try:
            if task.first is not None and task.first.hopeless:
                task.run.give_up(task.first.hopeless)
            else:
                self._guests(task)
        except Exception as problem:  # pylint: disable=broad-exception-caught
            # A fault of ours on one kernel stops no other; it is a failed cell.
            task.run.guest_ended(f"scripts/matrix: {type(problem).__name__}: {problem}", "")
            raise
        finally:
            task.run.column.seconds[task.run.step.name] = time.monotonic() - task.began
            with self.changed:
                task.done = True
                del self.running[task]
                self.changed.notify_all()
            self.watcher.ended(task)

    def _guests(self, task):
        """As many guests as it takes to come to the end of the step, within reason."""
        run = task.run
        for number in range(1, MOST_GUESTS_A_STEP + 1):
            guest = Guest(self.command_of(task), run.plan(), self.log_of(task))
            with self.changed:
                self.running[task] = guest
                if self.stopping:
                    guest.end()
            ending = guest.run(run.take)
            if self.stopping and not run.over:
                run.give_up("interrupted")
                return
            if not ending.kind:
                return
            if EMULATOR_FAULT.search(ending.reason) and number < MOST_GUESTS_A_STEP:
                run.running = None
                self.watcher.again(task, ending.reason)
                continue
            at_something = run.running is not None
            reason = f"{ending.reason}: {run.fault}" if run.fault else ending.reason
            run.guest_ended(reason, ending.console)
            if not run.column.release:
                task.hopeless = reason
            if ending.kind in HOPELESS or not at_something or number == MOST_GUESTS_A_STEP:
                run.give_up(reason)
                return
            if not run.has_work():
                return

    def stop(self):
        """Ends every guest and begins nothing more."""
        with self.changed:
            self.stopping = True
            guests = [guest for guest in self.running.values() if guest is not None]
            self.changed.notify_all()
        for guest in guests:
            guest.end()
        deadline = time.monotonic() + END_GRACE_S
        for guest in guests:
            if guest.child is None:
                continue
            try:
                guest.child.wait(max(deadline - time.monotonic(), 0.1))
            except subprocess.TimeoutExpired:
                guest.kill()
