#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""aggregate.py [--rounds N] [--threads N] [--kill none|program|recorder|keeper|both|all] [--seed N]

A bounded log (mtrace-record --aggregate) of a program that allocates and frees as fast as it can, while whoever is asked for is killed
with SIGKILL at random instants. The program counts its completed calls in shared memory, as for survive.py: the totals of the import must have every one of
them, and at most one more of each kind in each thread. Rings are small, so that states are taken all the time; a round counts only when one was.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))

import harness  # noqa: E402
import survive  # noqa: E402
from harness import Failure  # noqa: E402

RING_BYTES = 256 << 10
LEAST_S, LATEST_S = 0.9, 1.6  # what is certain lies a quarter of a second behind


def keepers(recorder):
    """Pids of the importers that keep up with the log."""
    children = Path(f"/proc/{recorder}/task/{recorder}/children")
    try:
        pids = [int(pid) for pid in children.read_text().split()]
    except FileNotFoundError:
        return []
    found = []
    for pid in pids:
        try:
            if b"--keep-state" in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0"):
                found.append(pid)
        except (FileNotFoundError, ProcessLookupError):
            pass
    return found


def start(tools, args, place):
    counts = place / "counts"
    argv = [tools.record, "--aggregate", "-q", "-o", place / "run.dat", "--", tools.workloads / "survive", counts, args.threads]
    process = subprocess.Popen([str(a) for a in argv], cwd=place, env=harness.environment({"MTRACE_RING_BYTES": str(RING_BYTES)}),
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True)
    deadline = time.monotonic() + 100
    while survive.published(counts)[args.threads - 1][0] == 0:
        if process.poll() is not None:
            raise Failure(f"the workload did not start: {process.stderr.read().decode(errors='replace')}")
        if time.monotonic() > deadline:
            os.killpg(process.pid, signal.SIGKILL)
            raise Failure("the workload did not start within 100 s")
        time.sleep(0.001)
    return process, survive.published(counts)[0][2]


def wait_for_state(place, process):
    deadline = time.monotonic() + 200
    while not (place / "run.dat.state").exists():
        if process.poll() is not None:
            raise Failure(f"the recorder ended: {process.stderr.read().decode(errors='replace')}")
        if time.monotonic() > deadline:
            raise Failure("no state was taken within 200 s")
        time.sleep(0.005)


def kill_one(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def kill(args, process, pid, randomness):
    if args.kill in ("keeper", "all"):
        for _ in range(randomness.randrange(1, 4)):
            for keeper in keepers(process.pid):
                kill_one(keeper)
            time.sleep(randomness.uniform(0, 0.3))
    if args.kill in ("recorder", "both", "all"):
        kill_one(process.pid)
        if args.kill == "recorder":
            time.sleep(0.02)
    kill_one(pid)
    stderr = process.communicate(timeout=400)[1].decode(errors="replace")
    survive.wait_until_gone(pid)
    return stderr


def check(database, args, counts):
    dropped = database.value("SELECT sum(events_dropped) FROM processes")
    if dropped:
        raise Failure(f"{dropped} events were dropped, so nothing can be said; use fewer threads or a larger limit")
    if database.value("SELECT count(*) FROM packed_allocation_rows WHERE lifetime_ns IS NOT NULL"):
        raise Failure("there are rows of blocks that ended, so no state was read")
    allocated, freed = database.rows(
        "SELECT sum(allocated_blocks), sum(freed_blocks) FROM backtrace_totals JOIN backtraces USING (backtrace_id) "
        "JOIN sites USING (call_site_id) WHERE function = 'cycle'")[0]
    for what, index, recorded in (("allocations", 0, allocated), ("frees", 1, freed)):
        told = sum(count[index] for count in counts[:args.threads])
        if not told <= recorded <= told + args.threads:
            raise Failure(f"the program completed {told} {what}, the database has {recorded}")
    return sum(a + f for a, f, _ in counts)


def one_round(tools, args, place, randomness):
    process, pid = start(tools, args, place)
    try:
        wait_for_state(place, process)
        time.sleep(randomness.uniform(0, LATEST_S - LEAST_S))
        stderr = kill(args, process, pid, randomness)
    finally:
        kill_one(process.pid)
        kill_one(pid)
    if stderr:
        raise Failure(f"mtrace-record said: {stderr}")
    counts = survive.published(place / "counts")
    return check(harness.import_log(tools, place / "run.dat", place / "run.db"), args, counts)


def main():
    parser = argparse.ArgumentParser(description="kills those who make a bounded log, and counts what survived")
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--kill", choices=("program", "recorder", "keeper", "both", "all"), default="program")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    args = parser.parse_args()
    tools, randomness = harness.Tools.from_environment(), random.Random(args.seed)
    total = 0
    for number in range(args.rounds):
        with harness.scratch() as place:
            try:
                total += one_round(tools, args, Path(place), randomness)
            except Failure as how:
                raise Failure(f"round {number} (--seed {args.seed}): {how}") from None
    print(f"{args.rounds} rounds, {args.threads} threads, {args.kill} killed: {total} completed calls, none lost")


if __name__ == "__main__":
    harness.main(main)
