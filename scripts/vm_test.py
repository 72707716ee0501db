#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/vm through its command line, with real guests: the command sees and does what it would on the host."""

import hashlib
import os
import pathlib
import random
import shutil
import signal
import subprocess
import time
import unittest

import vm_case
from vm_case import SCRIPTS, STUCK_S, VmTestCase, setUpModule  # unittest calls the last

PRINT_ARGUMENTS = "import os, sys; os.write(1, b'|'.join(map(os.fsencode, sys.argv[1:])))"


class CommandTest(VmTestCase):
    """The command sees what it would see on the host."""

    def test_exit_statuses_are_the_commands(self):
        for status in (0, 1, 77, 255):
            with self.subTest(status):
                self.assertEqual(self.vm("sh", "-c", f"exit {status}")[0], status)

    def test_a_command_that_a_signal_killed_ends_as_in_a_shell_and_is_told(self):
        status, _, errors = self.vm("sh", "-c", "kill -TERM $$")
        self.assertEqual(status, 128 + 15)
        self.assertIn("scripts/vm: the command was killed by signal 15 (SIGTERM)", errors.decode())

    def test_the_reserved_status_of_a_command_itself_is_told_apart(self):
        status, _, errors = self.vm("sh", "-c", "exit 125")
        self.assertEqual(status, 125)
        self.assertIn("scripts/vm: the command itself ended with status 125", errors.decode())

    def test_a_command_that_is_not_there_ends_as_in_a_shell(self):
        status, _, errors = self.vm("no-such-command")
        self.assertEqual(status, 127)
        self.assertIn("no-such-command: No such file or directory", errors.decode())
        self.assertEqual(self.vm("/etc/passwd")[0], 126)

    def test_arguments_arrive_byte_for_byte(self):
        # The longest that Linux takes is 128 KiB with its end.
        arguments = ["x" * 131071, "", "two words", "line\nfeed", "'\"`$(echo no)", "*", "ä", "\udcff", "-x", "--"]
        status, output, _ = self.vm("python3", "-c", PRINT_ARGUMENTS, *arguments)
        self.assertEqual((status, output), (0, b"|".join(map(os.fsencode, arguments))))

    def test_the_environment_arrives_without_what_is_the_hosts_or_the_runners(self):
        told = {"PLAIN": "1", "ODD": "a=b\nc 'd' ä", "EMPTY": "", "TMPDIR": "/nowhere", "RINGSIDE_VM_SMP": "1"}
        output = self.out("env -0", environment=told)
        seen = dict(entry.split("=", 1) for entry in output.split("\0") if entry)
        self.assertEqual({name: seen.get(name) for name in told},
                         {"PLAIN": "1", "ODD": told["ODD"], "EMPTY": "", "TMPDIR": None, "RINGSIDE_VM_SMP": None})

    def test_the_directory_is_the_same_even_where_the_guest_has_a_fresh_one(self):
        (self.scratch / "file").write_text("here", encoding="utf-8")
        self.assertEqual(self.out("pwd; cat file", cwd=self.scratch), f"{self.scratch}\nhere")
        self.assertEqual(self.out("pwd", cwd="/usr/share"), "/usr/share\n")

    def test_the_program_is_seen_even_below_a_fresh_directory(self):
        program = self.scratch / "program"
        program.write_text("#!/bin/sh\necho ran\n", encoding="utf-8")
        program.chmod(0o755)
        self.assertEqual(self.vm(str(program))[1], b"ran\n")

    def test_the_umask_and_the_limits_are_the_runners_and_locking_memory_is_free(self):
        output = self.out("umask; ulimit -n; ulimit -l", preexec_fn=lambda: os.umask(0o027))
        files = subprocess.run(["sh", "-c", "ulimit -n"], capture_output=True, text=True, check=True).stdout
        self.assertEqual(output, f"0027\n{files}unlimited\n")

    @unittest.skipIf(os.geteuid() != 0, "needs root: it becomes another user")
    def test_the_user_is_the_one_who_runs_it(self):
        # A cache that this user can reach: root's is closed to others.
        entry = pathlib.Path(self.kernel_folder())
        shutil.copytree(entry, self.scratch / "kernel", symlinks=True)
        for folder, _, names in os.walk(self.scratch):
            for path in [folder, *(os.path.join(folder, name) for name in names)]:
                os.chown(path, 65534, 65534)
        become = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
        scripts = self.scratch / "scripts"
        shutil.copytree(SCRIPTS, scripts, ignore=shutil.ignore_patterns("__pycache__"))
        run = subprocess.run([*become, scripts / "vm", "--kernel", self.scratch / "kernel", "--", "id"], cwd="/",
                             stdin=subprocess.DEVNULL, capture_output=True, timeout=STUCK_S, check=False,
                             env=self.environment | {"RINGSIDE_CACHE": str(self.scratch / "cache")})
        self.assertEqual((run.returncode, run.stdout.decode()),
                         (0, "uid=65534(nobody) gid=65534(nogroup) groups=65534(nogroup)\n"), run.stderr)

    def test_another_user_of_the_guest_can_be_asked_for(self):
        self.assertEqual(self.out("id -un", options=["--user", "nobody"]), "nobody\n")


