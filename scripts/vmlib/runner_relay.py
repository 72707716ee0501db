# SPDX-License-Identifier: Apache-2.0
"""The one loop of a run: the guest's stream, its console, QEMU's end, and the runner's own three streams."""

import os
import select
import stat
import time

from vmlib import runner_stream as stream

READ_BYTES = 1 << 18
# What a blocking write to a pipe or terminal takes without blocking once poll says that it is writable.
SMALL_WRITE_BYTES = 4096
CREDIT_EVERY_BYTES = stream.OUTPUT_WINDOW // 4


class Sink:
    """One of the runner's outputs. What the guest sent waits here until the reader takes it."""

    def __init__(self, descriptor, kind):
        self.kind = kind
        self.pieces = []
        self.at = 0  # in the first piece
        self.owed = 0  # written, but not yet credited to the guest
        self.descriptor = descriptor
        self.error = None
        self.is_open = True
        self.may_block = True
        try:
            mode = os.fstat(descriptor).st_mode
        except OSError:  # closed: as if its reader were gone
            self.is_open = False
            return
        if stat.S_ISREG(mode):
            self.may_block = False
        elif stat.S_ISFIFO(mode):
            # Its own open file, so that not blocking is no matter of the others who have this pipe.
            try:
                self.descriptor = os.open(f"/proc/self/fd/{descriptor}", os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
                self.may_block = False
            except OSError:  # the pipe is another user's
                pass

    def add(self, data):
        if self.is_open:
            self.pieces.append(data)

    def write(self):
        """Writes some of what waits; returns whether the reader is still there."""
        limit = SMALL_WRITE_BYTES if self.may_block else READ_BYTES
        piece = memoryview(self.pieces[0])[self.at:self.at + limit]
        try:
            written = os.write(self.descriptor, piece)
        except BlockingIOError:
            return True
        except OSError as problem:
            if not isinstance(problem, ConnectionError):  # a reader that went away; anything else is a loss
                name = "standard output" if self.kind == stream.STDOUT else "standard error"
                self.error = f"write to {name}: {problem.strerror}"
            self.close()
            return False
        self.owed += written
        self.at += written
        if self.at == len(self.pieces[0]):
            del self.pieces[0]
            self.at = 0
        return True

    def close(self):
        self.is_open = False
        self.pieces.clear()

    def credit_due(self):
        """Bytes to give the guest credit for now."""
        due = self.owed if self.owed >= CREDIT_EVERY_BYTES else 0
        self.owed -= due
        return due


class Relay:
    """Carries everything between one guest and the runner, and keeps what the guest said about itself."""

    def __init__(self, guest, dmesg=None):
        self.guest = guest
        self.dmesg = dmesg
        self.decoder = stream.Decoder()
        self.outgoing = bytearray()
        self.sinks = {}
        self.stdin = None
        self.stdin_room = stream.INPUT_WINDOW
        self.hello = None  # (version, release)
        self.awake = False
        self.started_at = None
        self.first_output_at = None
        self.result = None  # (killed, status or signal)
        self.ended_at = None
        self.fault = None
        self.ended = False  # QEMU
        self.lost_helper = False
        self.heard_at = time.monotonic()

    def output_error(self):
        """Why some of what the command wrote is lost, or None."""
        return next((sink.error for sink in self.sinks.values() if sink.error), None)

    def send(self, frames):
        self.outgoing += frames

    def attach(self, stdin, stdout, stderr):
        """Takes the runner's own streams up."""
        self.stdin = stdin
        self.sinks = {stream.STDOUT: Sink(stdout, stream.STDOUT), stream.STDERR: Sink(stderr, stream.STDERR)}
        for sink in self.sinks.values():
            if not sink.is_open:
                self.send(stream.numbers(stream.CLOSE, sink.kind))

    def turn(self, timeout_s):
        """Waits for the next thing to happen, for at most this long, and handles it. Returns whether any did."""
        guest = self.guest
        handlers = {guest.stream.fileno(): self.handle_stream, guest.serial.fileno(): self.handle_console,
                    guest.ended: self.handle_end}
        poll = select.poll()
        poll.register(guest.stream, select.POLLIN | (select.POLLOUT if self.outgoing else 0))
        poll.register(guest.serial, select.POLLIN)
        poll.register(guest.ended, select.POLLIN)
        for helper in guest.helpers_ended:
            handlers[helper] = self.handle_helper_end
            poll.register(helper, select.POLLIN)
        if self.stdin is not None and self.stdin_room > 0:
            handlers[self.stdin] = self.handle_stdin
            poll.register(self.stdin, select.POLLIN)
        for sink in self.sinks.values():
            if sink.is_open and sink.pieces:
                handlers[sink.descriptor] = lambda _, sink=sink: self.handle_sink(sink)
                poll.register(sink.descriptor, select.POLLOUT)
        ready = poll.poll(max(timeout_s, 0) * 1000)
        # The end of QEMU last: what it wrote before is read first.
        for descriptor, events in sorted(ready, key=lambda pair: pair[0] == guest.ended):
            handlers[descriptor](events)
        return bool(ready)

    def until(self, happened, deadline):
        """Goes on until `happened()` or the end of QEMU; returns False when the deadline (None: none) comes first."""
        while not happened() and not self.ended and not self.lost_helper:
            left = 3600 if deadline is None else deadline - time.monotonic()
            if not self.turn(left) and deadline is not None and time.monotonic() >= deadline:
                return False
        return True

    def handle_stream(self, events):
        if events & select.POLLOUT and self.outgoing:
            try:
                sent = self.guest.stream.send(self.outgoing)
                del self.outgoing[:sent]
            except BlockingIOError:
                pass
            except OSError:
                self.outgoing.clear()  # QEMU is ending
        if events & (select.POLLIN | select.POLLHUP):
            self.read_stream()

    def read_stream(self):
        try:
            data = self.guest.stream.recv(READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.handle_end(None)
            return
        self.heard_at = time.monotonic()
        for kind, payload in self.decoder.feed(data):
            self.handle_frame(kind, payload)

    def handle_frame(self, kind, payload):
        if kind in self.sinks:
            self.first_output_at = self.first_output_at or time.monotonic()
            self.sinks[kind].add(payload)
        elif kind == stream.CREDIT:
            self.stdin_room += stream.NUMBERS.unpack(payload)[1]
        elif kind == stream.CLOSE:
            self.stdin = None
        elif kind == stream.HELLO:
            self.hello = (int.from_bytes(payload[:4], "little"), payload[4:].decode("utf-8", "replace"))
        elif kind == stream.AWAKE:
            self.awake = True
        elif kind == stream.STARTED:
            self.started_at = time.monotonic()
        elif kind == stream.EXIT:
            self.result = stream.NUMBERS.unpack(payload)
            self.ended_at = time.monotonic()
        elif kind == stream.FAULT:
            self.fault = payload.decode("utf-8", "replace")
        elif kind == stream.DMESG and self.dmesg is not None:
            self.dmesg.write(payload)

    def handle_console(self, _):
        try:
            self.guest.console.add(self.guest.serial.recv(READ_BYTES))
        except OSError:
            pass

    def handle_end(self, _):
        """QEMU ended: what it had sent before is still to be read."""
        self.guest.collect()
        self.ended = True
        for source, take in ((self.guest.serial, self.guest.console.add), (self.guest.stream, self.take_rest)):
            try:
                while data := source.recv(READ_BYTES):
                    take(data)
            except OSError:
                pass

    def handle_helper_end(self, _):
        self.lost_helper = True

    def take_rest(self, data):
        for kind, payload in self.decoder.feed(data):
            self.handle_frame(kind, payload)

    def how_it_ended(self):
        """One line, once QEMU or what serves it ended."""
        if self.lost_helper and not self.ended:
            return f"virtiofsd ended: {self.guest.helper_complaint() or 'it did not say why'}"
        return self.guest.how_it_ended()

    def handle_stdin(self, _):
        try:
            data = os.read(self.stdin, min(self.stdin_room, stream.FRAME_PAYLOAD_MAX))
        except OSError:  # a terminal that is not ours to read, a directory
            data = b""
        if data:
            self.stdin_room -= len(data)
            self.send(stream.frame(stream.STDIN, data))
        else:
            self.stdin = None
            self.send(stream.frame(stream.STDIN_END))

    def handle_sink(self, sink):
        if not sink.write():
            self.send(stream.numbers(stream.CLOSE, sink.kind))
        due = sink.credit_due()
        if due:
            self.send(stream.numbers(stream.CREDIT, sink.kind, due))

    def flush(self, patience_s=None):
        """Passes on what the command wrote before it ended, however long its reader takes, unless told otherwise."""
        for sink in self.sinks.values():
            while sink.is_open and sink.pieces:
                poll = select.poll()
                poll.register(sink.descriptor, select.POLLOUT)
                if not poll.poll(patience_s and patience_s * 1000):
                    break
                sink.write()
