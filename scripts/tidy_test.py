#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plants every fault that scripts/tidy knows in a small tree of its own, and sees each named where it stands."""

import pathlib
import subprocess
import sys
import tempfile
import typing
import unittest

import tidy_tree

TIDY = pathlib.Path(__file__).resolve().parent / "tidy"
SPDX = "// SPDX-License-Identifier: Apache-2.0\n"
BPF_SPDX = "// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only\n"
HASH_SPDX = "# SPDX-License-Identifier: Apache-2.0\n"

# A tree without a fault; each test plants one.
CLEAN = {
    ".gitignore": "build/\n",
    ".clang-format": HASH_SPDX + "BasedOnStyle: Google\nColumnLimit: 120\n",
    "ring/CMakeLists.txt": HASH_SPDX + "add_library(ring STATIC record.cc)\nadd_executable(t record_test.cc)\n",
    "ring/record.h": SPDX + "#pragma once\n\nint length();\n",
    "ring/record.cc": SPDX + '#include "ring/record.h"\n\nint length() { return 8; }\n',
    "ring/record_test.cc": SPDX + '#include "ring/record.h"\n\n// sleep(1) is only a word here.\n'
                           + "int main() { return length() - 8; }\n",
    "ring/record_format.h": SPDX + "#pragma once\n",
    "sim/CMakeLists.txt": HASH_SPDX + "foreach(name clock)\n  add_library(${name} STATIC ${name}.cc)\nendforeach()\n",
    "sim/clock.cc": SPDX + '#include <bpf/libbpf.h>\n\n#include "ring/record.h"\n\nint now() { return length(); }\n',
    "bpf/CMakeLists.txt": HASH_SPDX + "add_program(flood.bpf.c)\n",
    "bpf/flood.bpf.c": BPF_SPDX + '#include "ring/record_format.h"\n',
    "docs/house.md": "# The house\n",
    "README.md": "# A tree\n\nSee docs/house.md and `scripts/build`.\n",
    "scripts/build": "#!/bin/sh\n" + HASH_SPDX + "true\n",
}


class Fault(typing.NamedTuple):
    """A fault planted in the clean tree: `files` replace or join its files, the finding is in the first of them."""

    name: str
    rule: str
    line: int
    words: str
    files: dict


