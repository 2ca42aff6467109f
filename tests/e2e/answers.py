#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""answers.py shapes|peaks: mtrace-query reports the patterns and peaks that workloads were made to have.

shapes  call sites whose live bytes have one shape each: leaks and growth name it, at the end, at 98 %, in a range
peaks   "peak" means the peak of the process, in every format and under every filter
"""

import json
import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))

import harness  # noqa: E402
from harness import Failure  # noqa: E402
from heaps import Run  # noqa: E402

# What leaks reports at the end of the run.
SHAPES = {"ramp": "steady", "ramp_on_base": "steady", "late_ramp": "late", "burst": "burst", "start_up": "burst", "plateau": "plateau",
          "plateau_of_new_blocks": "plateau", "plateau_of_any_blocks": "plateau", "saw_tooth": "saw tooth", "once": "once", "ramp_beside_queue": "steady",
          "ramp_beside_cache": "steady"}
LATE_MS = 20  # two steps, half of a part of the run
MAX_RUNS = 5
# Call sites with several callers: each stack has a pattern of its own.
OF_SEVERAL_STACKS = ("ramp_on_base", "ramp_beside_queue", "ramp_beside_cache")
# Blocks freed after the last step count as leaks while the program runs.
WHILE_RUNNING = SHAPES | {"ramp_freed_at_exit": "steady"}
GROWING = {name: pattern for name, pattern in WHILE_RUNNING.items() if pattern in ("steady", "late")} | {"ramp_beside_queue": "goes on"}


def expect(what, expected, found):
    print(f"{what}: {found}")
    if expected != found:
        raise Failure(f"{what}: expected {expected}, found {found}")


def patterns(rows):
    return {row["function"]: row["pattern"] for row in rows if row["function"] in WHILE_RUNNING}


def growing(rows):
    """Growth is computed from snapshots: bytes that come unevenly beside a queue show that growth continues, but not since when."""
    found = patterns(rows)
    if found.get("ramp_beside_queue") in ("steady", "late"):
        found["ramp_beside_queue"] = "goes on"
    return found


def shapes(place):
    """If steps are late on a busy machine, the patterns differ: then the workload runs again."""
    for left in reversed(range(MAX_RUNS)):
        folder = place / str(left)
        folder.mkdir()
        run = Run(folder, "shapes_over_time")
        late_ms = run.values["most_late_ms"]
        try:
            return check_shapes(run)
        except Failure as how:
            if left == 0 or late_ms < LATE_MS:
                raise Failure(f"{how}; a step came {late_ms} ms late") from how
            print(f"a step came {late_ms} ms late: {how}")


def check_shapes(run):
    expect("leaks", SHAPES, patterns(run.ask("leaks")))
    expect("leaks of rows", SHAPES, patterns(run.ask("leaks", "--size-min", "777")))
    expect("leaks by stack", {name: pattern for name, pattern in SHAPES.items() if name not in OF_SEVERAL_STACKS},
           {name: pattern for name, pattern in patterns(run.ask("leaks-by-stack")).items() if name not in OF_SEVERAL_STACKS})
    rows = run.ask("leaks")
    expect("what goes on comes before a larger block of start-up", True,
           [row["function"] for row in rows].index("ramp") < [row["function"] for row in rows].index("once"))
    findings = json.loads(subprocess.run([run.query_program, str(run.path), "--json"], check=True, capture_output=True, timeout=60).stdout)[0]["findings"]
    named = [(one["severity"], {name for name in WHILE_RUNNING if re.search(rf"\b{name} \(", one["sentence"])}) for one in findings]
    expect("findings: leaks of one object, another, what is freed at exit, and what came later", [
        ("warning", {"ramp", "ramp_on_base", "ramp_beside_cache"}), ("warning", {"ramp_beside_queue"}), ("warning", {"ramp_freed_at_exit"}),
        ("warning", {"late_ramp"}), ("info", {"once"})], named)
    expect("what is freed at exit is no leak", True, "keeps growing" in findings[2]["sentence"] and "never freed" not in findings[2]["sentence"])
    # leaks and growth use one rule. Where a call site has two patterns the curves differ, as for the one that is freed at the end.
    words = run.db.rows("SELECT s.curve, c.function, s.pattern FROM site_shapes AS s JOIN _sites AS c USING (call_site_id)")
    patterns_found = {curve: {function: pattern for of, function, pattern in words if of == curve and function in WHILE_RUNNING} for curve in ("leaks", "growth")}
    expect("shapes of leaks", {name: pattern for name, pattern in SHAPES.items() if name != "once"}, patterns_found["leaks"])
    # Bytes of the first snapshot have not grown, and one block has no pattern. For the queue snapshots show that growth continues, not since when.
    alike = {name: pattern for name, pattern in WHILE_RUNNING.items() if name not in ("once", "start_up", "ramp_beside_queue")}
    expect("shapes of growth", alike, {name: pattern for name, pattern in patterns_found["growth"].items() if name in alike})
    expect("nothing else grows", set(), set(patterns_found["growth"]) - set(alike) - {"ramp_beside_queue"})
    at_98 = run.ask("leaks", "--at", "98%")
    expect("leaks at 98 %", WHILE_RUNNING, patterns(at_98))
    grown = alike | {"ramp_beside_queue": "goes on"}
    expect("growth", grown, growing(run.ask("growth")))
    # Rows show the live bytes at the start of the run, before those of the first snapshot.
    expect("growth of rows", grown | {"once": "burst", "start_up": "burst"}, growing(run.ask("growth", "--size-min", "777")))
    # In a part of the run many allocations together are a burst, and a queue that is not drained yet is growth.
    part = {name: pattern for name, pattern in GROWING.items() if name != "ramp_beside_queue"}
    for share, end, left_out in (("10%", "60%", {"late_ramp"}), ("75%", "97%", set())):
        found = {name: pattern for name, pattern in patterns(run.ask("growth", "--from", share, "--to", end)).items() if name in part}
        found.pop("ramp_beside_queue", None)
        expect(f"growth from {share} to {end}", {name: "steady" for name in part if name not in left_out}, found)
    # An allocation time range limits the analysis of leaks: steady leaks are steady in its second half, too.
    second = patterns(run.ask("leaks", "--from", "50%"))
    always = ("ramp", "ramp_on_base", "ramp_beside_cache")
    expect("leaks of the second half", {name: "steady" for name in always}, {name: second.get(name) for name in always})
    # In a middle range the rest of a cache replaced older blocks: live bytes do not rise.
    between = patterns(run.ask("leaks", "--from", "30%", "--to", "60%"))
    lost = {name: "steady" for name in always} | {"plateau_of_any_blocks": "plateau"}
    expect("leaks of a time between", lost, {name: between.get(name) for name in lost})
    # As of a time, leaks are the blocks live at it, also if they are freed later.
    end = run.db.rows("SELECT start_ns, end_ns FROM processes")[0]
    for share in (0.3, 0.98):
        at = int(end[0] + share * (end[1] - end[0]))
        live = run.db.rows("SELECT count(*), sum(size_bytes) FROM allocations WHERE alloc_ns <= :at AND ifnull(free_ns > :at, 1)", at=at)[0]
        leaks = run.ask("leaks", "--at", f"{at}ns")
        suppressed = run.db.rows("SELECT ifnull(sum(a.size_bytes), 0) FROM allocations AS a JOIN suppressed_stacks USING (process_id, backtrace_id)"
                                 " WHERE alloc_ns <= :at AND ifnull(free_ns > :at, 1)", at=at)[0][0]
        expect(f"bytes live at {share:.0%}", live[1] - suppressed, sum(row["leaked_bytes"] for row in leaks))


def export(run, place, form, *argv):
    out = place / f"out.{form}"
    subprocess.run([run.query_program, "export", str(run.path), "--to", form, "-f", "-o", str(out), *argv], check=True, capture_output=True,
                   timeout=400)
    return out.read_text()


def peaks(place):
    run = Run(place, "shapes_over_time")
    # The call sites burst and saw_tooth have their peaks at other times than their process.
    for argv in ([], ["--function-regex", "saw_tooth"], ["--size-max", "5000"], ["--function-regex", "saw_tooth", "--from", "30%"]):
        peak = sum(row["bytes"] for row in run.ask("peak", *argv))
        live = sum(row["bytes"] for row in run.ask("live", "--at", "peak", *argv))
        expect(f"peak {argv}, live at the peak", peak, live)
        folded = export(run, place, "flamegraph.pl", "--measure", "peak", *argv)
        expect("in flamegraph.pl", peak, sum(int(line.rsplit(" ", 1)[1]) for line in folded.splitlines()))
        expect("in dhat", peak, sum(point["gb"] for point in json.loads(export(run, place, "dhat", *argv))["pps"]))
        snapshots = re.findall(r"mem_heap_B=(\d+)\n.*\n.*\nheap_tree=(\w+)", export(run, place, "massif", *argv))
        expect("in massif", [peak], [int(size) for size, tree in snapshots if tree == "peak"])
    own = max(row["own_peak_bytes"] for row in run.ask("groups", "--function-regex", "saw_tooth", "--csv"))
    expect("the saw tooth was higher before", True, own > sum(row["bytes"] for row in run.ask("peak", "--function-regex", "saw_tooth")))


def main():
    with harness.scratch() as place:
        {"shapes": shapes, "peaks": peaks}[sys.argv[1]](Path(place))


if __name__ == "__main__":
    harness.main(main)
