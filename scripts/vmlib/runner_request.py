# SPDX-License-Identifier: Apache-2.0
"""What the guest is told to run: the frames of one request."""

import os
import pwd
import resource
import shutil
import struct
import time

from vmlib import runner_stream as stream
from vmlib.runner_faults import Fault

# Fresh in the guest; what the command needs of the host's is carried over (guest/root.c).
FRESH = ("/tmp", "/run")
COPIED_LIMITS = (resource.RLIMIT_NOFILE, resource.RLIMIT_STACK, resource.RLIMIT_CORE, resource.RLIMIT_FSIZE)


def identity(user):
    """(uid, gid, groups) of the user that was asked for, else the runner's own."""
    if user is None:
        return os.geteuid(), os.getegid(), os.getgroups()
    try:
        entry = pwd.getpwnam(user)
    except KeyError:
        raise Fault("usage", f"--user '{user}' is nobody's name on this machine") from None
    return entry.pw_uid, entry.pw_gid, os.getgrouplist(user, entry.pw_gid)


def is_below(path, folder):
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def carried(options, directory):
    """Paths below fresh directories that must be seen all the same: where the command runs, and where it lies."""
    program = shutil.which(options.command[0], path=os.environ.get("PATH"))
    # The fresh directory itself is what a command expects that runs there.
    wanted = [*options.ro, *([] if directory in FRESH else [directory])]
    if program:
        wanted += [os.path.dirname(os.path.abspath(program)), os.path.dirname(os.path.realpath(program))]
    found = []
    for path in wanted:
        fresh = any(is_below(path, folder) for folder in FRESH)
        if fresh and not any(is_below(path, other) for other in [*options.rw, *found]):
            found.append(path)
    return found


def frames(options, machine, kernel):
    """The request, as bytes to send."""
    try:
        directory = os.getcwd()
    except FileNotFoundError:
        raise Fault("setup", "the current directory is not there any more") from None
    uid, gid, groups = identity(options.user)
    umask = os.umask(0)
    os.umask(umask)
    now_ns = time.time_ns()
    same_output = outputs_are_one()
    parts = [stream.frame(stream.CLOCK, struct.pack("<QQ", now_ns // 10**9, now_ns % 10**9)),
             stream.frame(stream.SEED, os.urandom(64)),
             stream.frame(stream.FILESYSTEM, machine.file_system.encode()),
             stream.frame(stream.DIRECTORY, os.fsencode(directory)),
             stream.frame(stream.IDENTITY, struct.pack(f"<{3 + len(groups)}I", uid, gid, umask, *groups)),
             stream.numbers(stream.OPTIONS, same_output, options.dmesg is not None)]
    parts += [stream.frame(stream.ARGUMENT, os.fsencode(argument)) for argument in options.command]
    # A directory that the guest does not have, and words that were for us.
    parts += [stream.frame(stream.VARIABLE, name + b"=" + value) for name, value in os.environb.items()
              if name != b"TMPDIR" and not name.startswith(b"RINGSIDE_VM_")]
    limits = [(number, *resource.getrlimit(number)) for number in COPIED_LIMITS]
    limits.append((resource.RLIMIT_MEMLOCK, resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    parts += [stream.frame(stream.LIMIT, struct.pack("<IIqq", number, 0, soft, hard)) for number, soft, hard in limits]
    # With TCG there are no such interrupts but those by which we ask a silent guest where it is: it tells by a panic.
    settings = ["kernel.panic_on_unrecovered_nmi=1"] if machine.accel == "tcg" else []
    parts += [stream.frame(stream.SYSCTL, os.fsencode(assignment)) for assignment in settings + options.sysctl]
    parts += [stream.frame(stream.SHARE, f"share{number}".encode() + b"\0" + os.fsencode(path))
              for number, path in enumerate(options.rw)]
    parts += [stream.frame(stream.CARRY, os.fsencode(path)) for path in carried(options, directory)]
    if kernel.modules:
        parts.append(stream.frame(stream.MODULES, os.fsencode(os.path.realpath(kernel.modules))))
    parts.append(stream.frame(stream.START))
    return b"".join(parts)


def outputs_are_one():
    """Whether standard output and standard error are the same file, so that the order between them matters."""
    try:
        return os.path.samestat(os.fstat(1), os.fstat(2))
    except OSError:
        return False
