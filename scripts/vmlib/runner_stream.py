# SPDX-License-Identifier: Apache-2.0
"""The frames between runner and guest; guest/protocol.h explains them and has the same numbers."""

import struct

PROTOCOL_VERSION = 1
FRAME_PAYLOAD_MAX = 262144
OUTPUT_WINDOW = 1048576
INPUT_WINDOW = 262144

HELLO, AWAKE, HEARTBEAT, STARTED, STDOUT, STDERR, DMESG, EXIT, FAULT = range(1, 10)
CREDIT, CLOSE = 16, 17
(ARGUMENT, VARIABLE, DIRECTORY, IDENTITY, LIMIT, CLOCK, SEED, SYSCTL, FILESYSTEM, SHARE, CARRY, MODULES, OPTIONS,
 START) = range(32, 46)
STDIN, STDIN_END = 48, 49

HEADER = struct.Struct("<II")
NUMBERS = struct.Struct("<II")


def frame(kind, payload=b""):
    if len(payload) > FRAME_PAYLOAD_MAX:
        raise ValueError(f"a payload of {len(payload)} bytes; the limit is {FRAME_PAYLOAD_MAX}")
    return HEADER.pack(kind, len(payload)) + payload


def numbers(kind, first, second=0):
    return frame(kind, NUMBERS.pack(first, second))


class Decoder:
    """Cuts what arrives into frames."""

    def __init__(self):
        self.data = bytearray()

    def feed(self, data):
        """The frames (kind, payload) that are complete now."""
        self.data += data
        frames, at = [], 0
        while len(self.data) - at >= HEADER.size:
            kind, length = HEADER.unpack_from(self.data, at)
            if length > FRAME_PAYLOAD_MAX:
                raise ValueError(f"a frame of {length} bytes from the guest; the limit is {FRAME_PAYLOAD_MAX}")
            if len(self.data) - at < HEADER.size + length:
                break
            at += HEADER.size
            frames.append((kind, bytes(self.data[at:at + length])))
            at += length
        del self.data[:at]
        return frames
