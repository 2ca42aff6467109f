#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs one command-line case: CASE.sh in an empty directory, then compares what it said with its golden files.

CASE.stdout, CASE.stderr   exact text; a missing file means "nothing"
CASE.stdout.glob, …        one shell pattern for each line; a line "..." stands for any number of lines
CASE.status                exit status, 0 when missing

A command that fails ends the case, in a pipe, too (bash -euo pipefail): what may fail is followed by || or stands last.
A pipe's reader reads to the end ("sed -n 1p", not "head -1"), so that the writer never ends early. The case sees the programs of the build in PATH, its own folder as $CASES, and an environment without
colour and with a fixed width. A case that cannot run here exits 77 after saying why.
--bless writes the exact files anew: look at the difference before committing it.
"""

import argparse
import fnmatch
import os
import subprocess
import sys
import tempfile
from pathlib import Path


def environment(cases, path):
    kept = {name: os.environ[name] for name in ("HOME", "TMPDIR", "ASAN_OPTIONS", "UBSAN_OPTIONS") if name in os.environ}
    return {**kept, "PATH": os.pathsep.join([*map(os.path.abspath, path), os.environ["PATH"]]), "CASES": str(cases), "LC_ALL": "C.UTF-8",
            "TZ": "UTC", "COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb"}


def matches_glob(lines, patterns):
    """Whether the lines match the patterns, "..." being any number of lines."""
    if not patterns:
        return not lines
    if patterns[0] == "...":
        return any(matches_glob(lines[skip:], patterns[1:]) for skip in range(len(lines) + 1))
    return bool(lines) and fnmatch.fnmatchcase(lines[0], patterns[0]) and matches_glob(lines[1:], patterns[1:])


def compare(case, stream, text):
    """Returns complaints about one stream."""
    glob = case.with_suffix(f".{stream}.glob")
    if glob.exists():
        expected, good = glob.read_text(), matches_glob(text.splitlines(), glob.read_text().splitlines())
    else:
        exact = case.with_suffix(f".{stream}")
        expected = exact.read_text() if exact.exists() else ""
        good = text == expected
    return [] if good else [f"{stream} differs; expected:", expected.rstrip(), "but got:", text.rstrip()]


def bless(case, stream, text):
    if case.with_suffix(f".{stream}.glob").exists():
        return
    exact = case.with_suffix(f".{stream}")
    if text:
        exact.write_text(text)
    else:
        exact.unlink(missing_ok=True)


def main():
    parser = argparse.ArgumentParser(description="runs one command-line case")
    parser.add_argument("case", type=Path)
    parser.add_argument("--path", action="append", default=[], help="folder of a program under test; repeatable")
    parser.add_argument("--bless", action="store_true")
    args = parser.parse_args()
    case = args.case.resolve()

    with tempfile.TemporaryDirectory(prefix="mtrace-cli.") as scratch:
        run = subprocess.run(["bash", "-euo", "pipefail", str(case)], cwd=scratch, env=environment(case.parent, args.path),
                             stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=400)
        said = {"stdout": run.stdout.replace(scratch, "SCRATCH"), "stderr": run.stderr.replace(scratch, "SCRATCH")}
    if run.returncode == 77:
        print(run.stdout + run.stderr)
        sys.exit(77)
    status_file = case.with_suffix(".status")
    if args.bless:
        for stream, text in said.items():
            bless(case, stream, text)
        status_file.write_text(f"{run.returncode}\n") if run.returncode else status_file.unlink(missing_ok=True)
        return
    complaints = [line for stream, text in said.items() for line in compare(case, stream, text)]
    status = int(status_file.read_text()) if status_file.exists() else 0
    if run.returncode != status:
        complaints.append(f"exit status {run.returncode}, expected {status}")
    print("\n".join(complaints) or "as expected")
    sys.exit(1 if complaints else 0)


main()
