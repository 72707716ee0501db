#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""libbpf's readers as Debian's source package has them, under the explorer: the verdict of each program, and how many
executions it has when every one was seen; and each mutant of them convicted.

usage: libbpf_test.py --build DIR --c-compiler CC --cxx-compiler CXX [--launcher CCACHE] [--build-type TYPE]

The sources come by scripts/debian_source, and are built in DIR/explore/libbpf as a tree of its own that finds what is
installed. What was built is not built again. Without an archive to ask: skipped, exit status 77.
"""
import argparse
import pathlib
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SKIPPED = 77

sys.path.insert(0, str(ROOT / "explore" / "programs"))
from programs_test import PROVED, check_reports, explore  # noqa: E402

RINGBUF, RING_BUFFER = "src/ringbuf.c", "include/linux/ring_buffer.h"
# A piece of a file, which must stand there exactly once, and what it becomes.
MUTANTS = {
    "len_plain": ("len = smp_load_acquire(len_ptr);", "len = *len_ptr;"),
    "len_relaxed": ("len = smp_load_acquire(len_ptr);", "len = READ_ONCE(*len_ptr);"),
    "producer_pos_relaxed": ("prod_pos = smp_load_acquire(r->producer_pos);",
                             "prod_pos = READ_ONCE(*r->producer_pos);"),
    "consumer_pos_relaxed": ("smp_store_release(r->consumer_pos, cons_pos);",
                             "WRITE_ONCE(*r->consumer_pos, cons_pos);"),
    "consumer_pos_early": ("err = r->sample_cb(",
                           "smp_store_release(r->consumer_pos, cons_pos); "
                           "err = r->sample_cb("),
}
PERF_MUTANTS = {
    "data_head_relaxed": ("smp_load_acquire(&base->data_head)", "READ_ONCE(base->data_head)"),
    "data_tail_relaxed": ("smp_store_release(&base->data_tail, tail)", "WRITE_ONCE(base->data_tail, tail)"),
}

# By file and program: the defect, or the number of complete executions. One producer's are 5^(records - 1): calls of
# ring_buffer__consume() in vain are none, and the producer only asks whether a record fits. bpf_rings has 27 of three
# records: libbpf looks at producer_pos once a batch, and not once a record.
PROGRAMS = {
    "ringbuf": {
        "consume_1x1": 1,
        "consume_1x2": 5,
        "consume_1x3": 25,
        "consume_1x4": 125,
        "consume_1x5": 625,
        "consume_1x6": 3125,
        "consume_1x8": 78125,
        "consume_1x9": 390625,
        "consume_2x1": 20,
        "consume_2x2": 4794,
        "consume_4x1": 52560,
        "consume_full": 3,
        "consume_wrap": 5,
        "kept_1x2": "use_after_release",
        # What was written anew is read, and known to be: the record behind the one that is due.
        "kept_full": "lost",
        "poll_1x1": 1,
        "poll_1x2": 41,
        "poll_unwoken": "missed_wakeup",
        "spin_1x2": PROVED,
        "spin_1x3": PROVED,
        "spin_2x1": PROVED,
    },
    "perf_buffer": {
        "perf_consume_2_wrap": 4,
        "perf_consume_4_wrap": 90,
        "perf_consume_5_full": 973,
        "perf_consume_8_wrap": 92124,
        "perf_consume_full": 1,
        # The kernel stores data_head and then its poll flag, without a barrier in between: who takes the flag may see
        # the older head, and sleeps beside a sample. Not on x86.
        "perf_poll_2": "missed_wakeup",
    },
}

# With the kernel's macros as C11 accesses; then with volatile accesses, which are ordered as on x86.
CONVICTED = {
    "len_plain": {"consume_1x2": "data_race"},
    "len_relaxed": {"consume_1x2": "data_race"},
    "producer_pos_relaxed": {"consume_1x2": "data_race"},
    "consumer_pos_relaxed": {"consume_1x2": "use_after_release"},
    "consumer_pos_early": {"consume_1x2": "use_after_release"},
}
PERF_CONVICTED = {
    "data_head_relaxed": {"perf_consume_2_wrap": "data_race"},
    "data_tail_relaxed": {"perf_consume_2_wrap": "use_after_release"},
}
CONVICTED_ON_X86 = {
    "len_plain": {"consume_1x2": "data_race"},
    "len_relaxed": {"consume_1x2": 5, "consume_full": 3},
    "producer_pos_relaxed": {"consume_1x2": 5, "consume_full": 3},
    "consumer_pos_relaxed": {"consume_1x2": 5, "consume_full": 3},
    "consumer_pos_early": {"consume_1x2": "use_after_release"},
}


class Mismatch(Exception):
    """The sources are not what the mutants were made for."""


def mutated(text, old, new):
    if text.count(old) != 1:
        raise Mismatch(f"'{old}' stands {text.count(old)} times where a mutant wants it once")
    return text.replace(old, new)


def write_if_other(path, text):
    """A file that is as it should be keeps its time, so that nothing is built again."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def run(*command):
    """Runs a step; one that fails is told with all that it said."""
    done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False)
    if done.returncode:
        sys.exit(f"libbpf_test: {' '.join(map(str, command))}: exit status {done.returncode}\n{done.stdout}")


