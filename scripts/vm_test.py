#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/vm through its command line, with real guests.

    scripts/vm_test.py [--kernel NAME] [unittest's arguments...]

Exit status 77, and a reason, where QEMU or the kernel cannot be had.
"""

import contextlib
import hashlib
import json
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

SCRIPTS = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(SCRIPTS))

# pylint: disable=wrong-import-position
from vmlib import runner_stream  # noqa: E402
from vmlib.cache import default_root  # noqa: E402
from vmlib.runner_console import Console  # noqa: E402

VM = SCRIPTS / "vm"
SKIPPED = 77
KERNEL = "6.1"
# No guest needs as long; a run that does is stuck.
STUCK_S = 240

PRINT_ARGUMENTS = "import os, sys; os.write(1, b'|'.join(map(os.fsencode, sys.argv[1:])))"


def alive(pid):
    try:
        state = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in "ZX"


def gone(pids, limit_s=30):
    """Whether all of them end: a signal that was sent may still be on its way."""
    return wait_for(lambda: not any(map(alive, pids)), limit_s)


def wait_for(happened, limit_s=STUCK_S):
    deadline = time.monotonic() + limit_s
    while not happened():
        if time.monotonic() > deadline:
            return False
        os.sched_yield()
    return True


def children(pid):
    try:
        return [int(child) for child in
                pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="utf-8").split()]
    except (FileNotFoundError, ProcessLookupError):
        return []


def qemu_of(process):
    """The pid of the QEMU that this runner started."""
    def find():
        for child in children(process.pid):
            with contextlib.suppress(OSError):
                if os.readlink(f"/proc/{child}/exe").endswith("qemu-system-x86_64"):
                    return child
        return None
    assert wait_for(lambda: find() or process.poll() is not None)
    return find()


class TestCache:
    """A cache of this program's own, but for the kernels: tests damage snapshots. It has one snapshot to begin with."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="vm_test.")
        self.path = pathlib.Path(self.folder.name)
        (self.path / "kernels").symlink_to(default_root() / "kernels")
        self.environment = os.environ | {"RINGSIDE_CACHE": str(self.path), "RINGSIDE_VM_ACCEL": "tcg",
                                         "RINGSIDE_VM_KERNEL": KERNEL}
        subprocess.run([VM, "--", "true"], env=self.environment, stdin=subprocess.DEVNULL, timeout=STUCK_S, check=True)


TEST_CACHE = None


def setUpModule():  # pylint: disable=invalid-name # unittest's name
    global TEST_CACHE
    TEST_CACHE = TestCache()
    unittest.addModuleCleanup(TEST_CACHE.folder.cleanup)


class VmTestCase(unittest.TestCase):
    """Runs of scripts/vm, and what can be said of how they ended."""

    @classmethod
    def setUpClass(cls):
        cls.cache, cls.environment = TEST_CACHE.path, TEST_CACHE.environment

    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="vm_test.")
        self.addCleanup(scratch.cleanup)
        self.scratch = pathlib.Path(scratch.name)

    def arguments(self, options, command):
        return [str(VM), *map(str, options), "--", *command]

    def vm(self, *command, options=(), environment=None, **how):
        """(status, output, errors) of a run to its end, as bytes."""
        how = {"stdin": subprocess.DEVNULL, "cwd": "/"} | how
        if "input" in how:
            del how["stdin"]
        run = subprocess.run(self.arguments(options, command), capture_output=True, timeout=STUCK_S, check=False,
                             env=self.environment | (environment or {}), **how)
        return run.returncode, run.stdout, run.stderr

    def out(self, script, **how):
        """What a shell script in a guest prints; it must end well and say nothing else."""
        status, output, errors = self.vm("sh", "-c", script, **how)
        self.assertEqual((status, self.without_first_words(errors)), (0, ""), errors)
        return output.decode()

    @staticmethod
    def without_first_words(errors):
        """What was said but for that a snapshot is made: the first run of a kind of guest says that."""
        return "".join(line for line in errors.decode().splitlines(keepends=True) if "making a snapshot" not in line)

    def start(self, *command, options=(), environment=None, **how):
        how = {"stdin": subprocess.PIPE, "cwd": "/"} | how
        process = subprocess.Popen(self.arguments(options, command), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   env=self.environment | (environment or {}), start_new_session=True, **how)
        self.addCleanup(self.stop, process)
        return process

    @staticmethod
    def stop(process):
        with process:
            process.kill()
        process.wait()

    def kernel_folder(self):
        name = json.loads((self.cache / "kernels/names" / f"{KERNEL}.json").read_text(encoding="utf-8"))["entry"]
        return self.cache / "kernels/entries" / name

    def fault(self, run, kind):
        """Asserts that a run ended with a fault of this kind, told in one line, and returns that line and the rest."""
        status, _, errors = run
        first, _, rest = self.without_first_words(errors).partition("\n")
        self.assertEqual(status, 125, errors.decode())
        self.assertTrue(first.startswith(f"scripts/vm: {kind}: "), first)
        return first, rest


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
        arguments = ["", "two words", "line\nfeed", "'\"`$(echo no)", "*", "ä", "\udcff", "-x", "--"]
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
        process = self.start("sh", "-c", f"head -c {size} /dev/zero >&2 & head -c {size} /dev/zero; wait")
        self.assertEqual(len(process.stdout.read(size)), size)
        self.assertEqual(len(process.stderr.read(size)), size)
        self.assertEqual(process.wait(STUCK_S), 0)

    def test_a_reader_that_stalls_for_longer_than_a_hang_takes_is_no_hang(self):
        process = self.start("sh", "-c", "echo started >&2; head -c 4000000 /dev/zero", options=["--hang-after", "5"])
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
        self.assertTrue(self.out("uname -r").startswith(KERNEL))

    def test_it_has_as_many_processors_and_as_much_memory_as_asked_for(self):
        output = self.out("nproc; grep MemTotal /proc/meminfo", options=["--smp", "3", "--memory", "1G"])
        processors, memory_kib = output.split()[0], int(output.split()[2])
        # The kernel keeps a part for itself: less than a tenth.
        self.assertEqual((processors, 0.9 < memory_kib / 2**20 < 1), ("3", True), output)

    def test_file_systems_that_tests_count_on_are_there(self):
        output = self.out("for at in / /tmp /run /dev/shm /dev/pts /sys/fs/bpf /sys/fs/cgroup /sys/kernel/debug "
                          "/sys/kernel/tracing; do stat -f -c '%T' $at; done; ls -A /tmp; ls -A /run; echo ok >/dev/fd/1")
        self.assertEqual(output.split(), ["overlayfs", "tmpfs", "tmpfs", "tmpfs", "devpts", "bpf_fs", "cgroup2fs",
                                          "debugfs", "tracefs", "ok"])

    def test_modules_of_its_kernel_can_be_loaded(self):
        self.assertIn("dummy", self.out("modprobe dummy && grep -o '^dummy' /proc/modules"))

    def test_loopback_is_up(self):
        program = ("import socket; s = socket.create_server(('127.0.0.1', 0)); "
                   "socket.create_connection(s.getsockname()); print('connected')")
        self.assertEqual(self.vm("python3", "-c", program)[1], b"connected\n")

    def test_processors_go_away_and_come_back(self):
        output = self.out("cd /sys/devices/system/cpu; echo 0 >cpu1/online; cat online; echo 1 >cpu1/online; cat online")
        self.assertEqual(output, "0\n0-1\n")

    def test_bpf_is_compiled_and_perf_is_open(self):
        self.assertEqual(self.out("cat /proc/sys/net/core/bpf_jit_enable /proc/sys/kernel/perf_event_paranoid"),
                         "1\n-1\n")

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


