#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""ring.py stopped|dead|paced|asked [--threads N] [--rounds N]: the size limit of a bounded log (mtrace-record --aggregate), and how its follower catches up.

stopped: the follower is stopped by SIGSTOP while the program allocates as fast as it can. The program continues, and the folder stays within its limit. When
the follower continues and the program is stopped, rotated files are removed. Recorded and dropped events equal the program's own count.
dead: the same, but each follower is killed as soon as it starts.
paced: the program is stopped by SIGSTOP whenever it has written some rotation sizes, until they are consumed although it writes nothing.
asked: the log is imported while the program runs as fast as it can, and checkpoints are written. Each import has all events from before it began.
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

RING_BYTES = aggregate.RING_BYTES
MAX_RINGS = 16  # LOG_ROTATION_MAX of lib/logfile/log_rotation.h
LIVE_BYTES = 8 << 20
SLACK_BYTES = 1 << 20  # definitions, headers
UNITS = {"asked": 16 << 20}  # without limit: more than is read before the next checkpoint


class Run:
    """A recording of a program that allocates and frees as fast as it can."""

    def __init__(self, tools, place, n_threads, unit=RING_BYTES):
        self.tools, self.place, self.threads, self.unit = tools, place, n_threads, unit
        self.counts = place / "counts"
        argv = [tools.record, "--aggregate", f"--max-live={LIVE_BYTES}", "-o", place / "run.dat", "--", tools.workloads / "survive", self.counts, n_threads]
        self.recorder = subprocess.Popen([str(a) for a in argv], cwd=place, env=harness.environment({"MTRACE_RING_BYTES": str(unit)}),
                                         stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True)
        self.wait_for("the workload's first calls", lambda: survive.published(self.counts)[n_threads - 1][0] != 0)
        self.pid = survive.published(self.counts)[0][2]

    def wait_for(self, what, is_true):
        survive.wait_for(self.recorder, what, is_true)

    def n_calls(self):
        return sum(a + f for a, f, _ in survive.published(self.counts)[:self.threads])

    def await_calls(self, n):
        """Lets the program run for so many calls."""
        until = self.n_calls() + n
        self.wait_for(f"{n} more calls of the program", lambda: self.n_calls() >= until)

    def follower(self):
        self.wait_for("a follower", lambda: aggregate.followers(self.recorder.pid))
        return aggregate.followers(self.recorder.pid)[0]

    def ring_bytes(self):
        return aggregate.ring_bytes(self.place)

    def signal(self, number):
        os.kill(self.pid, number)

    def end(self):
        """Returns the messages; the program is killed."""
        aggregate.kill_one(self.pid)
        output = self.recorder.communicate(timeout=400)[1].decode(errors="replace")
        survive.wait_until_gone(self.pid)
        return output

    def check_counts(self, output):
        """Checks that every call of the program is recorded or counted as dropped, and that the last line has the elided ones. Returns the number
        dropped."""
        database = harness.import_log(self.tools, self.place / "run.dat", self.place / "run.db")
        aggregate.check_sum(database, self, survive.published(self.counts))
        elided = database.value("SELECT sum(elided_blocks) FROM backtrace_totals")
        if f" {elided:,} block{'' if elided == 1 else 's'} elided" not in output:
            raise Failure(f"{elided} blocks were elided, and the output is {output}")
        return aggregate.events_of(database)[1]

    def abandon(self):
        for pid in (self.recorder.pid, self.pid):
            aggregate.kill_one(pid)


class Watch(threading.Thread):
    """The largest sizes of the folder and of the rotated files, as seen repeatedly."""

    def __init__(self, run):
        super().__init__(daemon=True)
        self.run_, self.has_ended, self.folder, self.ring, self.state = run, threading.Event(), 0, 0, 0

    def run(self):
        while not self.has_ended.wait(0.02):
            sizes = {path.name: aggregate.size_of(path) for path in self.run_.place.iterdir() if path.name.startswith("run.dat")}
            self.folder = max(self.folder, sum(sizes.values()))
            self.ring = max(self.ring, sum(size for name, size in sizes.items() if ".g" in name))
            self.state = max(self.state, sizes.get("run.dat.state", 0))

    def check(self):
        self.has_ended.set()
        self.join()
        ring = MAX_RINGS * RING_BYTES + 2 * self.state
        print(f"generations: {self.ring} bytes at most, the folder {self.folder}, a state {self.state}")
        if self.ring > ring:
            raise Failure(f"generations had {self.ring} bytes, {ring} are the most")
        if self.folder > ring + LIVE_BYTES + 4 * self.state + SLACK_BYTES:
            raise Failure(f"the folder had {self.folder} bytes")


