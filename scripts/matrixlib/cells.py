# SPDX-License-Identifier: Apache-2.0
"""What the matrix is filled with: rows are tests, columns are kernels; a cell says how the one went on the other."""

import dataclasses

PASS, FAIL, SKIP = "pass", "fail", "skip"


@dataclasses.dataclass(frozen=True, order=True)
class Row:
    """One test. Rows of a step and group that say the same on every kernel are shown as one."""

    step: str
    group: str
    name: str

    def __str__(self):
        return " ".join(part for part in (f"{self.step}:", self.group, self.name) if part)


@dataclasses.dataclass(frozen=True)
class Cell:
    """How it went. `told` stands in the table in the place of a tick."""

    outcome: str
    reason: str = ""   # one line, of a failure or a skip
    detail: str = ""   # what was printed
    seconds: float = 0.0
    told: str = ""


class Column:
    """The cells of one kernel, and what is known of its guest."""

    def __init__(self, kernel):
        self.kernel = kernel
        self.release = ""
        self.seconds = {}   # step -> how long it took
        self.cells = {}     # Row -> Cell

    def add(self, row, cell):
        """A row that is there already keeps what is worse: nothing may hide a failure."""
        known = self.cells.get(row)
        if known is None or known.outcome != FAIL:
            self.cells[row] = cell

    def count(self, outcome):
        return sum(cell.outcome == outcome for cell in self.cells.values())
