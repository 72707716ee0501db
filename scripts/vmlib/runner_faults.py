# SPDX-License-Identifier: Apache-2.0
"""The runner's own faults: what they are called, and how they are told."""

import sys

STATUS = 125

KINDS = ("usage",    # the command line is wrong
         "setup",    # this machine lacks something, or the guest could not be prepared for the command
         "kernel",   # the kernel cannot be had or has no way to see the host's files
         "boot",     # the guest did not get as far as taking the command
         "panic",    # the kernel oopsed or panicked after that
         "hang",     # the guest is there and silent
         "timeout",  # the command did not end in time
         "lost")     # QEMU ended, and the guest's kernel did not say why


def say(text):
    """Tells whoever reads standard error, if anybody still does."""
    try:
        print(text, file=sys.stderr, flush=True)
    except OSError:
        pass


class Fault(Exception):
    """A fault of the runner: its kind, one line that says what, and the end of the console where that helps."""

    def __init__(self, kind, what, console=()):
        assert kind in KINDS
        super().__init__(what)
        self.kind = kind
        self.console = list(console)

    def tell(self):
        say("\n".join(self.lines()))

    def lines(self):
        """What goes to standard error: exactly one line of the runner's own, then the console."""
        told = [f"scripts/vm: {self.kind}: {self}"]
        if self.console:
            told.append("scripts/vm: end of the console:")
            told.extend(f"  | {line}" for line in self.console)
        return told


class Interrupted(BaseException):
    """A signal asked the runner to end."""

    def __init__(self, number):
        super().__init__(number)
        self.number = number
