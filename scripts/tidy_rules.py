# SPDX-License-Identifier: Apache-2.0
"""The rules of scripts/tidy: each is a function that takes the tree and yields (path, line, message).

RULES, at the end, names them all; scripts/tidy_test.py plants a fault for each.
"""

import ast
import io
import re
import shutil
import subprocess
import tokenize

from tidy_tree import TreeError, functions

CLANG_FORMAT = "clang-format-19"
LINE_COLUMNS = 120
FUNCTION_LINES = 100
FILE_LINES = 700

# docs/house.md in data: which folders the files of a folder may include. A folder may always include itself.
EVERYTHING = {"ring", "sim", "bpf", "real", "consumers", "explore", "conform", "harness", "cli",
              "props", "fuzz", "bench"}
MAY_INCLUDE = {
    "ring": set(),
    "sim": {"ring"},
    "bpf": set(),
    "real": {"ring", "bpf"},
    "consumers": {"ring"},
    "explore": {"ring", "sim"},
    "conform": {"ring", "sim", "bpf", "real"},
    "harness": {"ring", "sim", "real", "explore", "conform", "consumers"},
    "cli": {"ring", "conform", "harness"},
    "props": EVERYTHING,
    "fuzz": EVERYTHING,
    "bench": EVERYTHING,
    # Programs of somebody else's tree, as far as the build is concerned: they see what is installed.
    "cmake": {"ring", "explore"},
    "docs": {"ring"},
    # What runs in a VM before anything of ours does.
    "scripts": set(),
}
# Single headers that a folder may include although the folder they lie in is closed to it.
MAY_ALSO_INCLUDE = {"bpf": {"ring/record_format.h"}}

SOURCE_LANGUAGES = ("cpp", "python", "shell", "cmake", "toml", "yaml")
LICENCE_TEXTS = re.compile(r"LICENSE|LICENSES/.*")
INCLUDE = re.compile(r'\s*#\s*include\s*(["<])([^">]+)[">]')


def numbered(file):
    return enumerate(file.lines, start=1)


def check_format(tree):
    """C and C++ files are as clang-format leaves them."""
    paths = [file.path for file in tree.of("cpp")]
    if not paths:
        return
    if not shutil.which(CLANG_FORMAT):
        raise TreeError(f"check the format: {CLANG_FORMAT} is not installed; run scripts/setup")
    run = subprocess.run([CLANG_FORMAT, "--dry-run", "-Werror", *paths], cwd=tree.root, capture_output=True, text=True,
                         check=False)
    told = set()
    for path, line in re.findall(r"^(.+?):(\d+):\d+: error:", run.stderr, re.M):
        if path not in told:
            told.add(path)
            yield path, int(line), f"not formatted; run {CLANG_FORMAT} -i {path}"
    if run.returncode and not told:
        raise TreeError(f"check the format: {run.stderr.strip()}")


def check_include(tree):
    """Includes go from the root of the tree and only in the direction that docs/house.md allows."""
    for file in tree.of("cpp"):
        if file.folder not in MAY_INCLUDE:
            yield file.path, 1, f"folder '{file.folder}' has no row in the table of includes (scripts/tidy_rules.py)"
            continue
        allowed = MAY_INCLUDE[file.folder] | {file.folder}
        beside = file.path.rsplit("/", 1)[0]
        for number, line in numbered(file):
            match = INCLUDE.match(line)
            if not match:
                continue
            quote, target = match.groups()
            folder = target.split("/", 1)[0]
            if quote == '"' and "/" not in target and (tree.root / beside / target).is_file():
                yield file.path, number, f'include "{beside}/{target}": paths start at the root of the tree'
            elif folder in EVERYTHING - allowed and target not in MAY_ALSO_INCLUDE.get(file.folder, ()):
                # <bpf/libbpf.h> is the system's; "bpf/flood.skel.h" is ours, though only the build makes it.
                if quote == '"' or (tree.root / target).is_file():
                    yield file.path, number, f"{file.folder}/ may not include {target}; see docs/house.md"