class FaultTest(VmTestCase):
    """The runner's own faults have one status, and are told apart."""

    def test_a_panic_is_told_with_the_end_of_the_console(self):
        line, rest = self.fault(self.vm("sh", "-c", "echo c >/proc/sysrq-trigger"), "panic")
        self.assertIn("had a kernel panic: sysrq triggered crash", line)
        self.assertIn("sysrq_handle_crash", rest)

    def test_an_oops_is_told_from_a_panic(self):
        # The address of the system call entry is overwritten: the processor's next system call faults in the kernel.
        program = ("import os; device = os.open('/dev/cpu/0/msr', os.O_WRONLY); "
                   "os.pwrite(device, (0xffffffffdead0000).to_bytes(8, 'little'), 0xC0000082)")
        line, rest = self.fault(self.vm("sh", "-c", f'modprobe msr; python3 -c "{program}"; taskset -c 0 true'), "panic")
        self.assertIn("had a kernel oops: ", line)
        self.assertIn("RIP: ", rest)

    def test_what_the_command_wrote_before_a_panic_is_not_lost(self):
        status, output, _ = self.vm("sh", "-c", "seq 1000; echo c >/proc/sysrq-trigger")
        # The bytes are in the pipe when the kernel stops: how many of them got out is not promised, their order is.
        told = output.decode().split()
        self.assertEqual((status, told), (125, [str(number) for number in range(1, len(told) + 1)]))

    def test_the_log_of_a_panic_goes_to_the_file_too(self):
        log = self.scratch / "log"
        self.fault(self.vm("sh", "-c", "echo c >/proc/sysrq-trigger", options=["--dmesg", log]), "panic")
        self.assertIn("Kernel panic - not syncing: sysrq triggered crash", log.read_text(encoding="utf-8"))

    def test_a_guest_that_stands_still_hangs(self):
        process = self.start("sh", "-c", "echo ready; cat", options=["--hang-after", "4"])
        process.stdout.readline()
        os.kill(qemu_of(process), signal.SIGSTOP)
        output, errors = process.communicate(timeout=STUCK_S)
        line, _ = self.fault((process.returncode, output, errors), "hang")
        self.assertIn("has been silent for 4 s", line)

    def test_a_guest_whose_processors_spin_hangs_and_says_where(self):
        spin = "chrt -f 99 sh -c 'while :; do :; done' &"
        script = f"echo -1 >/proc/sys/kernel/sched_rt_runtime_us; {spin} {spin} wait"
        line, rest = self.fault(self.vm("sh", "-c", script, options=["--hang-after", "5"]), "hang")
        self.assertIn("has been silent for 5 s", line)
        self.assertIn("Comm: sh", rest)

    def test_a_command_that_does_not_end_is_ended(self):
        line, _ = self.fault(self.vm("tail", "-f", "/dev/null", options=["--timeout", "1"]), "timeout")
        self.assertIn("did not end within 1 s", line)

    def test_a_guest_that_leaves_is_lost(self):
        line, _ = self.fault(self.vm("sh", "-c", "echo b >/proc/sysrq-trigger; cat"), "lost")
        self.assertIn("the guest shut itself down", line)

    def test_a_qemu_that_is_killed_is_lost(self):
        process = self.start("sh", "-c", "echo ready; cat")
        process.stdout.readline()
        os.kill(qemu_of(process), signal.SIGKILL)
        output, errors = process.communicate(timeout=STUCK_S)
        line, _ = self.fault((process.returncode, output, errors), "lost")
        self.assertIn("QEMU was killed by signal 9", line)

    def test_a_command_that_eats_all_memory_is_killed_and_that_is_told(self):
        program = "block = []\nwhile True: block.append(b'x' * 10_000_000)"
        status, _, errors = self.vm("python3", "-c", program)
        self.assertEqual(status, 128 + 9)
        self.assertIn(b"the guest ran out of memory; it has 512 MiB, see --memory", errors)

    def test_a_kernel_that_does_not_boot_is_tried_three_times(self):
        # No init: the kernel panics before it is ready.
        run = self.vm("true", options=["--cold", "--append", "rdinit=/none"])
        said = run[2].decode().splitlines()
        self.assertEqual([re.sub(r".*, attempt (.*)", r"\1", line) for line in said[:2]], ["2 of 3", "3 of 3"])
        self.assertEqual(run[0], 125)
        self.assertRegex(said[2], r"^scripts/vm: boot: .* crashed while booting, 3 times: kernel panic: ")

    def test_a_kernel_that_is_not_ready_in_time_is_told(self):
        line, _ = self.fault(self.vm("true", options=["--cold", "--boot-timeout", "0.2"]), "boot")
        self.assertIn("was not ready after 0.2 s", line)

    def test_wrong_usage_gets_one_line_that_names_it(self):
        for words, named in ((["--smpp", "2"], "unknown option '--smpp'; did you mean --smp?"),
                             (["--smp", "many"], "--smp 'many' is not a number from 1 to 255"),
                             (["--smp"], "--smp needs a value"),
                             (["--memory", "5"], "--memory '5' is not a size"),
                             (["--timeout", "soon"], "--timeout 'soon' is not a time"),
                             (["--sysctl", "vm.x"], "--sysctl 'vm.x' is not KEY=VALUE"),
                             (["--rw", "/nowhere"], "--rw '/nowhere' is not a directory"),
                             (["--rw", "/"], "--rw '/' would bring in more of the host"),
                             (["--accel", "hvf"], "--accel 'hvf' is not known"),
                             (["--dmesg", "/nowhere/log", "--", "true"], "--dmesg '/nowhere/log': No such file"),
                             (["--user", "nemo", "--", "true"], "--user 'nemo' is nobody's name"),
                             (["--"], "which command?"),
                             (["--list", "all"], "unknown word 'all' with --list"),
                             (["--fetch"], "--fetch which kernel?")):
            with self.subTest(words):
                environment = self.environment | ({"RINGSIDE_VM_KERNEL": ""} if "--fetch" in words else {})
                run = subprocess.run([VM, *words], capture_output=True, text=True, env=environment, check=False)
                self.assertEqual((run.returncode, run.stdout, run.stderr.count("\n")), (125, "", 1), run.stderr)
                self.assertIn(f"scripts/vm: usage: {named}", run.stderr)

    def test_a_kernel_must_be_named(self):
        run = subprocess.run([VM, "--", "true"], capture_output=True, text=True, check=False,
                             env=self.environment | {"RINGSIDE_VM_KERNEL": ""})
        self.assertIn("scripts/vm: usage: which kernel?", run.stderr)

    def test_values_of_the_environment_are_checked_and_named_as_such(self):
        line, _ = self.fault(self.vm("true", environment={"RINGSIDE_VM_SMP": "x"}), "usage")
        self.assertIn("RINGSIDE_VM_SMP 'x' is not a number", line)

    def test_a_kernel_that_cannot_be_had_is_one_line(self):
        line, rest = self.fault(self.vm("true", options=["--kernel", "/nowhere/vmlinuz"]), "kernel")
        self.assertIn("/nowhere/vmlinuz", line)
        self.assertEqual(rest, "")

    def test_without_qemu_it_says_how_to_get_it(self):
        for name in ("python3", "env", "setpriv", "cc"):
            (self.scratch / name).symlink_to(shutil.which(name))
        run = self.vm("true", environment={"PATH": str(self.scratch)})
        line, _ = self.fault(run, "setup")
        self.assertIn("qemu-system-x86_64 is not installed; run scripts/setup --vm", line)


