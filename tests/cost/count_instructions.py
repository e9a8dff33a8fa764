#!/usr/bin/env python3
"""Counts the instructions that Session::copy adds to the raw driver call, with callgrind on the simulated machine.

usage: count_instructions.py PROGRAM MOST
"""
import re
import shutil
import subprocess
import sys
import tempfile

CALLS = 1000


def instructions_inside(function, program):
    """Instructions between entry and exit of `function`, callees included."""
    with tempfile.TemporaryDirectory() as folder:
        run = subprocess.run(
            ["valgrind", "--tool=callgrind", "--collect-atstart=no", f"--toggle-collect={function}*",
             f"--callgrind-out-file={folder}/out", program],
            capture_output=True, text=True, timeout=600)
    found = re.search(r"Collected\s*:\s*(\d+)", run.stderr)
    if run.returncode != 0 or not found:
        sys.exit(f"callgrind failed on {program}:\n{run.stderr}")
    return int(found.group(1))


def main():
    program, most = sys.argv[1], int(sys.argv[2])
    if shutil.which("valgrind") is None:
        print("skipped: valgrind is not installed")
        sys.exit(77)
    raw = instructions_inside("peerlane_measured_raw", program) / CALLS
    ours = instructions_inside("peerlane_measured_ours", program) / CALLS
    on_top = ours - raw
    print(f"simulated: raw call {raw:.0f} instructions, Session::copy {ours:.0f}, on top {on_top:.0f} (most {most})")
    if raw <= 0 or not 0 < on_top <= most:
        sys.exit(1)


if __name__ == "__main__":
    main()
