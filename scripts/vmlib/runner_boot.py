# SPDX-License-Identifier: Apache-2.0
"""From the name of a kernel to a guest that takes a command: booted anew, or restored from a snapshot."""

import hashlib
import json
import os
import time

from vmlib import runner_initrd, runner_request
from vmlib.kernels import KernelError, resolve
from vmlib.progress import Progress
from vmlib.runner_faults import Fault
from vmlib.runner_files import write_file
from vmlib.runner_host import Host, qemu_stamp
from vmlib.runner_monitor import MonitorError
from vmlib.runner_qemu import Guest, Machine
from vmlib.runner_relay import Relay
from vmlib.runner_snapshot import Snapshot, SnapshotError, sweep
from vmlib.runner_stream import PROTOCOL_VERSION

# Multi-threaded TCG makes a kernel crash or stand still while it boots, once in a while. After that neither is
# forgiven: it may be the very fault that is looked for.
BOOT_ATTEMPTS = 3
AWAKE_S = 30


def check_machine():
    machine = os.uname().machine
    if machine != "x86_64":
        raise Fault("setup", f"this machine is {machine}; guests run on x86_64 only")


class Booter:
    """Boots guests for one run. `guest` is the one that runs now, for whoever must end it."""

    def __init__(self, options, cache_dir, say):
        self.options = options
        self.cache_dir = cache_dir
        self.say = say
        self.guest = None
        check_machine()
        try:
            self.kernel = resolve(options.kernel, cache_dir=cache_dir, update=options.update,
                                  progress=Progress(quiet=options.quiet))
        except KernelError as problem:
            raise Fault("kernel", str(problem)) from problem
        self.machine = None

    def end(self):
        if self.guest:
            self.guest.end()
            self.guest = None

    # What is booted.

    def prepare(self):
        """Finds out what to boot; makes what is not there yet."""
        source = runner_initrd.source_digest()
        initrd, file_system = self._initrd(source)
        self.empty_directory = os.path.join(self.cache_dir, "empty")
        os.makedirs(self.empty_directory, exist_ok=True)
        host = Host(self.cache_dir)
        tsc_khz = host.known("tsc_khz") or host.tsc_khz(runner_initrd.compiled_init(self.cache_dir, source))

        def machine(accel):
            arguments = [f"tsc_early_khz={tsc_khz}"] if accel == "tcg" else []
            if self.kernel.enforce_module_signatures:
                arguments.append("module.sig_enforce=1")
            return Machine(str(self.kernel.vmlinux), initrd, file_system, self.options, accel, arguments)

        accel = host.accel(self.options.accel, lambda limit_s: self._probe(machine("kvm"), limit_s), self.say)
        self.machine = machine(accel)

    def _initrd(self, source):
        """(path, file system) of the initrd for this kernel and this version of our init."""
        key = hashlib.sha256(f"{self.kernel.digest} {source} {self.options.files}".encode()).hexdigest()[:24]
        path = os.path.join(self.cache_dir, "initrds", f"{key}.cpio")
        facts = os.path.join(self.cache_dir, "initrds", f"{key}.json")
        try:
            with open(facts, encoding="utf-8") as stream:
                known = json.load(stream)
            if os.path.getsize(path) == known["size"]:
                return path, known["file_system"]
        except (OSError, ValueError, KeyError, TypeError):
            pass
        init = runner_initrd.compiled_init(self.cache_dir, source)
        modules = runner_initrd.Modules(self.kernel.modules)
        file_system = runner_initrd.file_system_of(modules, self.kernel.release, self.options.files)
        size = runner_initrd.make_initrd(path, init, modules, file_system, self.kernel.enforce_module_signatures)
        write_file(facts, json.dumps({"file_system": file_system, "size": size}).encode())
        return path, file_system

    def _probe(self, machine, limit_s):
        """None if a guest of this machine boots, else why not."""
        self.guest = Guest(machine, self.empty_directory)
        try:
            relay = Relay(self.guest)
            relay.until(lambda: relay.hello, time.monotonic() + limit_s)
            if relay.hello:
                return None
            return relay.guest.complaint() or f"a guest did not boot within {limit_s} s"
        finally:
            self.end()

    # A guest that boots.

    def _boot(self, start):
        """A relay to a guest, started by `start()`, that said HELLO."""
        for attempt in range(1, BOOT_ATTEMPTS + 1):
            self.guest = start()
            relay = Relay(self.guest)
            limit_s = None if self.options.gdb else self.options.boot_timeout_s
            in_time = relay.until(lambda relay=relay: relay.hello, limit_s and time.monotonic() + limit_s)
            if relay.hello:
                if relay.hello[0] != PROTOCOL_VERSION:
                    raise Fault("boot", f"the guest speaks version {relay.hello[0]} of the protocol, not "
                                        f"{PROTOCOL_VERSION}")
                return relay
            trouble = self._trouble(relay, in_time)
            if attempt < BOOT_ATTEMPTS:
                self.say(f"{self.kernel.release} {trouble}; trying again, attempt {attempt + 1} of {BOOT_ATTEMPTS}")
        raise Fault("boot", f"{self.kernel.release} {trouble}, {BOOT_ATTEMPTS} times", relay.guest.console.end())

    def _trouble(self, relay, in_time):
        """Ends a guest that is not ready; what it had, if another may do better. Throws otherwise."""
        console = relay.guest.console
        how = relay.how_it_ended() if in_time else None
        self.end()
        if console.init_complaint():
            raise Fault("boot", f"{self.kernel.release}: {console.init_complaint()}", console.end())
        if not in_time:
            return f"was not ready after {self.options.boot_timeout_s:g} s"
        if not console.crash():
            raise Fault("boot", f"while {self.kernel.release} booted, {how}", console.end())
        return f"crashed before it was ready: {console.crash()}"

    # A guest that takes the command.

    def awake(self, request, more=()):
        """A relay to a guest that took the request's first frame."""
        if self.machine.file_system == "9p" and not self.options.cold:
            relay = self._restored(request, more)
            if relay:
                return relay
        relay = self._boot(lambda: Guest(self.machine, self.empty_directory, more=more))
        problem = self._wake(relay, request)
        if problem:
            crash = relay.guest.console.crash()
            raise Fault("panic" if crash else "hang", crash or problem, relay.guest.console.end())
        return relay

    def _wake(self, relay, request):
        """Sends the request; None once the guest answers, else what went wrong."""
        relay.send(request)
        limit_s = None if self.options.gdb else AWAKE_S
        in_time = relay.until(lambda: relay.awake, limit_s and time.monotonic() + limit_s)
        if relay.awake:
            return None
        if not in_time:
            return f"the guest did not take the command within {AWAKE_S} s"
        return relay.guest.console.crash() or relay.how_it_ended()

    def output_of(self, command):
        """What a command of our own, run by root in a guest, writes to its standard output. Throws Fault."""
        import copy
        options = copy.copy(self.options)
        options.command, options.user, options.gdb, options.rw, options.sysctl = command, "root", False, [], []
        helper = Booter(options, self.cache_dir, self.say)
        helper.prepare()
        with open(os.memfd_create("output"), "w+b") as output, open("/dev/null", "rb") as nothing:
            try:
                relay = helper.awake(runner_request.frames(options, helper.machine, helper.kernel))
                relay.attach(nothing.fileno(), output.fileno(), 2)
                relay.until(lambda: relay.result or relay.fault, time.monotonic() + options.boot_timeout_s)
            finally:
                helper.end()
            relay.flush()
            if relay.result != (0, 0):
                raise Fault("setup", f"run {' '.join(command)} in a guest: {relay.fault or relay.result}")
            output.seek(0)
            return output.read().decode("utf-8", "replace")

    def _restored(self, request, more):
        """The same from a snapshot; None, said aloud, where snapshots do not work."""
        snapshot = Snapshot(self.cache_dir, [self.kernel.digest, qemu_stamp(), os.path.basename(self.machine.initrd),
                                             *self.machine.identity()])
        for attempt in (1, 2):
            try:
                self._have(snapshot)
                self.guest = snapshot.restore(self.machine, self.empty_directory, more)
            except (MonitorError, SnapshotError, OSError) as problem:
                reason = str(problem)
            else:
                relay = Relay(self.guest)
                reason = self._wake(relay, request)
                if not reason:
                    return relay
            self.end()
            if attempt == 1:
                self.say(f"the snapshot cannot be restored: {reason}")
                snapshot.remove()
        self.say(f"booting without a snapshot: {reason}")
        return None

    def _have(self, snapshot):
        """Makes the snapshot unless it is there and whole, or another run makes it."""
        if snapshot.is_whole():
            snapshot.use()
            return
        with snapshot.locked(lambda: self.say("waiting for another run that makes the same snapshot")):
            if snapshot.is_whole():
                return
            if snapshot.exists():
                self.say("the snapshot is damaged; making it anew")
                snapshot.remove()
            else:
                self.say(f"making a snapshot of {self.kernel.release} after its boot; later runs restore it")
            snapshot.make(self.machine, self.empty_directory, self._boot)
            sweep(self.cache_dir)
