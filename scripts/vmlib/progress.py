# SPDX-License-Identifier: Apache-2.0
"""How long work is told to whoever waits for it: one line rewritten on a terminal, few plain lines elsewhere."""

import os
import sys
import time

PLAIN_LINE_EVERY_SECONDS = 15


class Progress:
    """Called with a text alone it says that line; with `done` and `total` (bytes) it shows how far a step has come.

    Silent steps, lines still said: Progress(quiet=True).
    """

    def __init__(self, stream=None, quiet=False):
        self.stream = stream or sys.stderr
        self.terminal = self.stream.isatty()
        self.quiet = quiet
        self._shown = False
        self._last_text = None
        self._last_time = 0.0

    def __call__(self, text, done=None, total=None):
        if done is None:
            self.clear()
            print(text, file=self.stream, flush=True)
        elif not self.quiet:
            self._step(text, done, total)

    def _step(self, text, done, total):
        if self.terminal:
            percent = f"{100 * done // total:3d} %" if total else "  …  "
            line = f"{text}: {percent} of {total / 1e6:.0f} MB" if total else f"{text} …"
            columns = os.get_terminal_size(self.stream.fileno()).columns
            self.stream.write(f"\r\x1b[K{line[:max(columns - 1, 1)]}")
            self.stream.flush()
            self._shown = True
            return
        now = time.monotonic()
        if text != self._last_text or now - self._last_time >= PLAIN_LINE_EVERY_SECONDS:
            told = f"{text}: {done / 1e6:.0f} of {total / 1e6:.0f} MB" if total else f"{text} …"
            print(told, file=self.stream, flush=True)
            self._last_text, self._last_time = text, now

    def clear(self):
        """Takes the rewritten line away, so that what follows starts on a clean one."""
        if self._shown:
            self.stream.write("\r\x1b[K")
            self.stream.flush()
            self._shown = False
