# SPDX-License-Identifier: Apache-2.0
"""QEMU and virtiofsd as processes: their command lines, how they are started, how they end with the runner."""

import os
import shutil
import signal
import socket

from vmlib.runner_console import Console
from vmlib.runner_faults import Fault
from vmlib.runner_monitor import Monitor

QEMU = "qemu-system-x86_64"
# What a guest leaves out so that it boots in a third of the time; docs/vm.md says what each is for.
KERNEL_ARGUMENTS = ("console=ttyS0 quiet panic=-1 oops=panic reboot=t mitigations=off nokaslr tsc=reliable "
                    "no_timer_check random.trust_cpu=on cryptomgr.notests noresume rcupdate.rcu_expedited=1 "
                    "cpu0_hotplug pci=off")
COMMAND_LINE_BYTES = 2047
# Virtio-mmio places for writable shares in every guest, so that guests with and without them share a snapshot.
SHARE_SLOTS = 4


def program(name, places=()):
    """The path of an installed program. Throws Fault."""
    path = shutil.which(name) or next((place for place in places if os.access(place, os.X_OK)), None)
    if not path:
        raise Fault("setup", f"{name} is not installed; run scripts/setup --vm")
    return path


class Machine:
    """What is booted: two machines that are equal in `identity()` can use one snapshot."""

    def __init__(self, vmlinux, initrd, file_system, options, accel, arguments=()):
        self.vmlinux = vmlinux
        self.initrd = initrd
        self.file_system = file_system
        self.smp = options.smp
        self.memory_mib = options.memory_mib
        self.accel = accel
        self.shares = list(options.rw)
        self.append = " ".join(filter(None, [KERNEL_ARGUMENTS, *arguments, options.append]))
        if len(self.append) > COMMAND_LINE_BYTES:
            raise Fault("usage", f"--append: {len(self.append)} bytes of arguments for the kernel, with ours; it takes "
                                 f"{COMMAND_LINE_BYTES}")
        # Rounded up, so that there are few machines to make snapshots of.
        self.slots = -(-max(len(self.shares), 1) // SHARE_SLOTS) * SHARE_SLOTS

    def identity(self):
        """All that a snapshot holds: the whole command line, whatever the numbers of descriptors and whichever the
        directories in the places for shares."""
        return [self.file_system, self.slots, *qemu_arguments(self, "", (), (0, 0, 0))]


def escaped(value):
    """A value within an option of QEMU, where a comma parts properties."""
    return str(value).replace(",", ",,")


def share_arguments(machine, empty_directory):
    """Devices for the host's root and the shares by 9p. A slot without a share shows an empty directory, read-only."""
    arguments = []
    for number in range(machine.slots + 1):
        tag = "root" if number == 0 else f"share{number - 1}"
        writable = 0 < number <= len(machine.shares)
        path = "/" if number == 0 else machine.shares[number - 1] if writable else empty_directory
        # As root a file gets the owner that the guest gives it; others cannot give files away.
        model = "passthrough" if os.geteuid() == 0 else "none"
        arguments += ["-fsdev", f"local,id={tag},path={escaped(path)},security_model={model},multidevs=remap,"
                                f"readonly={'off' if writable else 'on'}",
                      "-device", f"virtio-9p-device,fsdev={tag},mount_tag={tag}"]
    return arguments


def qemu_arguments(machine, memory, shares, descriptors):
    """The command line but for what is restored or debugged. `memory` is the backend without its id and size;
    descriptors are those of the stream, the console and the monitor."""
    stream, console, monitor = descriptors
    # Without MWAIT: kernels before 6.0 idle with it on an Intel processor, and QEMU emulates it by a busy loop.
    cpu = {"kvm": "host", "tcg": "max,vendor=GenuineIntel,-smap,-smep,-monitor"}[machine.accel]
    accel = {"kvm": "kvm", "tcg": "tcg,thread=multi"}[machine.accel]
    return [program(QEMU), "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
            "-machine", "microvm,memory-backend=ram", "-accel", accel, "-cpu", cpu, "-smp", str(machine.smp),
            "-m", f"{machine.memory_mib}M", "-object", f"{memory},id=ram,size={machine.memory_mib}M",
            "-kernel", machine.vmlinux, "-initrd", machine.initrd, "-append", machine.append,
            "-chardev", f"socket,id=console,fd={console}", "-serial", "chardev:console",
            "-chardev", f"socket,id=monitor,fd={monitor}", "-mon", "chardev=monitor,mode=control",
            "-chardev", f"socket,id=stream,fd={stream}",
            "-device", "virtio-serial-device", "-device", "virtserialport,chardev=stream,nr=1",
            # virtiofsd insists on virtio 1.0; microvm's default is older.
            "-global", "virtio-mmio.force-legacy=false", *shares]


def spawn(arguments, descriptors, errors):
    """Starts a program that dies with the runner; it sees these descriptors under their own numbers."""
    for descriptor in descriptors:
        os.set_inheritable(descriptor, True)
    command = [program("setpriv"), "--pdeathsig", "KILL", "--", *arguments]
    actions = [(os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0), (os.POSIX_SPAWN_DUP2, errors, 1),
               (os.POSIX_SPAWN_DUP2, errors, 2)]
    # A group of its own: what a terminal sends to the runner's group is the runner's to act upon.
    return os.posix_spawn(command[0], command, os.environ, file_actions=actions, setpgroup=0,
                          setsigdef=[signal.SIGPIPE, signal.SIGINT, signal.SIGTERM, signal.SIGHUP])


def lines_of(descriptor):
    text = os.pread(descriptor, 65536, 0).decode("utf-8", "replace")
    return [line.strip() for line in text.splitlines() if line.strip()]


class Guest:
    """A running QEMU, what serves it, and its three sockets: stream, serial console, monitor."""

    def __init__(self, machine, empty_directory, memory="memory-backend-ram", more=()):
        self.console = Console()
        self.helpers = []
        self.pid = None
        self.ended = None  # pidfd of QEMU
        self.helpers_ended = []  # pidfds
        self.status = None
        self.errors = os.memfd_create("errors")
        self.helper_errors = os.memfd_create("errors of what serves it")
        pairs = [socket.socketpair() for _ in range(3)]
        self.stream, self.serial, monitor = (ours for ours, _ in pairs)
        self.monitor = Monitor(monitor)
        sockets = [theirs for _, theirs in pairs]
        try:
            if machine.file_system == "9p":
                shares = share_arguments(machine, empty_directory)
            else:
                from vmlib import runner_virtiofs
                memory = "memory-backend-memfd,share=on"  # virtiofsd reads and writes the guest's memory itself
                shares, clients, self.helpers = runner_virtiofs.attach(machine, self.helper_errors)
                sockets += clients
            arguments = qemu_arguments(machine, memory, shares, [theirs.fileno() for theirs in sockets[:3]])
            arguments += more
            self.pid = spawn(arguments, [theirs.fileno() for theirs in sockets], self.errors)
            self.ended = os.pidfd_open(self.pid)
            self.helpers_ended = [os.pidfd_open(pid) for pid in self.helpers]
        except BaseException:
            self.end()
            raise
        finally:
            for theirs in sockets:
                theirs.close()
        self.stream.setblocking(False)
        self.serial.setblocking(False)

    def end(self):
        """Ends QEMU and what serves it, at once, and waits until they are gone."""
        if self.pid and self.status is None:
            os.kill(self.pid, signal.SIGKILL)
            self.collect()
        while self.helpers:
            os.kill(self.helpers[-1], signal.SIGKILL)
            os.waitpid(self.helpers.pop(), 0)
        for ours in (self.stream, self.serial, self.monitor.socket):
            ours.close()

    def collect(self):
        """QEMU's wait status, once it ended."""
        if self.status is None:
            _, self.status = os.waitpid(self.pid, 0)
        return self.status

    def complaint(self):
        """What QEMU said first, or None."""
        return next(iter(lines_of(self.errors)), None)

    def helper_complaint(self):
        """What a virtiofsd said last, or None."""
        return next(reversed(lines_of(self.helper_errors)), None)

    def how_it_ended(self):
        """One line, once QEMU ended."""
        code = os.waitstatus_to_exitcode(self.collect())
        if code == 0:
            return "the guest shut itself down"
        how = f"was killed by signal {-code}" if code < 0 else f"ended with status {code}"
        return f"QEMU {how}: {self.complaint()}" if self.complaint() else f"QEMU {how}"
