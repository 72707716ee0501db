# SPDX-License-Identifier: Apache-2.0
"""scripts/vm: from its command line to its exit status."""

import hashlib
import json
import os
import platform
import signal
import sys
import time

from vmlib import runner_accel, runner_initrd, runner_options, runner_request
from vmlib.kernels import KernelError, default_root, resolve
from vmlib.progress import Progress
from vmlib.runner_faults import STATUS, Fault, Interrupted
from vmlib.runner_qemu import Guest, Machine
from vmlib.runner_relay import Relay
from vmlib.runner_snapshot import Snapshot, sweep
from vmlib.runner_stream import PROTOCOL_VERSION

BOOT_ATTEMPTS = 3
AWAKE_S = 30
TEMPORARY_MEMORY = "memory-backend-ram"


class Run:
    """One command in one guest."""

    def __init__(self, options, started_at):
        self.options = options
        self.started_at = started_at
        self.cache_dir = str(default_root())
        self.times = []
        self.guest = None
        self.kernel = None

    def say(self, text):
        if not self.options.quiet:
            print(f"scripts/vm: {text}", file=sys.stderr, flush=True)

    def mark(self, name):
        self.times.append((name, time.monotonic() - self.started_at))

    # What is booted.

    def prepare(self):
        """The machine for this run, its initrd made if need be."""
        if platform.machine() != "x86_64":
            raise Fault("setup", f"this machine is {platform.machine()}; guests run on x86_64 only")
        try:
            self.kernel = resolve(self.options.kernel, cache_dir=self.cache_dir, update=self.options.update,
                                  progress=Progress(quiet=self.options.quiet))
        except KernelError as problem:
            raise Fault("kernel", str(problem)) from problem
        self.mark("kernel")
        initrd, file_system = self.initrd()
        self.mark("initrd")

        def machine(accel):
            arguments = [f"tsc_early_khz={tsc_khz()}"]
            if self.kernel.enforce_module_signatures:
                arguments.append("module.sig_enforce=1")
            return Machine(str(self.kernel.vmlinux), initrd, file_system, self.options, accel, " ".join(arguments))

        def probe(limit_s):
            guest = Guest(machine("kvm"), TEMPORARY_MEMORY, self.empty_directory())
            try:
                relay = Relay(guest)
                relay.until(lambda: relay.hello, time.monotonic() + limit_s)
                if relay.hello:
                    return None
                return guest.complaint() if relay.ended else f"a guest did not boot within {limit_s} s"
            finally:
                guest.end()

        return machine(runner_accel.choose(self.options.accel, self.cache_dir, probe, self.say))

    def initrd(self):
        """(path, file system) of the initrd for this kernel and this version of our init."""
        source = runner_initrd.source_digest()
        key = hashlib.sha256(f"{self.kernel.digest} {source}".encode()).hexdigest()[:24]
        path = os.path.join(self.cache_dir, "initrds", f"{key}.cpio")
        facts = os.path.join(self.cache_dir, "initrds", f"{key}.json")
        try:
            with open(facts, encoding="utf-8") as stream:
                known = json.load(stream)
            if os.path.getsize(path) == known["size"]:
                return path, known["file_system"]
        except (OSError, ValueError, KeyError):
            pass
        init = runner_initrd.compiled_init(self.cache_dir, source)
        modules = runner_initrd.Modules(self.kernel.modules)
        file_system = runner_initrd.file_system_of(modules)
        runner_initrd.make_initrd(path, init, modules, file_system, self.kernel.enforce_module_signatures)
        runner_initrd.write_file(facts, json.dumps({"file_system": file_system,
                                                    "size": os.path.getsize(path)}).encode())
        return path, file_system

    def empty_directory(self):
        path = os.path.join(self.cache_dir, "empty")
        os.makedirs(path, exist_ok=True)
        return path

    # From a machine to a guest that takes a command.

    def boot(self, start):
        """A relay to a guest that said HELLO. Under TCG a kernel may crash while booting, now and then: tried again."""
        for attempt in range(1, BOOT_ATTEMPTS + 1):
            self.guest = start()
            relay = Relay(self.guest)
            deadline = time.monotonic() + self.options.boot_timeout_s
            in_time = relay.until(lambda relay=relay: relay.hello, deadline)
            if relay.hello:
                if relay.hello[0] != PROTOCOL_VERSION:
                    raise Fault("boot", f"the guest speaks version {relay.hello[0]} of the protocol, not "
                                        f"{PROTOCOL_VERSION}")
                return relay
            console, crash = self.guest.console, self.guest.console.crash()
            complaint = console.init_complaint() or self.guest.complaint()
            self.guest.end()
            if not in_time:
                raise Fault("boot", f"{self.kernel.release} was not ready after {self.options.boot_timeout_s:g} s",
                            console.end())
            if complaint or not crash:
                raise Fault("boot", complaint or f"QEMU ended while {self.kernel.release} booted", console.end())
            if attempt < BOOT_ATTEMPTS:
                self.say(f"{self.kernel.release} crashed while booting ({crash}); trying again, "
                         f"attempt {attempt + 1} of {BOOT_ATTEMPTS}")
        raise Fault("boot", f"{self.kernel.release} crashed {BOOT_ATTEMPTS} times while booting: {crash}",
                    console.end())

    def cold(self, machine):
        more = []
        return self.boot(lambda: Guest(machine, TEMPORARY_MEMORY, self.empty_directory(), more=more))

    def restored(self, machine):
        """A relay to a guest of a snapshot, which is made first if need be; None if this QEMU cannot."""
        snapshot = Snapshot(self.cache_dir, [self.kernel.digest, runner_accel.qemu_stamp(),
                                             os.path.basename(machine.initrd), *machine.identity()])
        if not snapshot.is_whole():
            with snapshot.locked(lambda: self.say("waiting for another run that makes the same snapshot")):
                if not snapshot.is_whole():
                    if snapshot.exists():
                        self.say("the snapshot is damaged; making it anew")
                        snapshot.remove()
                    else:
                        self.say(f"making a snapshot of {self.kernel.release} after its boot; later runs restore it")
                    snapshot.make(machine, self.empty_directory(), self.boot)
                    sweep(self.cache_dir)
        snapshot.use()
        self.guest = snapshot.restore(machine, self.empty_directory())
        return Relay(self.guest)

    # The command.

    def serve(self, relay, machine):
        """Sends the request and carries the command's streams; returns (killed, status)."""
        relay.send(runner_request.frames(self.options, machine, self.kernel))
        relay.until(lambda: relay.awake, time.monotonic() + AWAKE_S)
        self.mark("awake")
        if not relay.awake:
            self.lost(relay, "did not take the command")
        relay.attach(0, 1, 2)
        deadline = None
        while not relay.ended and relay.result is None and relay.fault is None:
            now = time.monotonic()
            silent_at = relay.heard_at + self.options.hang_after_s
            if relay.started_at and self.options.timeout_s:
                deadline = relay.started_at + self.options.timeout_s
            next_limit = min(silent_at, deadline or silent_at)
            if not relay.turn(next_limit - now):
                if deadline and time.monotonic() >= deadline:
                    raise Fault("timeout", f"the command did not end within {self.options.timeout_s:g} s")
                if time.monotonic() >= relay.heard_at + self.options.hang_after_s:
                    raise Fault("hang", f"{self.kernel.release} has been silent for {self.options.hang_after_s:g} s",
                                self.guest.console.end())
        self.mark("ended")
        if relay.started_at:
            self.times.append(("started", relay.started_at - self.started_at))
        if relay.first_output_at:
            self.times.append(("first output", relay.first_output_at - self.started_at))
        relay.flush()
        if relay.fault:
            raise Fault("setup", relay.fault)
        if relay.result is None:
            self.lost(relay, "ended")
        return relay.result

    def lost(self, relay, what):
        crash = self.guest.console.crash()
        if crash:
            raise Fault("panic", f"{self.kernel.release}: {crash}", self.guest.console.end())
        status = os.waitstatus_to_exitcode(relay.guest.collect()) if relay.ended else "running"
        raise Fault("lost", f"QEMU {what}, {status}; {self.guest.complaint()}", self.guest.console.end())

    def go(self):
        machine = self.prepare()
        if machine.file_system == "9p" and not self.options.cold:
            relay = self.restored(machine)
        else:
            relay = self.cold(machine)
        self.mark("ready")
        killed, value = self.serve(relay, machine)
        self.guest.end()
        self.mark("gone")
        if self.options.times:
            self.say("times: " + ", ".join(f"{name} {seconds:.3f} s" for name, seconds in self.times))
        if killed:
            name = signal.Signals(value).name if value in set(signal.Signals) else "a real-time signal"
            self.say(f"the command was killed by signal {value} ({name})")
            return 128 + value
        return value


def tsc_khz():
    with open("/proc/cpuinfo", encoding="utf-8") as stream:
        return next(round(float(line.split(":")[1]) * 1000) for line in stream if line.startswith("cpu MHz"))


def interrupt(number, _):
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, signal.SIG_IGN)
    raise Interrupted(number)


def main(arguments, started_at):
    """The exit status of scripts/vm."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, interrupt)
    run = None
    try:
        options = runner_options.parse(arguments, os.environ)
        if options.action == "help":
            print(runner_options.HELP)
            return 0
        if options.action != "run":
            from vmlib import runner_kernels
            runner_kernels.act(str(default_root()), options)
            return 0
        run = Run(options, started_at)
        return run.go()
    except Fault as problem:
        print("\n".join(problem.lines()), file=sys.stderr, flush=True)
        return STATUS
    except Interrupted as problem:
        signal.signal(problem.number, signal.SIG_DFL)
        if run and run.guest:
            run.guest.end()
        os.kill(os.getpid(), problem.number)
        return 128 + problem.number
    finally:
        if run and run.guest:
            run.guest.end()
