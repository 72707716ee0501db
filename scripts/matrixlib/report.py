# SPDX-License-Identifier: Apache-2.0
"""What came of a run: one table for people, one JSON file for programs, one JUnit file a kernel for CI services."""

import json
import re
import textwrap
import xml.etree.ElementTree as ElementTree

from matrixlib.cells import FAIL, PASS, SKIP

SCHEMA = "ringside-matrix/1"
COLUMNS = 100           # of prose; the table is as wide as its kernels make it
MOST_NAME_COLUMNS = 58
SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
MARKS = {PASS: "✓", FAIL: "✗", SKIP: "–"}
NOT_THERE = "·"
# What XML 1.0 cannot carry.
NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class Run:
    """All that the reports say: columns of cells, and what was asked for."""

    def __init__(self, columns, steps, context, seconds, interrupted=False):
        self.columns = columns
        self.steps = steps      # names, in the order of the file
        self.context = context  # name -> text
        self.seconds = seconds
        self.interrupted = interrupted

    def rows(self):
        rows = {row for column in self.columns for row in column.cells}
        order = {step: place for place, step in enumerate(self.steps)}
        return sorted(rows, key=lambda row: (order.get(row.step, len(order)), row.group, row.name))

    def cells_of(self, row):
        return [column.cells.get(row) for column in self.columns]

    def count(self, outcome):
        return sum(column.count(outcome) for column in self.columns)

    @property
    def clean(self):
        return not self.interrupted and not self.count(FAIL) and self.count(PASS) > 0


def plural(number, word):
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def duration(seconds):
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds // 60:.0f} min {seconds % 60:02.0f} s"


class Footnotes:
    """Reasons by number."""

    def __init__(self):
        self.numbers = {}

    def mark(self, reason):
        if not reason:
            return ""
        number = self.numbers.setdefault(reason, len(self.numbers) + 1)
        return str(number).translate(SUPERSCRIPTS)

    def lines(self):
        for reason, number in self.numbers.items():
            yield from textwrap.wrap(f"{number}  {reason}", COLUMNS, initial_indent="  ", subsequent_indent="     ",
                                     break_long_words=False)


def text_of(cell, footnotes):
    if cell is None:
        return NOT_THERE
    if cell.outcome == PASS:
        return cell.told or MARKS[PASS]
    return f"{cell.told}{' ' if cell.told else ''}{MARKS[cell.outcome]}{footnotes.mark(cell.reason)}"


def pattern_of(cells):
    """What rows must have in common to be shown as one."""
    return tuple(None if cell is None else (cell.outcome, cell.reason, cell.told) for cell in cells)


def agrees_everywhere(pattern):
    """The row passes on every kernel that came to it, with the same answer."""
    told = {cell for cell in pattern if cell is not None}
    return len(told) == 1 and told.pop()[0] == PASS


def name_of(rows):
    """What stands for these rows, which say the same on every kernel."""
    if len(rows) == 1:
        return " ".join(part for part in (rows[0].group, rows[0].name) if part)
    groups = list(dict.fromkeys(row.group for row in rows))
    if len(groups) == 1 and groups[0]:
        return f"{groups[0]} ({len(rows)})"
    shown = ", ".join(group for group in groups[:2] if group)
    return f"{len(rows)} rows: {shown}{', …' if len(groups) > 2 else ''}"


def short(name):
    return name if len(name) <= MOST_NAME_COLUMNS else name[:MOST_NAME_COLUMNS - 1] + "…"


def step_lines(run, step, footnotes, everything):
    """(name, cells as texts) of one step; a line without cells counts what agrees everywhere."""
    folded = {}
    agreeing = 0
    for row in run.rows():
        if row.step != step:
            continue
        pattern = pattern_of(run.cells_of(row))
        if not everything and agrees_everywhere(pattern):
            agreeing += 1
        elif everything or any(cell is not None and cell[2] for cell in pattern):
            folded[row] = [row]  # an answer is worth its own line
        else:
            folded.setdefault(pattern, []).append(row)
    for rows in folded.values():
        yield short(name_of(rows)), [text_of(cell, footnotes) for cell in run.cells_of(rows[0])]
    if agreeing:
        yield f"{plural(agreeing, 'more row' if folded else 'row')} the same on every kernel", None


def table_lines(run, footnotes, everything):
    names = [column.kernel.name for column in run.columns]
    steps = [(step, list(step_lines(run, step, footnotes, everything))) for step in run.steps]
    lines = [line for _, of_step in steps for line in of_step]
    left = max([len(name) for name, cells in lines if cells] + [10]) + 2
    widths = [max([len(name)] + [len(cells[place]) for _, cells in lines if cells]) + 2
              for place, name in enumerate(names)]
    yield " " * (left + 2) + "".join(name.ljust(width) for name, width in zip(names, widths)).rstrip()
    for step, of_step in steps:
        if of_step:
            yield step
        for name, cells in of_step:
            told = "" if cells is None else "".join(cell.ljust(width) for cell, width in zip(cells, widths))
            yield f"  {name.ljust(left) if told else name}{told}".rstrip()


def kernel_lines(run):
    """A line a kernel: what it was, and how many of its rows came to what."""
    width = max(len(column.kernel.name) for column in run.columns)
    for column in run.columns:
        kernel = column.kernel
        counts = ", ".join(f"{column.count(outcome)} {word}" for outcome, word in
                           ((PASS, "passed"), (FAIL, "failed"), (SKIP, "skipped")))
        yield (f"  {kernel.name.ljust(width)}  {(column.release or 'no guest').ljust(28)} {kernel.smp} CPUs, "
               f"{kernel.memory_mib} MiB  {counts}; {duration(sum(column.seconds.values()))}")