class QemuInFront:
    """A folder for PATH with a QEMU that does something first: `body` is Python with the arguments in sys.argv, and
    goes on with real(), the QEMU that is installed."""

    HEAD = ("#!{python}\nimport os, pathlib, sys\n"
            "here = pathlib.Path(__file__).resolve().parent\n"
            "def real(arguments):\n    os.execv({qemu!r}, [{qemu!r}, *arguments])\n")

    def __init__(self, folder, body):
        self.path = folder / "qemu-system-x86_64"
        head = self.HEAD.format(python=sys.executable, qemu=shutil.which("qemu-system-x86_64"))
        self.path.write_text(head + body, encoding="utf-8")
        self.path.chmod(0o755)
        self.environment = {"PATH": f"{folder}:{os.environ['PATH']}"}


class SnapshotTest(VmTestCase):
    """Snapshots are made once, shared, checked, and never needed."""

    def setUp(self):
        super().setUp()
        self.out("true")  # so that there is one
        self.snapshots = self.cache / "snapshots"

    def newest(self):
        return max((path for path in self.snapshots.iterdir() if path.is_dir()), key=os.path.getmtime)

    def test_one_snapshot_serves_every_command(self):
        before = sorted(self.snapshots.iterdir())
        self.assertEqual(self.vm("sh", "-c", "pwd", options=["--rw", self.scratch, "--sysctl", "vm.swappiness=1"],
                                 cwd="/usr"), (0, b"/usr\n", b""))
        self.assertEqual(sorted(self.snapshots.iterdir()), before)

    def test_two_runs_at_once_make_it_once_and_share_it(self):
        shutil.rmtree(self.snapshots)
        runs = [self.start("sh", "-c", f"echo {number}") for number in range(2)]
        told = [run.communicate(timeout=STUCK_S) for run in runs]
        self.assertEqual([run.returncode for run in runs], [0, 0], told)
        self.assertEqual([output for output, _ in told], [b"0\n", b"1\n"])
        said = "".join(errors.decode() for _, errors in told)
        self.assertEqual((said.count("making a snapshot"), said.count("waiting for another run")), (1, 1), said)

    def test_what_a_guest_writes_to_its_memory_is_not_in_the_snapshot(self):
        self.out("echo left >/dev/shm/file; echo left >/tmp/file; sync")
        self.assertEqual(self.out("ls /dev/shm /tmp"), "/dev/shm:\n\n/tmp:\n")

    def damaged(self, damage):
        damage(self.newest())
        status, output, errors = self.vm("echo", "served")
        self.assertEqual((status, output), (0, b"served\n"))
        return errors.decode()

    def test_damage_is_noticed_and_mended(self):
        def cut_memory(path):
            os.truncate(path / "ram", 1000)

        def change_state(path):
            with open(path / "state", "r+b") as stream:
                stream.seek(5000)
                stream.write(b"xxxx")

        def lose_facts(path):
            (path / "facts.json").unlink()

        for damage in (cut_memory, change_state, lose_facts):
            with self.subTest(damage.__name__):
                self.assertIn("the snapshot is damaged; making it anew", self.damaged(damage))
                self.assertEqual(self.vm("true"), (0, b"", b""))

    def test_one_that_cannot_be_restored_is_made_anew(self):
        def forge(path):
            (path / "state").write_bytes(b"no state of a machine")
            facts = json.loads((path / "facts.json").read_text(encoding="utf-8"))
            facts["state"] = hashlib.sha256(b"no state of a machine").hexdigest()
            (path / "facts.json").write_text(json.dumps(facts), encoding="utf-8")

        self.assertIn("the snapshot cannot be restored", self.damaged(forge))
        self.assertEqual(self.vm("true"), (0, b"", b""))

    def test_a_qemu_that_cannot_restore_boots_instead(self):
        front = QemuInFront(self.scratch, "if '-incoming' in sys.argv:\n    sys.exit('cannot restore')\n"
                                          "real(sys.argv[1:])\n")
        status, output, errors = self.vm("echo", "served", environment=front.environment)
        self.assertEqual((status, output), (0, b"served\n"))
        self.assertIn("booting without a snapshot: ", errors.decode())
        self.assertIn("cannot restore", errors.decode())

    def test_a_crash_before_the_guest_is_ready_is_tried_again(self):
        front = QemuInFront(self.scratch, "arguments = sys.argv[1:]\n"
                                          "once = here / 'crashed'\n"
                                          "if not once.exists():\n"
                                          "    once.touch()\n"
                                          "    arguments[arguments.index('-append') + 1] += ' rdinit=/none'\n"
                                          "real(arguments)\n")
        status, output, errors = self.vm("echo", "served", environment=front.environment, options=["--cold"])
        self.assertEqual((status, output), (0, b"served\n"))
        self.assertRegex(errors.decode(), "not ready yet, had a kernel panic: .*; trying again, attempt 2 of 3")

    def test_a_run_that_is_killed_while_it_makes_one_leaves_nothing_in_the_way(self):
        shutil.rmtree(self.snapshots)
        process = self.start("true")
        qemu = qemu_of(process)
        process.kill()
        process.wait()
        self.assertTrue(gone([qemu]))
        self.assertEqual(self.out("echo served"), "served\n")
        self.assertEqual([path.name for path in self.snapshots.iterdir() if path.name.count(".") > 1], [])

    def test_pruning_keeps_those_that_were_used_last(self):
        self.out("true", options=["--smp", "1"])
        last = self.newest()
        # The kernels are the real cache's: they are none of this test's business.
        (self.cache / "kernels").unlink()
        try:
            run = subprocess.run([VM, "--prune", "--keep", "1"], env=self.environment, capture_output=True, text=True,
                                 check=True)
        finally:
            (self.cache / "kernels").symlink_to(default_root() / "kernels")
        self.assertIn("freed in all", run.stdout)
        self.assertEqual([path for path in self.snapshots.iterdir() if path.is_dir()], [last])


