# SPDX-License-Identifier: Apache-2.0
"""The tree that scripts/tidy looks at: its text files, what language each is in, and C++ as a lint needs to read it."""

import pathlib
import re
import subprocess

CPP_SUFFIXES = {".h", ".hh", ".hpp", ".c", ".cc", ".cpp"}
LANGUAGE_OF_SUFFIX = {".py": "python", ".sh": "shell", ".cmake": "cmake", ".toml": "toml", ".md": "markdown",
                      ".json": "json", ".yml": "yaml", ".yaml": "yaml"}
LANGUAGE_OF_NAME = {"CMakeLists.txt": "cmake", ".clang-format": "yaml", ".clang-tidy": "yaml"}


class TreeError(Exception):
    """The tree cannot be looked at; the text says what was attempted and why it failed."""


class SourceFile:
    """One text file: `path` relative to the root, `text`, `lines`, `language`."""

    def __init__(self, path, text):
        self.path = path
        self.text = text
        self.lines = text.split("\n")
        self.language = language_of(path, self.lines[0])
        self._code = None

    @property
    def name(self):
        return self.path.rsplit("/", 1)[-1]

    @property
    def folder(self):
        return self.path.split("/", 1)[0] if "/" in self.path else ""

    @property
    def code(self):
        """C++ without comments, the contents of literals and preprocessor lines; every line keeps its number."""
        if self._code is None:
            self._code = without_preprocessor(without_comments(self.text))
        return self._code

    def is_test(self):
        stem = self.name.split(".")[0]
        return stem.endswith("_test") or self.folder in ("props", "fuzz")


def language_of(path, first_line):
    """The language by name, by suffix, or by the `#!` line; `other` when none says."""
    name = path.rsplit("/", 1)[-1]
    suffix = pathlib.PurePosixPath(name.removesuffix(".in")).suffix
    if suffix in CPP_SUFFIXES:
        return "cpp"
    if name in LANGUAGE_OF_NAME or suffix in LANGUAGE_OF_SUFFIX:
        return LANGUAGE_OF_NAME.get(name) or LANGUAGE_OF_SUFFIX[suffix]
    if first_line.startswith("#!"):
        return "python" if "python" in first_line else "shell"
    return "other"


class Tree:
    """All text files that git tracks or would track under `root`."""

    def __init__(self, root):
        self.root = root
        command = ["git", "-c", "safe.directory=*", "-C", str(root), "ls-files", "-z", "--cached", "--others",
                   "--exclude-standard"]
        try:
            listing = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        except (OSError, subprocess.CalledProcessError) as problem:
            detail = (getattr(problem, "stderr", "") or str(problem)).strip()
            raise TreeError(f"list the files of {root}: {detail}") from problem
        self.files = []
        for path in sorted(set(filter(None, listing.split("\0")))):
            file = self._read(path)
            if file:
                self.files.append(file)

    def _read(self, path):
        full = self.root / path
        # A tracked file may be deleted in the work tree; a link is looked at where it leads.
        if full.is_symlink() or not full.is_file():
            return None
        data = full.read_bytes()
        if b"\0" in data:
            return None
        try:
            return SourceFile(path, data.decode("utf-8"))
        except UnicodeDecodeError:
            return None

    def of(self, *languages):
        return [file for file in self.files if file.language in languages]


def without_comments(text):
    """C++ text in which comments and the contents of string and character literals are blanks."""
    pattern = re.compile(
        r'R"(?P<raw>[^\s()\\]{0,16})\(.*?\)(?P=raw)"'
        r"|//(?:\\\n|[^\n])*"
        r"|/\*.*?\*/"
        r'|"(?:\\.|[^"\\\n])*"'
        r"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])*'",
        re.S)
    return pattern.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)


def without_preprocessor(code):
    """Blanks directives, and all but the first branch of each conditional, so that braces stay balanced."""
    kept = []
    in_later_branch = []
    continued = False
    for line in code.split("\n"):
        directive = re.match(r"\s*#\s*(\w*)", line)
        is_directive = continued or directive is not None
        if directive and not continued:
            word = directive.group(1)
            if word in ("if", "ifdef", "ifndef"):
                in_later_branch.append(False)
            elif word in ("else", "elif") and in_later_branch:
                in_later_branch[-1] = True
            elif word == "endif" and in_later_branch:
                in_later_branch.pop()
        continued = is_directive and line.rstrip().endswith("\\")
        kept.append("" if is_directive or any(in_later_branch) else line)
    return "\n".join(kept)


# What may stand between the parameters of a function and its body.
FUNCTION_TAIL = re.compile(r"(?:\s|\b(?:const|noexcept|override|final|mutable|try)\b|&|->[\w:<>,\s*&]+)*")


BEFORE_HEADER = re.compile(r"\s*(?:(?:public|protected|private)\s*:\s*)*")

def brace_kind(header):
    """What the brace after `header` opens, outside functions: `function`, `scope` or `initialiser`."""
    header = header.strip()
    if re.match(r"(?:inline\s+)?namespace\b|extern\s*$", header):
        return "scope"
    is_type = re.search(r"\b(?:class|struct|union|enum)\b", header) is not None
    if "(" not in header:
        return "scope" if is_type and not header.endswith("=") else "initialiser"
    if header.endswith("}"):  # the last member initialiser of a constructor
        return "function"
    if FUNCTION_TAIL.fullmatch(header[header.rindex(")") + 1:] if ")" in header else "no"):
        return "function"
    return "scope" if is_type and re.search(r"[\w>]$", header) and "=" not in header else "initialiser"


def functions(code):
    """(first line, last line) of each function in the `code` of a file; lambdas belong to what they stand in."""
    found = []
    open_braces = []  # (kind, line of the header)
    header_start = 0
    for match in re.finditer(r"[{};]", code):
        at = match.start()
        in_function = any(kind == "function" for kind, _ in open_braces)
        if match.group() == "{":
            header = code[header_start:at]
            kind = "block" if in_function else brace_kind(header)
            first = header_start + BEFORE_HEADER.match(header).end()
            open_braces.append((kind, code.count("\n", 0, first) + 1))
            if kind != "initialiser":
                header_start = at + 1
        elif match.group() == "}":
            kind, first_line = open_braces.pop() if open_braces else ("block", 0)
            if kind == "function":
                found.append((first_line, code.count("\n", 0, at) + 1))
            if kind != "initialiser":
                header_start = at + 1
        elif not any(kind == "initialiser" for kind, _ in open_braces):
            header_start = at + 1
    return found