def check_catches_up(run):
    """Without new events everything beyond one rotation size is removed, however much there was."""
    run.wait_for("the follower has caught up", lambda: run.ring_bytes() < run.unit)


def stopped(run):
    follower = run.follower()
    run.wait_for("a state", lambda: (run.place / "run.dat.state").exists())
    watch = Watch(run)
    watch.start()
    os.kill(follower, signal.SIGSTOP)
    run.wait_for("as many generations as there may be", lambda: run.ring_bytes() > (MAX_RINGS - 1) * RING_BYTES)
    run.await_calls(3000000)
    os.kill(follower, signal.SIGCONT)
    run.await_calls(300000)
    run.signal(signal.SIGSTOP)
    check_catches_up(run)
    run.signal(signal.SIGCONT)
    run.await_calls(300000)
    watch.check()
    output = run.end()
    dropped = run.check_counts(output)
    if dropped == 0 or f" {dropped:,} dropped" not in output:
        raise Failure(f"{dropped} events were dropped, and the output is {output}")


def dead(run):
    watch = Watch(run)
    watch.start()
    killer = threading.Event()

    def kill_followers():
        while not killer.wait(0.005):
            for pid in aggregate.followers(run.recorder.pid):
                aggregate.kill_one(pid)
    thread = threading.Thread(target=kill_followers, daemon=True)
    thread.start()
    run.wait_for("as many generations as there may be", lambda: run.ring_bytes() > (MAX_RINGS - 1) * RING_BYTES)
    run.await_calls(5000000)
    watch.check()
    killer.set()
    thread.join()
    output = run.end()
    dropped = run.check_counts(output)
    if dropped == 0 or f" {dropped:,} dropped" not in output or "came faster than they were taken in" not in output:
        raise Failure(f"{dropped} events were dropped, and the output is {output}")


def paced(run):
    for _ in range(3):
        run.wait_for("two rings", lambda: run.ring_bytes() > 2 * RING_BYTES)
        run.signal(signal.SIGSTOP)
        check_catches_up(run)
        run.signal(signal.SIGCONT)
        run.await_calls(100000)
    run.check_counts(run.end())


def asked(run):
    state = run.place / "run.dat.state"
    run.wait_for("a state", state.exists)
    counts = []
    while len(counts) < 4 or counts[-1] == counts[0]:
        taken_ns = state.stat().st_mtime_ns
        run.wait_for("another state", lambda before=taken_ns: state.stat().st_mtime_ns != before)
        database = harness.import_log(run.tools, run.place / "run.dat", run.place / "now.db", "--no-symbols", "--force")
        end, n = database.rows("SELECT end_kind, (SELECT sum(allocated_blocks) FROM backtrace_totals) FROM processes")[0]
        if end != "running" or counts and n < counts[-1]:
            raise Failure(f"of a program that goes on an import says that it is {end}, with {n} allocations after {counts}")
        counts.append(n)
    run.check_counts(run.end())


def main():
    parser = argparse.ArgumentParser(description="the bound of a bounded log")
    parser.add_argument("how", choices=("stopped", "dead", "paced", "asked"))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=1)
    args = parser.parse_args()
    tools = harness.Tools.from_environment()

    def one_run(do):
        with harness.scratch() as place:
            run = Run(tools, Path(place), args.threads, UNITS.get(args.how, RING_BYTES))
            try:
                return do(run)
            finally:
                run.abandon()

    for _ in range(args.rounds):
        one_run({"stopped": stopped, "dead": dead, "paced": paced, "asked": asked}[args.how])


if __name__ == "__main__":
    harness.main(main)
