#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The `ringside` command as its users meet it: exit statuses, what stands on which stream, what is left behind.

Usage: command_test.py RINGSIDE PLUGIN_FOLDER [unittest arguments]
"""
import json
import os
import pty
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree
from pathlib import Path

RINGSIDE = ""
PLUGINS = Path()
EXPLORED = Path()  # the explored programs beside the command; there are none where they cannot be built
DEADLINE_S = 110
SEED = "20261130"  # of every run that names none: what a test shows must not hang on the day's luck

# One cell of the model that takes a fraction of a second.
SMALL = ["check", "--world", "model", "--ring", "ringbuf", "--consumer", "copy", "--scenario", "one_page"]


def environment(variables=None):
    """This process's environment with these as the only variables of ours, and a seed."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("RINGSIDE_")}
    return {**kept, "RINGSIDE_SEED": SEED, **(variables or {})}


def ringside(*arguments, variables=None, wrapper=(), **options):
    return subprocess.run([*wrapper, RINGSIDE, *arguments], env=environment(variables), stdin=subprocess.DEVNULL,
                          stdout=options.pop("stdout", subprocess.PIPE), stderr=subprocess.PIPE, text=True,
                          timeout=DEADLINE_S, check=False, **options)


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="ringside_command_")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def assert_refused(self, result, status, *parts):
        """Nothing ran: that exit status, one line on stderr with all the parts, nothing on stdout."""
        self.assertEqual(result.returncode, status, result.stderr)
        self.assertEqual(result.stdout, "")
        lines = result.stderr.splitlines()
        self.assertEqual(len(lines), 1, result.stderr)
        self.assertTrue(lines[0].startswith("ringside: "), lines[0])
        for part in parts:
            self.assertIn(part, lines[0])

    def scenario(self, text):
        path = self.folder / "scenario.toml"
        path.write_text(text, encoding="utf-8")
        return str(path)


