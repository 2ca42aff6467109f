#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""until.py killed|family: an import up to a time equals one of the recording as it was then.

A program stops itself halfway, and its log is copied; then it continues to its end: it frees what
it had, starts threads, loads libraries, starts programs. A database of the whole log up to that instant must equal, in each
table, one of the copy. Ids are replaced by what they stand for, because those of the whole log also count what came later.

killed   one process without a recorder: the copy is what SIGKILL would have left, and is imported whole
family   a recorder, children and an exec; samples, too, up to the last ones in the copy; what it has not packed yet is packed, as it would be after SIGKILL

The clock is the monotonic one: the rate of the processor's is better known at the end, so that times would differ by nanoseconds.
"""

import contextlib
import os
import shutil
import signal
import sqlite3
import struct
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))

import harness  # noqa: E402
from harness import Failure  # noqa: E402

PROGRAM = """
import ast, os, signal, sys, threading, time
name = ast.__file__
def work(n):
    for i in range(n):
        source = open(name).read()[:8000].rsplit("\\n\\n", 1)[0]
        compile(ast.parse(source), "again", "exec")
early = threading.Thread(target=work, args=(1,))
early.start(); early.join()
ready, go = threading.Event(), threading.Event()
def across():
    kept = [bytes(1000 + i) for i in range(500)]
    ready.set()
    go.wait()
    work(1)
thread = threading.Thread(target=across)
thread.start(); ready.wait()
kept = [bytes(5000 + i) for i in range(300)]
work(2)
time.sleep(1.5)
if "stop" in sys.argv:
    os.kill(os.getpid(), signal.SIGSTOP)
