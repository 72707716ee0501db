# SPDX-License-Identifier: Apache-2.0
"""scripts/vm without a command: what kernels there are, getting them, and giving disk space back."""

from vmlib import kernels
from vmlib.progress import Progress
from vmlib.runner_faults import Fault
from vmlib.runner_snapshot import sweep


def megabytes(size_bytes):
    return f"{size_bytes / 1e6:,.0f} MB" if size_bytes else "?"


def print_list(cache_dir, options):
    """One row a kernel: its name, what it is, and whether it is here."""
    rows = kernels.listing(cache_dir, update=options.update, progress=Progress(quiet=options.quiet))
    table = [("name", "release", "package", "suite", "")]
    for row in rows:
        size = f"cached, {megabytes(row.size_bytes)}" if row.cached else f"to be had, {megabytes(row.size_bytes)}"
        table.append((row.name, row.release, row.version, row.suite, f"{size}; {row.note}" if row.note else size))
    widths = [max(len(line[column]) for line in table) for column in range(4)]
    for line in table:
        print("  ".join([*(cell.ljust(width) for cell, width in zip(line, widths)), line[4]]).rstrip())


def fetch(cache_dir, options):
    for name in options.names:
        kernel = kernels.resolve(name, cache_dir=cache_dir, update=options.update,
                                 progress=Progress(quiet=options.quiet))
        print(f"{name}: {kernel.release}")


def prune(cache_dir, options):
    removed = kernels.prune(cache_dir, options.keep)
    for entry, _, size_bytes in removed:
        print(f"removed {entry}, {megabytes(size_bytes)}")
    freed = sweep(cache_dir, keep=options.keep)
    print(f"{len(removed)} kernels removed; {megabytes(sum(size for *_, size in removed) + freed)} freed in all")


def act(cache_dir, options):
    """Does what --list, --fetch or --prune ask for. Throws Fault."""
    try:
        {"list": print_list, "fetch": fetch, "prune": prune}[options.action](cache_dir, options)
    except kernels.KernelError as problem:
        raise Fault("kernel", str(problem)) from problem
