# SPDX-License-Identifier: Apache-2.0
"""A tiny Debian archive of made-up kernels, signed by a throw-away key, and a server for it that can be told to stall.

The kernels cannot boot: each is a bzImage that carries a few bytes of ELF, and three modules that depmod understands.
"""

import bz2
import gzip
import hashlib
import http.server
import json
import lzma
import os
import pathlib
import re
import select
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import unittest
import urllib.parse
from unittest import mock

from vmlib import kernels
from vmlib.errors import KernelError

ARCHITECTURE = subprocess.run(["dpkg", "--print-architecture"], capture_output=True, text=True,
                              check=True).stdout.strip()
# Modules by their place: `needed` gives a symbol that `used` lacks; neither a guest nor a module wants `unwanted`.
USED, NEEDED, UNWANTED = "kernel/fs/used.ko", "kernel/drivers/video/needed.ko", "kernel/drivers/video/unwanted.ko"
MODULE_SOURCES = {
    USED: 'extern int ringside_needed(void); int use(void) { return ringside_needed(); }',
    NEEDED: 'int ringside_needed(void) { return 1; } __attribute__((section("__ksymtab_strings"), used)) '
            'static const char name[] = "ringside_needed";',
    UNWANTED: 'int unwanted;',
}


ELF_BYTES = 64_000
SCRIPTS = pathlib.Path(__file__).resolve().parent
# What a process of its own does in the tests that kill one, or run two: a name in, one line out.
RESOLVE = """
import sys
from vmlib import kernels
print(kernels.resolve(sys.argv[1], cache_dir=kernels.default_root(), progress=lambda text, *bytes_:
      bytes_ or print(text, file=sys.stderr, flush=True)).release)
"""


def run(*command, **more):
    return subprocess.run(command, check=True, capture_output=True, **more)


def by_program(*command):
    return lambda data: run(*command, input=data).stdout + struct.pack("<I", len(data))


PACKINGS = {
    "gzip": lambda data: gzip.compress(data, 1),
    "xz": lambda data: lzma.compress(data) + struct.pack("<I", len(data)),
    "lzma": lambda data: lzma.compress(data, lzma.FORMAT_ALONE) + struct.pack("<I", len(data)),
    "bzip2": lambda data: bz2.compress(data) + struct.pack("<I", len(data)),
    "zstd": by_program("zstd", "-qc"),
    "lz4": by_program("lz4", "-lqc"),
    "nothing": lambda data: data,
}


