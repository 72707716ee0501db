#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`ringside explore` and `ringside replay TOKEN` as their users meet them.

usage: explore_test.py RINGSIDE
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

RINGSIDE = ""


def ringside(*arguments):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("RINGSIDE_")}
    return subprocess.run([RINGSIDE, *arguments], env=kept, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=110, check=False)


def failure_of(program, *arguments):
    done = ringside("explore", program, "--format", "json", *arguments)
    return done.returncode, json.loads(done.stdout)["programs"][0]


class Explore(unittest.TestCase):
    def test_status_says_whether_something_fails(self):
        self.assertEqual(failure_of("a1_fence_edge")[0], 0)
        status, program = failure_of("a1_release_edge")
        self.assertEqual(status, 1)
        self.assertEqual((program["verdict"], program["failure"]["defect"]), ("failed", "missed_wakeup"))

    def test_the_memory_model_is_passed_on(self):
        self.assertEqual(failure_of("a1_release_edge", "--memory", "sc")[1]["verdict"], "proved")
        self.assertEqual(failure_of("a1_release_edge", "--memory", "tso")[1]["verdict"], "failed")

    def test_a_bound_is_in_the_verdict(self):
        status, program = failure_of("a1_fence_edge", "--executions", "1")
        self.assertEqual((status, program["verdict"], len(program["bounds"])), (0, "bounded", 1))

    def test_several_processes_see_what_one_sees(self):
        whole = failure_of("bpf_2x1")[1]
        shared = failure_of("bpf_2x1", "--jobs", "2")[1]
        self.assertEqual((shared["verdict"], shared["complete"]), ("proved", whole["complete"]))

    def test_a_checkpoint_is_gone_on_with(self):
        whole = failure_of("bpf_3x1")[1]
        with tempfile.TemporaryDirectory() as folder:
            kept = str(pathlib.Path(folder) / "kept.json")
            first = failure_of("bpf_3x1", "--executions", "40", "--checkpoint", kept)[1]
            self.assertEqual((first["verdict"], first["complete"] + first["blocked"]), ("bounded", 40))
            rest = failure_of("bpf_3x1", "--resume", kept)[1]
            self.assertEqual((rest["verdict"], rest["complete"]), ("proved", whole["complete"]))
            other = ringside("explore", "bpf_3x1", "--resume", kept, "--memory", "sc")
            self.assertEqual(other.returncode, 2)
            self.assertTrue(other.stderr.endswith("it is of c11, and this is sc; say its --memory\n"), other.stderr)
            files = ringside("explore", "--checkpoint", kept)
            self.assertEqual(files.returncode, 2)
            self.assertIn("these programs are in several files", files.stderr)

    def test_a_token_repeats_the_failure(self):
        failure = failure_of("a1_release_edge")[1]["failure"]
        self.assertEqual(failure["replay"], "ringside replay '" + failure["token"] + "'")
        again = ringside("replay", failure["token"], "--format", "json")
        self.assertEqual(again.returncode, 1, again.stderr)
        self.assertEqual(json.loads(again.stdout)["programs"][0]["failure"]["steps"], failure["steps"])

    def test_a_token_of_another_build_is_refused_in_one_line(self):
        name, model, build, schedule = failure_of("a1_release_edge")[1]["failure"]["token"].split("/")
        other = "0" * len(build)
        done = ringside("replay", "/".join((name, model, other, schedule)))
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn(f"the failure is of build {other}, and this is build {build}", done.stderr)

    def test_a_token_is_repeated_in_a_debugger(self):
        token = failure_of("a1_release_edge")[1]["failure"]["token"]
        program = str(pathlib.Path(RINGSIDE).resolve().parent / "explored" / "missed_wakeups")
        with tempfile.TemporaryDirectory() as folder:
            fake = pathlib.Path(folder) / "gdb"
            fake.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\nexit 7\n', encoding="utf-8")
            fake.chmod(0o755)
            run = [RINGSIDE, "replay", token, "--gdb"]
            done = subprocess.run(run, env={"PATH": f"{folder}:/bin"}, capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 7, done.stderr)
            words = done.stdout.splitlines()
            self.assertIn("break ringside::explore::Engine::fail", words)
            self.assertEqual(words[words.index("--args") + 1:], [program, "--quiet", "--replay", token])
            fake.unlink()
            done = subprocess.run(run, env={"PATH": folder}, capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stdout), (3, ""))
            self.assertRegex(done.stderr, r"^ringside: run gdb: .*; install gdb, or leave --gdb out\n$")

    def test_a_program_is_found_by_its_path_too(self):
        path = pathlib.Path(RINGSIDE).parent / "explored" / "missed_wakeups"
        done = ringside("explore", str(path), "--format", "json")
        programs = {program["name"]: program for program in json.loads(done.stdout)["programs"]}
        self.assertIn("a1_fence_edge", programs)
        replay = programs["a1_release_edge"]["failure"]["replay"]
        self.assertTrue(replay.endswith(f" --program {path}"), replay)

    def test_unknown_names_are_wrong_usage(self):
        done = ringside("explore", "a1_release_egde")
        self.assertEqual(done.returncode, 2)
        self.assertIn('did you mean "a1_release_edge"?', done.stderr)
        self.assertEqual(ringside("explore", "--memory", "arm").returncode, 2)
        self.assertEqual(ringside("explore", "--format", "junit").returncode, 2)

    def test_the_page_is_one_file(self):
        with tempfile.TemporaryDirectory() as folder:
            page = pathlib.Path(folder) / "report.html"
            done = ringside("explore", "a1_release_edge", "--format", "html", "--output", str(page))
            self.assertEqual(done.returncode, 1, done.stderr)
            text = page.read_text(encoding="utf-8")
        self.assertTrue(text.startswith("<!doctype html>"))
        self.assertNotIn("<script", text)

    def test_list_names_the_programs(self):
        listed = json.loads(ringside("list", "programs", "--format", "json").stdout)["programs"]
        self.assertIn("a1_release_edge", [program["name"] for program in listed])


if __name__ == "__main__":
    RINGSIDE = sys.argv.pop(1)
    unittest.main()
