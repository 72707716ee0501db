#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of vmlib.kernels, against a tiny archive of made-up kernels on this machine: no network, nothing installed."""

import itertools
import json
import os
import signal
import subprocess
import sys
import unittest
from unittest import mock

import vm_kernels_fixture as fixture
from vm_kernels_fixture import RESOLVE, SCRIPTS, ArchiveTest
from vmlib import apt, kernels, names

DAY_SECONDS = 24 * 3600


def setUpModule():
    fixture.set_up()


class NamesTest(ArchiveTest):
    def setUp(self):
        super().setUp()
        self.fill("6.1.9-amd64", "6.1.10-amd64", "6.1.10-rt-amd64", "6.12.3-amd64", "6.12.3-cloud-amd64", "7.0.1-amd64")

    def release(self, spec):
        return self.resolve(spec).release.replace(fixture.ARCHITECTURE, "amd64")

    def test_a_series_is_its_newest_patch_level(self):
        self.assertEqual(self.release("6.1"), "6.1.10-amd64")

    def test_a_patch_level_is_itself(self):
        self.assertEqual(self.release("6.1.9"), "6.1.9-amd64")

    def test_a_flavour_is_asked_for_by_its_name(self):
        self.assertEqual(self.release("6.1-rt"), "6.1.10-rt-amd64")

    def test_a_release_is_itself(self):
        self.assertEqual(self.release(f"6.1.9-{fixture.ARCHITECTURE}"), "6.1.9-amd64")

    def test_newest_is_the_highest_version_of_all_series(self):
        self.assertEqual(self.release("newest"), "7.0.1-amd64")

    def test_the_newest_of_a_flavour_is_of_that_flavour(self):
        self.assertEqual(self.release("newest-cloud"), "6.12.3-cloud-amd64")

    def test_an_unknown_series_names_the_nearest_and_all(self):
        self.assertEqual(self.error("6.11"), "no kernel '6.11'; the nearest is 6.12; "
                                             "there are 6.1, 6.1-rt, 6.12, 6.12-cloud, 7.0, newest")

    def test_a_name_that_is_none_names_the_nearest(self):
        self.assertIn("no kernel '6.1-realtime'; the nearest is 6.1-rt;", self.error("6.1-realtime"))

    def test_a_name_cannot_leave_the_folder_of_names(self):
        self.assertIn("no kernel '6.1-..'", self.error("6.1-.."))

    def test_the_kernel_tells_release_version_and_flavour(self):
        kernel = self.resolve("6.1-rt")
        self.assertEqual((kernel.name, kernel.version, kernel.flavour), ("6.1-rt", (6, 1, 10), "rt"))

    def test_versions_are_ordered_as_dpkg_orders_them(self):
        versions = ["6.1.192-3", "6.1.192-10", "6.1.180-1~deb11u1", "6.12.90-1~deb12u1", "6.12.90-1",
                    "6.12.90-2~bpo12+1", "7.3~rc1-1", "7.3-1", "1:5-1", "6.12", "6.12-0", "6.12a-1", "6.12+b-1",
                    "7.3~~-1", "7.3~-1"]
        for left, right in itertools.combinations(versions, 2):
            lower = subprocess.run(["dpkg", "--compare-versions", left, "lt", right], check=False).returncode == 0
            equal = subprocess.run(["dpkg", "--compare-versions", left, "eq", right], check=False).returncode == 0
            keys = names.order(left), names.order(right)
            self.assertEqual((keys[0] < keys[1], keys[0] == keys[1]), (lower, equal), f"{left} and {right}")


