# SPDX-License-Identifier: Apache-2.0
"""The command line of scripts/vm. Written by hand because a run is to start in milliseconds, and so that each wrong
word gets exactly one line."""

import os

from vmlib.runner_faults import Fault

HELP = """\
scripts/vm --kernel NAME [OPTION...] -- COMMAND [ARGUMENT...]

Runs the command in a virtual machine with that kernel and this machine's own files: same arguments, environment,
directory and user; / is read-only under an overlay that is gone afterwards. The exit status is the command's, 128 + N
if signal N killed it; 125 is kept for the runner's own faults, which one line on standard error names.

  --kernel NAME    5.10, 6.1, 6.1-rt, 6.12-cloud, 6.12.43, newest, a kernel image, or a directory
  --smp N          virtual CPUs (default 2)
  --memory SIZE    memory, as 512M or 2G (default 512M)
  --timeout TIME   give the command at most this long, as 90, 90s, 5m or 1h (default: no limit)
  --hang-after TIME
                   call a guest that is silent for this long hung (default 60)
  --boot-timeout TIME
                   give the guest this long to boot, three times (default 60)
  --rw DIR         let the command change this directory of the host; may be given again
  --ro DIR         show this directory of the host's /tmp or /run, which are fresh otherwise; may be given again
  --sysctl K=V     set this sysctl first; may be given again
  --user NAME      run the command as this user of the guest (default: who runs scripts/vm)
  --dmesg FILE     write the guest's kernel log there
  --append ARGS    more arguments for the kernel
  --accel WHICH    kvm, tcg, or auto (default: kvm where a guest really runs with it)
  --files HOW      see this machine's files by 9p, virtiofs, or auto (default: 9p where the kernel has it)
  --cold           boot the guest anew instead of restoring a snapshot of a booted one
  --gdb            wait for gdb before the kernel runs on; says how to start it
  --times          say how long the steps took
  --quiet          say nothing but faults

  --list           what kernels are cached, and which can be had
  --fetch NAME...  get these kernels into the cache
  --update         with --fetch or --list: ask the package mirror even if it was asked today
  --prune          remove from the cache what was not used lately
  --keep N         with --prune: how many kernels to keep (default 8)
  --help           this text

Each option that takes a value may also be given in the environment: RINGSIDE_VM_KERNEL, RINGSIDE_VM_TIMEOUT, ...
More in docs/vm.md."""


class Options:
    """What was asked for, as values; durations in seconds, memory in MiB."""

    def __init__(self):
        self.action = "run"  # or list, fetch, prune, help
        self.kernel = None
        self.smp = 2
        self.memory_mib = 512
        self.timeout_s = None
        self.hang_after_s = 60.0
        self.boot_timeout_s = 60.0
        self.rw = []
        self.ro = []
        self.sysctl = []
        self.user = None
        self.dmesg = None
        self.append = ""
        self.accel = "auto"
        self.files = "auto"
        self.cold = False
        self.gdb = False
        self.times = False
        self.quiet = False
        self.update = False
        self.keep = 8
        self.names = []
        self.command = []


def count(text, option):
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= 255:
        raise Fault("usage", f"{option} '{text}' is not a number from 1 to 255")
    return int(text)


def duration_s(text, option):
    scale = {"s": 1, "m": 60, "h": 3600}.get(text[-1:], None)
    number = text[:-1] if scale else text
    try:
        seconds = float(number) * (scale or 1)
    except ValueError:
        seconds = 0
    if not 0 < seconds < 1e7:
        raise Fault("usage", f"{option} '{text}' is not a time; say 90, 90s, 5m or 1h")
    return seconds


def memory_mib(text, option):
    scale = {"M": 1, "G": 1024}.get(text[-1:].upper(), None)
    number = text[:-1] if scale else text
    if not number.isascii() or not number.isdigit() or not 128 <= int(number) * (scale or 1) <= 1 << 20:
        raise Fault("usage", f"{option} '{text}' is not a size from 128M up; say 512M or 2G")
    return int(number) * (scale or 1)


