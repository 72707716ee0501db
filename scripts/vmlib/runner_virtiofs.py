# SPDX-License-Identifier: Apache-2.0
"""The host's directories by virtiofs, for kernels without 9p: one virtiofsd for each."""

import ctypes
import os
import signal
import socket
import sys

from vmlib.runner_faults import Fault

DAEMON_PLACES = ("/usr/lib/qemu/virtiofsd", "/usr/libexec/virtiofsd", "/usr/lib/virtiofsd")
PR_SET_PDEATHSIG = 1
CLONE_NEWNS = 0x20000
SYS_MOUNT_SETATTR = 442
AT_FDCWD, AT_RECURSIVE = -100, 0x8000
MOUNT_ATTR_RDONLY, MS_PRIVATE = 1, 1 << 18


class MountAttributes(ctypes.Structure):
    """struct mount_attr of mount_setattr(2)."""
    _fields_ = [(name, ctypes.c_uint64) for name in ("set", "clear", "propagation", "user_namespace")]


def make_everything_read_only(libc):
    """In a mount namespace of our own: virtiofsd has no such option, and the guest's word is not to be taken for it."""
    if libc.unshare(CLONE_NEWNS) != 0:
        raise OSError(ctypes.get_errno(), "unshare the mounts")
    attributes = MountAttributes(set=MOUNT_ATTR_RDONLY, propagation=MS_PRIVATE)
    if libc.syscall(SYS_MOUNT_SETATTR, AT_FDCWD, b"/", AT_RECURSIVE, ctypes.byref(attributes),
                    ctypes.sizeof(attributes)) != 0:
        raise OSError(ctypes.get_errno(), "make the mounts read-only (Linux 5.12 can)")


def start_daemon(daemon, directory, writable, listener, errors):
    """The pid of a virtiofsd that serves this directory over this listening socket."""
    parent = os.getpid()
    pid = os.fork()
    if pid:
        return pid
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)
        os.setpgid(0, 0)
        os.dup2(errors, 1)
        os.dup2(errors, 2)
        if not writable:
            make_everything_read_only(libc)
        os.set_inheritable(listener.fileno(), True)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
            signal.signal(number, signal.SIG_DFL)
        os.execv(daemon, [daemon, f"--fd={listener.fileno()}", "-o", f"source={directory}", "-o", "sandbox=chroot",
                          "-o", f"cache={'auto' if writable else 'always'}"])
    except BaseException as problem:  # nothing of the runner may go on in the child
        print(problem, file=sys.stderr, flush=True)
    finally:
        os._exit(1)


def attach(machine, errors):
    """(arguments of QEMU, descriptors it inherits, pids of the daemons) for the host's root and the shares."""
    if os.geteuid() != 0:
        raise Fault("setup", "this kernel has no 9p, and virtiofs needs root; take a generic kernel, or be root")
    daemon = next((place for place in DAEMON_PLACES if os.access(place, os.X_OK)), None)
    if not daemon:
        raise Fault("setup", "virtiofsd is not installed (it comes with QEMU); run scripts/setup --vm")
    arguments, descriptors, pids = [], [], []
    for number, path in enumerate(["/", *machine.shares]):
        tag = "root" if number == 0 else f"share{number - 1}"
        with socket.socket(socket.AF_UNIX) as listener:
            # An address without a file, so that nothing can be left behind.
            listener.bind(f"\0ringside-vm-{os.getpid()}-{number}-{os.urandom(8).hex()}")
            listener.listen(1)
            client = socket.socket(socket.AF_UNIX)
            client.connect(listener.getsockname())
            pids.append(start_daemon(daemon, path, number > 0, listener, errors))
        descriptors.append(client)
        arguments += ["-chardev", f"socket,id={tag},fd={client.fileno()}",
                      "-device", f"vhost-user-fs-device,chardev={tag},tag={tag}"]
    return arguments, descriptors, pids
