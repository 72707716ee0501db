# shellcheck shell=bash disable=SC2154 # program: the name that the sourcing script gives
# SPDX-License-Identifier: Apache-2.0
#
# What scripts/run, scripts/test and .ci/run share. Sourced, never run.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# A compiler cache is used when there is one; CMake reads these when it first configures a build directory.
if command -v ccache >/dev/null; then
  export CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache
fi

say() { printf '\n== %s\n' "$*"; }

fail() {
  printf '%s: %s\n' "$program" "$2" >&2
  exit "$1"
}

# Runs one command as a process group of its own, so that a signal to this script ends everything the command started.
child=
step() {
  set -m
  "$@" </dev/null &
  child=$!
  set +m
  local status=0
  wait "$child" || status=$?
  child=
  return "$status"
}

# Ends the running step and what it left in its group, then this script.
stop() {
  trap '' INT TERM HUP
  if [ -n "$child" ]; then
    kill -TERM -- "-$child" 2>/dev/null || true
    wait "$child" 2>/dev/null || true
    kill -KILL -- "-$child" 2>/dev/null || true
  fi
  exit "$1"
}
trap 'stop 130' INT
trap 'stop 143' TERM
trap 'stop 129' HUP

# build PRESET [TARGET...]: configures and builds build/PRESET.
build() {
  local preset=$1
  shift
  say "build (preset $preset${*:+, $*})"
  step cmake --preset "$preset" --log-level=WARNING || return 1
  step cmake --build "build/$preset" ${*:+--target "$@"} || return 1
}
