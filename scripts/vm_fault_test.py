#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/vm where something goes wrong: its own faults, snapshots that are damaged, signals, a machine without KVM."""

import contextlib
import hashlib
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import unittest

import vm_case
from vm_case import STUCK_S, VM, VmTestCase, alive, children, gone, qemu_of, setUpModule
from vmlib.cache import default_root


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
        script = f'modprobe msr; python3 -c "{program}"; taskset -c 0 true'
        line, rest = self.fault(self.vm("sh", "-c", script), "panic")
        self.assertIn("had a kernel oops: ", line)
        self.assertIn("RIP: ", rest)

    def test_output_that_cannot_be_written_is_told(self):
        with open("/dev/full", "wb") as full:
            run = subprocess.run(self.arguments([], ["echo", "lost"]), stdin=subprocess.DEVNULL, stdout=full,
                                 stderr=subprocess.PIPE, env=self.environment, timeout=STUCK_S, check=False)
        line, _ = self.fault((run.returncode, b"", run.stderr), "setup")
        self.assertIn("write to standard output: No space left on device", line)

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
        # What keeps real-time tasks from taking all: a share for others, and since 6.12 servers.
        free = ("echo -1 >/proc/sys/kernel/sched_rt_runtime_us; "
                "for at in /sys/kernel/debug/sched/*_server/*/runtime; do [ ! -e $at ] || echo 0 >$at; done")
        spin = "chrt -f 99 sh -c 'while :; do :; done' &"
        script = f"{free}; {spin} {spin} wait"
        line, rest = self.fault(self.vm("sh", "-c", script, options=["--hang-after", "5"]), "hang")
        self.assertIn("has been silent for 5 s", line)
        self.assertIn("Comm: sh", rest)

    def test_a_command_that_does_not_end_is_ended(self):
        line, _ = self.fault(self.vm("tail", "-f", "/dev/null", options=["--timeout", "1"]), "timeout")
        self.assertIn("did not end within 1 s", line)

    def test_a_command_that_does_not_end_is_ended_even_if_nobody_reads_what_it_writes(self):
        process = self.start("sh", "-c", "head -c 4000000 /dev/zero; tail -f /dev/null", options=["--timeout", "1"])
        self.assertEqual(process.wait(STUCK_S), 125)

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
        self.assertRegex(said[2], r"^scripts/vm: boot: .* crashed before it was ready: kernel panic: .*, 3 times$")

    def test_a_kernel_that_is_not_ready_in_time_is_tried_three_times(self):
        run = self.vm("true", options=["--cold", "--boot-timeout", "0.2"])
        self.assertEqual(run[0], 125)
        *retries, last = [line for line in run[2].decode().splitlines() if line.startswith("scripts/vm: ")][:3]
        for number, line in enumerate(retries, 2):
            self.assertRegex(line, f" was not ready after 0.2 s; trying again, attempt {number} of 3$")
        self.assertRegex(last, "^scripts/vm: boot: .* was not ready after 0.2 s, 3 times$")

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
        for name in ("env", "setpriv", "cc"):
            (self.scratch / name).symlink_to(shutil.which(name))
        # The python3 of the path may be a script that looks for another.
        (self.scratch / "python3").symlink_to(sys.executable)
        run = self.vm("true", environment={"PATH": str(self.scratch)})
        line, _ = self.fault(run, "setup")
        self.assertIn("qemu-system-x86_64 is not installed; run scripts/setup --vm", line)


class VirtiofsTest(VmTestCase):
    """Kernels without 9p see the host's files by virtiofs; they boot anew each time."""

    def setUp(self):
        super().setUp()
        name = f"{vm_case.KERNEL}-cloud"
        if os.geteuid() != 0:
            self.skipTest("virtiofs needs root")
        if subprocess.run([VM, "--fetch", name], capture_output=True, env=self.environment, check=False).returncode:
            self.skipTest(f"kernel {name} cannot be had")
        self.kernel = ["--kernel", name]

    def test_files_are_written_only_where_that_was_asked_for(self):
        shared, other = self.scratch / "shared", self.scratch / "other"
        for folder in (shared, other):
            folder.mkdir()
        script = (f"echo guest >file; echo guest >{shared}/file; cat {shared}/file; "
                  "at=/lib/modules/$(uname -r); mount -o remount,rw $at; touch $at/touched; "
                  "at=/again; mkdir $at; mount -t virtiofs root $at; touch $at/touched")
        status, output, errors = self.vm("sh", "-c", script, options=[*self.kernel, "--rw", shared], cwd=other)
        self.assertEqual((status, output), (1, b"guest\n"), errors)
        self.assertEqual(errors.count(b"touched': Read-only file system"), 2, errors)
        self.assertEqual((shared / "file").read_text(encoding="utf-8"), "guest\n")
        self.assertEqual(list(other.iterdir()), [])
        self.assertFalse(os.path.exists("/touched"))

    def test_a_signal_ends_the_daemons_with_the_runner(self):
        for number in (signal.SIGTERM, signal.SIGKILL):
            process = self.start("sh", "-c", "echo ready; cat", options=[*self.kernel, "--rw", self.scratch])
            process.stdout.readline()
            started = children(process.pid)
            # QEMU, and a virtiofsd each for the root and for the share.
            self.assertEqual(len(started), 3)
            process.send_signal(number)
            process.communicate(timeout=STUCK_S)
            self.assertTrue(gone(started), started)

    def test_a_virtiofsd_that_is_killed_is_lost(self):
        process = self.start("sh", "-c", "echo ready; cat", options=self.kernel)
        process.stdout.readline()
        daemon = next(child for child in children(process.pid) if os.readlink(f"/proc/{child}/exe").endswith("fsd"))
        os.kill(daemon, signal.SIGKILL)
        output, errors = process.communicate(timeout=STUCK_S)
        line, _ = self.fault((process.returncode, output, errors), "lost")
        self.assertIn("virtiofsd ended", line)


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
        self.assertRegex(errors.decode(), " crashed before it was ready: kernel panic: .*; trying again, "
                                           "attempt 2 of 3")

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
        run = self.vm("true", options=["--accel", "kvm", "--cold"], environment=front.environment)
        line, _ = self.fault(run, "boot")
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
            answer = b""
            while b"#" not in answer:
                answer += gdb.recv(100)
            self.assertRegex(answer, rb"^\+\$[ST]05")
            gdb.sendall(b"+$D#44")  # detach: it runs on
            self.assertEqual(process.communicate(timeout=STUCK_S)[0], b"ran\n")
        self.assertEqual(process.returncode, 0)


if __name__ == "__main__":
    vm_case.main()