class WrongUsage(Case):
    def test_each_is_one_line_with_what_would_be_right(self):
        for arguments, part in [
                ([], "check, mutants, compare, conform, explore, replay, list, doctor"),
                (["chek"], 'did you mean "check"?'),
                (["check", "--wrold", "model"], 'did you mean "--world"?'),
                (["check", "--world", "moon"], "valid: model, kernel, both"),
                (["check", "--ring", "perv"], 'did you mean "perf"?'),
                (["check", "--consumer", "zero_cpy"], 'did you mean "zero_copy"?'),
                (["check", "--scenario", "stedy"], 'did you mean "steady"?'),
                (["check", "--scenario", "no/such.toml"], "ENOENT"),
                (["check", "--plugin", "no/such.so"], "ENOENT"),
                (["check", "--records", "many"], "64K"),
                (["check", "--records", "0"], "from 1"),
                (["check", "--seed", "0xsee"], "0x9f3a"),
                (["check", "--seed"], "it has no value"),
                (["check", "--seed", "1", "--seed", "2"], "given twice"),
                (["check", "--records", "1001G"], "10^12"),
                (["check", "--hang-timeout", "soon"], "500ms"),
                (["check", "--quiet=banana"], "neither on nor off"),
                (["check", "--scenario", "/dev/zero"], "it is a device"),
                (["check", "--format", "yaml"], "valid: table, json, junit"),
                (["check", "--output", "/no/such/directory/report"], "make the directory"),
                (["check", "--output", "/"], "directory"),
                (["check", "steady"], "--scenario"),
                (["check", "--consumer", ""], "empty name"),
                (["check", "--consumer", "libbpf", "--world", "model"], "ringside list"),
                (["mutants", "--consumer", "ignore_bussy"], 'did you mean "ignore_busy"?'),
                (["mutants", "--scenario", "steady"], "no such flag"),
                (["list", "plans"], "valid: consumers, scenarios, mutants, programs, rings"),
                (["list", "--format", "junit"], "table or json"),
                (["doctor", "--format", "junit"], "table or json"),
                (["doctor", "now"], "does not expect it"),
                (["conform", "--rule", "perf_space"], "add --mutants"),
                (["conform", "--mutants", "--rule", "perf_spice"], 'did you mean "perf_space"?'),
                (["conform", "--mutants", "--ring", "perf"], "--rule"),
                (["conform", "--mutants", "--rules"], "leave --mutants"),
                (["conform", "--rules", "--format", "junit"], "table or json"),
                (["conform", "--scripts", "0"], "from 1"),
                (["conform", "a.script"], "ringside replay FILE"),
                (["replay"], "ringside replay FILE"),
                (["replay", "a", "b"], "one file or token at a time"),
                (["replay", "no/such.script"], "ENOENT"),
                (["replay", "/"], "it is a directory"),
                (["replay", "/dev/zero"], "it is a device"),
        ]:
            with self.subTest(arguments=arguments):
                self.assert_refused(ringside(*arguments), 2, part)

    def test_the_variable_that_is_wrong_is_named(self):
        for name, value in [("WORLD", "moon"), ("RING", "x"), ("CONSUMER", "nobody"), ("SCENARIO", "nowhere"),
                            ("PLUGIN", "no.so"), ("RECORDS", "-1"), ("SEED", "x"), ("HANG_TIMEOUT", "x"),
                            ("FORMAT", "x"), ("OUTPUT", "/no/such/directory/x"), ("QUIET", "perhaps")]:
            with self.subTest(name=name):
                result = ringside("check", variables={"RINGSIDE_" + name: value})
                self.assert_refused(result, 2, value)

    def test_a_scenario_with_an_unknown_key_is_refused_with_the_place(self):
        path = self.scenario('name = "x"\nrings = ["ringbuf"]\nspeed = 9\n[[source]]\nrecords = 1\n')
        self.assert_refused(ringside("check", "--scenario", path), 2, path, "speed")

    def test_a_ring_size_that_is_no_power_of_two_is_refused(self):
        path = self.scenario('name = "x"\nrings = ["ringbuf"]\n[ring]\nsize = 5000\n[[source]]\nrecords = 1\n')
        self.assert_refused(ringside("check", "--scenario", path), 2, "ring.size is 5000", "power of two")

    def test_a_script_that_is_wrong_is_refused_with_line_and_column(self):
        for text, part in [("ringbuf pages=1 overwrite=no look=asked\nemit size=8\nend\n",
                            ':3:1: unknown operation "emit"'),
                           ("ringbuf pages=1 overwrite=no look=asked\noutput size=-1 flags=0\nend\n",
                            ":3:13: \"-1\" is no value of size; size is a number from 0 to 131072"),
                           ("perf pages=1\nend\n", ":2:6: perf has no readonly"),
                           ("ringbuf pages=1 overwrite=no look=asked\npoll\n", ":4:1: the file ends before")]:
            with self.subTest(text=text):
                path = self.folder / "a.script"
                path.write_text("ringside-script 1\n" + text, encoding="utf-8")
                self.assert_refused(ringside("replay", str(path)), 2, str(path) + part)

    def test_a_plugin_that_breaks_the_contract_is_refused_with_its_file(self):
        for fault, part in [("abi", "abi_version"), ("function", "drain is NULL"), ("entry", "does not export"),
                            ("exit", "its entry ended with exit status 0"), ("abort", "its entry ended with SIGABRT"),
                            ("constructor", "loading it ended with exit status 3")]:
            with self.subTest(fault=fault):
                path = str(PLUGINS / f"libplugin_{fault}.so")
                self.assert_refused(ringside("check", "--plugin", path), 2, path, part)


