#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""running.py elided|bounded [--threads N] [--imports N]: imports of a log while its program allocates and frees as fast as it can.

Thread T of the workload allocates blocks of three sizes in turn, and frees each sixteen allocations later; so one number says what it did up to any time. Each
import must have, for each thread, exactly what it did up to some time between the beginning and the end of the import, by the numbers that the program
publishes: blocks and bytes, of allocations and of frees, without gaps. Between imports, and when the log would grow needlessly, the program is stopped,
because on a busy machine it is faster than its recorder.
"""

import argparse
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))

import aggregate  # noqa: E402
import harness  # noqa: E402
import survive  # noqa: E402
from harness import Failure  # noqa: E402

OPTIONS = {"elided": ["--cull-temporary=1000"], "bounded": ["--aggregate"]}
N_KEPT = 16  # of workloads/survive.c
MAX_BLOCKS = 500000  # made during one import


class Running:
    """During this the program runs, until it has made so many blocks."""

    def __init__(self, counts):
        self.counts, self.has_ended = counts, threading.Event()
        self.before = survive.published(counts)
        self.pid = self.before[0][2]
        self.thread = threading.Thread(target=self.watch, daemon=True)

    def n_made(self):
        return sum(a for a, _, _ in survive.published(self.counts)) - sum(a for a, _, _ in self.before)

    def watch(self):
        while self.n_made() < MAX_BLOCKS and not self.has_ended.wait(0.002):
            pass
        os.kill(self.pid, signal.SIGSTOP)

    def __enter__(self):
        os.kill(self.pid, signal.SIGCONT)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.has_ended.set()
        self.thread.join()


def sum_of(thread, n):
    """Bytes of the first n blocks of a thread."""
    return sum((3 * thread + k) * 1000 + 777 for k in range(n % 3)) + n // 3 * sum((3 * thread + k) * 1000 + 777 for k in range(3))


def check_thread(thread, counted, row, counted_after):
    """The events of one thread in an import."""
    allocated, bytes_, freed, freed_bytes = row
    if not counted[0] <= allocated <= counted_after[0] + 1:
        raise Failure(f"thread {thread} had made {counted[0]} blocks before the import, and {counted_after[0]} after it; the database has {allocated}")
    if bytes_ != sum_of(thread, allocated):
        raise Failure(f"{allocated} blocks of thread {thread} have {bytes_} bytes, but its first {allocated} have {sum_of(thread, allocated)}")
    if allocated > N_KEPT and allocated - freed not in (N_KEPT - 1, N_KEPT) or freed_bytes != sum_of(thread, freed):
        raise Failure(f"of {allocated} blocks of thread {thread} {freed} were freed, with {freed_bytes} bytes; the first {freed} have {sum_of(thread, freed)}")


def check(database, n_threads, before, after):
    dropped = database.value("SELECT sum(events_dropped) FROM processes")
    if dropped:
        print(f"{dropped} events were dropped: nothing can be said of this import")
        return
    damage = database.rows("SELECT key, value FROM meta WHERE key LIKE 'log.damage%' OR key = 'log.lost_bytes' AND value > 0")
    if damage:
        raise Failure(f"the log of a program that runs is said to be damaged: {damage}")
    rows = database.rows("SELECT (allocated_bytes / allocated_blocks - 777) / 3000, sum(allocated_blocks), sum(allocated_bytes), sum(freed_blocks), sum(freed_bytes) "
                         "FROM backtrace_totals WHERE allocated_bytes % 1000 = allocated_blocks * 777 % 1000 GROUP BY 1")
    found = {thread: values for thread, *values in rows}
    for thread in range(n_threads):
        check_thread(thread, before[thread], found.get(thread, (0, 0, 0, 0)), after[thread])


def main():
    parser = argparse.ArgumentParser(description="imports while the program runs")
    parser.add_argument("how", choices=OPTIONS)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--imports", type=int, default=8)
    args = parser.parse_args()
    tools = harness.Tools.from_environment()

    with harness.scratch() as folder:
        place = Path(folder)
        counts = place / "counts"
        argv = [tools.record, *OPTIONS[args.how], "-o", place / "run.dat", "--", tools.workloads / "survive", counts, args.threads]
        recorder = subprocess.Popen([str(a) for a in argv], cwd=place, env=harness.environment(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                    stderr=subprocess.PIPE, start_new_session=True)
        try:
            survive.wait_for(recorder, "the workload's first calls", lambda: survive.published(counts)[args.threads - 1][0] > N_KEPT)
            os.kill(survive.published(counts)[0][2], signal.SIGSTOP)
            for _ in range(args.imports):
                with Running(counts) as running:
                    database = harness.import_log(tools, place / "run.dat", place / "now.db", "--no-symbols", "--force")
                check(database, args.threads, running.before, survive.published(counts))
        finally:
            for pid in (survive.published(counts)[0][2], recorder.pid):
                if pid:
                    aggregate.kill_one(pid)
            recorder.communicate(timeout=400)


if __name__ == "__main__":
    harness.main(main)
