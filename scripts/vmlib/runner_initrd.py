# SPDX-License-Identifier: Apache-2.0
"""What the guest boots from: our init, compiled once, and the modules it needs, in one uncompressed cpio archive."""

import hashlib
import os

from vmlib.runner_faults import Fault
from vmlib.runner_files import write_file

GUEST = os.path.join(os.path.dirname(os.path.abspath(__file__)), "guest")
TREE = os.path.dirname(os.path.dirname(os.path.dirname(GUEST)))
COMPILERS = ("cc", "gcc", "clang-19", "clang")
FLAGS = ("-std=c11", "-D_GNU_SOURCE", "-O2", "-static", "-s", "-Wall", "-Wextra")

# How the host's files come in, and the modules that this takes; `None` stands for what both need.
MODULES = {None: ("virtio_mmio", "virtio_console", "overlay"), "9p": ("9pnet_virtio", "9p"), "virtiofs": ("virtiofs",)}
SIGNATURE_MAGIC = b"~Module signature appended~\n"


def source_digest():
    """Names the content of the guest's sources and how they are compiled."""
    digest = hashlib.sha256(" ".join(FLAGS).encode())
    for name in sorted(os.listdir(GUEST)):
        if name.endswith((".c", ".h")):
            with open(os.path.join(GUEST, name), "rb") as stream:
                digest.update(stream.read())
    return digest.hexdigest()


def compiled_init(cache_dir, digest):
    """The path of the guest's init, compiled if its sources changed."""
    path = os.path.join(cache_dir, "guest", f"init-{digest[:16]}")
    if os.path.exists(path):
        return path
    import subprocess  # rarely needed, and slow to import
    sources = sorted(os.path.join(GUEST, name) for name in os.listdir(GUEST) if name.endswith(".c"))
    os.makedirs(os.path.dirname(path), exist_ok=True)
    temporary = f"{path}.{os.getpid()}.tmp"
    said = "no C compiler is installed"
    for compiler in COMPILERS:
        try:
            run = subprocess.run([compiler, *FLAGS, "-I", TREE, "-o", temporary, *sources], capture_output=True,
                                 text=True, check=False)
        except FileNotFoundError:
            continue
        if run.returncode == 0:
            os.rename(temporary, path)
            return path
        said = f"{compiler} cannot: {(run.stderr.strip() or 'no message').splitlines()[0]}"
    raise Fault("setup", f"compile the guest's init: {said}; run scripts/setup --vm")


class Modules:
    """The modules of one kernel: which there are, in files or built in, and what each needs first."""

    def __init__(self, directory):
        self.directory = str(directory) if directory else None
        self.path_of = {}
        self.needs = {}
        self.builtin = set()
        if not self.directory:
            return
        try:
            with open(os.path.join(self.directory, "modules.dep"), encoding="utf-8") as stream:
                for line in stream:
                    path, _, needed = line.partition(":")
                    self.path_of[self.name(path)] = path
                    self.needs[path] = needed.split()
            with open(os.path.join(self.directory, "modules.builtin"), encoding="utf-8") as stream:
                self.builtin = {self.name(line.strip()) for line in stream}
        except OSError as problem:
            raise Fault("kernel", f"read the modules of the kernel: {problem}") from problem

    @staticmethod
    def name(path):
        return os.path.basename(path).split(".", 1)[0].replace("-", "_")

    def has(self, name):
        return name in self.builtin or name in self.path_of

    def in_load_order(self, names):
        """Paths below `directory` of these modules and of what they need; a module that is not there may be built in
        without being listed, and the guest says what it misses."""
        ordered = []
        for name in names:
            path = self.path_of.get(name)
            if path and name not in self.builtin:
                # modules.dep lists all that is needed, the first to load last.
                for needed in [*reversed(self.needs[path]), path]:
                    if needed not in ordered:
                        ordered.append(needed)
        return ordered

    def read(self, path, keep_signature):
        """A module's ELF file. Its signature costs the guest a check, and only some kernels ask for it."""
        full = os.path.join(self.directory, path)
        with open(full, "rb") as stream:
            data = stream.read()
        if path.endswith(".xz"):
            import lzma
            data = lzma.decompress(data)
        elif path.endswith(".gz"):
            import gzip
            data = gzip.decompress(data)
        elif path.endswith(".zst"):
            import subprocess
            data = subprocess.run(["zstd", "-dcq", full], stdout=subprocess.PIPE, check=True).stdout
        if data.endswith(SIGNATURE_MAGIC) and not keep_signature:
            information = data[-len(SIGNATURE_MAGIC) - 12:-len(SIGNATURE_MAGIC)]
            signature_length = int.from_bytes(information[8:12], "big")
            data = data[:-len(SIGNATURE_MAGIC) - 12 - signature_length]
        return data


def file_system_of(modules, release, wanted):
    """How this kernel is to see the host's files; by itself 9p (a snapshot can be taken of it) before virtiofs. What a
    kernel without modules has built in only its boot can tell."""
    for name, needed in (("9p", ("9p", "9pnet_virtio")), ("virtiofs", ("virtiofs",))):
        if wanted in (name, "auto") and (modules.directory is None or all(map(modules.has, needed))):
            return name
    lacks = {"auto": "neither 9p (9pnet_virtio) nor virtiofs", "9p": "no 9p (9pnet_virtio)", "virtiofs": "no virtiofs"}
    raise Fault("kernel", f"{release} has {lacks[wanted]}: it cannot see this machine's files so")


def archive(entries):
    """A cpio archive, format newc, of (name, mode, data, device)."""
    parts = []
    for number, (name, mode, data, device) in enumerate([*entries, ("TRAILER!!!", 0, b"", (0, 0))], start=1):
        encoded = name.encode() + b"\0"
        fields = (number, mode, 0, 0, 1, 0, len(data), 0, 0, device[0], device[1], len(encoded), 0)
        header = b"070701" + b"".join(b"%08x" % field for field in fields) + encoded
        parts += [header, b"\0" * (-len(header) % 4), data, b"\0" * (-len(data) % 4)]
    return b"".join(parts)


def make_initrd(path, init, modules, file_system, keep_signatures):
    """Writes the archive and returns its size: /init, /dev/console for what it says before it can say it to us, and
    the modules."""
    with open(init, "rb") as stream:
        entries = [("init", 0o100755, stream.read(), (0, 0))]
    for directory in ("dev", "proc", "sys", "modules"):
        entries.append((directory, 0o040755, b"", (0, 0)))
    entries.append(("dev/console", 0o020600, b"", (5, 1)))
    listed = []
    for module in modules.in_load_order(MODULES[None] + MODULES[file_system]):
        name = f"modules/{modules.name(module)}.ko"
        entries.append((name, 0o100644, modules.read(module, keep_signatures), (0, 0)))
        listed.append(f"/{name}\n")
    entries.append(("modules/list", 0o100644, "".join(listed).encode(), (0, 0)))
    data = archive(entries)
    write_file(path, data)
    return len(data)
