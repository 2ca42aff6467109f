#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""follow_killed.py writer|held_up|program|recorder|family|executed|follower: mtrace-import --follow loses no row when another process is killed.

writer    the process that writes a round, whenever one is seen: the round is written again, with one message, and no file is left beside the database
held_up   it is stopped for long, but not killed: when the program has ended, the follower does not wait for long again
program   during its work
recorder  the program goes on without it
family    several processes, of which one is killed
executed  none; two programs take the place of the first one, whose logs are finished while the last one runs, and each round has all of them from then on
follower  mtrace-import itself: another one takes its place, and removes what it left

At the end the database of the follower equals, in every row of every table, one that is imported afterwards.
"""

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))

import harness  # noqa: E402
from harness import Failure  # noqa: E402

PROGRAM = """
import os, signal, sys, threading, time
stop, n_children, victim = sys.argv[1], int(sys.argv[2]), sys.argv[3]
if victim in ("first", "second"):
    [str(i) * 3 for i in range(1000)]
    os.execv(sys.executable, [*sys.orig_argv[:3], stop, "0", "second" if victim == "first" else "third"])
for i in range(n_children):
    if os.fork() == 0:
        victim = "child" if i == 0 else "nobody"
        break
def work():
    keep = []
    n = 0
    while not os.path.exists(stop):
        keep.append([str(i) * 3 for i in range(40)])
        del keep[:-200]
        n += 1
        if n == 100 and victim == "child":
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(0.02)
other = threading.Thread(target=work)
other.start(); work(); other.join()
"""
MIN_ROWS = 5000


def dump(path):
    """Every row of every table but how long it took."""
    db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    names = [row[0] for row in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY 1")]
    return {name: [row for row in db.execute(f"SELECT * FROM {name}") if row[0] != "import.seconds"] for name in names}


def is_stopped(pid):
    """Returns whether the process is dead or a zombie, by the letter after its name."""
    for _ in range(100):
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        if state in "TtZX":
            return state in "Tt"
        time.sleep(0.01)
    return False


class Run:
    """A program, its recorder and its follower. The program runs until its input ends."""

    def __init__(self, tools, work, n_children=0, victim="nobody"):
        self.tools, self.work = tools, work
        self.log, self.database, self.stop = work / "run.dat", work / "run.db", work / "stop"
        options = ["--follow-children", "--wait"] if n_children else []
        self.recorder = subprocess.Popen([tools.record, "-q", *options, "-o", self.log, "--", sys.executable, "-c", PROGRAM, self.stop, str(n_children), victim],
                                         env=harness.environment({"PYTHONMALLOC": "malloc"}), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.follower = self.follow()

    def follow(self, *options):
        return subprocess.Popen([self.tools.importer, "--follow", "--no-symbols", *options, self.log, self.database], stderr=subprocess.PIPE,
                                text=True, env=harness.environment())

    def children(self, process):
        try:
            return [int(word) for word in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()]
        except OSError:
            return []

    def check_follower(self):
        if self.follower.poll() is not None:
            raise Failure(f"mtrace-import ended with {self.follower.returncode}: {self.follower.stderr.read()}")

    def await_round(self, seconds=60):
        """Until a database comes that was not there."""
        before = self.database.stat().st_ino if self.database.exists() else None
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.check_follower()
            if self.database.exists() and self.database.stat().st_ino != before:
                return
            time.sleep(0.02)
        raise Failure("no round came")

    def signal_writer(self, number=signal.SIGKILL):
        """As soon as there is one; its pid."""
        while True:
            self.check_follower()
            for pid in self.children(self.follower):
                try:
                    os.kill(pid, number)
                    if number != signal.SIGSTOP or is_stopped(pid):
                        return pid
                except (ProcessLookupError, FileNotFoundError):
                    pass
            time.sleep(0.001)

    def finish(self, seconds=200):
        self.stop.touch()
        said = self.follower.communicate(timeout=seconds)[1]
        if self.follower.returncode != 0:
            raise Failure(f"mtrace-import ended with {self.follower.returncode}: {said}")
        left = [path.name for path in self.work.iterdir() if ".part" in path.name]
        if left:
            raise Failure(f"left behind: {left}")
        again = self.work / "again.db"
        harness.import_log(self.tools, self.log, again, "--no-symbols")
        followed, single = dump(self.database), dump(again)
        n_rows = len(single["packed_allocation_rows"]) and harness.Database(again).value("SELECT count(*) FROM allocation_rows")
        for table, rows in single.items():
            if followed[table] != rows:
                first = next(((a, b) for a, b in zip(followed[table], rows) if a != b), None)
                raise Failure(f"{table}: {len(followed[table])} rows of who followed, {len(rows)} of a single import; first {first}; meta "
                              f"{set(followed['meta']) ^ set(single['meta'])}")
        print(f"{n_rows} rows, {harness.Database(again).value('SELECT count(*) FROM processes')} processes")
        if n_rows < MIN_ROWS:
            raise Failure(f"{n_rows} rows only")
        return said


def writer(tools, work):
    run = Run(tools, work)
    for _ in range(2):
        run.signal_writer()
        run.await_round()
    said = run.finish()
    if said.count("was killed") != 1:
        raise Failure(f"said: {said}")


def held_up(tools, work):
    """Three times what the round took would be much longer than what is left to do."""
    run = Run(tools, work)
    run.await_round()
    pid = run.signal_writer(signal.SIGSTOP)
    run.stop.touch()
    time.sleep(40)
    run.recorder.wait(100)
    os.kill(pid, signal.SIGCONT)
    run.finish(100)


def program(tools, work):
    run = Run(tools, work)
    run.await_round()
    os.kill(run.children(run.recorder)[0], signal.SIGKILL)
    run.recorder.wait(60)
    run.finish()
    ends = harness.Database(run.database).rows("SELECT end_kind, end_value FROM processes")
    if ends != [("signal", signal.SIGKILL)]:
        raise Failure(f"ended as {ends}")


def recorder(tools, work):
    run = Run(tools, work)
    run.await_round()
    run.recorder.kill()
    run.recorder.wait(60)
    run.await_round()
    run.finish()


def family(tools, work):
    run = Run(tools, work, n_children=3, victim="parent")
    run.await_round()
    run.await_round()
    run.stop.touch()
    run.recorder.wait(100)
    run.finish()
    n = harness.Database(run.database).value("SELECT count(*) FROM processes")
    if n != 4:
        raise Failure(f"{n} processes")


def of_process(path, process):
    """What each table says of a process, without ids: those of stacks and sites change while there are more of them."""
    found = {}
    for table in harness.Database(path).rows("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY 1"):
        names = [row[1] for row in harness.Database(path).rows(f"PRAGMA table_info({table[0]})")]
        if "process_id" in names and table[0] not in UNTIL_THE_END:
            columns_shown = ", ".join(name for name in names if not name.endswith("_id")) or "count(*)"
            found[table[0]] = sorted(map(repr, harness.Database(path).rows(f"SELECT {columns_shown} FROM {table[0]} WHERE process_id = {process}")))
    return found


def compare_ended(rounds, last):
    """What a round says of an image that an exec replaced is what the end says of it. How many comparisons."""
    compared = 0
    for path in rounds:
        for process, in harness.Database(path).rows("SELECT process_id FROM processes WHERE end_kind = 'exec'"):
            now, then = of_process(path, process), of_process(last, process)
            for table in then:
                if now[table] != then[table]:
                    first = next(((a, b) for a, b in zip(now[table], then[table]) if a != b), None)
                    raise Failure(f"{path.name}, process {process}, {table}: {len(now[table])} rows, {len(then[table])} at the end; first {first}")
                compared += len(then[table]) > 0
    return compared


UNTIL_THE_END = ("realloc_chains",)  # of rows, which come at the end


def await_only_last(run, seconds=100):
    """Until the logs of all images but the last one are finished: their pools are gone."""
    end = time.monotonic() + seconds
    living = []
    while time.monotonic() < end:
        run.check_follower()
        living = sorted(path.name.removesuffix(".live") for path in run.work.glob("run.dat*.live"))
        if len(living) == 1 and living[0].endswith(".1"):
            return
        time.sleep(0.02)
    raise Failure(f"logs that are not finished: {living}")


def executed(tools, work):
    run = Run(tools, work, victim="first")
    run.await_round()
    await_only_last(run)
    run.await_round()  # it may have begun before; a log that is not finished yet has other ends, and clocks known less well
    rounds = []
    for number in range(3):
        run.await_round()
        rounds.append(Path(shutil.copy(run.database, work / f"round{number}.db")))
    run.stop.touch()
    run.recorder.wait(100)
    run.finish()
    compared = compare_ended(rounds, run.database)
    print(f"{compared} tables of images that an exec replaced, in {len(rounds)} rounds")
    if compared < 20:
        raise Failure(f"only {compared} tables were compared")
    ends = harness.Database(run.database).rows("SELECT end_kind, end_value FROM processes ORDER BY process_id")
    if ends != [("exec", None), ("exec", None), ("exit", 0)]:
        raise Failure(f"ended as {ends}")


def follower(tools, work):
    run = Run(tools, work)
    run.await_round()
    while not run.children(run.follower):
        run.check_follower()
        time.sleep(0.001)
    run.follower.kill()
    run.follower.wait()
    run.follower = run.follow("--force")
    run.await_round()
    run.finish()


MODES = {"writer": writer, "held_up": held_up, "program": program, "recorder": recorder, "family": family, "executed": executed, "follower": follower}


harness.main_of_parts(MODES, __doc__)