FAULTS = [
    Fault("unformatted code", "format", 4, "clang-format",
          {"ring/record.cc": SPDX + '#include "ring/record.h"\n\nint  length() { return 8; }\n'}),
    Fault("a folder above", "include", 4, "ring/ may not include sim/clock.h",
          {"ring/record.h": SPDX + '#pragma once\n\n#include "sim/clock.h"\n\nint length();\n'}),
    Fault("a folder above, in brackets", "include", 4, "ring/ may not include sim/clock.h",
          {"ring/record.h": SPDX + "#pragma once\n\n#include <sim/clock.h>\n\nint length();\n",
           "sim/clock.h": SPDX + "#pragma once\n"}),
    Fault("a generated header of a folder above", "include", 4, "ring/ may not include bpf/flood.skel.h",
          {"ring/record.h": SPDX + '#pragma once\n\n#include "bpf/flood.skel.h"\n\nint length();\n'}),
    Fault("bpf reaching past the shared header", "include", 2, "bpf/ may not include ring/record.h",
          {"bpf/flood.bpf.c": BPF_SPDX + '#include "ring/record.h"\n#include "ring/record_format.h"\n'}),
    Fault("a path that starts beside the file", "include", 2, 'include "ring/record.h"',
          {"ring/record.cc": SPDX + '#include "record.h"\n\nint length() { return 8; }\n'}),
    Fault("a folder that the table does not know", "include", 1, "has no row",
          {"attic/a.cc": SPDX, "attic/CMakeLists.txt": HASH_SPDX + "add_library(a STATIC a.cc)\n"}),
    Fault("no licence", "spdx", 1, "no SPDX", {"scripts/build": "#!/bin/sh\ntrue\n"}),
    Fault("no licence in a build file", "spdx", 1, "no SPDX",
          {"sim/CMakeLists.txt": "add_library(clock STATIC clock.cc)\n"}),
    Fault("a BPF program under one licence", "spdx", 1, "BSD-2-Clause and GPL-2.0",
          {"bpf/flood.bpf.c": SPDX + '#include "ring/record_format.h"\n'}),
    Fault("a function that is too long", "function-length", 3, "function of 102 lines",
          {"sim/clock.cc": SPDX + "namespace sim {\nint now(int sum) {\n" + "  ++sum;\n" * 99
                           + "  return sum;\n}\n}  // namespace sim\n"}),
    Fault("a constructor that is too long", "function-length", 5, "function of 103 lines",
          {"sim/clock.cc": SPDX + "struct Clock {\n  int a_;\n  int b_;\n  Clock(int sum) : a_(sum), b_{sum} {\n"
                           + "    ++sum;\n" * 101 + "  }\n};\n"}),
    Fault("a Python function that is too long", "function-length", 3, "function of 101 lines",
          {"scripts/build": "#!/usr/bin/python3\n" + HASH_SPDX + "def f():\n" + "    print()\n" * 100}),
    Fault("a file that is too long", "file-length", 701, "file of 701 lines",
          {"sim/clock.cc": SPDX + "int now();\n" * 700}),
    Fault("a source that is not built", "dead-file", 1, "no CMakeLists.txt",
          {"sim/forgotten.cc": SPDX + "int forgotten();\n"}),
    Fault("a header that nobody includes", "dead-file", 1, "nobody includes",
          {"sim/forgotten.h": SPDX + "#pragma once\n"}),
    Fault("a script that nothing mentions", "dead-file", 1, "nothing mentions",
          {"scripts/forgotten": "#!/bin/sh\n" + HASH_SPDX}),
    Fault("a page that nothing mentions", "dead-file", 1, "nothing mentions", {"docs/forgotten.md": "# Forgotten\n"}),
    Fault("a test that sleeps", "sleep", 3, "a test that sleeps",
          {"ring/record_test.cc": SPDX + "int main() {\n  usleep(10);\n  return 0;\n}\n"}),
    Fault("a test that sleeps for a duration", "sleep", 3, "a test that sleeps",
          {"ring/record_test.cc": SPDX + "int main() {\n  std::this_thread::sleep_for(delay);\n  return 0;\n}\n"}),
    Fault("a Python test that sleeps", "sleep", 4, "a test that sleeps",
          {"scripts/build_test.py": HASH_SPDX + "import time\n\ntime.sleep(1)\n",
           "README.md": "docs/house.md scripts/build build_test.py\n"}),
    Fault("a shell test that sleeps", "sleep", 2, "a test that sleeps",
          {"scripts/build_test.sh": HASH_SPDX + "true; sleep 1\n",
           "README.md": "docs/house.md scripts/build build_test.sh\n"}),
    Fault("work put off", "unfinished", 3, "put it into an issue",
          {"docs/house.md": "# The house\n\nTO" "DO: describe it.\n"}),
    Fault("a path of one machine", "machine-path", 3, "path of one machine",
          {"README.md": "docs/house.md scripts/build\n\nIt is in /wo" "rk/main.\n"}),
    Fault("a build directory of one machine", "machine-path", 1, "path of one machine",
          {"README.md": "docs/house.md scripts/build in /tmp/bui" "ld-x\n"}),
    Fault("white space at the end", "whitespace", 1, "at the end of the line", {"docs/house.md": "# The house \n"}),
    Fault("a tab", "whitespace", 3, "a tab", {"scripts/build": "#!/bin/sh\n" + HASH_SPDX + "\ttrue\n"}),
    Fault("no line feed at the end", "whitespace", 1, "exactly one line feed", {"docs/house.md": "# The house"}),
    Fault("two line feeds at the end", "whitespace", 3, "exactly one line feed", {"docs/house.md": "# The house\n\n"}),
    Fault("a long line", "line-length", 3, "line of 125 columns",
          {"scripts/build": "#!/bin/sh\n" + HASH_SPDX + "true " + "x" * 120 + "\n"}),
    Fault("a long line of prose, not that of a table", "line-length", 3, "line of 123 columns",
          {"docs/house.md": "# The house\n\n" + "word " * 24 + "end\n" + "| row " * 30 + "|\n"}),
]