class EndTest(VmTestCase):
    """However the runner ends, nothing of it stays."""

    def files(self):
        return sorted(path for folder in (self.cache, self.scratch) for path in folder.rglob("*")
                      if not path.is_relative_to(self.cache / "kernels"))

    def test_a_signal_ends_the_guest_with_the_runner(self):
        self.out("true")
        before = self.files()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL):
            with self.subTest(number):
                process = self.start("sh", "-c", "echo ready; cat", environment={"TMPDIR": str(self.scratch)})
                process.stdout.readline()
                started = children(process.pid)
                self.assertTrue(started and all(map(alive, started)))
                process.send_signal(number)
                process.communicate(timeout=STUCK_S)
                self.assertEqual(process.returncode, -number)
                self.assertTrue(gone(started), started)
                self.assertEqual(self.files(), before)

    def test_ctrl_c_while_the_guest_boots_ends_it_too(self):
        process = self.start("true", options=["--cold"])
        qemu = qemu_of(process)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=STUCK_S)
        self.assertEqual((process.returncode, errors), (-signal.SIGINT, b""))
        self.assertTrue(gone([qemu]))


class AcceleratorTest(VmTestCase):
    """KVM only where a guest really runs with it."""

    @unittest.skipUnless(os.access("/dev/kvm", os.R_OK | os.W_OK), "no /dev/kvm to be tried")
    def test_kvm_that_does_not_work_is_said_once_and_done_without(self):
        front = QemuInFront(self.scratch, "if 'kvm' in sys.argv:\n    sys.exit('KVM is broken')\nreal(sys.argv[1:])\n")
        environment = front.environment | {"RINGSIDE_VM_ACCEL": "auto"}
        said = [self.vm("true", environment=environment)[2].decode() for _ in range(2)]
        self.assertIn("KVM does not work here (KVM is broken); using TCG", said[0])
        self.assertEqual(said[1], "")

    def test_what_was_asked_for_is_not_replaced(self):
        front = QemuInFront(self.scratch, "if 'kvm' in sys.argv:\n    sys.exit('KVM is broken')\nreal(sys.argv[1:])\n")
        line, _ = self.fault(self.vm("true", options=["--accel", "kvm", "--cold"], environment=front.environment), "boot")
        self.assertIn("KVM is broken", line)