class ContentTest(ArchiveTest):
    def test_the_elf_kernel_is_taken_out_of_the_bzimage(self):
        self.fill("6.1.9-amd64")
        kernel = self.resolve("6.1")
        self.assertEqual(kernel.vmlinux.read_bytes(), fixture.elf_kernel(kernel.release))

    def test_the_configuration_comes_with_it(self):
        self.fill()
        self.assertEqual(self.resolve("6.1").config.read_text(), "CONFIG_BPF=y\n")

    def test_modules_that_no_guest_needs_are_left_out_and_needed_ones_kept(self):
        self.fill()
        kept = sorted(str(path.relative_to(folder)) for folder in [self.resolve("6.1").modules]
                      for path in folder.glob("**/*.ko"))
        self.assertEqual(kept, sorted([fixture.USED, fixture.NEEDED]))

    def test_depmod_has_found_what_a_module_needs(self):
        self.fill()
        self.assertIn(f"{fixture.USED}: {fixture.NEEDED}\n",
                      (self.resolve("6.1").modules / "modules.dep").read_text())

    def test_a_kernel_that_lies_beside_its_modules_is_found(self):
        self.archive.add("new", f"6.1.9-{fixture.ARCHITECTURE}", "6.1.9-1", merged_usr=True)
        self.archive.publish("new")
        self.assertTrue(self.resolve("6.1").vmlinux.is_file())

    def test_the_digest_differs_between_kernels(self):
        self.fill("6.1.9-amd64", "6.1.10-amd64")
        self.assertNotEqual(self.resolve("6.1.9").digest, self.resolve("6.1.10").digest)

    def test_the_digest_of_one_kernel_is_the_same_in_two_caches(self):
        self.fill()
        first = self.resolve("6.1").digest
        self.cache = self.root / "other"
        self.assertEqual(self.resolve("6.1").digest, first)

    def test_packages_do_not_stay(self):
        self.fill()
        self.resolve("6.1")
        self.assertEqual(self.leftovers(), [])


class SplitTest(ArchiveTest):
    def add(self, **options):
        self.archive.add("new", f"6.19.1-{fixture.ARCHITECTURE}", "6.19.1-1", split=True, **options)
        self.archive.publish("new")

    def test_a_kernel_in_three_packages_is_put_together(self):
        self.add()
        kernel = self.resolve("6.19")
        self.assertTrue(kernel.vmlinux.is_file() and kernel.config and kernel.modules)
        self.assertFalse(kernel.enforce_module_signatures)

    def test_modules_that_the_index_lacks_come_from_the_pool_and_are_said_to_be_unverified(self):
        self.add(unlisted=("modules",))
        kernel = self.resolve("6.19")
        self.assertTrue((kernel.modules / fixture.USED).is_file())
        self.assertIn(f"had unverified from its pool: linux-modules-{kernel.release}", self.said[0])

    def test_modules_that_the_index_lacks_are_for_the_kernel_to_check(self):
        self.add(unlisted=("modules",))
        self.resolve("6.19")
        self.assertTrue(self.resolve("6.19").enforce_module_signatures)

    def test_without_its_unlisted_configuration_a_kernel_is_a_kernel(self):
        self.add(unlisted=("base",))
        self.archive.file_of("linux-base-6.19.1-" + fixture.ARCHITECTURE).unlink()
        kernel = self.resolve("6.19")
        self.assertEqual((kernel.config, kernel.enforce_module_signatures), (None, False))
        self.assertIn("goes without its configuration file", self.said[-1])

    def test_a_kernel_whose_modules_are_in_no_pool_gives_way_to_an_older_one(self):
        self.add(unlisted=("modules",))
        self.archive.add("new", f"6.19.0-{fixture.ARCHITECTURE}", "6.19.0-1")
        self.archive.publish("new")
        self.archive.file_of("linux-modules-6.19.1-" + fixture.ARCHITECTURE).unlink()
        self.assertEqual(self.resolve("6.19").version, (6, 19, 0))


