#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The stories of the misuse programs as they stand in misuse_stories.txt: what the explorer says of each failure,
without the numbers that hang on the compiler (steps, lines, memory without a name). A story that changes is to be
read, and then written down: --update.

usage: stories_test.py FOLDER [--update]
"""
import json
import pathlib
import re
import subprocess
import sys
import textwrap
import unittest

HERE = pathlib.Path(__file__).resolve().parent
STORIES = HERE / "misuse_stories.txt"


def settled(text):
    """Without what another compiler, or a line more in a source, would change."""
    text = re.sub(r"\(step \d+, ([\w./+-]+):\d+\)", r"(\1)", text)
    text = re.sub(r"\(step \d+\)", "", text)
    text = re.sub(r"([\w/]+\.(?:h|cc)):\d+", r"\1", text)
    text = re.sub(r"\bsteps? \d+\b", "that step", text)
    text = re.sub(r"It takes [\d,]+ steps of", "It takes steps of", text)
    return re.sub(r"unnamed \d+", "memory without a name", text)


def stories_of(folder):
    # Paths are told as seen from where the program runs.
    command = [folder.resolve() / "misuse", "--format", "json", "--quiet"]
    run = subprocess.run(command, stdout=subprocess.PIPE, check=False, cwd=HERE.parents[1])
    text = ""
    for program in json.loads(run.stdout)["programs"]:
        if program["failure"] is None:
            continue
        text += program["name"] + "\n"
        for sentence in program["failure"]["story"]:
            text += textwrap.indent(textwrap.fill(settled(sentence), 116), "  ") + "\n"
        text += "\n"
    return text[:-1]


class Stories(unittest.TestCase):
    maxDiff = None
    folder = pathlib.Path()

    def test_each_misuse_is_told_as_it_is_written_down(self):
        self.assertEqual(stories_of(self.folder), STORIES.read_text())


if __name__ == "__main__":
    Stories.folder = pathlib.Path(sys.argv.pop(1))
    if "--update" in sys.argv:
        STORIES.write_text(stories_of(Stories.folder))
    else:
        unittest.main()