def run_tidy(files):
    """What scripts/tidy says of a tree of these files: (exit status, lines of output, errors)."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        subprocess.run(["git", "init", "-q", folder], check=True)
        for path, text in files.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text, encoding="utf-8")
        run = subprocess.run([sys.executable, str(TIDY), "--root", folder], capture_output=True, text=True, check=False)
        return run.returncode, run.stdout.splitlines(), run.stderr


class TidyTest(unittest.TestCase):
    def test_a_clean_tree_passes(self):
        status, told, errors = run_tidy(CLEAN)
        self.assertEqual((status, told, errors), (0, [f"{len(CLEAN)} files, 0 findings"], ""))

    def test_each_planted_fault_is_named_alone(self):
        for fault in FAULTS:
            with self.subTest(fault.name):
                status, told, errors = run_tidy(CLEAN | fault.files)
                findings = told[:-1]
                self.assertEqual(status, 1, errors)
                self.assertEqual(len(findings), 1, findings)
                self.assertTrue(findings[0].startswith(f"{next(iter(fault.files))}:{fault.line}: {fault.rule}: "),
                                findings[0])
                self.assertIn(fault.words, findings[0])

    def test_every_rule_has_a_planted_fault(self):
        rules = subprocess.run([sys.executable, str(TIDY), "--list-rules"], capture_output=True, text=True, check=True)
        self.assertEqual(set(rules.stdout.split()), {fault.rule for fault in FAULTS})

    def test_ignored_files_are_not_looked_at(self):
        status, _, _ = run_tidy(CLEAN | {"build/generated.cc": "int  x;"})
        self.assertEqual(status, 0)

    def test_a_folder_that_is_no_tree_is_an_error_of_its_own(self):
        with tempfile.TemporaryDirectory() as folder:
            run = subprocess.run([sys.executable, str(TIDY), "--root", folder], capture_output=True, text=True,
                                 check=False)
        self.assertEqual(run.returncode, 2)
        self.assertRegex(run.stderr, r"^scripts/tidy: list the files of ")


class FunctionsTest(unittest.TestCase):
    """What counts as a function of a C++ file: the length rule stands on it."""

    def spans(self, text):
        return tidy_tree.functions(tidy_tree.SourceFile("sim/clock.cc", text).code)

    def test_each_kind_of_function_is_seen_from_its_header_to_its_brace(self):
        for text, expected in (
                ("int f() {\n}\n", (1, 2)),
                ("template <class T>\nauto f(T t) -> decltype(t) {\n}\n", (1, 3)),
                ("auto f(int a)\n    -> std::vector<int> {\n}\n", (1, 3)),
                ("A::A(int a) : a_(a), b_{a}, c_{} {\n}\n", (1, 2)),
                ("A::A(int a) : a_{a}, b_(a) {\n}\n", (1, 2)),
                ("bool A::f() const noexcept {\n  if (x) {\n  }\n}\n", (1, 4)),
                ("TEST(Ring, holds) {\n}\n", (1, 2)),
                ('SEC("raw_tp") int f(struct ctx* ctx) {\n}\n', (1, 2)),
                ("const auto f = [](int a) {\n};\n", (1, 2))):
            with self.subTest(text):
                self.assertEqual(self.spans(text), [expected])

    def test_what_is_no_function_is_not_taken_for_one(self):
        for text in ("namespace a::b {\nint x;\n}\n", 'extern "C" {\nint x;\n}\n', "struct alignas(64) A : B {\n};\n",
                     "enum class A : int {\n  a,\n};\n", "const std::array<int, f(2)> a = {\n};\n", "int a[]{\n1};\n"):
            with self.subTest(text):
                self.assertEqual(self.spans(text), [])

    def test_functions_inside_namespaces_and_classes_are_seen(self):
        text = "namespace a {\nclass B {\n public:\n  int c() { return d{1}.e; }\n  int f();\n};\nint g() {\n}\n}\n"
        self.assertEqual(self.spans(text), [(4, 4), (7, 8)])

    def test_braces_in_comments_literals_and_other_branches_do_not_count(self):
        for text in ("int f() {  // {\n}\n", 'int f() {\n  g("{");\n}\n', "int f() {\n  g('{', 1'000);\n}\n",
                     'int f() {\n  g(R"x({\n)")x");\n}\n', "/* { */ int f() {\n}\n",
                     "#ifdef A\nint f() {\n#else\nlong f() {\n#endif\n}\n", "#define A {\\\n  {\nint f() {\n}\n"):
            with self.subTest(text):
                self.assertEqual(len(self.spans(text)), 1)


if __name__ == "__main__":
    unittest.main()