class TrustTest(ArchiveTest):
    def test_a_package_with_other_bytes_than_the_index_says_is_refused(self):
        self.fill()
        file = self.archive.file_of("linux-image-6.1.0-9-" + fixture.ARCHITECTURE)
        data = bytearray(file.read_bytes())
        data[-5000] ^= 1
        file.write_bytes(data)
        self.assertIn("it is not what the signed index says", self.error("6.1"))
        self.assertEqual((self.entries(), self.leftovers()), ([], []))

    def test_an_index_that_another_key_signed_is_refused(self):
        stranger = fixture.make_key(self.root / "stranger")
        self.addCleanup(fixture.end_agent, stranger)
        self.fill()
        self.archive.publish("new", stranger)
        self.resolve_nothing_but("NO_PUBKEY")

    def test_an_index_that_was_changed_after_it_was_signed_is_refused(self):
        self.fill()
        with open(self.archive.root / f"dists/new/main/binary-{fixture.ARCHITECTURE}/Packages", "a") as index:
            index.write("\n")
        self.resolve_nothing_but("unexpected size")

    def resolve_nothing_but(self, reason):
        self.assertRegex(self.error("6.1"), f"no list of kernels can be had: read the index of new: .*{reason}")

    def test_the_hosts_apt_is_asked_for_its_mirrors_only(self):
        etc = self.root / "host/etc/apt"
        (etc / "sources.list.d").mkdir(parents=True)
        (etc / "sources.list").write_text("deb http://mirror.example/debian/ bookworm main contrib\n"
                                          "deb http://mirror.example/safe bookworm-security main\n"
                                          "deb http://shop.example/apt nodistro main\n")
        (self.root / "host/apt.conf").write_text(f'Dir "{self.root}/host"; Dir::Etc "etc/apt";\n'
                                                 'Acquire::http::Proxy "http://proxy.example:3128";\n'
                                                 'APT::Install-Recommends "false";\n')
        with mock.patch.dict(os.environ, {"APT_CONFIG": str(self.root / "host/apt.conf")}):
            self.assertEqual(apt.mirrors_of_host(), ("http://mirror.example/debian", "http://mirror.example/safe"))
            borrowed = apt.borrowed_settings()
        self.assertIn('Acquire::http::Proxy "http://proxy.example:3128";', borrowed)
        self.assertFalse([line for line in borrowed if "Recommends" in line])

    def test_a_host_without_a_debian_mirror_is_told_how_to_name_one(self):
        (self.root / "sources.list").write_text("deb http://mirror.example/ubuntu noble main\n")
        (self.root / "apt.conf").write_text(f'Dir::Etc "{self.root}"; Dir::Etc::sourceparts "-";\n')
        with mock.patch.dict(os.environ, {"APT_CONFIG": str(self.root / "apt.conf")}):
            del os.environ["RINGSIDE_DEBIAN_MIRROR"]
            self.assertIn("name one in RINGSIDE_DEBIAN_MIRROR", self.error("6.1"))

    def test_a_missing_keyring_is_told(self):
        with mock.patch.dict(os.environ, {"RINGSIDE_DEBIAN_KEYRING": "/nowhere/keyring.gpg"}):
            self.assertIn("no keyring /nowhere/keyring.gpg", self.error("6.1"))