def failure_lines(run):
    """Every failed cell, so that it can be found without the table."""
    for row in run.rows():
        for column in run.columns:
            cell = column.cells.get(row)
            if cell is not None and cell.outcome == FAIL:
                yield from textwrap.wrap(f"{column.kernel.name}  {row}: {cell.reason}", COLUMNS,
                                         initial_indent="  ", subsequent_indent="      ", break_long_words=False)


def missing_lines(run):
    """Steps that a kernel goes without, tests that a step leaves out, and why: whatever is so for several at once."""
    reasons = {}
    for column in run.columns:
        for step, why in column.kernel.without.items():
            reasons.setdefault((step, "", why), []).append(column.kernel.name)
        for step in column.kernel.steps:
            for pattern, why in step.left_out.items() if step.name in run.steps else ():
                reasons.setdefault((step.name, pattern, why), []).append(column.kernel.name)
    for (step, pattern, why), kernels in reasons.items():
        where = "on every kernel" if len(kernels) == len(run.columns) else f"on {', '.join(kernels)}"
        yield from textwrap.wrap(f"{step}{' ' if pattern else ''}{pattern} {where}: {why}", COLUMNS,
                                 initial_indent="  ", subsequent_indent="      ", break_long_words=False)


def verdict(run):
    counts = (f"{plural(run.count(PASS), 'cell')} passed, {run.count(FAIL):,} failed, {run.count(SKIP):,} skipped; "
              f"{plural(len(run.columns), 'kernel')}, {duration(run.seconds)}")
    if run.interrupted:
        return f"interrupted: {counts}"
    return f"{'clean' if run.clean else 'FAILED'}: {counts}"


def table(run, everything=False):
    """The whole report as text."""
    footnotes = Footnotes()
    body = list(table_lines(run, footnotes, everything))
    parts = ["\n".join(["Kernels", *kernel_lines(run)]), "\n".join(body)]
    for heading, lines in (("Reasons", footnotes.lines()), ("Not done", missing_lines(run)),
                           ("Failed", failure_lines(run))):
        lines = list(lines)
        if lines:
            parts.append("\n".join([heading, *lines]))
    parts.append("\n".join([*(f"{name}: {value}" for name, value in run.context.items()), verdict(run)]))
    return "\n\n".join(parts) + "\n"


def cell_json(cell):
    fields = {"outcome": cell.outcome, "seconds": round(cell.seconds, 3)}
    if cell.told:
        fields["told"] = cell.told
    if cell.outcome != PASS:
        fields |= {"reason": cell.reason, "detail": cell.detail}
    return fields


def as_json(run):
    return {
        "schema": SCHEMA, "context": run.context, "duration_seconds": round(run.seconds, 1),
        "interrupted": run.interrupted,
        "counts": {outcome: run.count(outcome) for outcome in (PASS, FAIL, SKIP)},
        "kernels": [{"name": column.kernel.name, "release": column.release, "smp": column.kernel.smp,
                     "memory_mib": column.kernel.memory_mib, "without": column.kernel.without,
                     "lacks": sorted(column.kernel.lacks),
                     "seconds": {step: round(value, 1) for step, value in column.seconds.items()}}
                    for column in run.columns],
        "rows": [{"step": row.step, "group": row.group, "name": row.name,
                  "cells": {column.kernel.name: cell_json(column.cells[row])
                            for column in run.columns if row in column.cells}} for row in run.rows()]}


def clean_text(text):
    return NO_XML.sub("�", text)


def junit_case(suite, row, cell):
    case = ElementTree.SubElement(suite, "testcase", name=clean_text(row.name or row.group or row.step),
                                  classname=clean_text(".".join(filter(None, (row.step, row.group)))),
                                  time=f"{cell.seconds:.3f}")
    if cell.outcome == SKIP:
        ElementTree.SubElement(case, "skipped", message=clean_text(cell.reason))
    if cell.outcome == FAIL:
        failure = ElementTree.SubElement(case, "failure", message=clean_text(cell.reason))
        failure.text = clean_text(cell.detail)


def junit(run, column):
    """The JUnit document of one kernel: a suite a step, a case a row."""
    root = ElementTree.Element("testsuites", name=f"matrix {column.kernel.name}")
    for step in run.steps:
        rows = [row for row in run.rows() if row.step == step and row in column.cells]
        if not rows:
            continue
        cells = [column.cells[row] for row in rows]
        suite = ElementTree.SubElement(
            root, "testsuite", name=f"{column.kernel.name}.{step}", tests=str(len(rows)),
            failures=str(sum(cell.outcome == FAIL for cell in cells)),
            skipped=str(sum(cell.outcome == SKIP for cell in cells)), time=f"{column.seconds.get(step, 0):.3f}")
        properties = ElementTree.SubElement(suite, "properties")
        for name, value in (*run.context.items(), ("kernel_release", column.release)):
            ElementTree.SubElement(properties, "property", name=name, value=clean_text(value))
        for row, cell in zip(rows, cells):
            junit_case(suite, row, cell)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def file_name(name):
    """A kernel's name as that of a file; a path is one, too."""
    return re.sub(r"[^\w.+-]+", "_", name).strip("_.") or "kernel"


def write(path, text):
    """The file whole or not at all."""
    partial = path.with_name(f".{path.name}.partial")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)


def write_all(run, folder):
    """matrix.txt with every row, matrix.json, and KERNEL.xml for each kernel."""
    write(folder / "matrix.txt", table(run, everything=True))
    write(folder / "matrix.json", json.dumps(as_json(run), indent=1, ensure_ascii=False) + "\n")
    for column in run.columns:
        write(folder / f"{file_name(column.kernel.name)}.xml", junit(run, column))