def check_spdx(tree):
    """Every source file names its licence near its top; bpf/ is licensed twice, so that BPF programs may load."""
    for file in tree.of(*SOURCE_LANGUAGES):
        found = re.search(r"SPDX-License-Identifier: (.+)", "\n".join(file.lines[:5]))
        if not found:
            yield file.path, 1, "no SPDX-License-Identifier in the first five lines"
            continue
        wanted = ("BSD-2-Clause", "GPL-2.0") if file.folder == "bpf" and file.language == "cpp" else ("Apache-2.0",)
        missing = [licence for licence in wanted if licence not in found.group(1)]
        if missing:
            yield file.path, 1, f"the licence does not name {' and '.join(missing)}"


def function_spans(file):
    """(first line, last line) of each function of a C++ or Python file."""
    if file.language == "cpp":
        return functions(file.code)
    try:
        tree = ast.parse(file.text)
    except SyntaxError:
        return []
    return [(node.lineno, node.end_lineno) for node in ast.walk(tree)
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]


def check_function_length(tree):
    """No function is longer than FUNCTION_LINES."""
    for file in tree.of("cpp", "python"):
        for first, last in function_spans(file):
            if last - first + 1 > FUNCTION_LINES:
                yield file.path, first, f"function of {last - first + 1} lines; the limit is {FUNCTION_LINES}"


def check_file_length(tree):
    """No source file is longer than FILE_LINES."""
    for file in tree.of(*SOURCE_LANGUAGES):
        lines = len(file.lines) - 1
        if lines > FILE_LINES:
            yield file.path, FILE_LINES + 1, f"file of {lines} lines; the limit is {FILE_LINES}"


def named_by_cmake(tree, file):
    """Whether a CMakeLists.txt of the file's folder or one above it names this source."""
    stem = file.name.split(".", 1)[0]
    suffix = file.name[len(stem):]
    for list_file in tree.of("cmake"):
        folder = list_file.path.removesuffix(list_file.name)
        if not file.path.startswith(folder):
            continue
        relative = file.path[len(folder):]
        if re.search(rf"(?<![\w.]){re.escape(relative)}(?![\w.])", list_file.text):
            return True
        # A loop over names: foreach(name copy callback) ... ${name}.cc
        loop = rf"\}}{re.escape(suffix)}\b"
        if re.search(loop, list_file.text) and re.search(rf"\b{re.escape(stem)}\b", list_file.text):
            return True
    return False


def check_dead_file(tree):
    """A source is in some CMakeLists.txt, a header is included, a script, a module or a page is mentioned."""
    included = {match.group(2) for file in tree.of("cpp") for match in map(INCLUDE.match, file.lines) if match}
    for file in tree.files:
        if file.language == "cpp":
            if file.name.endswith((".h", ".hh", ".hpp")):
                # A header that stands for one of the system's is included by that one's name.
                stands_for = file.path.partition("/shim/")[2].partition("/")[2]
                if file.path not in included and stands_for not in included:
                    yield file.path, 1, "nobody includes this header"
            elif not named_by_cmake(tree, file):
                yield file.path, 1, "no CMakeLists.txt names this source"
        elif file.language in ("python", "shell") or file.folder in ("docs", "cmake"):
            if file.name != "CMakeLists.txt" and file.folder != ".ci" and not mentioned(tree, file):
                yield file.path, 1, "nothing mentions this file"