def directory(text, option):
    path = os.path.realpath(text)
    if not os.path.isdir(path):
        raise Fault("usage", f"{option} '{text}' is not a directory")
    if path == "/" or path.startswith(("/proc", "/sys", "/dev")) and path.split("/")[1] in ("proc", "sys", "dev"):
        raise Fault("usage", f"{option} '{text}' would bring in more of the host than a directory of yours")
    return path


def assignment(text, option):
    key, equals, value = text.partition("=")
    if not key or not equals or not value:
        raise Fault("usage", f"{option} '{text}' is not KEY=VALUE")
    return text


def one_of(*known):
    def read(text, option):
        if text not in known:
            raise Fault("usage", f"{option} '{text}' is not known; known are {', '.join(known)}")
        return text

    return read


def word(text, option):
    if not text:
        raise Fault("usage", f"{option} needs a value")
    return text


# option: (attribute, what reads its value, whether it may be given again)
VALUES = {
    "--kernel": ("kernel", word, False),
    "--smp": ("smp", count, False),
    "--memory": ("memory_mib", memory_mib, False),
    "--timeout": ("timeout_s", duration_s, False),
    "--hang-after": ("hang_after_s", duration_s, False),
    "--boot-timeout": ("boot_timeout_s", duration_s, False),
    "--rw": ("rw", directory, True),
    "--ro": ("ro", directory, True),
    "--sysctl": ("sysctl", assignment, True),
    "--user": ("user", word, False),
    "--dmesg": ("dmesg", word, False),
    "--append": ("append", word, False),
    "--accel": ("accel", one_of("auto", "kvm", "tcg"), False),
    "--files": ("files", one_of("auto", "9p", "virtiofs"), False),
    "--keep": ("keep", count, False),
}
FLAGS = {"--cold", "--gdb", "--times", "--quiet", "--update"}
ACTIONS = {"--list", "--fetch", "--prune", "--help"}


def variable_of(option):
    """The environment variable that stands for an option: --hang-after is RINGSIDE_VM_HANG_AFTER."""
    return "RINGSIDE_VM_" + option[2:].upper().replace("-", "_")


def set_value(options, option, text, told_as):
    attribute, read, repeatable = VALUES[option]
    value = read(text, told_as)
    if repeatable:
        getattr(options, attribute).append(value)
    else:
        setattr(options, attribute, value)


def nearest(option):
    import difflib  # only a wrong word needs it
    known = [*VALUES, *FLAGS, *ACTIONS]
    close = difflib.get_close_matches(option, known, n=1)
    return f"; did you mean {close[0]}?" if close else "; scripts/vm --help names all"


def take_words(options, words):
    """Reads options up to `--` or the first word that is none."""
    while words and words[0].startswith("-"):
        option, equals, value = words.pop(0).partition("=")
        if option == "--":
            break
        if option in VALUES:
            if not equals and not words:
                raise Fault("usage", f"{option} needs a value")
            set_value(options, option, value if equals else words.pop(0), option)
        elif equals or option not in FLAGS | ACTIONS | {"-h"}:
            raise Fault("usage", f"unknown option '{option}'{nearest(option)}")
        elif option in FLAGS:
            setattr(options, option[2:], True)
        else:
            options.action = "help" if option == "-h" else option[2:]
    return words


def parse(arguments, environment):
    """The options of this command line. Throws Fault."""
    options = Options()
    for option in VALUES:
        text = environment.get(variable_of(option))
        if text:
            set_value(options, option, text, variable_of(option))
    words = take_words(options, list(arguments))
    if options.action == "run":
        options.command = words
        if not options.kernel:
            raise Fault("usage", "which kernel? say --kernel 6.1, for example; scripts/vm --list names all")
        if not words:
            raise Fault("usage", "which command? say scripts/vm --kernel NAME -- COMMAND ARGUMENT...")
    elif options.action == "fetch":
        options.names = words or ([options.kernel] if options.kernel else [])
        if not options.names:
            raise Fault("usage", "--fetch which kernel? say --fetch 6.1 6.12, for example")
    elif words:
        raise Fault("usage", f"unknown word '{words[0]}' with --{options.action}")
    return options
