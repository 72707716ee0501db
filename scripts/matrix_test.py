#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/matrix through its command, on made-up kernels: guests that are no guests but this machine, a program that
stands in for scripts/vm and fails as each case needs, and test programs that speak as GoogleTest does."""

import json
import os
import pathlib
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import xml.etree.ElementTree as ElementTree

from matrixlib import config

SCRIPTS = pathlib.Path(__file__).resolve().parent
SHIPPED = SCRIPTS.parent / "ci/kernels.toml"
DEADLINE_S = 60

# Stands in for scripts/vm. The kernel's name says what goes wrong: see each branch.
FAKE_VM = """#!/usr/bin/env python3
import json, os, pathlib, signal, subprocess, sys, time
kernel = sys.argv[sys.argv.index("--kernel") + 1]
command = sys.argv[sys.argv.index("--") + 1:]
here = pathlib.Path(__file__).parent
def fault(text):
    print(f"scripts/vm: {text}", file=sys.stderr)
    print("  | the end of the console", file=sys.stderr)
    sys.exit(125)
with open(here / "started", "a", encoding="utf-8") as log:
    log.write(kernel + "\\n")
if "unbootable" in kernel:
    fault("boot: the guest did not come up")
if "unknown" in kernel:
    fault("kernel: there is no such kernel")
if "endless" in kernel:
    # The pipe's reader learns the number of a process that runs for ever.
    with open(here / "pids", "w", encoding="utf-8") as pids:
        pids.write(f"{os.getpid()}\\n")
    signal.pause()
running = here / f"running-{os.getpid()}"
running.touch()
most = max(len(list(here.glob("running-*"))), int((here / "most").read_text() or 0))
(here / "most").write_text(str(most))
os.environ["FAKE_KERNEL"] = kernel
child = subprocess.Popen(command, stdout=subprocess.PIPE)
for line in child.stdout:
    sys.stdout.buffer.write(line)
    sys.stdout.flush()
    event = json.loads(line)
    if event["event"] == "begin" and "panics" in kernel and "panics" in event["test"]:
        child.kill()
        running.unlink()
        fault("panic: Kernel panic - not syncing: sysrq")
    if event["event"] == "begin" and "emulated" in kernel and "panics" in event["test"]:
        lost = here / "lost"
        lost.write_text((lost.read_text() if lost.exists() else "") + "x")
        if "always" in kernel or lost.read_text() == "x":
            child.kill()
            running.unlink()
            fault("panic: 6.1 had a kernel oops: Oops: int3: 0000 [#1] SMP NOPTI")
    if event["event"] == "begin" and "slow" in kernel and "panics" in event["test"]:
        child.kill()
        running.unlink()
        fault("timeout: the command did not end in 600 s")
running.unlink()
sys.exit(child.wait())
"""

# A test program: the end of a test's name says what it does, and `_on_KERNEL` on which kernel alone.
FAKE_PROGRAM = """#!/usr/bin/env python3
import os, signal, sys
names = next(word for word in sys.argv if word.startswith("--gtest_filter="))[15:].split(":")
for name in names:
    print(f"[ RUN      ] {name}", flush=True)
    what, _, where = name.split(".")[-1].partition("_on_")
    if where and where != os.environ["FAKE_KERNEL"]:
        what = "passes"
    if what == "crashes":
        os.kill(os.getpid(), signal.SIGSEGV)
    if what == "hangs":
        signal.pause()
    if what == "leaves":
        sys.exit(0)
    if what == "fails":
        print("some/file_test.cc:12: Failure\\nExpected equality\\n  1\\n  2")
        print(f"[  FAILED  ] {name}, where GetParam() = 3 (4 ms)", flush=True)
    elif what.startswith("skips"):
        print(f"some/file_test.cc:9: Skipped\\n{what}: no such thing\\n\\n[  SKIPPED ] {name} (0 ms)", flush=True)
    else:
        print(f"[       OK ] {name} (7 ms)", flush=True)
sys.exit(0)
"""

# Stands in for scripts/kernel_ready.
FAKE_READY = """#!/usr/bin/env python3
import json, os, pathlib
features = json.loads(pathlib.Path(__file__).with_name("features.json").read_text(encoding="utf-8"))
for name, answer in features.get(os.environ["FAKE_KERNEL"], features["any"]).items():
    print(name, answer)