class StreamTest(VmTestCase):
    """What goes in and out is unharmed and apart, however fast or slow the other side is."""

    def test_outputs_stay_apart(self):
        self.assertEqual(self.vm("sh", "-c", "echo out; echo err >&2")[1:], (b"out\n", b"err\n"))

    def test_outputs_that_are_one_file_keep_their_order(self):
        script = "i=0; while [ $i -lt 200 ]; do echo $i; echo $((i + 1)) >&2; i=$((i + 2)); done"
        run = subprocess.run(self.arguments([], ["sh", "-c", script]), stdout=subprocess.PIPE, timeout=STUCK_S,
                             stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, env=self.environment, check=True)
        self.assertEqual(run.stdout.decode().split(), [str(number) for number in range(200)])

    def test_output_arrives_while_the_command_runs(self):
        process = self.start("sh", "-c", "echo first; read answer; echo $answer")
        self.assertEqual(process.stdout.readline(), b"first\n")
        # The command waits for this, so the line above came while it ran.
        self.assertEqual(process.communicate(b"second\n")[0], b"second\n")

    def test_a_hundred_megabytes_arrive_unharmed_beside_the_other_stream(self):
        blocks, block_bytes = 100, 1_000_000
        program = ("import os, random\n"
                   "block = random.Random(7).randbytes(1_000_000 - 4)\n"
                   "for i in range(100):\n"
                   "    left = memoryview(i.to_bytes(4, 'little') + block)\n"
                   "    while left:\n"
                   "        left = left[os.write(1, left):]\n"
                   "    os.write(2, b'%d\\n' % i)\n")
        status, output, errors = self.vm("python3", "-c", program)
        block = random.Random(7).randbytes(block_bytes - 4)
        expected = hashlib.sha256(b"".join(i.to_bytes(4, "little") + block for i in range(blocks)))
        self.assertEqual((status, len(output), hashlib.sha256(output).hexdigest()),
                         (0, blocks * block_bytes, expected.hexdigest()))
        self.assertEqual(errors.decode().split(), [str(i) for i in range(blocks)])

    def test_a_reader_that_stalls_on_one_output_does_not_hold_up_the_other(self):
        # More than a pipe of the host, the window and a pipe of the guest take together: 64 KiB + 1 MiB + 1 MiB.
        size = 4_000_000
        # The other output begins once the first one is held up: then `head` sleeps.
        script = (f"head -c {size} /dev/zero >&2 & "
                  "while ! grep -q '^State:.S' /proc/$!/status; do :; done; "
                  f"head -c {size} /dev/zero; wait")
        process = self.start("sh", "-c", script)
        self.assertEqual(len(process.stdout.read(size)), size)
        self.assertEqual(len(process.stderr.read(size)), size)
        self.assertEqual(process.wait(STUCK_S), 0)

    def test_a_reader_that_stalls_for_longer_than_a_hang_takes_is_no_hang(self):
        process = self.start("sh", "-c", "echo started >&2; head -c 4000000 /dev/zero",
                             options=["--hang-after", "5"])
        self.assertEqual(process.stderr.readline(), b"started\n")
        with self.assertRaises(subprocess.TimeoutExpired):
            process.wait(7)
        self.assertEqual(len(process.stdout.read(4_000_000)), 4_000_000)
        self.assertEqual((process.stderr.read(), process.wait(STUCK_S)), (b"", 0))

    def test_standard_input_arrives_byte_for_byte_and_ends(self):
        data = random.Random(3).randbytes(20_000_000)
        status, output, _ = self.vm("sha256sum", input=data)
        self.assertEqual((status, output.split()[0].decode()), (0, hashlib.sha256(data).hexdigest()))
        self.assertEqual(self.vm("wc", "-c", input=b"")[1], b"0\n")

    def test_standard_input_may_be_a_file_or_nothing(self):
        path = self.scratch / "input"
        path.write_bytes(b"from a file")
        with open(path, "rb") as stream:
            self.assertEqual(self.vm("cat", stdin=stream)[1], b"from a file")
        run = subprocess.run(["sh", "-c", '"$@" <&-', "sh", *self.arguments([], ["cat"])], capture_output=True,
                             timeout=STUCK_S, env=self.environment, check=False)
        self.assertEqual((run.returncode, run.stdout), (0, b""))

    def test_without_any_of_the_three_streams_the_command_runs_all_the_same(self):
        command = self.arguments([], ["sh", "-c", "cat; echo out; echo err >&2; exit 3"])
        run = subprocess.run(["sh", "-c", '"$@" <&- >&- 2>&-', "sh", *command], timeout=STUCK_S, check=False,
                             env=self.environment)
        self.assertEqual(run.returncode, 3)

    def test_input_that_the_command_does_not_want_holds_nothing_up(self):
        with open("/dev/zero", "rb") as endless:
            self.assertEqual(self.vm("true", stdin=endless)[0], 0)
            self.assertEqual(self.vm("head", "-c", "3", stdin=endless)[1], b"\0\0\0")

    def test_a_reader_that_goes_away_ends_the_command_by_sigpipe(self):
        process = self.start("yes")
        self.assertEqual(process.stdout.readline(), b"y\n")
        process.stdout.close()
        self.assertEqual(process.wait(STUCK_S), 128 + signal.SIGPIPE)
        self.assertIn(b"(SIGPIPE)", process.stderr.read())

    def test_what_outlives_the_command_is_not_waited_for(self):
        self.assertEqual(self.vm("sh", "-c", "tail -f /dev/null & echo done")[:2], (0, b"done\n"))


