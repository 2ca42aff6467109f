#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""damage.py cut|flip [--rounds N] [--seed N]: a damaged log never makes mtrace-import crash, hang or lie.

A recording is cut at many lengths, or has random bytes changed. Each import must end by itself: either with status 0
and a database that SQLite finds sound, or with status 1, one line that names the file, and no database.
Environment as in ../e2e/run.py.
"""

import argparse
import random
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))

import harness  # noqa: E402
from harness import Failure  # noqa: E402


def import_damaged(tools, place, data, what):
    log, target = place / "damaged.dat", place / "damaged.db"
    log.write_bytes(data)
    target.unlink(missing_ok=True)
    try:
        ended = subprocess.run([tools.importer, "--no-symbols", str(log), str(target)], capture_output=True, timeout=400,
                               env=harness.environment(), text=True, errors="replace", stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        raise Failure(f"{what}: the import does not end") from None
    if ended.returncode == 1:
        if target.exists() or len(ended.stderr.splitlines()) != 1 or "damaged.dat" not in ended.stderr:
            raise Failure(f"{what}: status 1, database left behind: {target.exists()}, said:\n{ended.stderr}")
        return False
    if ended.returncode != 0:
        raise Failure(f"{what}: status {ended.returncode}\n{ended.stderr}")
    sound = harness.Database(target).value("PRAGMA integrity_check")
    if sound != "ok":
        raise Failure(f"{what}: the database is not sound: {sound}")
    leftovers = sorted(p.name for p in place.iterdir() if p.name.startswith("damaged.") and p not in (log, target))
    if leftovers:
        raise Failure(f"{what}: files are left behind: {leftovers}")
    return True


def cuts(data, rounds, randomness):
    lengths = {0, 1, 7, 8, 100, 4095, 4096, 4097, len(data) - 1}
    lengths |= {randomness.randrange(len(data)) for _ in range(rounds)}
    for length in sorted(lengths):
        yield f"cut at {length} of {len(data)}", data[:length]


def flips(data, rounds, randomness):
    for number in range(rounds):
        changed = bytearray(data)
        # Half of the rounds change the first page, because all other data is found by its fields.
        end = 4096 if number % 2 else len(data)
        places = [randomness.randrange(end) for _ in range(randomness.choice((1, 1, 4, 64)))]
        for place in places:
            changed[place] ^= randomness.randrange(1, 256)
        yield f"bytes {places} changed", bytes(changed)


def main():
    parser = argparse.ArgumentParser(description="imports damaged logs")
    parser.add_argument("how", choices=("cut", "flip"))
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    args = parser.parse_args()
    tools, randomness = harness.Tools.from_environment(), random.Random(args.seed)
    n_read = n_rounds = 0
    with harness.scratch() as scratch:
        place = Path(scratch)
        for mode in ("record", "preload"):
            log = place / f"{mode}.dat"
            argv, env = harness.record_argv(tools, mode, log, [tools.workloads / "exceptions"])
            harness.run(argv, place, env)
            data = log.read_bytes()
            for what, damaged in (cuts if args.how == "cut" else flips)(data, args.rounds, randomness):
                n_rounds += 1
                n_read += import_damaged(tools, place, damaged, f"{mode} --seed {args.seed}: {what}")
    print(f"{n_rounds} damaged logs, {n_read} of them still readable in part, no crash")
    if args.how == "cut" and n_read == 0:
        raise Failure("a log cut in the middle should still be readable in part")


harness.main(main)