class CacheTest(ArchiveTest):
    def setUp(self):
        super().setUp()
        self.fill("6.1.9-amd64")

    def test_a_second_look_within_a_day_asks_nobody(self):
        self.resolve("6.1")
        self.server.requests.clear()
        self.assertEqual(self.resolve("6.1").version, (6, 1, 9))
        self.assertEqual(self.server.requests, [])

    def test_the_newest_of_all_suites_is_taken(self):
        self.archive.add("other", f"6.1.10-{fixture.ARCHITECTURE}", "6.1.10-1")
        self.archive.publish("other")
        with mock.patch.dict(os.environ, {"RINGSIDE_DEBIAN_SUITES": "other new"}):
            self.assertEqual(self.resolve("6.1").version, (6, 1, 10))

    def test_a_suite_that_is_not_there_does_not_spoil_the_others(self):
        with mock.patch.dict(os.environ, {"RINGSIDE_DEBIAN_SUITES": "gone new"}):
            self.assertEqual(self.resolve("6.1").version, (6, 1, 9))
        self.assertIn("suite gone left out: read the index of gone: ", self.said[0])

    def test_a_cached_kernel_is_found_without_the_code_that_fetches(self):
        self.resolve("6.1")
        code = RESOLVE + "print(sorted({'subprocess', 'vmlib.apt', 'vmlib.fetch', 'vmlib.unpack'} & set(sys.modules)))"
        ran = subprocess.run([sys.executable, "-B", "-c", code, "6.1"], cwd=SCRIPTS, text=True, capture_output=True,
                             check=True)
        self.assertEqual(ran.stdout.splitlines()[1], "[]")

    def test_after_a_day_the_name_is_looked_up_again(self):
        self.resolve("6.1")
        self.fill("6.1.10-amd64")
        self.assertEqual(self.resolve("6.1").version, (6, 1, 9))
        self.age_everything(DAY_SECONDS + 1)
        self.assertEqual(self.resolve("6.1").version, (6, 1, 10))

    def test_update_looks_the_name_up_at_once(self):
        self.resolve("6.1")
        self.fill("6.1.10-amd64")
        self.assertEqual(self.resolve("6.1", update=True).version, (6, 1, 10))

    def test_without_a_network_the_older_list_is_used_and_said_to_be_old(self):
        self.resolve("6.1")
        self.age_everything(DAY_SECONDS + 1)
        self.server.close()
        self.assertEqual(self.resolve("6.1").version, (6, 1, 9))
        self.assertRegex(" ".join(self.said), "suite new: .*; what it listed before is used")

    def test_without_a_network_and_a_list_one_line_says_so(self):
        self.server.close()
        self.assertIn("no list of kernels can be had: read the index of new: ", self.error("6.1"))

    def test_offline_takes_the_newest_that_is_cached_however_old(self):
        self.resolve("6.1")
        self.age_everything(90 * DAY_SECONDS)
        self.server.requests.clear()
        self.assertEqual(self.resolve("newest", offline=True).version, (6, 1, 9))
        self.assertEqual(self.server.requests, [])

    def test_offline_an_uncached_name_is_told_what_is_cached(self):
        self.resolve("6.1")
        self.assertEqual(self.error("6.12", offline=True),
                         "no kernel '6.12' in the cache, and offline nothing can be had; cached are 6.1")

    def test_a_listed_package_that_is_gone_gives_way_to_the_next_older_one(self):
        self.fill("6.1.10-amd64")
        self.archive.file_of("linux-image-6.1.10-" + fixture.ARCHITECTURE).unlink()
        self.assertEqual(self.resolve("6.1").version, (6, 1, 9))
        self.assertIn("the archive no longer holds it; the next older one is 6.1.9-", self.said[0])

    def test_a_package_that_is_gone_is_not_asked_for_twice(self):
        self.fill("6.1.10-amd64")
        self.archive.file_of("linux-image-6.1.10-" + fixture.ARCHITECTURE).unlink()
        self.resolve("6.1")
        self.resolve("newest")
        self.assertEqual(self.server.asked_for("linux-image-6.1.10-"), [0])

    def test_a_package_that_is_gone_and_has_no_older_one_is_told(self):
        self.archive.file_of("linux-image-6.1.9-" + fixture.ARCHITECTURE).unlink()
        self.assertIn("the archive no longer holds it", self.error("6.1"))


    def test_a_cache_that_cannot_be_written_to_is_one_line(self):
        self.cache.parent.mkdir(exist_ok=True)
        self.cache.write_text("")
        self.assertEqual(self.error("6.1"), f"keep kernels in {self.cache}/kernels: Not a directory; "
                                            "give it room, or name another place in RINGSIDE_CACHE")


