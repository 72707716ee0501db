#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Source packages are had whole or not at all: scripts/debian_source against a made-up archive, signed by a key of the
test's own."""

import hashlib
import os
import pathlib
import subprocess
import unittest

import vm_kernels_fixture as fixture
from vmlib import sources
from vmlib.errors import KernelError

DEBIAN_SOURCE = fixture.SCRIPTS / "debian_source"
CONTROL = """Source: thing
Maintainer: Nobody <nobody@nowhere>
Standards-Version: 4.6.1

Package: thing
Architecture: all
Description: a made-up source
"""
CHANGELOG = """thing (1.0) new; urgency=low

  * Made up.

 -- Nobody <nobody@nowhere>  Thu, 01 Jan 2026 00:00:00 +0000
"""
FILES = {"debian/control": CONTROL, "debian/changelog": CHANGELOG, "debian/source/format": "3.0 (native)\n",
         "src/thing.c": "int thing;\n"}


def setUpModule():
    fixture.set_up()


class SourcesTest(fixture.ArchiveTest):
    def setUp(self):
        super().setUp()
        self.fill()

    def fill(self):
        """One source package in suite `new`."""
        pool = self.archive.root / "pool"
        for path, content in FILES.items():
            file = pool / "thing-1.0" / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(content)
        fixture.run("dpkg-source", "--build", "thing-1.0", cwd=pool)
        package = sorted(pool.glob("thing_1.0*"))
        sums = "".join(f" {hashlib.sha256(file.read_bytes()).hexdigest()} {file.stat().st_size} {file.name}\n"
                       for file in package)
        self.publish(f"Package: thing\nBinary: thing\nVersion: 1.0\nArchitecture: all\nFormat: 3.0 (native)\n"
                     f"Directory: pool\nChecksums-Sha256:\n{sums}")
        self.tarball, = pool.glob("thing_1.0.tar.*")

    def publish(self, index):
        folder = self.archive.root / "dists/new"
        file = folder / "main/source/Sources"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(index)
        release = ("Origin: Ringside\nSuite: new\nCodename: new\nDate: Thu, 01 Jan 2026 00:00:00 UTC\n"
                   f"Architectures: {fixture.ARCHITECTURE}\nComponents: main\nSHA256:\n"
                   f" {hashlib.sha256(file.read_bytes()).hexdigest()} {file.stat().st_size} main/source/Sources\n")
        signed = fixture.gpg(self.archive.key, "--clearsign", input=release.encode()).stdout
        (folder / "InRelease").write_bytes(signed)

    def have(self, **options):
        return pathlib.Path(sources.resolve("thing", cache_dir=self.cache, suite="new",
                                            progress=lambda text, *more: more or self.said.append(text), **options))

    def fault(self, **options):
        with self.assertRaises(KernelError) as caught:
            self.have(**options)
        self.assertEqual(str(caught.exception).count("\n"), 0)
        return caught.exception

    def test_a_package_is_unpacked_as_it_is(self):
        tree = self.have()
        self.assertEqual({str(file.relative_to(tree)) for file in tree.rglob("*") if file.is_file()}, set(FILES))
        self.assertEqual((tree / "src/thing.c").read_text(), FILES["src/thing.c"])

    def test_the_second_time_nobody_is_asked(self):
        self.have()
        self.server.requests.clear()
        self.have()
        self.have(offline=True)
        self.assertEqual(self.server.requests, [])

    def test_a_source_that_was_changed_is_had_again(self):
        tree = self.have()
        (tree / "src/thing.c").write_text("int thinG;\n")
        self.assertEqual((self.have() / "src/thing.c").read_text(), FILES["src/thing.c"])
        self.assertIn("is damaged: src/thing.c", self.said[0].replace("tree/", ""))

    def test_other_bytes_than_the_index_says_are_refused(self):
        data = bytearray(self.tarball.read_bytes())
        data[len(data) // 2] ^= 1
        self.tarball.write_bytes(data)
        self.assertNotIsInstance(self.fault(), sources.Unavailable)
        self.assertFalse((self.cache / "sources/entries").exists() and os.listdir(self.cache / "sources/entries"))

    def test_an_index_that_another_key_signed_is_refused(self):
        other = fixture.make_key(self.root / "other")
        self.addCleanup(fixture.end_agent, other)
        self.archive.key = other
        self.fill()
        self.assertIn("GPG error", str(self.fault()))

    def test_without_an_archive_to_ask_it_is_said_to_be_unavailable(self):
        self.server.close()
        self.assertIsInstance(self.fault(), sources.Unavailable)
        self.assertIsInstance(self.fault(offline=True), sources.Unavailable)

    def test_the_command_tells_a_fault_from_a_machine_without_an_archive(self):
        def command(package):
            done = subprocess.run([DEBIAN_SOURCE, package, "--suite", "new"], capture_output=True, text=True,
                                  check=False)
            return done.returncode, done.stdout.strip()
        self.assertEqual(command("no-such-thing"), (1, ""))
        self.assertEqual(command("thing"), (0, str(self.cache / "sources/entries/thing_new/tree")))
        self.server.close()
        self.assertEqual(command("other"), (77, ""))


if __name__ == "__main__":
    unittest.main()
