#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs one command-line case: CASE.sh in an empty directory, and compares its output with what the end of CASE.sh expects.
A file of several cases begins each with a line "# case NAME". Lines before the first one run at the start of every case.

  # expect status 2        exit status; without it 0
  # expect stdout          exact text, one line behind each "#|"; without it none
  # expect stderr glob     one shell pattern for each line; a line "..." stands for any number of lines

A command that fails ends the case, in a pipe, too (bash -euo pipefail): a command that may fail is followed by || or is the last one.
The reader of a pipe reads to the end ("sed -n 1p", not "head -1"), so that the writer never ends early. The case sees the programs of the build in PATH, its own folder as $CASES, and an environment without
colour and with a fixed width. A case that cannot run here exits 77 after printing why.
--bless replaces what is expected, but for patterns: read the difference before you commit it.
"""

import argparse
import fnmatch
import os
import re
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


EXPECT = "# expect "


def split_cases(text):
    """The common beginning of all cases, and for each case its name and text; a file with a single case has no name and no common part."""
    common, *cases = re.split(r"^(?=# case )", text, flags=re.MULTILINE)
    return (common, [(case.split()[2], case) for case in cases]) if cases else ("", [("", common)])


def split(text):
    """The script of a case, and what it expects: {"status": "2", "stdout": text, "stderr glob": text}."""
    script, expected, stream = [], {}, None
    for line in text.splitlines(keepends=True):
        if line.startswith(EXPECT):
            stream, _, status = line[len(EXPECT):].strip().partition(" ")
            if stream == "status":
                expected[stream] = status
            else:
                stream = f"{stream} {status}".strip()
                expected[stream] = ""
        elif stream and line.startswith("#|"):
            expected[stream] += line[2:]
        elif stream:
            raise SystemExit(f"a line after '{EXPECT.strip()} {stream}' does not begin with '#|': {line}")
        else:
            script.append(line)
    return "".join(script), expected


def join(script, expected):
    parts = [script]
    for name in ("status", "stdout", "stdout glob", "stderr", "stderr glob"):
        if name == "status" and name in expected:
            parts.append(f"{EXPECT}status {expected[name]}\n")
        elif name in expected:
            parts.append(f"{EXPECT}{name}\n" + "".join(f"#|{line}" for line in expected[name].splitlines(keepends=True)))
    return "".join(parts)


def compare(expected, stream, text):
    """Returns complaints about one stream."""
    glob = expected.get(f"{stream} glob")
    wanted = expected.get(stream, "") if glob is None else glob
    good = text == wanted if glob is None else matches_glob(text.splitlines(), glob.splitlines())
    return [] if good else [f"{stream} differs; expected:", wanted.rstrip(), "but got:", text.rstrip()]


def blessed(script, expected, output, status):
    kept = {name: text for name, text in expected.items() if name.endswith(" glob")}
    for stream, text in output.items():
        if text and f"{stream} glob" not in kept:
            kept[stream] = text if text.endswith("\n") else text + "\n"
    if status:
        kept["status"] = str(status)
    return join(script, kept)


def run_case(common, script, variables):
    """Returns the exit status, and what was written to each stream."""
    with tempfile.TemporaryDirectory(prefix="mtrace-cli.") as scratch:
        run = subprocess.run(["bash", "-euo", "pipefail", "-c", common + script], cwd=scratch, env=variables,
                             stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=400)
        return run.returncode, {"stdout": run.stdout.replace(scratch, "SCRATCH"), "stderr": run.stderr.replace(scratch, "SCRATCH")}


def main():
    parser = argparse.ArgumentParser(description="runs one command-line case")
    parser.add_argument("case", type=Path)
    parser.add_argument("--path", action="append", default=[], help="folder of a program under test; repeatable")
    parser.add_argument("--only", metavar="NAME", help="of a file of several cases")
    parser.add_argument("--bless", action="store_true")
    args = parser.parse_args()
    path = args.case.resolve()

    common, cases = split_cases(path.read_text())
    texts, complaints, skipped = [common], [], False
    with tempfile.TemporaryDirectory(prefix="mtrace-cli-made.") as made:
        variables = {**environment(path.parent, args.path), "MADE": made}
        for name, text in cases:
            texts.append(text)
            if args.only not in (None, name):
                continue
            script, expected = split(text)
            status, output = run_case(common, script, variables)
            if status == 77:
                print(name, output["stdout"] + output["stderr"])
                skipped = True
                continue
            texts[-1] = blessed(script, expected, output, status)
            found = [line for stream, text in output.items() for line in compare(expected, stream, text)]
            if status != int(expected.get("status", 0)):
                found.append(f"exit status {status}, expected {expected.get('status', 0)}")
            complaints += [f"case {name}:"] * bool(found and name) + found
    if args.bless:
        path.write_text("".join(texts))
        return
    print("\n".join(complaints) or "as expected")
    sys.exit(1 if complaints else 77 if skipped else 0)


main()