class DamageTest(ArchiveTest):
    def setUp(self):
        super().setUp()
        self.fill()
        self.kernel = self.resolve("6.1")
        self.server.requests.clear()

    def assert_had_again(self, said):
        again = self.resolve("6.1")
        self.assertEqual(again.digest, self.kernel.digest)
        self.assertEqual(again.vmlinux.read_bytes(), fixture.elf_kernel(again.release))
        self.assertIn(said, self.said[0])
        self.assertEqual(len(self.server.asked_for("linux-image")), 1)

    def flip(self, path, keep_times=False):
        status = path.stat()
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 1
        path.write_bytes(data)
        if keep_times:
            os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))

    def test_a_flipped_bit_of_the_kernel_is_noticed(self):
        self.flip(self.kernel.vmlinux)
        self.assert_had_again("vmlinux has other content than it had")

    def test_a_flipped_bit_is_noticed_though_the_time_was_set_back(self):
        self.flip(self.kernel.vmlinux, keep_times=True)
        self.assert_had_again("vmlinux has other content than it had")

    def test_once_a_day_the_kernel_is_hashed_whatever_its_times_say(self):
        self.flip(self.kernel.vmlinux)
        stamps = self.kernel.vmlinux.parent / "stamps.json"
        value = json.loads(stamps.read_text())
        status = self.kernel.vmlinux.stat()
        value["files"]["vmlinux"] = [status.st_mtime_ns, status.st_ctime_ns]
        value["hashed"] -= DAY_SECONDS + 1
        stamps.write_text(json.dumps(value))
        self.assert_had_again("vmlinux has other content than it had")

    def test_a_flipped_bit_of_a_module_is_noticed(self):
        self.flip(self.kernel.modules / fixture.USED)
        self.assert_had_again("used.ko has other content than it had")

    def test_a_cut_module_is_noticed(self):
        os.truncate(self.kernel.modules / fixture.USED, 10)
        self.assert_had_again("used.ko has 10 bytes instead of")

    def test_a_missing_module_is_noticed(self):
        (self.kernel.modules / fixture.NEEDED).unlink()
        self.assert_had_again("needed.ko is missing")

    def test_an_unreadable_manifest_is_noticed(self):
        (self.kernel.vmlinux.parent / "manifest.json").write_text("{")
        self.assert_had_again("its manifest cannot be read")

    def test_an_untouched_kernel_with_new_times_is_not_had_again(self):
        os.utime(self.kernel.vmlinux)
        self.resolve("6.1")
        self.assertEqual((self.said, self.server.requests), ([], []))

    def test_a_kernel_with_new_times_is_hashed_only_once(self):
        os.utime(self.kernel.vmlinux)
        self.resolve("6.1")
        with mock.patch("vmlib.cache.hash_file", side_effect=AssertionError("hashed again")):
            self.resolve("6.1")

    def test_offline_a_damaged_kernel_is_told_and_not_used(self):
        self.flip(self.kernel.vmlinux)
        self.assertIn("no kernel '6.1' in the cache", self.error("6.1", offline=True))
        self.assertIn("is damaged", self.said[0])


