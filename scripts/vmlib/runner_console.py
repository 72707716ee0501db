# SPDX-License-Identifier: Apache-2.0
"""The guest's console: its end is kept, and it tells how the guest's kernel ended."""

import re

KEPT_BYTES = 256 * 1024
SHOWN_LINES = 40

# What the kernel says first when it stops trusting itself, from the most to the least telling.
OOPS = re.compile(r"(BUG: .*|kernel BUG at .*|Oops: .*|general protection fault.*|Unable to handle .*|"
                  r"unhandled error.*|invalid opcode: .*|divide error: .*|stack segment: .*|double fault: .*)")
PANIC = re.compile(r"Kernel panic - not syncing: (.*)")
OUT_OF_MEMORY = re.compile(r"Out of memory: Killed process|oom-kill:|Memory cgroup out of memory")
# What a kernel says that goes on, but not well.
TROUBLE = re.compile(r"soft lockup|hard LOCKUP|blocked for more than|rcu: INFO|WARNING: CPU|BUG: |" +
                     OUT_OF_MEMORY.pattern)
INIT = re.compile(r"ringside init: (.*)")
TIMESTAMP = re.compile(r"^\[ *\d+\.\d+\](\[ *[TC]\d+\])? ?")


class Console:
    """What the guest wrote to its serial port, the last KEPT_BYTES of it."""

    def __init__(self):
        self.data = bytearray()

    def add(self, data):
        self.data += data
        if len(self.data) > 2 * KEPT_BYTES:
            del self.data[:-KEPT_BYTES]

    def lines(self):
        text = self.data.decode("utf-8", "replace").replace("\r", "")
        # What a terminal would act upon must not reach the user's.
        text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\x1bc|[^\n\t\x20-\x7e\u00a0-\uffff]", "", text)
        return [line for line in text.split("\n") if line.strip()]

    def end(self):
        """The lines worth showing: from the kernel's last crash on, or simply the last ones."""
        lines = self.lines()
        crash = next((at for at, line in enumerate(lines) if OOPS.search(line) or PANIC.search(line)), None)
        if crash is not None and len(lines) - crash > SHOWN_LINES:
            half = SHOWN_LINES // 2
            skipped = len(lines) - crash - 2 * half
            return lines[crash:crash + half] + [f"... {skipped} lines ..."] + lines[-half:]
        return lines[-SHOWN_LINES:]

    def first(self, pattern):
        for line in self.lines():
            found = pattern.search(line)
            if found:
                return TIMESTAMP.sub("", found.group(found.lastindex or 0)).strip()
        return None

    def crash(self):
        """How the kernel crashed, to follow "had a": an oops (every oops is made a panic) or a panic of its own; or
        None."""
        oops, panic = self.first(OOPS), self.first(PANIC)
        if oops:
            return f"kernel oops: {oops}"
        return f"kernel panic: {panic}" if panic else None

    def init_complaint(self):
        """Why our init gave up while booting, or None."""
        return self.first(INIT)