def fetch():
    """The folder of the sources; ends the test where they cannot be had."""
    done = subprocess.run([ROOT / "scripts/debian_source", "libbpf"], capture_output=True, text=True, check=False)
    if done.returncode == SKIPPED:
        print(f"skipped: {done.stderr.strip()}")
        sys.exit(SKIPPED)
    if done.returncode:
        sys.exit(done.stderr)
    return pathlib.Path(done.stdout.strip())


def build(options, source):
    """The folder of the explored programs."""
    folder = options.build / "explore/libbpf"
    mutants, prefix, tree = folder / "mutants", folder / "installed", folder / "build"
    for name, change in MUTANTS.items():
        write_if_other(mutants / f"{name}.c", mutated((source / RINGBUF).read_text(), *change))
    for name, change in PERF_MUTANTS.items():
        text = mutated((source / RING_BUFFER).read_text(), *change)
        write_if_other(mutants / "perf_buffer" / name / "linux/ring_buffer.h", text)
    run("cmake", "--install", options.build, "--prefix", prefix, "--component", "development")
    launchers = [f"-DCMAKE_{language}_COMPILER_LAUNCHER={options.launcher}" for language in ("C", "CXX")]
    run("cmake", "-S", ROOT / "explore/libbpf", "-B", tree, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}",
        f"-DCMAKE_C_COMPILER={options.c_compiler}", f"-DCMAKE_CXX_COMPILER={options.cxx_compiler}",
        f"-DCMAKE_BUILD_TYPE={options.build_type}", *launchers, f"-DRINGSIDE_LIBBPF_SOURCE={source}",
        f"-DRINGSIDE_MUTANTS={mutants}")
    run("cmake", "--build", tree)
    return tree


class Readers(unittest.TestCase):
    tree = pathlib.Path()

    def assert_found(self, file, expected, *arguments):
        _, reports = explore(self.tree / file, *expected, *arguments)
        check_reports(self, file, reports, expected)

    def test_every_program_has_a_verdict(self):
        for file, expected in PROGRAMS.items():
            listed = subprocess.run([self.tree / file, "--list"], capture_output=True, text=True, check=True).stdout
            self.assertEqual(set(listed.split()), set(expected), file)

    def test_the_readers_have_their_verdicts(self):
        for file, expected in PROGRAMS.items():
            self.assert_found(file, expected)

    def test_the_readers_macros_and_their_own_volatile_accesses_say_the_same(self):
        large = ("consume_1x8", "consume_1x9", "consume_2x2", "consume_4x1")
        few = {name: wanted for name, wanted in PROGRAMS["ringbuf"].items() if name not in large}
        self.assert_found("ringbuf.volatile", few)

    def test_mutants_are_convicted_where_the_kernels_macros_say_what_is_ordered(self):
        for name in MUTANTS:
            self.assert_found(name, CONVICTED[name])

        for name, expected in PERF_CONVICTED.items():
            self.assert_found(f"perf_buffer.{name}", expected)

    def test_volatile_accesses_are_those_of_x86(self):
        for name in MUTANTS:
            self.assert_found(f"{name}.volatile", CONVICTED_ON_X86[name])

    def test_on_x86_the_perf_reader_sleeps_beside_no_sample(self):
        for memory in ("sc", "tso"):
            self.assert_found("perf_buffer", {"perf_poll_2": 13}, "--memory", memory)

    def test_a_failure_names_the_lines_of_the_library(self):
        failure = explore(self.tree / "len_relaxed", "consume_1x2")[1]["consume_1x2"]["failure"]
        self.assertTrue(any("/mutants/len_relaxed.c:" in step["source"] for step in failure["steps"]))
        callers = [call["function"] for call in failure["steps"][-1]["callers"]]
        self.assertEqual(callers[:2], ["ringbuf_process_ring", "ring_buffer__consume"])

    def test_a_mutant_that_does_not_fit_is_an_error(self):
        for text in ("", "one one"):
            with self.assertRaises(Mismatch):
                mutated(text, "one", "two")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, required=True, help="the build directory of Ringside")
    parser.add_argument("--c-compiler", default="cc")
    parser.add_argument("--cxx-compiler", default="c++")
    parser.add_argument("--launcher", default="", help="a compiler cache")
    parser.add_argument("--build-type", default="RelWithDebInfo")
    options, rest = parser.parse_known_args()
    try:
        Readers.tree = build(options, fetch())
    except Mismatch as problem:
        sys.exit(f"libbpf_test: {problem}")
    unittest.main(argv=[sys.argv[0], *rest])


if __name__ == "__main__":
    main()
