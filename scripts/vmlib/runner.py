# SPDX-License-Identifier: Apache-2.0
"""scripts/vm: from its command line to its exit status."""

import os
import signal
import sys
import time

from vmlib import runner_options, runner_request
from vmlib.cache import default_root
from vmlib.runner_boot import AWAKE_S, Booter
from vmlib.runner_console import OUT_OF_MEMORY, TROUBLE
from vmlib.runner_faults import STATUS, Fault, Interrupted, say
from vmlib.runner_monitor import MonitorError

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# How long a guest that hangs may take to say where.
LAST_WORDS_S = 3
# How long the reader of a command that was cut off may stall before the rest is dropped.
FLUSH_S = 5


def signal_name(number):
    try:
        return signal.Signals(number).name
    except ValueError:
        return "a real-time signal"


class Run:
    """One command in one guest."""

    def __init__(self, options, started_at):
        self.options = options
        self.started_at = started_at
        self.times = []
        self.dmesg = None
        self.booter = None

    def say(self, text):
        if not self.options.quiet:
            say(f"scripts/vm: {text}")

    def mark(self, name, at=None):
        self.times.append((name, (at or time.monotonic()) - self.started_at))

    def go(self):
        """The exit status. Throws Fault."""
        options = self.options
        if options.dmesg:
            try:
                self.dmesg = open(options.dmesg, "wb", buffering=0)
            except OSError as problem:
                raise Fault("usage", f"--dmesg '{options.dmesg}': {problem.strerror}") from problem
        self.booter = Booter(options, str(default_root()), self.say)
        self.mark("kernel")
        self.booter.prepare()
        more = []
        if options.gdb:
            from vmlib import runner_gdb
            more = runner_gdb.arguments(self.booter)
        request = runner_request.frames(options, self.booter.machine, self.booter.kernel)
        self.mark("prepared")
        relay = self.booter.awake(request, more)
        self.mark("ready")
        relay.dmesg = self.dmesg
        relay.attach(0, 1, 2)
        try:
            self.watch(relay)
        except Fault as problem:
            if self.dmesg and problem.console:
                self.dmesg.write("\n".join(["end of the console:", *problem.console, ""]).encode())
            self.booter.end()
            relay.flush(FLUSH_S)
            raise
        self.booter.end()
        relay.flush()
        if relay.output_error():
            raise Fault("setup", relay.output_error())
        return self.status(relay)

    def watch(self, relay):
        """Carries the command's streams until it ended. Throws Fault when it does not."""
        options = self.options
        hang_after_s = float("inf") if options.gdb else options.hang_after_s
        timeout_s = float("inf") if options.gdb or not options.timeout_s else options.timeout_s
        while not (relay.ended or relay.result or relay.fault or relay.lost_helper or relay.output_error()):
            # Heartbeats begin with the command.
            silent_at = relay.heard_at + (hang_after_s if relay.started_at else max(hang_after_s, AWAKE_S))
            late_at = relay.started_at + timeout_s if relay.started_at else float("inf")
            # Only when there is nothing to be read the guest is silent or late: this process may have been stopped.
            if not relay.turn(min(silent_at, late_at, time.monotonic() + 3600) - time.monotonic()):
                if time.monotonic() >= late_at:
                    console = relay.guest.console
                    raise Fault("timeout", f"the command did not end within {timeout_s:g} s",
                                console.end() if console.first(TROUBLE) else ())
                if time.monotonic() >= silent_at:
                    self.last_words(relay)
                    raise Fault("hang", f"{self.booter.kernel.release} has been silent for {hang_after_s:g} s",
                                relay.guest.console.end())
        if relay.fault or relay.output_error():
            raise Fault("setup", relay.fault or relay.output_error())
        if relay.result is None:
            self.tell_loss(relay)

    def tell_loss(self, relay):
        console = relay.guest.console
        crash = console.crash()
        if crash:
            raise Fault("panic", f"{self.booter.kernel.release} had a {crash}", console.end())
        raise Fault("lost", relay.how_it_ended(), console.end())

    def last_words(self, relay):
        """Asks a silent guest, by an interrupt that it cannot mask, what its processors are at."""
        try:
            relay.guest.monitor.interrupt(LAST_WORDS_S)
        except MonitorError:
            return
        relay.until(lambda: False, time.monotonic() + LAST_WORDS_S)

    def status(self, relay):
        for name, at in (("started", relay.started_at), ("first output", relay.first_output_at),
                         ("ended", relay.ended_at)):
            if at:
                self.mark(name, at)
        self.mark("all")
        if self.options.times:
            told = ", ".join(f"{name} {seconds:.3f}" for name, seconds in self.times)
            say(f"scripts/vm: seconds: {told}")
        killed, value = relay.result
        if killed:
            self.say(f"the command was killed by signal {value} ({signal_name(value)})")
            if value == signal.SIGKILL and relay.guest.console.first(OUT_OF_MEMORY):
                self.say(f"the guest ran out of memory; it has {self.options.memory_mib} MiB, see --memory")
            return 128 + value
        if value == STATUS:
            self.say(f"the command itself ended with status {STATUS}, which else says a fault of scripts/vm")
        return value


def interrupt(number, _):
    for each in ENDING:
        signal.signal(each, signal.SIG_IGN)
    raise Interrupted(number)


def run(arguments, started_at):
    options = runner_options.parse(arguments, os.environ)
    if options.action == "help":
        print(runner_options.HELP)
        return 0
    if options.action != "run":
        from vmlib import runner_kernels
        runner_kernels.act(str(default_root()), options)
        return 0
    this = Run(options, started_at)
    try:
        return this.go()
    finally:
        if this.booter:
            this.booter.end()


def open_missing_streams():
    """Else the first files that are opened would be taken for standard input, output or error."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open("/dev/null", os.O_RDWR)
    if sys.stderr is None:
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)
    if sys.stdout is None:
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)


def main(arguments, started_at):
    """The exit status of scripts/vm."""
    open_missing_streams()
    for number in ENDING:
        signal.signal(number, interrupt)
    # Reading a terminal from the background must fail, not stop us: the command may not want to read at all.
    signal.signal(signal.SIGTTIN, signal.SIG_IGN)
    try:
        return run(arguments, started_at)
    except Fault as problem:
        problem.tell()
        return STATUS
    except OSError as problem:
        Fault("setup", str(problem)).tell()
        return STATUS
    except Interrupted as problem:
        # Whoever waits for us is to see that the signal ended us.
        signal.signal(problem.number, signal.SIG_DFL)
        os.kill(os.getpid(), problem.number)
        return 128 + problem.number
    except Exception as problem:  # whatever it is, it must not be taken for the status of the command
        import traceback
        Fault("setup", f"an error of scripts/vm itself, please report it: {problem!r}",
              traceback.format_exc().splitlines()).tell()
        return STATUS