go.set(); thread.join()
del kept
import sqlite3, decimal, ctypes
db = sqlite3.connect(":memory:")
late = [threading.Thread(target=work, args=(2,)) for i in range(3)]
for t in late: t.start()
for t in late: t.join()
more = [bytes(100000 + i) for i in range(400)]
time.sleep(1.2)
"""

# Definitions without a time that may have more rows at the end: they are compared by the rows that refer to them.
ONLY_BY_REFERENCE = {"backtraces", "frames", "frame_lines", "objects", "call_sites", "functions", "sources", "skipped_code",
                     "packed_allocation_rows", "row_ranges", "sqlite_sequence", "backtrace_allocations"}
NOT_COMPARED = {"processes": {"end_kind", "end_value"}, "modules": {"module_id"}, "meta": set()}
META_OF_THE_END = ("import.seconds", "import.until_", "log.bytes", "nodes", "segments", "message.", "symbols.seconds", "unwinder.")
# In struct log_header.
START_NS_AT, LAST_TICKS_AT = 72, 88
# Up to which all those that had not ended have their samples in the log.
LAST_SAMPLES = """SELECT min(last_ns) FROM (SELECT max(at_ns) AS last_ns FROM memory_samples JOIN processes USING (process_id)
    WHERE end_kind NOT IN ('exit', 'exec') GROUP BY process_id)"""
LEAST = {"allocation_rows": 10000, "timeline": 20, "modules": 3, "threads": 3, "snapshot_backtraces": 100, "mmaps": 1, "site_leaks": 20}


class Names:
    """The meaning of the ids of one database."""

    def __init__(self, db):
        objects = dict(db.execute("SELECT object_id, path || ' ' || coalesce(build_id, '') FROM objects"))
        frames = {i: f"{objects.get(o, '-')}+{at:x}" for i, o, at in db.execute("SELECT frame_id, object_id, object_offset FROM frames")}
        stacks = {}
        for i, parent, frame, status in db.execute("SELECT backtrace_id, parent_backtrace_id, frame_id, status FROM backtraces ORDER BY 1"):
            stacks[i] = hash((stacks.get(parent), frames.get(frame), status))
        self.of = {
            "backtrace_id": stacks, "object_id": objects, "frame_id": frames,
            "thread_id": {i: f"{pid}/{tid}" for i, pid, tid in db.execute(
                "SELECT thread_id, pid, tid FROM threads JOIN processes USING (process_id)")},
            "call_site_id": dict(db.execute("SELECT call_site_id, coalesce(object_id, '') || '+' || coalesce(object_offset, '') FROM call_sites")),
        }
        for i, o, at in db.execute("SELECT call_site_id, object_id, object_offset FROM call_sites"):
            self.of["call_site_id"][i] = f"{objects.get(o, '-')}+{at}"

    def column(self, name):
        for suffix, names in self.of.items():
            if name.endswith(suffix):
                return lambda value: names.get(value, value)
        return lambda value: value


def tables(path):
    db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    names = Names(db)
    found = {}
    all_tables = [row[0] for row in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'packed%'")]
    for table in [*all_tables, "allocation_rows"]:
        if table in ONLY_BY_REFERENCE:
            continue
        cursor = db.execute(f"SELECT * FROM {table}")
        columns = [column[0] for column in cursor.description]
        shown = [(i, names.column(column)) for i, column in enumerate(columns) if column not in NOT_COMPARED.get(table, ())]
        rows = [tuple(show(row[i]) for i, show in shown) for row in cursor]
        if table == "windows":  # as end_kind of a process: in the copy its end is unknown, in the cut it still runs
            at = columns.index("ended_by")
            rows = [(*row[:at], None if row[at] == "end" else row[at], *row[at + 1:]) for row in rows]
        if table == "meta":
            rows = [row for row in rows if not row[0].startswith(META_OF_THE_END)]
        found[table] = sorted(rows, key=repr)
    db.close()
    return found


def compare(cut, copy, least=LEAST):
    for table, n in least.items():
        if len(copy[table]) < n:
            raise Failure(f"the copy has {len(copy[table])} rows of {table} only")
    for table, rows in copy.items():
        if rows != cut[table]:
            only_copy = sorted(set(rows) - set(cut[table]), key=repr)[:4]
            only_cut = sorted(set(cut[table]) - set(rows), key=repr)[:4]
            cells = [(a, b) for one, other in zip(only_copy, only_cut) for a, b in zip(one, other) if a != b]
            raise Failure(f"{table}: {len(rows)} rows of the copy, {len(cut[table])} of the cut; cells {cells[:10]}; only in the copy "
                          f"{repr(only_copy)[:400]}; only in the cut {repr(only_cut)[:400]}")
    print({table: len(rows) for table, rows in copy.items() if rows})


def descendants(pid):
    found = [pid]
    for parent in found:
        for task in Path(f"/proc/{parent}/task").glob("*/children"):
            with contextlib.suppress(OSError):  # the thread has just ended
                found += [int(word) for word in task.read_text().split()]
    return found


def stopped(process):
    """The child process, or this one, that stopped itself."""
    for _ in range(600):
        if process.poll() is not None:
            raise Failure(f"the program ended with {process.returncode} before it stopped: {process.stderr.read()}")
        for pid in descendants(process.pid):
            if harness.state_of(pid) == "T":
                return pid
        time.sleep(0.1)
    raise Failure("the program did not stop")


def record(argv, env, place, wait_s):
    """Runs it, and copies its logs while it is stopped."""
    logs, copies = place / "logs", place / "copies"
    logs.mkdir()
    process = subprocess.Popen(argv, cwd=logs, env=harness.environment({"PYTHONMALLOC": "malloc", "MTRACE_CLOCK": "monotonic", **env}), stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    pid = stopped(process)
    try:
        time.sleep(wait_s)  # samples are written every few seconds
        shutil.copytree(logs, copies)
    finally:
        os.kill(pid, signal.SIGCONT)
    _, output = process.communicate(timeout=200)
    if process.returncode != 0:
        raise Failure(f"the program ended with {process.returncode}: {output}")
    return logs / "run.dat", copies / "run.dat"


def imported(tools, log, *options):
    target = log.with_suffix(".db")
    harness.import_log(tools, log, target, "--no-symbols", "-f", *options)
    return target


def killed(tools, place):
    log, copy = record([sys.executable, "-c", PROGRAM, "stop"], {"LD_PRELOAD": tools.collector, "MTRACE_OUTPUT": "run.dat"}, place, 0.1)
    whole = imported(tools, copy)
    end_ns = harness.Database(whole).value("SELECT max(end_ns) FROM processes")
    until = imported(tools, log, f"--until={end_ns}ns")
    compare(tables(until), tables(whole))
    expect_end(until, [("running", None)])
    cut = tables(until)
    later = tables(imported(tools, log))
    if len(later["threads"]) == len(cut["threads"]) or len(later["modules"]) == len(cut["modules"]):
        raise Failure("nothing came later")


def expect_end(database, wanted):
    ends = harness.Database(database).rows("SELECT end_kind, end_value FROM processes ORDER BY process_id")
    if ends != wanted:
        raise Failure(f"processes ended as {ends}, not {wanted}")


def kill(tools, log, whole, at_ns):
    """As a recorder does after its program was killed: the headers get the time, and the rest of the pools is packed."""
    start_ns, = struct.unpack_from("<Q", log.read_bytes(), START_NS_AT)
    for pool in log.parent.glob("*.live"):
        last_ns, = struct.unpack_from("<Q", (whole.parent / pool.stem).read_bytes(), LAST_TICKS_AT)
        with open(pool, "r+b") as file:
            file.seek(LAST_TICKS_AT)
            if last_ns > start_ns + at_ns:
                file.write(struct.pack("<QQ", start_ns + at_ns, start_ns + at_ns))
        done = subprocess.run([tools.record, "-q", "--pack", pool.with_suffix("")], capture_output=True, text=True, env=harness.environment(), timeout=100)
        if done.returncode != 0 or pool.exists():
            raise Failure(f"{pool} was not packed: {done.stderr}")


def family(tools, place):
    script = f"""{sys.executable} -c "$1"
    {sys.executable} -c "$1" stop
    {sys.executable} -c "$1"
    """
    shell = ["bash", "-c", f"/bin/true; exec bash -c '{script}' bash \"$1\"", "bash", PROGRAM]
    log, copy = record([tools.record, "-q", "--follow-children", "-o", "run.dat", "--", *shell], {}, place, 4)
    at_ns = harness.Database(imported(tools, copy)).value(LAST_SAMPLES)
    until = imported(tools, log, f"--until={at_ns}ns")
    kill(tools, copy, log, at_ns)
    compare(tables(until), tables(imported(tools, copy, f"--until={at_ns}ns")), {**LEAST, "memory_samples": 10, "processes": 5})
    ends = harness.Database(until).rows("SELECT end_kind FROM processes ORDER BY process_id")
    whole_ends = harness.Database(imported(tools, log)).rows("SELECT end_kind FROM processes ORDER BY process_id")
    as_later = [end for end, later in zip(ends, whole_ends) if end == later]
    if len(whole_ends) <= len(ends) or ends.count(("running",)) != 2 or len(as_later) != len(ends) - 2:
        raise Failure(f"processes ended as {ends}, of {whole_ends}")


if __name__ == "__main__":
    harness.main_of_parts({"killed": killed, "family": family}, __doc__)
