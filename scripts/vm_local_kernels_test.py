#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of vmlib.kernels with kernels of the user's own, made up: files, unpacked packages, build trees."""

import unittest

import vm_kernels_fixture as fixture
from vmlib import unpack
from vmlib.errors import KernelError


def setUpModule():
    fixture.set_up()


class PackingTest(unittest.TestCase):
    def test_each_way_of_packing_gives_the_same_kernel(self):
        for packing in fixture.PACKINGS:
            with self.subTest(packing):
                kernel = fixture.elf_kernel("6.1.0")
                self.assertEqual(unpack.bzimage_payload(fixture.bzimage("6.1.0", kernel, packing), "x"), kernel)

    def test_a_damaged_payload_is_one_line(self):
        for packing in ("gzip", "xz", "lzma", "bzip2", "zstd", "lz4"):
            with self.subTest(packing):
                image = bytearray(fixture.bzimage("6.1.0", packing=packing))
                image[2632:2732] = b"\xff" * 100  # eight bytes into the payload, past its magic
                with self.assertRaisesRegex(KernelError, r"^unpack x: [^\n]*damaged$"):
                    unpack.bzimage_payload(bytes(image), "x")

    def test_a_kernel_of_another_size_than_its_image_says_is_damaged(self):
        image = bytearray(fixture.bzimage("6.1.0", packing="xz"))
        image[-4] ^= 1  # the lowest byte of the size that follows the payload
        with self.assertRaisesRegex(KernelError, r"64\d+ bytes come out of it instead of 64\d+; it is damaged"):
            unpack.bzimage_payload(bytes(image), "x")

    def test_a_cut_file_is_said_to_be_cut(self):
        with self.assertRaisesRegex(KernelError, "the file ends inside the kernel"):
            unpack.bzimage_payload(fixture.bzimage("6.1.0")[:-1], "x")

    def test_an_unknown_packing_names_the_known_ones(self):
        image = fixture.bzimage("6.1.0", b"LZOP and more", "nothing")
        with self.assertRaisesRegex(KernelError, r"begins 4c5a4f50\); known are gzip"):
            unpack.bzimage_payload(image, "x")


class LocalTest(fixture.ArchiveTest):
    def setUp(self):
        super().setUp()
        self.tree = self.root / "tree"
        self.release = "6.6.7-mine"

    def put(self, path, content):
        place = self.tree / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
        return place

    def put_modules(self, folder):
        for place, file in fixture.modules.items():
            self.put(f"{folder}/{place}", file.read_bytes())

    def test_a_bzimage_is_unpacked_into_the_cache(self):
        image = self.put("bzImage", fixture.bzimage(self.release))
        kernel = self.resolve(str(image))
        self.assertEqual((kernel.release, kernel.version, kernel.flavour), (self.release, (6, 6, 7), "file"))
        self.assertEqual(kernel.vmlinux.read_bytes(), fixture.elf_kernel(self.release))
        self.assertTrue(kernel.vmlinux.is_relative_to(self.cache))

    def test_an_elf_kernel_is_used_where_it_lies(self):
        image = self.put("vmlinux", fixture.elf_kernel(self.release))
        kernel = self.resolve(str(image))
        self.assertEqual((kernel.vmlinux, kernel.release, kernel.modules), (image, self.release, None))

    def test_modules_near_the_file_are_found_and_ordered_in_the_cache(self):
        image = self.put(f"boot/vmlinuz-{self.release}", fixture.bzimage(self.release))
        self.put_modules(f"lib/modules/{self.release}")
        kernel = self.resolve(str(image))
        self.assertIn(fixture.NEEDED, (kernel.modules / "modules.dep").read_text())
        self.assertFalse((self.tree / "lib/modules" / self.release / "modules.dep").exists())

    def test_modules_that_have_their_order_are_used_where_they_lie(self):
        image = self.put(f"boot/vmlinuz-{self.release}", fixture.bzimage(self.release))
        self.put_modules(f"lib/modules/{self.release}")
        self.put(f"lib/modules/{self.release}/modules.dep", b"")
        self.assertEqual(self.resolve(str(image)).modules, self.tree / "lib/modules" / self.release)

    def test_an_unpacked_package_is_a_kernel(self):
        self.put(f"boot/vmlinuz-{self.release}", fixture.bzimage(self.release))
        self.put(f"boot/config-{self.release}", b"CONFIG_BPF=y\n")
        self.put_modules(f"usr/lib/modules/{self.release}")
        kernel = self.resolve(str(self.tree))
        self.assertEqual((kernel.release, kernel.config.name), (self.release, f"config-{self.release}"))
        self.assertTrue((kernel.modules / fixture.USED).is_file())

    def test_a_build_tree_is_a_kernel(self):
        self.put("include/config/kernel.release", f"{self.release}\n".encode())
        self.put("arch/x86/boot/bzImage", fixture.bzimage(self.release))
        self.put(".config", b"CONFIG_BPF=y\n")
        self.put("modules.order", b"fs/used.o\ndrivers/video/needed.o\n")
        for place, file in fixture.modules.items():
            self.put(place.removeprefix("kernel/"), file.read_bytes())
        kernel = self.resolve(str(self.tree))
        self.assertEqual((kernel.release, kernel.config.name), (self.release, ".config"))
        self.assertEqual((kernel.modules / "modules.dep").read_text().splitlines()[0],
                         f"{fixture.USED}: {fixture.NEEDED}")

    def test_an_unbuilt_tree_is_told_to_be_built(self):
        self.put("include/config/kernel.release", b"6.6.7\n")
        self.assertIn("build it first", self.error(str(self.tree)))

    def test_two_kernels_in_one_directory_are_named(self):
        for release in ("6.6.7-mine", "6.6.8-mine"):
            self.put(f"boot/vmlinuz-{release}", fixture.bzimage(release))
        self.assertRegex(self.error(str(self.tree)), "name one file: .*vmlinuz-6.6.7-mine, .*vmlinuz-6.6.8-mine")

    def test_a_rebuilt_module_changes_the_digest(self):
        image = self.put(f"boot/vmlinuz-{self.release}", fixture.bzimage(self.release))
        self.put_modules(f"lib/modules/{self.release}")
        before = self.resolve(str(image)).digest
        self.put(f"lib/modules/{self.release}/{fixture.UNWANTED}", fixture.modules[fixture.USED].read_bytes())
        self.assertNotEqual(self.resolve(str(image)).digest, before)

    def test_what_is_no_kernel_is_told(self):
        self.assertIn("neither an x86 bzImage nor an ELF kernel", self.error(str(self.put("x", b"text"))))

    def test_a_path_that_is_not_there_is_told(self):
        self.assertIn("there is no such file or directory", self.error(str(self.tree / "nothing")))

    def test_a_directory_without_a_kernel_is_told(self):
        self.put("x", b"")
        self.assertIn("neither a kernel build tree nor an unpacked package", self.error(str(self.tree)))


if __name__ == "__main__":
    unittest.main()