class InterruptedTest(ArchiveTest):
    def setUp(self):
        super().setUp()
        self.fill()

    def stalled_child(self):
        """A process that has half of a package."""
        self.server.stall_at = "linux-image"
        child = self.start("6.1")
        self.assertTrue(self.server.stalled.acquire(timeout=60))
        return child

    def assert_next_run_succeeds(self):
        self.server.stall_at = None
        self.assertEqual(self.entries(), [])
        self.assertEqual(self.resolve("6.1").version, (6, 1, 0))
        self.assertEqual(self.leftovers(), [])

    def end_by(self, number):
        child = self.stalled_child()
        os.kill(child.pid, number)
        child.communicate()
        return child

    def test_a_run_killed_in_a_download_leaves_no_entry_and_the_next_succeeds(self):
        self.end_by(signal.SIGKILL)
        self.assert_next_run_succeeds()

    def test_a_run_interrupted_in_a_download_leaves_no_entry_and_the_next_succeeds(self):
        self.end_by(signal.SIGINT)
        self.assert_next_run_succeeds()

    def test_apt_does_not_outlive_a_killed_run(self):
        self.end_by(signal.SIGKILL)
        self.assertTrue(self.server.left.acquire(timeout=60))

    def test_a_download_is_resumed_where_it_ended(self):
        self.end_by(signal.SIGINT)
        self.server.requests.clear()
        self.assert_next_run_succeeds()
        size = self.archive.file_of("linux-image-6.1.0-9-" + fixture.ARCHITECTURE).stat().st_size
        first, = self.server.asked_for("linux-image")
        self.assertGreaterEqual(first, size // 2)

    def test_a_connection_that_breaks_is_one_line_and_the_next_run_succeeds(self):
        self.server.cut_at = "linux-image"
        self.assertIn("download linux-image-6.1.0-9", self.error("6.1"))
        self.server.cut_at = None
        self.assert_next_run_succeeds()

    def kill_while_it_unpacks(self):
        """Ends a run that waits for a depmod which does not end."""
        ready = self.root / "ready"
        os.mkfifo(ready)
        programs = self.root / "programs"
        programs.mkdir()
        (programs / "depmod").write_text(f"#!/bin/sh\necho here > '{ready}'\nexec cat '{ready}'\n")
        (programs / "depmod").chmod(0o755)
        with mock.patch.dict(os.environ, {"PATH": f"{programs}:{os.environ['PATH']}"}):
            child = self.start("6.1")
        self.assertEqual(ready.read_text(), "here\n")
        os.killpg(child.pid, signal.SIGKILL)
        child.communicate()

    def test_a_run_killed_while_it_unpacks_leaves_nothing_that_stays(self):
        self.kill_while_it_unpacks()
        self.assertNotEqual(self.leftovers(), [])
        self.assert_next_run_succeeds()

    def test_a_package_that_is_there_whole_is_not_downloaded_again(self):
        self.kill_while_it_unpacks()
        self.assert_next_run_succeeds()
        self.assertEqual(self.server.asked_for("linux-image"), [0])

    def test_a_package_that_is_there_damaged_is_downloaded_again(self):
        self.kill_while_it_unpacks()
        package, = (self.cache / "kernels/downloads").glob("*.deb")
        package.write_bytes(bytes(package.stat().st_size))
        self.assert_next_run_succeeds()

    def test_a_part_of_a_package_that_is_damaged_is_downloaded_again(self):
        self.end_by(signal.SIGINT)
        package, = (self.cache / "kernels/downloads").glob("*.deb")
        package.write_bytes(bytes(package.stat().st_size))
        self.assert_next_run_succeeds()
        self.assertIn("that was there is damaged; downloading it from its start", self.said[0])

    def test_of_an_unlisted_package_no_part_is_used(self):
        self.archive.add("new", f"6.19.1-{fixture.ARCHITECTURE}", "6.19.1-1", split=True, unlisted=("modules",))
        self.archive.publish("new")
        self.server.stall_at = "linux-modules"
        child = self.start("6.19")
        self.assertTrue(self.server.stalled.acquire(timeout=60))
        os.kill(child.pid, signal.SIGINT)
        child.communicate()
        self.server.stall_at = None
        self.resolve("6.19")
        self.assertEqual(self.server.asked_for("linux-modules"), [0, 0])


class TogetherTest(ArchiveTest):
    def test_two_runs_that_want_the_same_kernel_download_it_once(self):
        self.fill()
        self.server.stall_at = "linux-image"
        first = self.start("6.1")
        self.assertTrue(self.server.stalled.acquire(timeout=60))
        second = self.start("6.1")
        self.assertIn("waiting for another run that fetches 6.1.0-9", second.stderr.readline())
        self.server.go_on.set()
        outputs = [first.communicate()[0], second.communicate()[0]]
        self.assertEqual(outputs, [f"6.1.0-9-{fixture.ARCHITECTURE}\n"] * 2)
        self.assertEqual(self.server.asked_for("linux-image"), [0])

    def test_two_runs_that_want_different_kernels_do_not_wait(self):
        self.fill("6.1.9-amd64", "6.12.3-amd64")
        self.server.stall_at = "linux-image-6.1.9"
        self.start("6.1")
        self.assertTrue(self.server.stalled.acquire(timeout=60))
        self.assertEqual(self.resolve("6.12").version, (6, 12, 3))
        self.assertEqual(self.said, [])


class PruneTest(ArchiveTest):
    def setUp(self):
        super().setUp()
        self.fill("6.1.9-amd64", "6.12.3-amd64", "7.0.1-amd64")

    def fetch_elsewhere(self, *specs):
        """Fetches in processes that have ended, the last one used last."""
        for number, spec in enumerate(specs):
            child = self.start(spec)
            entry = f"{child.communicate()[0].strip()}_*"
            for lock in (self.cache / "kernels/locks").glob(f"{entry}.use"):
                os.utime(lock, (1000 + number, 1000 + number))

    def test_the_last_used_are_kept(self):
        self.fetch_elsewhere("6.12", "7.0", "6.1")
        removed = kernels.prune(self.cache, 2)
        self.assertEqual([entry for entry, _, _ in removed], [f"6.12.3-{fixture.ARCHITECTURE}_6.12.3-1"])
        self.assertEqual(len(self.entries()), 2)

    def test_what_a_running_process_uses_is_kept(self):
        self.fetch_elsewhere("6.12")
        self.resolve("6.1")
        kernels.prune(self.cache, 0)
        self.assertEqual(self.entries(), [f"6.1.9-{fixture.ARCHITECTURE}_6.1.9-1"])

    def test_a_pruned_kernel_is_had_again(self):
        self.fetch_elsewhere("6.12")
        kernels.prune(self.cache, 0)
        self.assertEqual(self.resolve("6.12").version, (6, 12, 3))

    def test_it_tells_digest_and_size_of_what_it_removed(self):
        self.fetch_elsewhere("6.12")
        manifest = json.loads((self.cache / "kernels/entries" / self.entries()[0] / "manifest.json").read_text())
        (_, digest, size), = kernels.prune(self.cache, 0)
        self.assertEqual(digest, manifest["digest"])
        self.assertGreater(size, fixture.ELF_BYTES)


class ListingTest(ArchiveTest):
    def rows(self, **options):
        return [(row.name, row.cached) for row in kernels.listing(self.cache, **options)]

    def test_it_names_what_is_cached_and_what_can_be_had(self):
        self.fill("6.1.9-amd64", "6.1.9-rt-amd64", "6.12.3-amd64")
        self.resolve("6.1")
        self.assertEqual(self.rows(), [("6.1", True), ("6.1-rt", False), ("6.12", False)])

    def test_a_cached_kernel_that_its_name_has_left_behind_is_named_by_its_release(self):
        self.fill("6.1.9-amd64", "6.1.10-amd64")
        self.resolve("6.1.9")
        self.assertEqual(self.rows(), [(f"6.1.9-{fixture.ARCHITECTURE}", True), ("6.1", False)])

    def test_a_name_is_shown_at_the_kernel_that_it_was_resolved_to(self):
        self.fill("6.1.9-amd64", "6.1.10-amd64")
        self.archive.file_of("linux-image-6.1.10-" + fixture.ARCHITECTURE).unlink()
        self.resolve("6.1")
        kernels.listing(self.cache, update=True)  # forgets that 6.1.10 is gone
        self.assertEqual(self.rows(), [("6.1", True), (f"6.1.10-{fixture.ARCHITECTURE}", False)])

    def test_offline_it_names_what_is_cached(self):
        self.fill()
        self.resolve("6.1")
        (self.cache / "kernels/index.json").unlink()
        self.server.close()
        self.assertEqual([cached for _, cached in self.rows(offline=True)], [True])


if __name__ == "__main__":
    unittest.main()