def elf_kernel(release, size=ELF_BYTES):
    """What passes for an ELF kernel: it says its release, and does not compress away."""
    filling = b"".join(hashlib.sha256(f"{release} {count}".encode()).digest() for count in range(size // 32))
    return b"\x7fELF" + b"\0" * 12 + f"Linux version {release} (nobody@nowhere) #1\n".encode() + b"\0" + filling


def bzimage(release, kernel=None, packing="gzip"):
    """A bzImage with nothing in it but its setup header and its payload."""
    payload = PACKINGS[packing](elf_kernel(release) if kernel is None else kernel)
    setup = bytearray(5 * 512)
    setup[0x1F1] = 4
    setup[0x202:0x206] = b"HdrS"
    struct.pack_into("<H", setup, 0x206, 0x020F)
    struct.pack_into("<H", setup, 0x20E, 0x300 - 0x200)
    setup[0x300:0x300 + len(release) + 9] = release.encode() + b" (nobody)"
    struct.pack_into("<II", setup, 0x248, 64, len(payload))
    return bytes(setup) + b"\0" * 64 + payload


def make_modules(folder):
    """The three modules, compiled into `folder`: {place: file}."""
    made = {}
    for place, source in MODULE_SOURCES.items():
        made[place] = folder / place.rsplit("/", 1)[1]
        name = made[place].stem
        text = f'{source}\n__attribute__((section(".modinfo"), used)) static const char modinfo[] = "name={name}";\n'
        run("gcc", "-x", "c", "-c", "-o", str(made[place]), "-", input=text.encode())
    return made


def make_key(home):
    """A throw-away key in a folder of its own: signs with sign(), checked with home/keyring.gpg."""
    home.mkdir(mode=0o700)
    gpg(home, "--quick-generate-key", "Ringside Test <nobody@nowhere>", "ed25519", "sign", "never")
    (home / "keyring.gpg").write_bytes(gpg(home, "--export").stdout)
    return home


def gpg(home, *arguments, **more):
    return run("gpg", "--homedir", str(home), "--batch", "--quiet", "--passphrase", "", "--pinentry-mode", "loopback",
               *arguments, **more)


def end_agent(home):
    subprocess.run(["gpgconf", "--homedir", str(home), "--kill", "all"], check=False, capture_output=True)


class Archive:
    """Suites with kernels, as files under `root`. publish() what was added."""

    built = {}  # package files by what is in them: many tests have the same ones

    def __init__(self, root, key, modules):
        self.root, self.key, self.modules = root, key, modules
        self.suites = {}

    def add(self, suite, release, version, *, split=False, unlisted=(), merged_usr=False):
        """Puts one kernel into a suite; `split` in three packages, of which the index leaves the `unlisted` out."""
        trees = self._trees(release, split, merged_usr)
        parts = [f"linux-{part}-{release}" for part in ("binary", "modules", "base")] if split else []
        depends = ", ".join(f"{part} (= {version})" for part in parts)
        for package, tree in trees.items():
            deb = self._build(package, version, depends if package.startswith("linux-image-") else "", tree)
            if package.split("-")[1] not in unlisted:
                self.suites.setdefault(suite, []).append(deb)

    def _trees(self, release, split, merged_usr):
        """{package: {path: content}}."""
        folder = f"{'usr/' if split or merged_usr else ''}lib/modules/{release}"
        vmlinuz = f"{folder}/vmlinuz" if merged_usr else f"boot/vmlinuz-{release}"
        image = {vmlinuz: bzimage(release)}
        modules = {f"{folder}/{place}": file.read_bytes() for place, file in self.modules.items()}
        base = {f"boot/config-{release}": b"CONFIG_BPF=y\n", f"{folder}/modules.order": b"",
                f"{folder}/modules.builtin": b"kernel/net/9p/9pnet.ko\n",
                f"usr/share/doc/{release}/copyright": b"free\n"}
        if not split:
            return {f"linux-image-{release}": {**image, **modules, **base}}
        return {f"linux-image-{release}": {f"usr/share/doc/{release}-image/copyright": b"free\n"},
                f"linux-binary-{release}": image, f"linux-modules-{release}": modules, f"linux-base-{release}": base}

    def _build(self, package, version, depends, tree):
        """Builds a package into the pool; returns its stanza for the index."""
        fields = {"Package": package, "Version": version, "Architecture": ARCHITECTURE,
                  "Maintainer": "Nobody <nobody@nowhere>", **({"Depends": depends} if depends else {}),
                  "Description": "a made-up kernel"}
        control = "".join(f"{name}: {value}\n" for name, value in fields.items())
        content = (control, *sorted(tree.items()))
        if content not in self.built:
            self.built[content] = self._deb(control, tree)
        data = self.built[content]
        # Where Debian has them: what was signed lies apart from what the kernel's own source package made.
        source = "linux" if package.startswith(("linux-modules-", "linux-base-")) else "linux-signed"
        file = self.root / f"pool/main/l/{source}/{package}_{version}_{ARCHITECTURE}.deb"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
        return control + (f"Filename: {file.relative_to(self.root)}\nSize: {len(data)}\n"
                          f"SHA256: {hashlib.sha256(data).hexdigest()}\n")

    def _deb(self, control, tree):
        """The bytes of a package file."""
        scratch = self.root / "scratch"
        for path, content in tree.items():
            (scratch / path).parent.mkdir(parents=True, exist_ok=True)
            (scratch / path).write_bytes(content)
        (scratch / "DEBIAN").mkdir()
        (scratch / "DEBIAN/control").write_text(control)
        file = self.root / "scratch.deb"
        run("dpkg-deb", "--root-owner-group", "-Znone", "-b", str(scratch), str(file))
        shutil.rmtree(scratch)
        data = file.read_bytes()
        file.unlink()
        return data

    def publish(self, suite, key=None):
        """Writes the index of a suite and signs it."""
        folder = self.root / "dists" / suite
        index = folder / f"main/binary-{ARCHITECTURE}/Packages"
        index.parent.mkdir(parents=True, exist_ok=True)
        index.write_text("\n".join(self.suites.get(suite, [])))
        data = index.read_bytes()
        release = (f"Origin: Ringside\nSuite: {suite}\nCodename: {suite}\nDate: Thu, 01 Jan 2026 00:00:00 UTC\n"
                   f"Architectures: {ARCHITECTURE}\nComponents: main\nSHA256:\n"
                   f" {hashlib.sha256(data).hexdigest()} {len(data)} {index.relative_to(folder)}\n")
        signed = gpg(key or self.key, "--clearsign", input=release.encode()).stdout
        (folder / "InRelease").write_bytes(signed)

    def file_of(self, package):
        """The file of a package in the pool."""
        found, = self.root.glob(f"pool/**/{package}_*.deb")
        return found


class Server:
    """Serves an archive over http; knows what was asked for, and stalls half-way through one file when told to."""

    def __init__(self, root):
        self.requests = []  # (path, first byte asked for)
        self.stall_at = None  # a piece of a path: such a file is sent by half, the rest all but stalls
        self.cut_at = None  # likewise, but the connection is closed at half
        self.stalled = threading.Semaphore(0)  # released each time that happens
        self.left = threading.Semaphore(0)  # released each time that a client hangs up meanwhile
        self.go_on = threading.Event()  # sends the other half
        server = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_GET(self):
                server.answer(self, root)

            def log_message(self, *_):
                pass

        class Quiet(http.server.ThreadingHTTPServer):
            def handle_error(self, *_):
                """Clients that are killed reset their connections: that is what is tested."""

        self.http = Quiet(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.address = f"http://127.0.0.1:{self.http.server_port}"
        threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def answer(self, handler, root):
        path = urllib.parse.unquote(handler.path).lstrip("/")
        match = re.fullmatch(r"bytes=(\d+)-", handler.headers.get("Range", ""))
        first = int(match[1]) if match else 0
        self.requests.append((path, first))
        file = pathlib.Path(root, path)
        if not file.is_file():
            handler.send_error(404)
            return
        data = file.read_bytes()
        handler.send_response(206 if first else 200)
        if first:
            handler.send_header("Content-Range", f"bytes {first}-{len(data) - 1}/{len(data)}")
        handler.send_header("Content-Length", str(len(data) - first))
        handler.send_header("Last-Modified", "Thu, 01 Jan 2026 00:00:00 GMT")
        handler.end_headers()
        try:
            self._send(handler, path, data[first:])
        except OSError:
            pass  # the client went away, as clients that are killed do

    def _send(self, handler, path, data):
        if self.stall_at and self.stall_at in path:
            data = self._stall(handler, data)
        if self.cut_at and self.cut_at in path:
            handler.wfile.write(data[:len(data) // 2])
            handler.connection.shutdown(socket.SHUT_RDWR)
            return
        handler.wfile.write(data)

    def _stall(self, handler, data):
        """Sends half of the data, then byte by byte, so that no deadline of the client passes; returns the rest."""
        sent = len(data) // 2
        handler.wfile.write(data[:sent])
        self.stalled.release()
        while not self.go_on.wait(0.02) and sent < len(data):
            # The end of the stream: nothing more is asked on this connection.
            if select.select([handler.connection], [], [], 0)[0]:
                self.left.release()
                return b""
            handler.wfile.write(data[sent:sent + 1])
            sent += 1
        return data[sent:]

    def asked_for(self, piece):
        """The first bytes that were asked for of files whose path has `piece` in it."""
        return [first for path, first in self.requests if piece in path]

    def close(self):
        self.go_on.set()
        self.http.shutdown()
        self.http.server_close()


scratch = key = modules = None  # what all tests share; set_up() makes it


def set_up():
    """For setUpModule()."""
    global scratch, key, modules
    missing = [program for program in ("gpg", "zstd", "lz4", "dpkg-deb", "setpriv", "/sbin/depmod")
               if not shutil.which(program)]
    if missing:
        raise AssertionError(f"{', '.join(missing)} not installed; run scripts/setup --vm")
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="ringside-kernels-"))
    unittest.addModuleCleanup(shutil.rmtree, scratch)
    key = make_key(scratch / "key")
    unittest.addModuleCleanup(end_agent, key)
    (scratch / "modules").mkdir()
    modules = make_modules(scratch / "modules")


class ArchiveTest(unittest.TestCase):
    """A server, an archive, an empty cache, and the environment that says so."""

    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp(dir=scratch))
        self.archive = Archive(self.root / "archive", key, modules)
        self.archive.root.mkdir()
        self.server = Server(self.archive.root)
        self.addCleanup(self.server.close)
        self.cache = self.root / "cache"
        self.said = []
        environment = {"RINGSIDE_DEBIAN_MIRROR": self.server.address, "RINGSIDE_DEBIAN_SUITES": "new",
                       "RINGSIDE_DEBIAN_KEYRING": str(key / "keyring.gpg"), "RINGSIDE_CACHE": str(self.cache)}
        patch = mock.patch.dict(os.environ, environment)
        patch.start()
        self.addCleanup(patch.stop)

    def fill(self, *releases):
        """Kernels in suite `new`, of the version that the release begins with."""
        for release in releases or ("6.1.0-9-amd64",):
            self.archive.add("new", release.replace("amd64", ARCHITECTURE), f"{release.split('-')[0]}-1")
        self.archive.publish("new")

    def resolve(self, spec, **options):
        def progress(text, *_bytes):
            if not _bytes:
                self.said.append(text)
        return kernels.resolve(spec, cache_dir=self.cache, progress=progress, **options)

    def error(self, spec, **options):
        """The one line that a name ends in."""
        with self.assertRaises(KernelError) as caught:
            self.resolve(spec, **options)
        self.assertNotIn("\n", str(caught.exception))
        return str(caught.exception)

    def start(self, spec):
        """resolve() in a process of its own."""
        child = subprocess.Popen([sys.executable, "-B", "-c", RESOLVE, spec], cwd=SCRIPTS, text=True,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
        self.addCleanup(child.communicate)
        self.addCleanup(child.kill)
        return child

    def age_everything(self, seconds):
        """Makes the index, and with it every name, older."""
        for file in (self.cache / "kernels").glob("**/*.json"):
            if file.parent.name in ("kernels", "names"):
                value = json.loads(file.read_text())
                for field in {"looked_up", "tried"} & value.keys():
                    value[field] -= seconds
                file.write_text(json.dumps(value))

    def entries(self):
        return sorted(path.name for path in (self.cache / "kernels/entries").glob("*"))

    def leftovers(self):
        """What interrupted work would leave behind."""
        return [path for name in ("making", "downloads") for path in (self.cache / "kernels" / name).glob("*")]
