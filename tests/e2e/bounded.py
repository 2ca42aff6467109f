#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""bounded.py [--rings N]: the size of an --aggregate log, and the memory of its processes, do not grow with the length of the run.

A program with the profile of a server (many shapes of requests, varying load, a cache that drops the oldest entry) runs until it was noted N
times that a rotation size or more was full. It waits while rotated files take more than WAIT_RINGS, so it is as fast as the follower; it waits
forever if the follower does nothing. Each time, the sizes of the files and the resident bytes of recorder and follower are noted.
Rotated files, definitions and the recorder's memory may not be higher in the second half than in the second quarter, but for a tenth and
SLACK_BYTES. The whole log has at most four rotation sizes, 64 bytes per live block and 1 KiB per stack; the follower's memory 64 MiB more.
No times are compared.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))

import harness  # noqa: E402
from harness import Failure  # noqa: E402

RING_BYTES = 128 << 10
WAIT_RINGS = 4
SLACK_BYTES = 512 << 10
PARTS_OF_RING = 8


def sizes(place):
    """Bytes of rotated files, of the checkpoint and of the log's definitions; and the highest number of a rotated file."""
    generations = state = highest = 0
    for entry in os.scandir(place):
        try:
            if entry.name.startswith("run.dat.g"):
                generations += entry.stat().st_size
                highest = max(highest, int(entry.name[len("run.dat.g"):]))
            elif entry.name == "run.dat.state":
                state = entry.stat().st_size
        except FileNotFoundError:
            pass
    return generations, state, (Path(place) / "run.dat").stat().st_size, highest


def resident(pid):
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (FileNotFoundError, ProcessLookupError, IndexError):
        return 0


def follower_of(recorder):
    for pid in Path(f"/proc/{recorder}/task/{recorder}/children").read_text().split():
        if int(pid) != os.getpid():
            return int(pid)
    return 0


def request(depth, shape):
    return request(depth - 1, shape) if depth else json.loads(json.dumps({"k" + str(i): [shape] * i for i in range(2 + shape % 9)}))


def serve(place, n_rings):
    recorder, cache, rings, noted = os.getppid(), {}, 0, 0
    with open(Path(place) / "sizes", "w", encoding="ascii") as values:
        for number in range(10**9):
            load = 20 if number // 200 % 2 else 100  # by day and by night
            for i in range(load):
                cache[number * 100 + i] = request(i % 12, number + i)
            while len(cache) > 2000:
                del cache[next(iter(cache))]
            generations, state, definitions, highest = sizes(place)
            while generations > WAIT_RINGS * RING_BYTES:
                time.sleep(0.05)
                generations, state, definitions, highest = sizes(place)
            if highest // PARTS_OF_RING > rings:
                rings, noted = highest // PARTS_OF_RING, noted + 1
                print(generations, state, definitions, resident(recorder), resident(follower_of(recorder)), file=values, flush=True)
            if noted >= n_rings:
                return


def check_promise(tools, place, values):
    database = harness.import_log(tools, place / "run.dat", place / "run.db", "--no-symbols")
    live, stacks = database.value("SELECT count(*) FROM packed_allocation_rows"), database.value("SELECT count(*) FROM backtraces")
    promised = 4 * RING_BYTES + 64 * live + 1024 * stacks
    log = max(generations + state + definitions for generations, state, definitions, _, _ in values)
    follower = max(figure[4] for figure in values)
    print(f"log: {log} bytes at most, {promised} are promised for {live} live blocks and {stacks} stacks; the follower's memory: {follower}")
    if log > promised or follower > promised + (64 << 20):
        raise Failure("that is more than is promised")


def check(values):
    names = ("rotated files", "the checkpoint", "definitions", "the recorder's memory", "the follower's memory")
    n = len(values)
    for name, column in zip(names, zip(*values)):
        before, after = max(column[n // 4:n // 2]), max(column[n // 2:])
        print(f"{name}: {before} bytes at most in the second quarter, {after} in the second half")
        if name not in ("the checkpoint", "the follower's memory") and after > before + before // 10 + SLACK_BYTES:
            raise Failure(f"{name} grow: {column}")
        if after == 0:
            raise Failure(f"nothing is known of {name}")


def main():
    parser = argparse.ArgumentParser(description="a bounded log does not grow with what the program does")
    parser.add_argument("--rings", type=int, default=64)
    parser.add_argument("--serve", help="the program itself, in this folder")
    args = parser.parse_args()
    if args.serve:
        serve(args.serve, args.rings)
        os._exit(0)
    tools = harness.Tools.from_environment()
    with harness.scratch() as place:
        argv = [tools.record, "--aggregate", "-q", "-o", f"{place}/run.dat", "--", sys.executable, __file__, "--rings", str(args.rings), "--serve", place]
        done = subprocess.run([str(a) for a in argv], cwd=place, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=550, check=False,
                              env=harness.environment({"MTRACE_RING_BYTES": str(RING_BYTES), "PYTHONMALLOC": "malloc"}))
        if done.returncode != 0:
            raise Failure(f"the program ended with {done.returncode}: {done.stderr}")
        lines = (Path(place) / "sizes").read_text(encoding="ascii").splitlines()
        values = [tuple(map(int, line.split())) for line in lines]
        check(values)
        check_promise(tools, Path(place), values)


if __name__ == "__main__":
    harness.main(main)
