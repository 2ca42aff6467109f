#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""preload/run.py CASE: a workload with LD_PRELOAD alone is unchanged, and the raw log has all of its blocks.

The log is read by tests/lib/raw_log.py, not by the importer. CASE is a name of e2e/cases.py.
"""

import collections
import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent.parent / name) for name in ("lib", "e2e")]

import cases  # noqa: E402
import harness  # noqa: E402
import raw_log  # noqa: E402
from harness import Failure, Skip  # noqa: E402


def own_sizes(case, log):
    try:
        found = list(raw_log.events(log))
    except raw_log.Damaged as how:
        raise Failure(f"the log is damaged: {how}") from None
    if len(found) < case.least_events:
        raise Failure(f"only {len(found)} events were recorded")
    kinds = collections.Counter(kind for kind, _, _ in found)
    print("events by kind:", dict(sorted(kinds.items())))
    return [size for _, _, size in found if size is not None and size % 1000 == 777]


def check_totals(case, stdout, log):
    expected = {words[1]: int(words[2]) for words in map(str.split, stdout.decode().splitlines())
                if words[:1] == ["expect"]} | {name: value for name, value in case.expect.items() if value is not None}
    sizes, dropped = own_sizes(case, log), raw_log.dropped(log)
    if dropped and not case.may_drop:
        raise Failure(f"{dropped} events were dropped")
    for name, got in (("allocated", len(sizes)), ("allocated_bytes", sum(sizes))):
        if name in expected and got != expected[name] and not (dropped and got < expected[name]):
            raise Failure(f"{name}: the workload prints {expected[name]}, the log {got}")
    print(f"{len(sizes)} blocks of its own, {dropped} events dropped")


def main():
    case = cases.CASES[sys.argv[1]]
    tools = harness.Tools.from_environment()
    argv = [tools.workloads / case.argv[0], *[arg.replace("@", str(tools.workloads)) for arg in case.argv[1:]]]
    with harness.scratch() as scratch:
        place = Path(scratch)
        for folder in ("untracked", "recorded"):
            (place / folder).mkdir()
        untracked = harness.run(argv, place / "untracked", case.own_env())
        if untracked.status == 77:
            raise Skip(untracked.stderr.decode().strip())
        log = place / "run.dat"
        argv, env = harness.record_argv(tools, "preload", log, argv)
        recorded = harness.run(argv, place / "recorded", {**env, **case.env})
        harness.check_unchanged(untracked, recorded)
        check_totals(case, recorded.stdout, log)


harness.main(main)