"""

# Stands in for ringside: answers.json beside it says what each command prints and ends with, on which kernel.
FAKE_RINGSIDE = """#!/usr/bin/env python3
import json, os, pathlib, sys
answers = json.loads(pathlib.Path(__file__).with_name("answers.json").read_text(encoding="utf-8"))
command = sys.argv[1] if "--rules" not in sys.argv else "rules"
answer = answers.get(f"{command} on {os.environ['FAKE_KERNEL']}", answers[command])
sys.stdout.write(answer["stdout"] if isinstance(answer["stdout"], str) else json.dumps(answer["stdout"]))
sys.stderr.write(answer.get("stderr", ""))
sys.exit(answer["status"])
"""

MATRIX_FILE = """
[guest]
smp = 2
memory = "128M"
[features]
rings = "what is needed"
speed = "what is not"
[[skip]]
says = "^skips_rings: "
lacks = "rings"
[step.features]
does = "features"
time_limit = "60s"
needs = ["rings"]
"""
TESTS = '[step.tests]\ndoes = "tests"\nlabels = ["kernel"]\ntime_limit = "60s"\n'
CHECK = '[step.check]\ndoes = "check"\nneeds = ["rings"]\ntime_limit = "60s"\n'


def answer(stdout, status=0, stderr=""):
    return {"stdout": stdout, "status": status, "stderr": stderr}


def check_run(outcome="clean", reason="", **more):
    return {"consumer": "copy", "scenario": "wrap", "ring": "ringbuf", "outcome": outcome, "reason": reason,
            "wall_seconds": 0.5, "repeat": "ringside check --seed 1", "verdict": {"defects": []}} | more


def has_everything(name, more=""):
    """A kernel that lacks nothing."""
    return f'name = "{name}"\n{more}'


def lacks(name, *features):
    return has_everything(name, f"lacks = {json.dumps(features)}")


def alive(pid):
    try:
        state = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in "ZX"


def gone(pid):
    """Whether it ends: a signal that was sent may still be on its way."""
    deadline = time.monotonic() + DEADLINE_S
    while alive(pid):
        if time.monotonic() > deadline:
            return False
        os.sched_yield()
    return True


class Case(unittest.TestCase):
    """A tree of its own, with the true scripts/matrix in it."""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.root = pathlib.Path(scratch.name)
        self.build = self.root / "build/release"
        self.output = self.build / "matrix"
        for folder in ("ci", "scripts", "build/release/bin"):
            (self.root / folder).mkdir(parents=True)
        shutil.copy(SCRIPTS / "matrix", self.root / "scripts/matrix")
        shutil.copytree(SCRIPTS / "matrixlib", self.root / "scripts/matrixlib",
                        ignore=shutil.ignore_patterns("__pycache__"))
        # ctest puts the launcher before each program; in a guest it has no business.
        for name, text in (("scripts/in_vm", "#!/bin/false\n"), ("scripts/vm", FAKE_VM),
                           ("scripts/kernel_ready", FAKE_READY),
                           ("build/release/program", FAKE_PROGRAM), ("build/release/bin/ringside", FAKE_RINGSIDE)):
            (self.root / name).write_text(text, encoding="utf-8")
            (self.root / name).chmod(0o755)
        (self.root / "scripts/most").touch()
        self.features()
        self.answers(doctor=answer({"worlds": {"kernel": {"runs": True, "reason": ""}}}),
                     rules=answer({"rules": []}), check=answer({"runs": [check_run()]}))
        self.tests("T.passes")

    def features(self, **of_kernels):
        """What kernels answer for their features; all have everything but those named here."""
        everything = {"rings": "yes", "speed": "yes"}
        answers = {"any": everything} | {kernel: everything | own for kernel, own in of_kernels.items()}
        (self.root / "scripts/features.json").write_text(json.dumps(answers), encoding="utf-8")

    def answers(self, **answers):
        """What ringside answers: check=..., or check_on_KERNEL=... for one kernel."""
        path = self.build / "bin/answers.json"
        known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        path.write_text(json.dumps(known | {name.replace("_on_", " on "): value for name, value in answers.items()}),
                        encoding="utf-8")

    def tests(self, *names, label="kernel", limit_s=60):
        lines = [f'add_test([=[{name}]=] "{self.root}/scripts/in_vm" "{self.build}/program" "--gtest_filter={name}")\n'
                 f'set_tests_properties([=[{name}]=] PROPERTIES LABELS {label} TIMEOUT {limit_s})\n' for name in names]
        (self.build / "CTestTestfile.cmake").write_text("".join(lines), encoding="utf-8")

    def start(self, *kernels, steps=TESTS, arguments=(), built=True):
        """The command, on kernels given as names or as the lines of their tables."""
        tables = [f"[[kernel]]\n{kernel if '=' in kernel else has_everything(kernel)}\n" for kernel in kernels]
        (self.root / "ci/kernels.toml").write_text("".join([MATRIX_FILE, steps, *tables]), encoding="utf-8")
        build = () if "--build" in arguments or not built else ("--build", self.build)
        return subprocess.Popen([self.root / "scripts/matrix", *build, *arguments], text=True,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def run_matrix(self, *kernels, **options):
        """(exit status, stdout, stderr)."""
        process = self.start(*kernels, **options)
        out, err = process.communicate(timeout=DEADLINE_S)
        return process.returncode, out, err

    def cells(self):
        """"step: group name" -> kernel -> (outcome, reason)."""
        rows = json.loads((self.output / "matrix.json").read_text(encoding="utf-8"))["rows"]
        return {" ".join(filter(None, (row["step"] + ":", row["group"], row["name"]))):
                {kernel: (cell["outcome"], cell.get("reason", "")) for kernel, cell in row["cells"].items()}
                for row in rows}

    def guests(self, kernel):
        """How many guests of that kernel were started."""
        return (self.root / "scripts/started").read_text(encoding="utf-8").split().count(kernel)


class Outcomes(Case):
    def test_all_that_passes_everywhere_is_clean(self):
        status, out, _ = self.run_matrix("one", "two")
        self.assertEqual(status, 0, out)
        self.assertEqual(self.cells()["tests: T passes"], {"one": ("pass", ""), "two": ("pass", "")})
        self.assertRegex(out, r"(?m)^clean: 8 cells passed, 0 failed, 0 skipped; 2 kernels, ")

    def test_a_test_that_fails_on_one_kernel_fails_the_run_and_is_named(self):
        self.tests("T.passes", "T.fails_on_two")
        status, out, _ = self.run_matrix("one", "two")
        self.assertEqual(status, 1)
        self.assertEqual(self.cells()["tests: T fails_on_two"],
                         {"one": ("pass", ""), "two": ("fail", "file_test.cc:12: Expected equality 1 2")})
        self.assertIn("two  tests: T fails_on_two: file_test.cc:12: Expected equality 1 2", out)
        self.assertRegex(out, r"T fails_on_two +✓ +✗¹\n")

    def test_a_skip_is_right_where_the_kernel_lacks_the_feature_only(self):
        self.tests("T.skips_rings")
        self.features(old={"rings": "no: not yet"})
        self.answers(doctor_on_old=answer({"worlds": {"kernel": {"runs": False, "reason": "no rings"}}}, 3))
        status, _, _ = self.run_matrix(lacks("old", "rings"), "new")
        self.assertEqual(status, 1)
        self.assertEqual(self.cells()["tests: T skips_rings"],
                         {"old": ("skip", "skips_rings: no such thing"),
                          "new": ("fail", "skipped, though new must have rings: skips_rings: no such thing")})

    def test_a_skip_for_a_reason_that_nobody_knows_has_failed(self):
        self.tests("T.skips_today")
        self.assertEqual(self.run_matrix("one")[0], 1)
        self.assertEqual(self.cells()["tests: T skips_today"]["one"], (
            "fail", "skipped for a reason that ci/kernels.toml does not know: skips_today: no such thing"))

    def test_a_feature_must_be_as_the_matrix_says_in_both_directions(self):
        self.features(one={"speed": "no: slow"}, old={"rings": "yes"})
        self.answers(doctor_on_old=answer({"worlds": {"kernel": {"runs": False, "reason": "no rings"}}}, 3))
        self.assertEqual(self.run_matrix("one", lacks("old", "rings"))[0], 1)
        self.assertEqual(self.cells()["features: feature speed"]["one"], ("fail", "one must have speed: no: slow"))
        self.assertEqual(self.cells()["features: feature rings"]["old"],
                         ("fail", "old must not have rings, and has it"))

    def test_a_feature_that_nobody_asks_for_has_failed(self):
        (self.root / "scripts/features.json").write_text('{"any": {"rings": "yes", "noise": "yes"}}', encoding="utf-8")
        self.assertEqual(self.run_matrix("one")[0], 1)
        self.assertEqual(self.cells()["features: feature speed"]["one"][0], "fail")
        self.assertEqual(self.cells()["features: feature noise"]["one"][0], "fail")

    def test_the_table_of_versions_is_held_against_the_kernel(self):
        self.answers(rules=answer({"rules": [{"name": "rings", "here": True}, {"name": "speed", "here": False}]}))
        self.assertEqual(self.run_matrix("one")[0], 1)
        self.assertEqual(self.cells()["features: version table rings"]["one"], ("pass", ""))
        self.assertEqual(self.cells()["features: version table speed"]["one"],
                         ("fail", "sim/kernel_version.cc says no, the kernel yes"))

    def test_a_doctor_that_is_wrong_has_failed(self):
        self.answers(doctor=answer({"worlds": {"kernel": {"runs": False, "reason": "no rings"}}}, 3))
        self.assertEqual(self.run_matrix("one")[0], 1)
        self.assertEqual(self.cells()["features: doctor finds that kernel rings run"]["one"],
                         ("fail", "says no: no rings"))
        self.answers(doctor=answer({"worlds": {"kernel": {"runs": True, "reason": ""}}}, 3))
        self.assertEqual(self.run_matrix("one")[0], 1)
        self.assertEqual(self.cells()["features: doctor finds that kernel rings run"]["one"],
                         ("fail", "says yes, and ends with status 3"))


class Commands(Case):
    ITSELF = "check: the step itself"

    def outcome_on(self, given, kernel="one", row=ITSELF):
        self.answers(check=given)
        self.run_matrix(lacks(kernel, "rings") if kernel == "old" else kernel, steps=CHECK)
        return self.cells().get(row, {}).get(kernel)

    def test_every_run_of_check_is_a_row(self):
        self.outcome_on(answer({"runs": [check_run(), check_run("defects", scenario="flood", verdict={"defects": [
            {"kind": "lost", "count": 2, "detail": "2 records"}]})]}, status=1))
        self.assertEqual(self.cells()["check: ringbuf copy.wrap"]["one"], ("pass", ""))
        self.assertEqual(self.cells()["check: ringbuf copy.flood"]["one"], ("fail", "lost ×2: 2 records"))

    def test_a_skipped_run_needs_an_excuse(self):
        given = answer({"runs": [check_run("skipped", "skips_rings: x")]})
        self.assertEqual(self.outcome_on(given, row="check: ringbuf copy.wrap")[0], "fail")

    def test_what_cannot_run_says_so_in_one_line_and_is_skipped(self):
        self.assertEqual(self.outcome_on(answer("", 3, "ringside: no rings here\n"), "old"),
                         ("skip", "without rings: ringside: no rings here"))
        self.assertEqual(self.guests("old"), 1)

    def test_an_unclear_refusal_has_failed(self):
        for given in (answer("", 3, "no\nrings\n"), answer("", 3), answer("no rings", 3, "no rings\n"),
                      answer("", 1, "no rings\n"), answer({"runs": [check_run()]}, 0)):
            with self.subTest(given=given):
                self.assertEqual(self.outcome_on(given, "old")[0], "fail")

    @unittest.skipIf(os.geteuid(), "hiding a folder takes the right to mount")
    def test_a_step_that_hides_a_feature_lacks_it(self):
        (self.root / "hidden").mkdir()
        unmount = ["umount", "--quiet", "--recursive", self.root / "hidden"]
        self.addCleanup(subprocess.run, unmount, check=False)
        steps = f'{CHECK}[step.check.hide]\n"{self.root}/hidden" = "rings"\n'
        for given, outcome in ((answer("", 3, "ringside: no rings here\n"), "skip"), (answer({"runs": [check_run()]}),
                                                                                       "fail")):
            self.answers(check=given)
            self.run_matrix("one", steps=steps)
            subprocess.run(unmount, check=False)
            self.assertEqual(self.cells()[self.ITSELF]["one"][0], outcome)
            self.assertEqual(self.guests("one") % 2, 0)

    def test_a_refusal_where_nothing_is_lacking_has_failed(self):
        self.assertEqual(self.outcome_on(answer("", 3, "no rings\n")),
                         ("fail", "says that it cannot run, though nothing is lacking: no rings"))

    def test_no_report_at_all_has_failed(self):
        for given in (answer("", 70, "a fault\n"), answer("{}", 0), answer("[1]", 0), answer({"runs": []}, 0)):
            with self.subTest(given=given):
                self.assertEqual(self.outcome_on(given)[0], "fail")

    def test_a_bad_status_that_no_row_explains_has_failed(self):
        self.assertEqual(self.outcome_on(answer({"runs": [check_run()]}, 1, "odd\n")),
                         ("fail", "ended with status 1: odd"))

    def test_conform_has_a_row_for_each_kind_of_ring(self):
        rings = [{"ring": "perf", "scripts": 9, "seconds": 1, "finding": None},
                 {"ring": "ringbuf", "scripts": 9, "seconds": 1, "finding": {"deviation": "head is 8", "script": "x"}}]
        self.answers(conform=answer({"rings": rings}, 1))
        self.assertEqual(self.run_matrix("one", steps=CHECK.replace("check", "conform"))[0], 1)
        self.assertEqual(self.cells()["conform: perf"]["one"], ("pass", ""))
        self.assertEqual(self.cells()["conform: ringbuf"]["one"], ("fail", '"head is 8"'))

    def test_a_mutant_that_escapes_has_failed(self):
        mutants = [{"mutant": name, "expected": "torn", "convicted": name == "caught", "run": check_run("defects")}
                   for name in ("caught", "free")]
        self.answers(mutants=answer({"mutants": mutants}, 1))
        self.assertEqual(self.run_matrix("one", steps=CHECK.replace("check", "mutants"))[0], 1)
        self.assertEqual(self.cells()["mutants: ringbuf caught"]["one"], ("pass", ""))
        self.assertEqual(self.cells()["mutants: ringbuf free"]["one"], ("fail", "escaped: should show torn"))


class Programs(Case):
    def test_a_program_that_dies_costs_the_test_that_it_was_at(self):
        self.tests("T.one_passes", "T.crashes", "T.passes")
        self.assertEqual(self.run_matrix("one")[0], 1)
        self.assertEqual(self.cells()["tests: T crashes"]["one"], ("fail", "the program died: killed by SIGSEGV"))
        self.assertEqual(self.cells()["tests: T passes"]["one"], ("pass", ""))
        self.assertEqual(self.guests("one"), 2)

    def test_a_test_that_hangs_is_ended_at_its_limit_and_the_rest_runs(self):
        self.tests("T.hangs", "T.passes", limit_s=0.2)  # a fifth of a second, five times as long in guests
        self.assertEqual(self.run_matrix("one")[0], 1)
        self.assertEqual(self.cells()["tests: T hangs"]["one"], ("fail", "took longer than 1 s"))
        self.assertEqual(self.cells()["tests: T passes"]["one"], ("pass", ""))

    def test_a_program_that_leaves_without_a_word_has_failed(self):
        self.tests("T.leaves", "T.passes")
        self.assertEqual(self.run_matrix("one")[0], 1)
        self.assertEqual(self.cells()["tests: T leaves"]["one"], ("fail", "the program died: exit status 0"))
        self.assertEqual(self.cells()["tests: T passes"]["one"], ("pass", ""))

    def test_files_are_written_before_anything_runs(self):
        self.tests("T.passes")
        told = self.root / "told"
        self.assertEqual(self.run_matrix(has_everything("one", f'write = {{ "{told}" = "word" }}'))[0], 0)
        self.assertEqual(told.read_text(), "word")
        self.assertEqual(self.run_matrix(has_everything("one", 'write = { "/nowhere/file" = "word" }'))[0], 1)
        self.assertIn("/nowhere/file: No such file", (self.output / "matrix.json").read_text(encoding="utf-8"))
        status, _, err = self.run_matrix(has_everything("one", 'write = { "/nowhere/file" = 1 }'))
        self.assertEqual(status, 2)
        self.assertIn("write./nowhere/file is a number 1; write write as a table: \"file\" = \"what\"", err)

    def test_only_tests_with_the_label_run_and_left_out_ones_are_told(self):
        steps = TESTS + '[step.tests.left_out]\n"fails$" = "it is known"\n'
        self.tests("T.passes", "T.fails")
        status, out, _ = self.run_matrix("one", steps=steps)
        self.assertEqual((status, self.cells().get("tests: T fails")), (0, None), out)
        self.assertIn("tests fails$ on every kernel: it is known", out)
        self.tests("T.passes", label="other")
        self.assertEqual(self.run_matrix("one")[0], 0)
        self.assertNotIn("tests: T passes", self.cells())


class Guests(Case):
    def test_a_panic_costs_the_test_it_happened_in_and_the_rest_runs_in_a_new_guest(self):
        self.tests("T.a_passes", "T.panics", "T.z_passes")
        status, _, _ = self.run_matrix("panics", "good")
        self.assertEqual(status, 1)
        cells = self.cells()
        self.assertEqual(cells["tests: T panics"]["panics"],
                         ("fail", "panic: Kernel panic - not syncing: sysrq"))
        self.assertEqual(cells["tests: T a_passes"]["panics"], ("pass", ""))
        self.assertEqual(cells["tests: T z_passes"]["panics"], ("pass", ""))
        self.assertEqual(self.guests("panics"), 3)  # the features, the tests up to the panic, the rest
        self.assertEqual({cell["good"][0] for cell in cells.values()}, {"pass"})
        self.assertIn("the end of the console", (self.output / "matrix.json").read_text(encoding="utf-8"))

    def test_guests_that_die_again_and_again_are_given_up(self):
        self.tests(*(f"T{number}.panics" for number in range(9)))
        self.assertEqual(self.run_matrix("panics")[0], 1)
        self.assertEqual(self.guests("panics"), 1 + 4)
        self.assertEqual(self.cells()["tests: the step itself"]["panics"],
                         ("fail", "5 of its tests were not run: panic: Kernel panic - not syncing: sysrq"))

    def test_a_guest_that_the_emulator_has_lost_costs_nothing(self):
        self.tests("T.panics", "T.z_passes")
        status, out, err = self.run_matrix("emulated")
        self.assertEqual(status, 0, out)
        self.assertEqual(self.cells()["tests: T panics"]["emulated"], ("pass", ""))
        self.assertEqual(self.guests("emulated"), 1 + 2)
        self.assertIn("emulated tests: again in another guest: panic: 6.1 had a kernel oops: Oops: int3", err)

    def test_an_emulator_that_loses_guest_after_guest_is_told(self):
        self.tests("T.panics")
        status, _, _ = self.run_matrix("always_emulated")
        self.assertEqual(status, 1)
        self.assertEqual(self.cells()["tests: T panics"]["always_emulated"][0], "fail")
        self.assertEqual(self.guests("always_emulated"), 1 + 4)

    def test_a_step_whose_time_is_up_is_not_begun_again(self):
        self.tests("T.panics", "T.passes")
        self.assertEqual(self.run_matrix("slow")[0], 1)
        self.assertEqual(self.guests("slow"), 1 + 1)
        self.assertEqual(self.cells()["tests: T panics"]["slow"][0], "fail")
        self.assertEqual(self.cells()["tests: the step itself"]["slow"][0], "fail")

    def test_a_kernel_that_does_not_boot_stops_no_other(self):
        status, out, _ = self.run_matrix("unbootable", "good")
        self.assertEqual(status, 1, out)
        cells = self.cells()
        self.assertEqual(cells["features: the step itself"]["unbootable"],
                         ("fail", "boot: the guest did not come up"))
        self.assertEqual(cells["tests: the step itself"]["unbootable"][0], "fail")
        self.assertEqual(cells["tests: T passes"], {"good": ("pass", "")})
        self.assertEqual(self.guests("unbootable"), 1)
        self.assertRegex(out, r"unbootable +no guest ")

    def test_where_no_kernel_runs_the_status_is_3(self):
        status, _, err = self.run_matrix("unknown", "unbootable")
        self.assertEqual(status, 3)
        self.assertEqual(err.splitlines()[-1],
                         "scripts/matrix: no kernel of the matrix runs here: kernel: there is no such kernel")

    def test_no_more_guests_run_at_once_than_asked_for(self):
        for jobs in ("1", "2"):
            with self.subTest(jobs=jobs):
                (self.root / "scripts/most").write_text("0", encoding="utf-8")
                self.assertEqual(self.run_matrix("a", "b", "c", arguments=["--jobs", jobs])[0], 0)
                self.assertEqual((self.root / "scripts/most").read_text(encoding="utf-8"), jobs)

    def test_there_is_a_guest_for_every_two_processors(self):
        (self.root / "scripts/most").write_text("0", encoding="utf-8")
        self.assertEqual(self.run_matrix("a", "b", "c")[0], 0)
        self.assertEqual(int((self.root / "scripts/most").read_text(encoding="utf-8")),
                         min(3, max(1, len(os.sched_getaffinity(0)) // 2)))

    def test_no_more_guests_run_at_once_than_memory_has_room_for(self):
        huge = has_everything("a", 'memory = "900G"'), has_everything("b", 'memory = "900G"')
        self.assertEqual(self.run_matrix(*huge, arguments=["--jobs", "2"])[0], 0)
        self.assertEqual((self.root / "scripts/most").read_text(encoding="utf-8"), "1")

    def test_a_signal_ends_every_guest(self):
        for number, status in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            with self.subTest(number=number):
                process, pid = self.start_endless()
                process.send_signal(number)
                out, _ = process.communicate(timeout=DEADLINE_S)
                self.assertEqual(process.returncode, status, out)
                self.assertTrue(gone(pid))
                self.assertIn("interrupted: ", out)

    def test_no_guest_outlives_a_matrix_that_was_killed(self):
        process, pid = self.start_endless()
        process.kill()
        process.communicate(timeout=DEADLINE_S)
        self.assertTrue(gone(pid))

    def start_endless(self):
        """The command, and the number of a guest of it that does not end by itself."""
        pids = self.root / "scripts/pids"
        pids.unlink(missing_ok=True)
        os.mkfifo(pids)
        process = self.start("endless")
        self.addCleanup(process.kill)
        reader = os.open(pids, os.O_RDONLY | os.O_NONBLOCK)
        self.addCleanup(os.close, reader)
        told = select.select([reader], [], [], DEADLINE_S)[0]
        self.assertTrue(told, "no guest was started")
        pid = int(os.read(reader, 100))
        self.assertTrue(alive(pid))
        return process, pid


class Reports(Case):
    def test_rows_that_agree_everywhere_are_counted_unless_all_are_asked_for(self):
        self.tests("T.passes", "U.passes", "V.fails_on_two")
        _, out, _ = self.run_matrix("one", "two")
        self.assertIn("2 more rows the same on every kernel", out)
        self.assertNotIn("U passes", out)
        self.assertIn("U passes", self.run_matrix("one", "two", arguments=["--all"])[1])
        self.assertIn("U passes", (self.output / "matrix.txt").read_text(encoding="utf-8"))

    def test_rows_of_one_mind_are_one_line_with_one_reason(self):
        self.tests("T.skips_rings", "T.a.skips_rings", "U.skips_rings")
        self.features(old={"rings": "no: not yet"})
        self.answers(doctor_on_old=answer({"worlds": {"kernel": {"runs": False, "reason": "no rings"}}}, 3))
        _, out, _ = self.run_matrix(lacks("old", "rings"))
        self.assertRegex(out, r"3 rows: T, T\.a, … +–¹\n")
        self.assertEqual(out.count("skips_rings: no such thing"), 1)

    def test_there_is_a_junit_file_for_each_kernel(self):
        self.tests("T.passes", "T.fails_on_two", "T.skips_today")
        self.run_matrix("one", "/boot/two")
        suites = ElementTree.parse(self.output / "boot_two.xml").getroot().findall("testsuite")
        self.assertEqual([suite.get("name") for suite in suites], ["/boot/two.features", "/boot/two.tests"])
        self.assertEqual((suites[1].get("tests"), suites[1].get("failures")), ("3", "1"))
        one = ElementTree.parse(self.output / "one.xml").getroot().findall("testsuite")[1]
        failure = {case.get("name"): case.find("failure") for case in one}
        self.assertIn("skips_today", failure["skips_today"].get("message"))
        self.assertIsNone(failure["passes"])

    def test_progress_is_a_line_for_each_step_and_none_when_quiet(self):
        err = self.run_matrix("one", arguments=["--jobs", "1"])[2]
        self.assertEqual([line.split(";")[0] for line in err.splitlines()],
                         ["[1 of 2] one features: 3 passed", "[2 of 2] one tests: 1 passed"])
        self.assertEqual(self.run_matrix("one", arguments=["--quiet"])[2], "")

    def test_the_seed_is_told_and_handed_on(self):
        out = self.run_matrix("one", arguments=["--seed", "7", "--kernel", "one"])[1]
        self.assertIn("the same again: scripts/matrix --seed 0x0000000000000007 --kernel one", out)

    def test_only_what_is_asked_for_runs(self):
        self.run_matrix("one", "two", steps=TESTS + CHECK, arguments=["--kernel", "two", "--step", "check"])
        self.assertEqual({row.split(":")[0] for row in self.cells()}, {"features", "check"})
        self.assertEqual(self.cells()["check: ringbuf copy.wrap"], {"two": ("pass", "")})


class Usage(Case):
    def assert_refused(self, status, part, *kernels, **options):
        found, out, err = self.run_matrix(*kernels, **options)
        self.assertEqual((found, out, len(err.splitlines())), (status, "", 1), err)
        self.assertTrue(err.startswith("scripts/matrix: "), err)
        self.assertIn(part, err)

    def test_wrong_usage_is_one_line_with_what_would_be_right(self):
        for arguments, part in [(["--kernal", "one"], 'did you mean "--kernel"?'), (["--kernel", "on"], '"one"'),
                                (["--step", "test"], 'did you mean "tests"?'), (["--jobs", "0"], "from 1 to 256"),
                                (["--jobs", "many"], "many"), (["--seed", "x"], "0x9f3a"), (["--kernel"], "--kernel"),
                                (["--config", "/no/such"], "No such file"), (["--output", "/proc/x"], "/proc/x")]:
            with self.subTest(arguments=arguments):
                self.assert_refused(2, part, "one", arguments=arguments)

    def test_without_a_build_it_makes_its_own(self):
        shutil.copy(SCRIPTS / "lib.sh", self.root / "scripts/lib.sh")
        (self.root / "scripts/setup").write_text('#!/bin/sh\necho "set up with $*"; exit 1\n', encoding="utf-8")
        (self.root / "scripts/setup").chmod(0o755)
        process = self.start("one", built=False)
        out, err = process.communicate(timeout=DEADLINE_S)
        self.assertEqual((process.returncode, out), (3, ""))
        self.assertEqual(err.splitlines(), ["set up with --vm", "scripts/matrix: the set-up or the build of preset "
                                            "release failed; its first error is above"])

    def test_a_build_without_tests_cannot_run(self):
        self.assert_refused(3, "is no build with tests", "one", arguments=["--build", str(self.root / "ci")])

    def test_a_build_without_the_command_cannot_run(self):
        (self.build / "bin/ringside").unlink()
        self.assert_refused(3, "build everything first", "one")

    def test_a_test_that_was_not_built_cannot_run(self):
        (self.build / "CTestTestfile.cmake").write_text("add_test(a_NOT_BUILT a_NOT_BUILT)\n", encoding="utf-8")
        self.assert_refused(3, "build everything first", "one")

    def test_a_step_is_done_where_it_is_wanted_and_elsewhere_told_why_not(self):
        steps = TESTS + 'only_on = ["one"]\nwhy = "it is dear"\n' + CHECK + 'where = ["speed"]\n'
        self.features(two={"speed": "no: slow"})
        status, out, _ = self.run_matrix("one", lacks("two", "speed"), steps=steps)
        self.assertEqual(status, 0, out)
        self.assertEqual(self.cells()["tests: T passes"], {"one": ("pass", "")})
        self.assertEqual(self.cells()["check: ringbuf copy.wrap"], {"one": ("pass", "")})
        self.assertIn("  tests on two: only on one: it is dear\n", out)
        self.assertIn("  check on two: without speed there is nothing to do\n", out)

    def test_the_list_runs_nothing(self):
        status, out, _ = self.run_matrix("one", lacks("two", "speed"), arguments=["--list"])
        self.assertEqual((status, out), (0, "one: 2 CPUs, 128 MiB; features, tests\n"
                                            "two: 2 CPUs, 128 MiB; features, tests; lacks speed\n"))
        self.assertFalse((self.root / "scripts/started").exists())


class Config(Case):
    def test_each_mistake_is_named_with_its_place(self):
        for kernel, part in [
                ('name = "one"\nlack = ["speed"]', 'kernel "one": unknown key "lack"; did you mean "lacks"?'),
                ('name = "one"\nlacks = ["sped"]', 'did you mean "speed"?'),
                ('name = "one"\nlacks = "speed"', "lacks is a text"),
                ('name = "one"\nsmp = 0', "from 1 to 64"),
                ('name = "one"\nmemory = "many"', "512M or 2G"),
                ('lacks = ["speed"]', 'kernel 1: no key "name"'),
                ('name = "one"\n[kernel.tests]\nlabel = ["x"]', 'kernel "one".tests: unknown key "label"'),
                ('name = "one"\n[kernel.tests]\ntime_limit = "soon"', "90s or 5m"),
                ('name = "one"\n[[kernel]]\nname = "one"', "there twice"),
                ('name = "one"\nname = "two"', "no TOML")]:
            with self.subTest(kernel=kernel):
                status, _, err = self.run_matrix(kernel)
                self.assertEqual((status, len(err.splitlines())), (2, 1), err)
                self.assertIn(part, err)

    def test_each_mistake_in_a_step_is_named_with_its_place(self):
        for steps, part in [
                ('[step.x]\ndoes = "testing"\ntime_limit = "9s"\n', 'step.x: does "testing"'),
                ('[step.x]\ndoes = "check"\n', "time_limit as 90s or 5m"),
                ('[step.x]\ndoes = "tests"\ntime_limit = "9s"\n', "has no labels"),
                ('[step.x]\ndoes = "check"\ntime_limit = "9s"\nlabels = ["x"]\n', 'unknown key "labels"'),
                ('[step.x]\ndoes = "check"\ntime_limit = "9s"\noffline = ["1"]\n', "CPU numbers"),
                ('[step.x]\ndoes = "check"\ntime_limit = "9s"\nneeds = ["ring"]\n', 'did you mean "rings"?'),
                ('[step.x]\ndoes = "check"\ntime_limit = "9s"\nwhere = ["ring"]\n', 'did you mean "rings"?'),
                ('[step.x]\ndoes = "check"\ntime_limit = "9s"\nonly_on = ["on"]\n', 'did you mean "one"?'),
                ('[step.x]\ndoes = "check"\ntime_limit = "9s"\nonly_on = ["one"]\n', "why it is done on these"),
                ('[step.lacks]\ndoes = "check"\ntime_limit = "9s"\n', "no key of a kernel"),
                (TESTS + '[step.tests.left_out]\n"(" = "x"\n', "no pattern"),
                ('[[skip]]\nsays = "x"\nlacks = "wings"\n', 'did you mean "rings"?')]:
            with self.subTest(steps=steps):
                status, _, err = self.run_matrix("one", steps=steps)
                self.assertEqual((status, len(err.splitlines())), (2, 1), err)
                self.assertIn(part, err)


class Shipped(unittest.TestCase):
    """ci/kernels.toml itself."""

    def setUp(self):
        self.matrix = config.load(SHIPPED)

    def test_it_has_kernels_from_5_10_to_the_newest_and_two_of_them_are_preempt_rt(self):
        names = [kernel.name for kernel in self.matrix.kernels]
        self.assertGreaterEqual(len(names), 10)
        self.assertEqual(names[0], "5.10")
        self.assertIn("newest", names)
        self.assertGreaterEqual(sum("preempt_rt" not in kernel.lacks for kernel in self.matrix.kernels), 2)
        self.assertTrue(all(kernel.smp >= 4 for kernel in self.matrix.kernels))

    def test_it_names_the_features_that_are_asked_for(self):
        text = (SCRIPTS / "kernel_ready").read_text(encoding="utf-8")
        asked = re.findall(r'^    "(\w+)": (?:probe_|try_|lambda)', text, re.M)
        self.assertEqual(list(self.matrix.features), asked)


if __name__ == "__main__":
    unittest.main()