class DebuggerTest(VmTestCase):
    def test_gdb_can_connect_before_the_command_runs(self):
        process = self.start("echo", "ran", options=["--gdb"])
        line = next(line for line in process.stderr if b"waiting for gdb" in line).decode()
        port = int(re.search(r"localhost:(\d+)", line).group(1))
        symbols = re.search(r"gdb (\S+) -ex", line).group(1)
        names = subprocess.run(["nm", symbols], capture_output=True, text=True, check=True).stdout
        self.assertRegex(names, r"(?m)^ffffffff8\w+ T bpf_ringbuf_output$")
        with socket.create_connection(("localhost", port)) as gdb:
            gdb.sendall(b"$?#3f")  # why did it stop?
            self.assertRegex(gdb.recv(100), rb"^\+\$[ST]05")
            gdb.sendall(b"+$D#44")  # detach: it runs on
            self.assertEqual(process.communicate(timeout=STUCK_S)[0], b"ran\n")
        self.assertEqual(process.returncode, 0)


class ProtocolTest(unittest.TestCase):
    """Without a guest."""

    def test_both_sides_have_the_same_numbers(self):
        header = (SCRIPTS / "vmlib/guest/protocol.h").read_text(encoding="utf-8")
        theirs = {name.removeprefix("FRAME_") if name != "FRAME_PAYLOAD_MAX" else name: int(value)
                  for name, value in re.findall(r"^  ([A-Z_]+) = (\d+),", header, re.M)}
        self.assertEqual(theirs, {name: getattr(runner_stream, name, None) for name in theirs})
        self.assertEqual(len(theirs), 31)

    def test_frames_are_found_in_whatever_pieces_they_arrive(self):
        frames = [(5, b"abc"), (3, b""), (6, bytes(runner_stream.FRAME_PAYLOAD_MAX))]
        data = b"".join(runner_stream.frame(*each) for each in frames)
        for size in (1, 7, 8, 9, 65536, len(data)):
            decoder, found = runner_stream.Decoder(), []
            for at in range(0, len(data), size):
                found += decoder.feed(data[at:at + size])
            self.assertEqual(found, frames)

    def test_the_first_sign_of_a_crash_is_the_one_that_is_told(self):
        for text, told in (("[    1.5] BUG: kernel NULL pointer dereference, address: 0\n"
                            "[    1.6] Oops: 0002 [#1] PREEMPT SMP\n"
                            "[    1.7] Kernel panic - not syncing: Fatal exception\n",
                            "kernel oops: BUG: kernel NULL pointer dereference, address: 0"),
                           ("[    2.0] Kernel panic - not syncing: sysrq triggered crash\n",
                            "kernel panic: sysrq triggered crash"),
                           ("[    2.0] rcu: INFO: rcu_preempt self-detected stall on CPU\n", None)):
            console = Console()
            console.add(text.encode())
            self.assertEqual(console.crash(), told)

    def test_a_console_cannot_steer_the_terminal(self):
        console = Console()
        console.add(b"\x1b[2J\x1b]0;title\x07one\r\n\x1bctwo\x00\n")
        self.assertNotIn("\x1b", "".join(console.end()))
        self.assertNotIn("\x07", "".join(console.end()))

    def test_of_a_long_console_only_the_end_is_kept(self):
        console = Console()
        for number in range(100_000):
            console.add(b"line %d\n" % number)
        self.assertLess(len(console.data), 600_000)
        self.assertEqual(console.end()[-1], "line 99999")


def unavailable():
    """Why no guest can run here, or None."""
    if not shutil.which("qemu-system-x86_64"):
        return "qemu-system-x86_64 is not installed (scripts/setup --vm)"
    run = subprocess.run([VM, "--fetch", KERNEL], capture_output=True, text=True, check=False)
    return run.stderr.strip() if run.returncode else None


if __name__ == "__main__":
    if "--kernel" in sys.argv:
        position = sys.argv.index("--kernel")
        KERNEL = sys.argv[position + 1]
        del sys.argv[position:position + 2]
    reason = unavailable()
    if reason:
        print(f"no guest can run here: {reason}")
        sys.exit(SKIPPED)
    unittest.main()
