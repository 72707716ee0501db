#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Installs a built tree into a folder of its own and lets two other trees use what was installed.

    scripts/install_test.py --build DIR [--c-compiler CC] [--cxx-compiler CXX]

A C tree (docs/plugin) builds a consumer plugin against ringside::consumer; a C++ tree (cmake/install_test) links
ringside::ring, loads that plugin and has it judged, and makes an explored program; the installed command judges the
plugin, too.
"""

import argparse
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent


def run(*command):
    """Runs a step, showing what it is; a step that fails ends the test."""
    print("+", *command, flush=True)
    subprocess.run([str(part) for part in command], check=True)


def build(source, folder, prefix, *definitions):
    """Configures and builds another tree that finds the package in `prefix`."""
    run("cmake", "-S", source, "-B", folder, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}", *definitions)
    run("cmake", "--build", folder)


def run_explored(path):
    """Two programs are right and one is wrong."""
    print("+", path, flush=True)
    told = subprocess.run([path, "--quiet"], capture_output=True, text=True, check=False).stdout
    for wanted in ("right: proved under c11: 2 executions", "wrong: failed under c11: data_race: plain write",
                   "silent: failed under c11: lost: a record is delivered by nobody"):
        if wanted not in told:
            raise OSError(f"{path} does not say '{wanted}' but:\n{told}")


def refuse_thread_local(folder):
    """Threads would share what must not be shared: the build ends with that reason."""
    command = ["cmake", "--build", folder, "--target", "shares_too_much"]
    print("+", *command, flush=True)
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    told = " ".join((done.stdout + done.stderr).split())  # CMake wraps its lines
    if done.returncode == 0 or "thread_local variables cannot be explored" not in told:
        raise OSError(f"thread_local variables are not refused:\n{done.stdout}{done.stderr}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, required=True, help="the build directory to install from")
    parser.add_argument("--c-compiler", default="cc")
    parser.add_argument("--cxx-compiler", default="c++")
    options = parser.parse_args()

    with tempfile.TemporaryDirectory() as scratch:
        prefix, plugin, program = (pathlib.Path(scratch, name) for name in ("prefix", "plugin", "program"))
        run("cmake", "--install", options.build, "--prefix", prefix)
        build(ROOT / "docs/plugin", plugin, prefix, f"-DCMAKE_C_COMPILER={options.c_compiler}")
        build(ROOT / "cmake/install_test", program, prefix, f"-DCMAKE_C_COMPILER={options.c_compiler}",
              f"-DCMAKE_CXX_COMPILER={options.cxx_compiler}")
        run(program / "uses_ringside", plugin / "libminimal.so")
        run_explored(program / "passing")
        refuse_thread_local(program)
        run(prefix / "bin/ringside", "check", "--world", "model", "--ring", "ringbuf",
            "--consumer", "minimal", "--plugin", plugin / "libminimal.so", "--seed", "1")


if __name__ == "__main__":
    try:
        main()
    except (OSError, subprocess.CalledProcessError) as problem:
        sys.exit(f"install_test: {problem}")