class GuestTest(VmTestCase):
    """What the guest is like."""

    def test_its_kernel_is_the_one_that_was_asked_for(self):
        self.assertEqual(self.out("uname -r"), f"{self.manifest()['release']}\n")

    def test_it_has_as_many_processors_and_as_much_memory_as_asked_for(self):
        output = self.out("nproc; grep MemTotal /proc/meminfo", options=["--smp", "3", "--memory", "1G"])
        processors, memory_kib = output.split()[0], int(output.split()[2])
        # The kernel keeps a part for itself: less than a tenth.
        self.assertEqual((processors, 0.9 < memory_kib / 2**20 < 1), ("3", True), output)

    def test_file_systems_that_tests_count_on_are_there(self):
        output = self.out("for at in / /tmp /run /dev/shm /dev/pts /sys/fs/bpf /sys/fs/cgroup /sys/kernel/debug "
                          "/sys/kernel/tracing; do stat -f -c '%T' $at; done; ls -A /tmp /run | grep -v :; "
                          "echo ok >/dev/fd/1")
        self.assertEqual(output.split(), ["overlayfs", "tmpfs", "tmpfs", "tmpfs", "devpts", "bpf_fs", "cgroup2fs",
                                          "debugfs", "tracefs", "ok"])

    def test_modules_of_its_kernel_can_be_loaded(self):
        self.assertIn("dummy", self.out("modprobe dummy && grep -o '^dummy' /proc/modules"))

    def test_loopback_is_up(self):
        program = ("import socket; s = socket.create_server(('127.0.0.1', 0)); "
                   "socket.create_connection(s.getsockname()); print('connected')")
        self.assertEqual(self.vm("python3", "-c", program)[1], b"connected\n")

    def test_processors_go_away_and_come_back(self):
        output = self.out("cd /sys/devices/system/cpu; "
                          "echo 0 >cpu1/online; cat online; echo 1 >cpu1/online; cat online")
        self.assertEqual(output, "0\n0-1\n")

    def test_processor_0_goes_away_where_the_kernel_lets_it(self):
        # Linux 6.5 took that away.
        online = self.out("cd /sys/devices/system/cpu; if [ -e cpu0/online ]; then echo 0 >cpu0/online; fi; cat online")
        self.assertEqual(online, "1\n" if self.manifest()["numbers"] < [6, 5] else "0-1\n")

    def test_bpf_is_compiled_and_perf_is_open(self):
        self.assertEqual(self.out("cat /proc/sys/net/core/bpf_jit_enable /proc/sys/kernel/perf_event_paranoid"),
                         "1\n-1\n")

    def test_every_oops_ends_it(self):
        self.assertEqual(self.out("cat /proc/sys/kernel/panic_on_oops /proc/sys/kernel/panic"), "1\n-1\n")

    def test_perf_counts_software_events_and_writes_to_an_address(self):
        program = ("import ctypes, os, struct\n"
                   "libc = ctypes.CDLL(None, use_errno=True)\n"
                   "word = ctypes.c_uint64(0)\n"
                   "def count(kind, config, bp_type=0, address=0, length=0):\n"
                   "    attr = struct.pack('=IIQQQQQIIQQ', kind, 128, config, 0, 0, 0, 0, 0, bp_type, address,\n"
                   "                       length)\n"
                   "    event = libc.syscall(298, ctypes.create_string_buffer(attr, 128), 0, -1, -1, 0)\n"
                   "    assert event >= 0, os.strerror(ctypes.get_errno())\n"
                   "    for value in range(5):\n"
                   "        word.value = value\n"
                   "    os.sched_yield()\n"
                   "    return struct.unpack('=Q', os.read(event, 8))[0]\n"
                   "print(count(1, 1) > 0, count(5, 0, 2, ctypes.addressof(word), 8))\n")
        # The software event is task-clock; the breakpoint fires at each of the five writes.
        status, output, errors = self.vm("python3", "-c", program)
        self.assertEqual((status, output), (0, b"True 5\n"), errors)

    def test_its_clock_is_right(self):
        before = time.time()
        told = float(self.out("date +%s.%N"))
        self.assertTrue(before <= told <= time.time(), (before, told))

    def test_guests_of_one_snapshot_draw_different_random_numbers(self):
        draw = "od -An -N16 -tx1 /dev/urandom; cat /proc/sys/kernel/random/uuid"
        first, second = self.out(draw).splitlines(), self.out(draw).splitlines()
        self.assertFalse(set(first) & set(second))

    def test_a_sysctl_is_set_first(self):
        self.assertEqual(self.out("cat /proc/sys/kernel/panic_on_warn /proc/sys/vm/swappiness",
                                  options=["--sysctl", "kernel.panic_on_warn=1", "--sysctl", "vm.swappiness=7"]),
                         "1\n7\n")

    def test_a_sysctl_that_the_kernel_does_not_know_is_named(self):
        line, _ = self.fault(self.vm("true", options=["--sysctl", "kernel.no_such=1"]), "setup")
        self.assertIn("'kernel.no_such' is not known to kernel", line)

    def test_the_kernels_log_is_written_to_the_file(self):
        log = self.scratch / "log"
        self.out("echo hallo >/dev/kmsg", options=["--dmesg", log])
        lines = log.read_text(encoding="utf-8").splitlines()
        self.assertRegex(lines[0], r"^\[ *0\.000000\] Linux version ")
        self.assertRegex(lines[-1], r"^\[ *\d+\.\d{6}\] hallo$")

    def test_arguments_for_the_kernel_are_passed_on(self):
        self.assertIn(" ringside.test=1", self.out("cat /proc/cmdline", options=["--append", "ringside.test=1"]))


