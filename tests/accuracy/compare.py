#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""compare.py [--tolerance PERCENT] [PROGRAM…]: mtrace's counts compared with those of valgrind memcheck and heaptrack.

Runs each program untracked once under each tool and prints a table in Markdown; exits 1 when ours is further from
one of theirs than the tolerance allows. Programs are single-threaded and deterministic; docs/verification.md has
the numbers and explains every difference. Environment as in ../e2e/run.py.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent.parent / name) for name in ("lib", "e2e")]

import harness  # noqa: E402
import programs  # noqa: E402
from harness import Failure, Skip  # noqa: E402

def workload(*argv):
    return lambda _: ([harness.Tools.from_environment().workloads / argv[0], *argv[1:]], {})


def small_python(_):
    return [programs.have("python3"), "-c", "import json; print(len(json.dumps([{'a': i} for i in range(20000)])))"], \
        {"PYTHONMALLOC": "malloc"}


PROGRAMS = {"leak_c": workload("leak_c"), "leak_cxx": workload("leak_cxx"),
            "exceptions": workload("exceptions"), "alignments": workload("alignments"), "true": programs.true,
            "python3": small_python, "sqlite3": programs.sqlite, "perl": programs.perl, "gawk": programs.gawk,
            "xmllint": programs.xmllint, "jq": programs.jq, "cc1plus": programs.cc1plus, "git": programs.git_log}


def run(argv, place, env):
    return subprocess.run([str(a) for a in argv], cwd=place, env=harness.environment(env), stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, errors="replace", timeout=600)


def by_us(argv, place, env):
    tools = harness.Tools.from_environment()
    log, target = place.parent / "run.dat", place.parent / "run.db"
    argv, more = harness.record_argv(tools, "record", log, argv)
    recorded = run(argv, place, {**env, **more})
    if not log.exists():
        raise Failure(f"nothing was recorded: {recorded.stderr[-500:]}")
    harness.import_log(tools, log, target, "--no-symbols")
    rows = json.loads(run([tools.query, "summary", "--format", "json", target], place, {}).stdout)
    return rows[0]


def measure(name, tool):
    with tempfile.TemporaryDirectory(prefix="mtrace-accuracy.") as scratch:
        place = Path(scratch) / "there"
        place.mkdir()
        argv, env = PROGRAMS[name](place)
        return tool(argv, place, env)


# Known differences beyond the tolerance, (calls, bytes), with reasons. All other programs get (1, 0): heaptrack's own first block.
ALLOWED = {
    "alignments": (18, 0),  # heaptrack wraps neither memalign nor valloc; valgrind does not count pvalloc
    "cc1plus": (1, 32768),  # a table for each 16 MiB that its pools touch: one more or less by where they lie
}


def allowance(name, figure):
    calls, size_bytes = ALLOWED.get(name, (1, 0))
    return calls if figure in ("allocations", "frees") else size_bytes


def difference(ours, theirs):
    return 0.0 if ours == theirs else 100.0 * (ours - theirs) / theirs if theirs else float("inf")


def main():
    parser = argparse.ArgumentParser(description="compares counts with valgrind and heaptrack")
    parser.add_argument("--tolerance", type=float, default=0.5, help="percent (0.5)")
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", help=" ".join(PROGRAMS))
    args = parser.parse_args()
    for program in ("valgrind", "heaptrack"):
        if shutil.which(program) is None:
            raise Skip(f"{program} is not installed")
    too_far = []
    print("| program | measure | mtrace | valgrind | | heaptrack | |\n|---|---|--:|--:|--:|--:|--:|")
    for name in args.programs or PROGRAMS:
        try:
            ours, valgrind, heaptrack = (measure(name, tool) for tool in (by_us, harness.valgrind_totals, harness.heaptrack_totals))
        except Skip as why:
            print(f"| {name} | not measured: {why} | | | | | |")
            continue
        for figure in ("allocations", "frees", "allocated_bytes", "leaked_bytes"):
            cells = [name, figure.replace("_", " "), f"{ours[figure]:,}"]
            for tool in (valgrind, heaptrack):
                if figure not in tool:
                    cells += ["", ""]
                    continue
                percent = difference(ours[figure], tool[figure])
                cells += [f"{tool[figure]:,}", f"{percent:+.2f} %" if percent else "same"]
                few = allowance(name, figure)
                if abs(percent) > args.tolerance and abs(ours[figure] - tool[figure]) > few:
                    too_far.append(f"{name}: {figure} {ours[figure]}, theirs {tool[figure]}")
            print("| " + " | ".join(cells) + " |", flush=True)
    if too_far:
        raise Failure("further away than allowed:\n" + "\n".join(too_far))


harness.main(main)