class Check(Case):
    def test_a_clean_check_ends_with_its_seed_and_verdict(self):
        result = ringside(*SMALL, "--seed", "7")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        lines = result.stdout.splitlines()
        self.assertIn("seed 0x0000000000000007, the same again: " + " ".join(["ringside", *SMALL]), lines[-2])
        self.assertTrue(lines[-1].startswith("clean: 1 cell, every one of "), lines[-1])

    def test_the_same_seed_gives_the_same_account(self):
        accounts = [json.loads(ringside(*SMALL, "--seed", "7", "--format", "json").stdout)["runs"][0]["verdict"]
                    for _ in range(2)]
        self.assertEqual(accounts[0], accounts[1])
        self.assertGreater(accounts[0]["accounting"]["delivered"], 0)

    def test_a_broken_consumer_makes_the_status_1_and_repeats_by_its_line(self):
        result = ringside("check", "--world", "model", "--consumer", "ignore_busy", "--scenario", "busy_head",
                          "--format", "json")
        self.assertEqual(result.returncode, 1, result.stderr)
        run = json.loads(result.stdout)["runs"][0]
        self.assertEqual(run["outcome"], "defects")
        self.assertIn("phantom", [defect["kind"] for defect in run["verdict"]["defects"]])
        words = run["repeat"].split()
        self.assertEqual(words[0], "ringside")
        again = ringside(*words[1:], "--format", "json")
        self.assertEqual(again.returncode, 1)
        self.assertEqual(json.loads(again.stdout)["runs"][0]["verdict"], run["verdict"])

    def test_a_plugin_that_reads_nothing_is_convicted(self):
        result = ringside("check", "--world", "model", "--scenario", "one_page", "--plugin",
                          str(PLUGINS / "libplugin_none.so"), "--hang-timeout", "2s", "--format", "json")
        self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
        self.assertEqual(json.loads(result.stdout)["runs"][0]["consumer"], "fixture")

    def test_variables_do_what_flags_do(self):
        result = ringside("check", variables={"RINGSIDE_WORLD": "model", "RINGSIDE_RING": "ringbuf",
                                              "RINGSIDE_CONSUMER": "copy,callback", "RINGSIDE_SCENARIO": "one_page",
                                              "RINGSIDE_SEED": "9", "RINGSIDE_FORMAT": "json", "RINGSIDE_QUIET": "1"})
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stderr, "")
        report = json.loads(result.stdout)
        self.assertEqual(report["context"]["seed"], "0x0000000000000009")
        self.assertEqual([run["consumer"] for run in report["runs"]], ["copy", "callback"])

    def test_the_report_goes_to_its_file_and_the_verdict_to_stderr(self):
        path = self.folder / "report.xml"
        result = ringside(*SMALL, "--format", "junit", "--output", str(path))
        self.assertEqual((result.returncode, result.stdout), (0, ""), result.stderr)
        self.assertIn("clean: 1 cell", result.stderr)
        suites = ElementTree.parse(path).getroot()
        self.assertEqual(suites.get("tests"), "1")
        self.assertEqual(suites.find("testsuite/testcase").get("classname"), "model.ringbuf")
        self.assertEqual([entry.name for entry in self.folder.iterdir()], ["report.xml"])

    def test_quiet_writes_nothing_but_the_report(self):
        self.assertEqual(ringside(*SMALL, "--quiet").stderr, "")

    def test_otherwise_the_line_to_repeat_comes_first(self):
        self.assertTrue(ringside(*SMALL).stderr.splitlines()[0].startswith("ringside check "))

    def test_a_report_that_cannot_be_written_is_told(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            result = ringside(*SMALL, "--quiet", stdout=full)
        self.assertEqual(result.returncode, 3)
        self.assertEqual(result.stderr, "ringside: write report to standard output: ENOSPC\n")

    def test_every_mutant_is_convicted_in_every_world_where_it_must_be(self):
        report = json.loads(ringside("mutants", "--quiet", "--format", "json").stdout)
        trials = {(mutant["mutant"], mutant["run"]["world"]): mutant for mutant in report["mutants"]}
        listed = json.loads(ringside("list", "mutants", "--format", "json").stdout)["mutants"]
        wanted = {(mutant["name"], world) for mutant in listed for world in mutant["worlds"].split(", ")}
        self.assertEqual(set(trials), wanted)
        may_lack = {"kernel"} if EXPLORED.is_dir() else {"kernel", "explored"}
        for (name, world), trial in trials.items():
            with self.subTest(mutant=name, world=world):
                skipped = trial["run"]["outcome"] == "skipped" and world in may_lack
                self.assertTrue(trial["convicted"] or skipped, trial["run"])

    def test_a_world_without_its_programs_is_skipped_aloud_or_refused(self):
        alone = self.folder / "ringside"
        shutil.copy(RINGSIDE, alone)
        named = subprocess.run([alone, "mutants", "--world", "explored"], capture_output=True, text=True, check=False,
                               env=environment())
        self.assertEqual((named.returncode, named.stdout), (3, ""))
        self.assertIn(f"there is no explored program in {self.folder}/explored", named.stderr)
        both = subprocess.run([alone, "mutants", "--consumer", "ignore_busy"], capture_output=True, text=True,
                              check=False, env=environment())
        self.assertEqual(both.returncode, 0, both.stdout + both.stderr)
        self.assertIn("not every explored program can be run here", both.stderr)
        self.assertIn("ignore_busy (ringbuf), explored: skipped: there is no explored program", both.stdout)

    def test_a_check_explores_nothing(self):
        result = ringside("check", "--world", "explored")
        self.assertEqual(result.returncode, 2)
        self.assertIn("ringside mutants --world explored", result.stderr)

    def test_a_mutant_that_is_not_tried_in_the_worlds_named_is_wrong_usage(self):
        result = ringside("mutants", "--world", "model", "--consumer", "header_relaxed")
        self.assertEqual(result.returncode, 2)
        self.assertIn("none of these mutants must be convicted in the worlds named", result.stderr)

    def test_a_mutant_is_convicted(self):
        result = ringside("mutants", "--world", "model", "--consumer", "ignore_busy", "forget_lost")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn("convicted of its own defect in every one of 2 trials", result.stdout)


class Interrupted(Case):
    def test_a_comparison_says_who_is_how_fast(self):
        result = ringside("compare", "--world", "model", "--ring-size", "64K", "--rounds", "2", "--size", "64",
                          "--consumer", "copy", "callback")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("one pass", result.stdout)
        self.assertIn("4 figures of 2 consumers", result.stdout)
        self.assertIn("drains", result.stderr)

    def test_who_is_wrong_gets_no_figure(self):
        result = ringside("compare", "--world", "model", "--ring-size", "64K", "--rounds", "2", "--size", "64",
                          "--consumer", "copy", "ignore_busy", "--format", "json", "--quiet")
        self.assertEqual(result.returncode, 1, result.stderr)
        series = {each["consumer"]: each for each in json.loads(result.stdout)["series"]}
        self.assertIn("wall_ns_a_record", series["copy"])
        self.assertIn("convicted of", series["ignore_busy"]["reason"])

    def test_what_is_slower_than_the_baseline_ends_with_1(self):
        kept = str(self.folder / "baseline.json")
        asked = ("compare", "--world", "model", "--ring-size", "64K", "--rounds", "8", "--size", "64",
                 "--consumer", "copy", "read", "--quiet")
        self.assertEqual(ringside(*asked, "--format", "json", "--output", kept).returncode, 0)
        report = json.loads(Path(kept).read_text(encoding="utf-8"))
        for series in report["series"]:  # as if all had been ten times as fast then
            times = series["wall_ns_a_record"]
            times["rounds"] = [each / 10 for each in times["rounds"]]
        Path(kept).write_text(json.dumps(report), encoding="utf-8")
        result = ringside(*asked, "--baseline", kept)
        self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
        self.assertIn("times as slow", result.stdout)
        self.assertIn("slower than the baseline: 4 figures", result.stdout)
        Path(kept).write_text("{}", encoding="utf-8")
        self.assert_refused(ringside(*asked, "--baseline", kept), 2, kept, "no report of a comparison")

    def test_a_comparison_that_cannot_be_is_refused(self):
        self.assert_refused(ringside("compare", "--consumer", "drain_all"), 2, "drain_all", "no BPF ring buffer")
        self.assert_refused(ringside("compare", "--size", "12"), 2, "multiples of 8")
        self.assert_refused(ringside("compare", "--consumer", "copy", "--base", "callback"), 2, "callback",
                            "it is not compared")

    def test_a_signal_ends_the_run_and_reports_what_was_judged(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(signal=number):
                self.interrupt(number)

    def interrupt(self, number):
        # 100 G records have no end within this test; what is waited for is the line that says the run began.
        endless = ["check", "--world", "model", "--ring", "ringbuf", "--consumer", "copy", "--scenario", "flood",
                   "--records", "100G"]
        process = subprocess.Popen([RINGSIDE, *endless], env=environment(), stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
        self.addCleanup(process.kill)
        for line in process.stderr:
            if "; now " in line:
                break
        process.send_signal(number)
        out, _ = process.communicate(timeout=DEADLINE_S)
        self.assertEqual(process.returncode, 128 + number)
        self.assertIn(f"interrupted by {number.name} after 0 of 1 cell", out)
        with self.assertRaises(ProcessLookupError):
            os.killpg(process.pid, 0)


class Privilege(Case):
    """What a user without privilege meets. Root gives its capabilities away for it."""

    def setUp(self):
        super().setUp()
        self.wrapper = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"] if os.geteuid() == 0 else []
        doctor = ringside("doctor", "--format", "json", wrapper=self.wrapper)
        self.doctor = json.loads(doctor.stdout)
        self.assertEqual(doctor.returncode, 0 if self.doctor["worlds"]["kernel"]["runs"] else 3)
        if doctor.returncode == 0:
            self.skipTest("this machine lets a process without capabilities run kernel rings")

    def test_a_world_that_was_named_and_cannot_run_is_status_3(self):
        for world in ("kernel", "both"):
            result = ringside("check", "--world", world, wrapper=self.wrapper)
            self.assert_refused(result, 3, "missing: ", "ringside doctor")

    def test_the_commands_that_ask_the_kernel_are_status_3(self):
        path = self.folder / "a.script"
        path.write_text("ringside-script 1\nringbuf pages=1 overwrite=no look=asked\npoll\nend\n", encoding="utf-8")
        for arguments in (["conform"], ["conform", "--mutants"], ["replay", str(path)]):
            self.assert_refused(ringside(*arguments, wrapper=self.wrapper), 3, "missing: ", "ringside doctor")

    def test_worlds_that_were_not_named_are_skipped_aloud(self):
        result = ringside("check", "--ring", "ringbuf", "--consumer", "copy", "--scenario", "one_page",
                          wrapper=self.wrapper)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn("kernel rings cannot be run here", result.stderr)
        self.assertIn("kernel: all 1 cell skipped", result.stdout)
        self.assertIn("; 1 cell skipped;", result.stdout.splitlines()[-1])

    def test_nothing_judged_is_status_3(self):
        result = ringside("check", "--consumer", "libbpf", "--scenario", "one_page", wrapper=self.wrapper)
        self.assertEqual(result.returncode, 3, result.stdout + result.stderr)
        self.assertIn("nothing was judged", result.stdout)


class Telling(Case):
    def test_list_tells_every_topic(self):
        listed = json.loads(ringside("list", "--format", "json").stdout)
        for topic, name in [("consumers", "zero_copy"), ("scenarios", "steady"), ("mutants", "ignore_busy"),
                            ("rings", "perf")]:
            with self.subTest(topic=topic):
                self.assertIn(name, [item["name"] for item in listed[topic]])
                result = ringside("list", topic)
                self.assertEqual((result.returncode, result.stderr), (0, ""))
                self.assertTrue(result.stdout.startswith(topic + "\n"))
                self.assertIn("\n  " + name, result.stdout)

    def test_doctor_and_its_status_agree(self):
        result = ringside("doctor")
        able = json.loads(ringside("doctor", "--format", "json").stdout)["worlds"]["kernel"]["runs"]
        self.assertEqual(result.returncode, 0 if able else 3)
        self.assertIn("  kernel  " + ("runs here" if able else "cannot run here"), result.stdout)

    def test_doctor_says_of_each_thing_whether_it_is_there(self):
        findings = json.loads(ringside("doctor", "--format", "json").stdout)["findings"]
        for finding in findings:
            self.assertIn(finding["state"], ("present", "missing"))
            self.assertTrue(finding["purpose"])
        names = {finding["name"] for finding in findings}
        self.assertLessEqual({"bpf_load", "btf", "perf_event_open", "cap_sys_resource", "bpffs"}, names)
        self.assertLessEqual({"kvm", "qemu", "clang", "bpftool", "cpus"}, names)

    def test_version_and_help_go_to_stdout(self):
        version = ringside("--version")
        self.assertRegex(version.stdout, r"^ringside \d+\.\d+\.\d+\n$")
        for arguments in (["--help"], ["check", "--help"], ["doctor", "--help"]):
            result = ringside(*arguments)
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            self.assertIn("Exit status", result.stdout)

    def on_terminal(self, variables):
        """What `ringside list rings` writes to a terminal."""
        ours, theirs = pty.openpty()
        with subprocess.Popen([RINGSIDE, "list", "rings"], env=environment(variables), stdin=subprocess.DEVNULL,
                              stdout=theirs, stderr=theirs) as process:
            os.close(theirs)
            text = b""
            while True:
                try:
                    part = os.read(ours, 65536)
                except OSError:  # EIO: the other side is closed
                    break
                if not part:
                    break
                text += part
            self.assertEqual(process.wait(timeout=DEADLINE_S), 0)
        os.close(ours)
        return text

    def test_colours_are_for_terminals_that_want_them(self):
        self.assertIn(b"\x1b[", self.on_terminal({"TERM": "xterm", "NO_COLOR": ""}))
        self.assertNotIn(b"\x1b[", self.on_terminal({"TERM": "xterm", "NO_COLOR": "1"}))
        self.assertNotIn(b"\x1b[", self.on_terminal({"TERM": "dumb"}))
        self.assertNotIn("\x1b[", ringside("list", "rings", variables={"TERM": "xterm"}).stdout)


if __name__ == "__main__":
    RINGSIDE = os.path.abspath(sys.argv[1])
    PLUGINS = Path(sys.argv[2]).resolve()
    EXPLORED = Path(RINGSIDE).parent / "explored"
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
