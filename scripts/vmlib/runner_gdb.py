# SPDX-License-Identifier: Apache-2.0
"""Debugging the guest's kernel with gdb. Debian's kernels carry no symbols; the running kernel knows them, and without
address randomisation they are the same in every boot, so they are asked for once and put into an ELF file for gdb."""

import os
import socket
import struct
import sys

from vmlib.runner_faults import Fault
from vmlib.runner_files import write_file

ELF64_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
SECTION_HEADER = struct.Struct("<IIQQQQIIQQ")
SYMBOL = struct.Struct("<IBBHQQ")
EXECUTABLE, X86_64 = 2, 62
SYMBOL_TABLE, STRING_TABLE, NO_BITS = 2, 3, 8
ALLOCATED_CODE = 6
FUNCTION, OBJECT, GLOBAL = 2, 1, 1 << 4
HEADERS = 4  # the null section, .text, .symtab, .strtab


def kernel_symbols(text):
    """(address, is it code, name) of each symbol of the kernel itself in the text of /proc/kallsyms."""
    for line in text.splitlines():
        address, kind, name, *module = line.split()
        # Per-CPU offsets are no addresses; what modules have comes and goes.
        if not module and int(address, 16) >= 0xffffffff80000000:
            yield int(address, 16), kind in "tTwW", name


def symbol_file(text):
    """An ELF file with these symbols and no content. Sizes are not told: to gdb a symbol reaches up to the next."""
    symbols = sorted(kernel_symbols(text))
    if not symbols:
        raise ValueError("no addresses in /proc/kallsyms")
    names, table = bytearray(b"\0"), bytearray(SYMBOL.pack(0, 0, 0, 0, 0, 0))
    for address, is_code, name in symbols:
        table += SYMBOL.pack(len(names), GLOBAL | (FUNCTION if is_code else OBJECT), 0, 1, address, 0)
        names += name.encode() + b"\0"
    section_names = b"\0.text\0.symtab\0.strtab\0"
    name_base = len(names)
    names += section_names
    first, last = symbols[0][0], symbols[-1][0]
    table_at = ELF64_HEADER.size + HEADERS * SECTION_HEADER.size
    names_at = table_at + len(table)
    header = ELF64_HEADER.pack(b"\x7fELF\x02\x01\x01", EXECUTABLE, X86_64, 1, first, 0, ELF64_HEADER.size, 0,
                               ELF64_HEADER.size, 0, 0, SECTION_HEADER.size, HEADERS, HEADERS - 1)
    sections = [
        (0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
        (name_base + 1, NO_BITS, ALLOCATED_CODE, first, 0, last - first + 1, 0, 0, 4096, 0),
        (name_base + 7, SYMBOL_TABLE, 0, 0, table_at, len(table), HEADERS - 1, 1, 8, SYMBOL.size),
        (name_base + 15, STRING_TABLE, 0, 0, names_at, len(names), 0, 0, 1, 0),
    ]
    return header + b"".join(SECTION_HEADER.pack(*section) for section in sections) + bytes(table) + bytes(names)


def debug_file(booter):
    """The best file for gdb: Debian's with everything, if its package is installed, else one of ours."""
    full = f"/usr/lib/debug/boot/vmlinux-{booter.kernel.release}"
    if os.path.exists(full):
        return full
    path = os.path.join(booter.cache_dir, "symbols", f"{booter.kernel.release}-{booter.kernel.digest[:16]}.elf")
    if not os.path.exists(path):
        booter.say(f"asking {booter.kernel.release} for its symbols")
        try:
            write_file(path, symbol_file(booter.output_of(["cat", "/proc/kallsyms"])))
        except ValueError as problem:
            raise Fault("setup", f"make a symbol file for gdb: {problem}") from problem
    return path


def arguments(booter):
    """What QEMU needs so that gdb can connect, and a line on how; the guest waits until it says continue."""
    path = debug_file(booter)
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    print(f"scripts/vm: waiting for gdb: gdb {path} -ex 'target remote localhost:{port}'", file=sys.stderr, flush=True)
    # QEMU accepts on a socket that it is given, so the port is ours from the start.
    descriptor = listener.detach()
    os.set_inheritable(descriptor, True)
    return ["-S", "-chardev", f"socket,id=gdb,server=on,wait=off,fd={descriptor}", "-gdb", "chardev:gdb"]