class FilesTest(VmTestCase):
    """The host's files can be read; only what was asked for can be written."""

    def test_a_writable_directory_gets_what_the_command_writes(self):
        program = ("import mmap, os\n"
                   "open('plain', 'w').write('plain')\n"
                   "os.rename('old', 'new'); os.unlink('unwanted'); os.mkdir('folder')\n"
                   "with open('mapped', 'r+b') as stream:\n"
                   "    mmap.mmap(stream.fileno(), 0)[:6] = b'mapped'\n")
        for name, text in (("old", "moved"), ("unwanted", ""), ("mapped", "......")):
            (self.scratch / name).write_text(text, encoding="utf-8")
        status, _, errors = self.vm("python3", "-c", program, options=["--rw", self.scratch], cwd=self.scratch)
        self.assertEqual(status, 0, errors)
        seen = {path.name: path.read_text(encoding="utf-8") for path in self.scratch.iterdir() if path.is_file()}
        self.assertEqual(seen, {"plain": "plain", "new": "moved", "mapped": "mapped"})
        self.assertTrue((self.scratch / "folder").is_dir())

    def test_what_a_process_in_the_background_wrote_to_a_mapping_is_there_when_the_command_ended(self):
        # Nothing but a synchronisation of the share writes it back: the mapping is still there.
        program = ("import mmap, os, signal\n"
                   "done, tell = os.pipe()\n"
                   "if os.fork():\n"
                   "    os.read(done, 1)\n"
                   "    os._exit(0)\n"
                   "stream = open('mapped', 'r+b')\n"
                   "view = mmap.mmap(stream.fileno(), 0)\n"
                   "view[:6] = b'mapped'\n"
                   "os.write(tell, b'x')\n"
                   "signal.pause()\n")
        (self.scratch / "mapped").write_text("......", encoding="utf-8")
        status, _, errors = self.vm("python3", "-c", program, options=["--rw", self.scratch], cwd=self.scratch)
        self.assertEqual(status, 0, errors)
        self.assertEqual((self.scratch / "mapped").read_text(encoding="utf-8"), "mapped")

    def test_several_directories_can_be_writable(self):
        folders = [self.scratch / name for name in ("a", "b c", "d,e=f", "g", "h")]
        for folder in folders:
            folder.mkdir()
        script = 'for folder; do echo "$folder" >"$folder/file" || exit; done'
        options = [word for folder in folders for word in ("--rw", folder)]
        status, _, errors = self.vm("sh", "-c", script, "sh", *map(str, folders), options=options)
        self.assertEqual((status, self.without_first_words(errors)), (0, ""))
        self.assertEqual([(folder / "file").read_text(encoding="utf-8") for folder in folders],
                         [f"{folder}\n" for folder in folders])

    def test_without_being_asked_nothing_of_the_host_is_changed(self):
        (self.scratch / "file").write_text("host", encoding="utf-8")
        name = f"/etc/vm_test.{os.getpid()}"
        self.assertEqual(self.out(f"echo guest >file; cat file; rm file; touch {name}; ls {name}", cwd=self.scratch),
                         f"guest\n{name}\n")
        self.assertEqual((self.scratch / "file").read_text(encoding="utf-8"), "host")
        self.assertFalse(os.path.exists(name))

    def test_even_the_guests_root_cannot_write_to_the_host(self):
        modules = os.path.realpath(self.kernel_folder() / "lib/modules")
        for attempt in ("at=/lib/modules/$(uname -r); mount -o remount,rw $at",
                        "at=/again; mkdir $at; mount -t 9p -o trans=virtio,version=9p2000.L,rw share0 $at"):
            with self.subTest(attempt):
                status, _, errors = self.vm("sh", "-c", f"{attempt} && touch $at/touched")
                self.assertEqual(status, 1, errors)
                self.assertIn("touched': Read-only file system", errors.decode())
        self.assertEqual([*pathlib.Path(modules).rglob("touched"), *(self.cache / "empty").iterdir()], [])

    def test_a_directory_below_a_fresh_one_can_be_shown(self):
        (self.scratch / "file").write_text("seen", encoding="utf-8")
        self.assertEqual(self.out(f"cat {self.scratch}/file", options=["--ro", self.scratch]), "seen")

    def test_a_guest_whose_disk_is_full_is_told_so_and_the_host_has_its_space(self):
        status, _, errors = self.vm("sh", "-c", "head -c 2G /dev/zero >/big")
        self.assertEqual(status, 1)
        self.assertIn(b"No space left on device", errors)
        self.assertFalse(os.path.exists("/big"))


if __name__ == "__main__":
    vm_case.main()
