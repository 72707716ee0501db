# SPDX-License-Identifier: Apache-2.0
"""QEMU's monitor (QMP): saving a stopped guest, and asking a silent one where it is."""

import json
import socket as sockets

SAVING_S = 60


class MonitorError(Exception):
    """QEMU refused, or did not answer."""


class Monitor:
    """The conversation over one guest's monitor."""

    def __init__(self, socket):
        self.socket = socket
        self.data = b""
        self.events = []
        self.is_greeted = False

    def expect(self, patience_s):
        """Waits for QEMU's greeting, unless it came before; from now on every answer may take as long."""
        self.socket.settimeout(patience_s)
        if not self.is_greeted:
            self._next()
            self.ask("qmp_capabilities")
            self.is_greeted = True

    def _next(self):
        while b"\n" not in self.data:
            try:
                got = self.socket.recv(65536)
            except OSError as problem:
                raise MonitorError(f"QEMU does not answer: {problem}") from problem
            if not got:
                raise MonitorError("QEMU ended")
            self.data += got
        line, _, self.data = self.data.partition(b"\n")
        return json.loads(line)

    def ask(self, command, descriptors=(), **arguments):
        """One command, with descriptors that go along, and what it returned."""
        request = {"execute": command, "arguments": arguments}
        try:
            sockets.send_fds(self.socket, [json.dumps(request).encode() + b"\n"], descriptors)
        except OSError as problem:
            raise MonitorError(f"{command}: {problem}") from problem
        while True:
            answer = self._next()
            if "return" in answer:
                return answer["return"]
            if "error" in answer:
                raise MonitorError(f"{command}: {answer['error'].get('desc', 'no reason given')}")
            self.events.append(answer.get("event"))

    def _leave_memory_out(self):
        """Memory that is a file stays out of the stream of a snapshot; both sides must know."""
        self.expect(SAVING_S)
        self.ask("migrate-set-capabilities", capabilities=[{"capability": "x-ignore-shared", "state": True},
                                                           {"capability": "events", "state": True}])

    def save(self, descriptor):
        """Stops the guest and writes the state of its devices there."""
        self._leave_memory_out()
        self.ask("getfd", [descriptor], fdname="state")
        self.ask("migrate", uri="fd:state")
        while True:
            status = self.ask("query-migrate")
            if status.get("status") == "completed":
                return
            if status.get("status") in ("failed", "cancelled"):
                raise MonitorError(f"migrate: {status.get('error-desc', status['status'])}")
            # Each event that arrives may be the one that ends it.
            while not self.events:
                self.events.append(self._next().get("event"))
            self.events.clear()

    def interrupt(self, patience_s):
        """An interrupt that the guest's processors cannot mask."""
        self.expect(patience_s)
        self.ask("inject-nmi")

    def restore(self, descriptor):
        """Lets a QEMU that was started with `-incoming defer` go on from this state."""
        self._leave_memory_out()
        self.ask("getfd", [descriptor], fdname="state")
        self.ask("migrate-incoming", uri="fd:state")