def mentioned(tree, file):
    """Whether another file says this one's name: with its suffix, or as a module (import tidy_rules, include(Name))."""
    stem = file.name.split(".", 1)[0]
    names = {file.name}
    if file.language in ("python", "cmake"):
        names.add(stem)
    pattern = re.compile(rf"(?<![\w.-])(?:{'|'.join(map(re.escape, names))})(?![\w-])"
                         rf"|^(?:from|import) [\w.]*\.{re.escape(stem)}\b", re.M)
    # A script without a suffix has a name like any word: it must be named with its folder.
    if "." not in file.name:
        pattern = re.compile(rf"{re.escape(file.path)}(?![\w-])")
    return any(pattern.search(other.text) for other in tree.files if other.path != file.path)


SLEEPS = {"sleep", "usleep", "nanosleep", "clock_nanosleep", "sleep_for", "sleep_until"}


def sleeping_lines(file):
    """Lines on which a test calls a function that sleeps."""
    if file.language == "cpp":
        for number, line in enumerate(file.code.split("\n"), start=1):
            if any(name in SLEEPS for name in re.findall(r"\b(\w+)\s*\(", line)):
                yield number
    elif file.language == "python":
        for token in tokenize.generate_tokens(io.StringIO(file.text).readline):
            if token.type == tokenize.NAME and token.string in SLEEPS:
                yield token.start[0]
    elif file.language == "shell":
        for number, line in numbered(file):
            if re.search(r"(?:^|[;&|]|\bdo\b|\bthen\b)\s*u?sleep\b", line.split("#", 1)[0]):
                yield number


def check_sleep(tree):
    """No test sleeps: what it waits for must say that it happened."""
    for file in tree.of("cpp", "python", "shell"):
        if file.is_test():
            for number in sleeping_lines(file):
                yield file.path, number, "a test that sleeps; wait for the event itself, or use the virtual clock"


# Spelt in halves, so that this file is clean by its own rule.
UNFINISHED = re.compile(r"\b(?:" + "|".join(["TO" "DO", "FIX" "ME", "XX" "X", "HA" "CK"]) + r")\b")
MACHINE_PATH = re.compile(r"(?<![\w./-])/(?:wo" r"rk|tmp/bui" r"ld|ro" r"ot|ho" r"me/\w+)(?:[/-]|\b)")


def check_unfinished(tree):
    """What is not built is in an issue, not in the tree."""
    return matches(tree, UNFINISHED, "{}: put it into an issue, or do it")


def check_machine_path(tree):
    """No path of somebody's own machine."""
    return matches(tree, MACHINE_PATH, "{} is a path of one machine")


def matches(tree, pattern, message):
    for file in tree.files:
        for number, line in numbered(file):
            found = pattern.search(line)
            if found:
                yield file.path, number, message.format(found.group())


def check_whitespace(tree):
    """No white space at the end of a line, no tab, exactly one line feed at the end of a file."""
    for file in tree.files:
        if LICENCE_TEXTS.fullmatch(file.path):
            continue
        for number, line in numbered(file):
            if line != line.rstrip():
                yield file.path, number, "white space at the end of the line"
            if "\t" in line and file.language != "other":
                yield file.path, number, "a tab"
        if file.text and (not file.text.endswith("\n") or file.text.endswith("\n\n")):
            yield file.path, len(file.lines), "the file must end with exactly one line feed"


def check_line_length(tree):
    """No line is longer than LINE_COLUMNS; in prose, rows of tables and addresses may be."""
    for file in tree.of(*SOURCE_LANGUAGES, "markdown"):
        for number, line in numbered(file):
            free = file.language == "markdown" and (line.lstrip().startswith("|") or "://" in line)
            if len(line) > LINE_COLUMNS and not free:
                yield file.path, number, f"line of {len(line)} columns; the limit is {LINE_COLUMNS}"


RULES = {
    "format": check_format,
    "include": check_include,
    "spdx": check_spdx,
    "function-length": check_function_length,
    "file-length": check_file_length,
    "dead-file": check_dead_file,
    "sleep": check_sleep,
    "unfinished": check_unfinished,
    "machine-path": check_machine_path,
    "whitespace": check_whitespace,
    "line-length": check_line_length,
}
