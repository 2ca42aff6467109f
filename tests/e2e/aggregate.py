#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""aggregate.py [--rounds N] [--threads N] [--kill program|recorder|keeper|both|all|room|disk|damage] [--images one|exec|child] [--seed N]

A bounded log (mtrace-record --aggregate) of a program that allocates and frees as fast as it can, while whoever is asked for is killed
with SIGKILL at random instants. The program counts its completed calls in shared memory, as for survive.py: the totals of the import must have every one of
them, and at most one more of each kind in each thread. Where they came faster than they were taken in for so long that some
were dropped, those are counted, too. Rings are small, so that states are taken all the time; a round counts only when one was.
room: after a state there is no more room for what the program does, while the recorder is stopped: what is recorded and what was dropped are all of it;
and of a log whose last part is torn all the rest is imported, with a word about it.
disk: the log lies on a small file system that becomes full after a state: others follow, and generations go. When nobody makes room any more, what is dropped
is said to be so for that.
damage: while nobody takes parts of the log in, one is removed and one overwritten, of events that nobody can have read before: both are said to be lost.
"""

import os
import resource
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))

import exhaust  # noqa: E402
import harness  # noqa: E402
import raw_log  # noqa: E402
import survive  # noqa: E402
from harness import Failure  # noqa: E402

RING_BYTES = 256 << 10
FRAME = struct.Struct("<IIHHIIIQQQ")  # struct log_frame, up to its segment
FRAME_SEGMENT = 1  # LOG_FRAME_SEGMENT
# A small live log: so that the first state has room on the disk; and what waits in it has room in parts that nobody takes in, beside what comes afterwards.
MAX_LIVE = {"disk": "1M", "damage": "8M"}
DAMAGED_RING_BYTES = 4 * RING_BYTES  # of which 16 are the most (LOG_ROTATION_MAX): twice as much as that live log
# What the program is for mtrace-record: itself, an image behind an exec of the one that is started, or a child of one that waits for it.
PROGRAMS = {"one": ([], []), "exec": ([], ["env"]), "child": (["--follow-children"], ["sh", "-c", 'exec 2>/dev/null; "$@"; :', "sh"])}
MIN_S, LATEST_S = 0.9, 1.6  # what is certain lies a quarter of a second behind


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


def start(tools, args, place, folder):
    counts = place / "counts"
    options, words = PROGRAMS[args.images]
    if args.kill in MAX_LIVE:
        options = [*options, f"--max-live={MAX_LIVE[args.kill]}"]
    unit = DAMAGED_RING_BYTES if args.kill == "damage" else RING_BYTES
    program = [*words, tools.workloads / "survive", counts, args.threads]
    argv = [tools.record, "--aggregate", *(["-q"] if args.kill != "disk" else []), *options, "-o", folder / "run.dat", "--", *program]
    process = subprocess.Popen([str(a) for a in argv], cwd=place, env=harness.environment({"MTRACE_RING_BYTES": str(unit)}),
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True)
    survive.wait_for(process, "the workload's first calls", lambda: survive.published(counts)[args.threads - 1][0] != 0)
    return process, survive.published(counts)[0][2]


def has_gone(place, pid):
    """Is a generation of the process' last image gone, for which there must be a state?"""
    logs = sorted(place.glob(f"run.dat.{pid}.*.g[0-9]*")) or sorted(place.glob("run.dat.g[0-9]*"))
    return bool(logs) and not any(path.suffix == ".g1" for path in logs) and (place / "run.dat.state").exists()


def fill(folder, process):
    """The disk is full, and stays so but for what generations give back: states are taken nevertheless."""
    harness.fill_disk(folder)
    wait_for_states(folder, process, 3, "on a full disk")
    keeping = keepers(process.pid)
    for pid in keeping:
        os.kill(pid, signal.SIGSTOP)
    survive.wait_for(process, "events that are dropped", lambda: any(dropped_by_reason(folder)))
    for pid in keeping:
        os.kill(pid, signal.SIGCONT)


def dropped_by_reason(folder):
    with open(folder / "run.dat.live", "rb") as live:
        return struct.unpack("<8Q", live.read(4096)[exhaust.DROPPED])


def check_said(stderr):
    """It is the disk's fault, and not the program's."""
    last = [line for line in stderr.splitlines() if " dropped" in line]
    if len(last) != 1 or " events, " not in last[0] or "make room" not in last[0]:
        raise Failure(f"mtrace-record said: {stderr}")


def wait_for_states(folder, process, n, when):
    def identity():
        status = (folder / "run.dat.state").stat()
        return status.st_ino, status.st_mtime_ns
    for number in range(1, n + 1):
        before = identity()
        survive.wait_for(process, f"state {number} {when}", lambda: identity() != before)


def numbers_of(folder):
    return sorted(int(path.suffix[2:]) for path in folder.glob("run.dat.g[0-9]*"))


def size_of(path):
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def ring_bytes(folder):
    """Of all parts of all logs of the run; they may go meanwhile."""
    return sum(size_of(path) for path in folder.glob("run.dat*.g[0-9]*"))


def part_of(folder, number):
    return folder / f"run.dat.g{number}"


def stop(process, pids):
    """All of their threads stand still when this returns."""
    def states(pid):
        try:
            return {path.read_text().rsplit(")", 1)[1].split()[0] for path in Path(f"/proc/{pid}/task").glob("*/stat")}
        except (FileNotFoundError, ProcessLookupError):  # a thread ended meanwhile
            return set()
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    survive.wait_for(process, "they stand still", lambda: all(states(pid) == {"T"} for pid in pids))


def first_frame(folder, number):
    """Kind and payload bytes of the first frame of a part, and when what it has was begun."""
    with open(part_of(folder, number), "rb") as part:
        head = part.read(raw_log.HEADER_BYTES + FRAME.size + raw_log.SEGMENT_HEADER_BYTES)
    _, _, kind, _, payload_bytes, *_ = FRAME.unpack_from(head, raw_log.HEADER_BYTES)
    return kind, payload_bytes, raw_log.SEGMENT.unpack_from(head, raw_log.HEADER_BYTES + FRAME.size)[8]


def parts_since(folder, began_ns):
    """Those that are complete and begin with events of a segment that was not there before. Any other one, however new, may have what the keeper read in the live log."""
    frames = [(number, first_frame(folder, number)) for number in numbers_of(folder)[:-1]]
    return [number for number, (kind, _, since_ns) in frames if kind == FRAME_SEGMENT and since_ns > began_ns]


def overwrite(folder, number):
    """No byte of the first frame's payload is what it was, up to 200 of them."""
    n_bytes = min(200, first_frame(folder, number)[1])
    with open(part_of(folder, number), "r+b") as part:
        at = raw_log.HEADER_BYTES + FRAME.size + raw_log.SEGMENT_HEADER_BYTES
        part.seek(at)
        wrong = bytes(byte ^ 255 for byte in part.read(n_bytes))
        part.seek(at)
        part.write(wrong)


def damage(folder, process, pid):
    """One part is removed, one has other bytes in a frame; whoever takes them in goes on, and what is lost of them is said for good."""
    stop(process, [pid])
    survive.wait_for(process, "room for what comes next", lambda: ring_bytes(folder) < DAMAGED_RING_BYTES)
    keeping = keepers(process.pid)
    stop(process, keeping)
    began_ns = time.monotonic_ns()
    os.kill(pid, signal.SIGCONT)
    survive.wait_for(process, "parts of what came since then", lambda: len(parts_since(folder, began_ns)) >= 2)
    missing, damaged = parts_since(folder, began_ns)[:2]
    part_of(folder, missing).unlink()
    overwrite(folder, damaged)
    for keeper in keeping:
        os.kill(keeper, signal.SIGCONT)
    survive.wait_for(process, "the damaged parts were taken in", lambda: damaged < numbers_of(folder)[0])


def check_damaged(tools, place, folder):
    recorded, _ = count_events(tools, place, folder)
    database = harness.Database(place / "run.db")
    found = dict(database.rows("SELECT key, value FROM meta WHERE key GLOB 'log.damage*' OR key = 'log.lost_bytes'"))
    if int(found.get("log.damage.missing_part", 0)) < 2 or int(found.get("log.lost_bytes", 0)) == 0:
        raise Failure(f"a part that is missing, and one that is damaged, and this is what is said: {found}")
    return recorded


def kill_one(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def take_room(place, process, pid):
    """The live log cannot grow any more, and nobody gives back what is full."""
    limit = (place / "run.dat.live").stat().st_size
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (limit, limit))
    os.kill(process.pid, signal.SIGSTOP)
    time.sleep(1)
    os.kill(process.pid, signal.SIGCONT)
    time.sleep(0.3)


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
    if database.value("SELECT count(*) FROM packed_allocation_rows WHERE lifetime_ns IS NOT NULL"):
        raise Failure("there are rows of blocks that ended, so no state was read")
    if database.value("SELECT sum(events_dropped) FROM processes"):
        return check_sum(database, args, counts)
    allocated, freed = database.rows(
        "SELECT sum(allocated_blocks), sum(freed_blocks) FROM backtrace_totals JOIN backtraces USING (backtrace_id) "
        "JOIN sites USING (call_site_id) WHERE function = 'cycle'")[0]
    for what, index, recorded in (("allocations", 0, allocated), ("frees", 1, freed)):
        told = sum(count[index] for count in counts[:args.threads])
        if not told <= recorded <= told + args.threads:
            raise Failure(f"the program completed {told} {what}, the database has {recorded}")
    return sum(a + f for a, f, _ in counts)


def count_events(tools, place, folder):
    """Births and frees that are in the log, and those that were dropped. The free of a block whose birth was dropped is in it and ends
    nothing, and a block whose free was dropped ends, without one, where the next is born at its address."""
    return events_of(harness.import_log(tools, folder / "run.dat", place / "run.db"))


def events_of(database):
    dropped = database.value("SELECT sum(events_dropped) FROM processes")
    recorded = database.value("SELECT sum(allocated_blocks) + sum(freed_blocks) FROM backtrace_totals")
    unknown = database.value("SELECT sum(value) FROM meta WHERE key IN ('anomaly.unknown_free', 'frees.untracked')")
    unseen = database.value("SELECT sum(value) FROM meta WHERE key = 'anomaly.double_allocation'")
    return recorded + unknown - unseen, dropped


def check_sum(database, args, counts):
    """All calls are recorded or dropped; how many were completed."""
    told = sum(a + f for a, f, _ in counts[:args.threads])
    recorded, dropped = events_of(database)
    others = 200 * database.value("SELECT count(*) FROM processes")  # what libc allocates, and calls that had not returned
    if not told <= recorded + dropped <= told + others:
        raise Failure(f"the program completed {told} calls; {recorded} are recorded, {dropped} dropped")
    return told


def check_without_room(tools, args, place, counts, folder):
    (folder / "filler").unlink(missing_ok=True)
    database = harness.import_log(tools, folder / "run.dat", place / "run.db")
    check_sum(database, args, counts)
    recorded, dropped = events_of(database)
    if not dropped and args.kill == "room":
        raise Failure("there was room")
    if args.kill == "disk":
        return recorded
    last = max(folder.glob("run.dat.g*"), key=lambda path: int(path.suffix[2:]))
    os.truncate(last, last.stat().st_size - 10)
    place.joinpath("run.db").unlink()
    torn, _ = count_events(tools, place, folder)
    if not 0 < torn < recorded:
        raise Failure(f"{torn} of {recorded} calls are in a log whose last part is torn")
    return recorded


def one_round(tools, args, place, randomness):
    folder = exhaust.mounted(place) if args.kill == "disk" else place
    process, pid = start(tools, args, place, folder)
    try:
        survive.wait_for(process, "a state of what the program does", lambda: has_gone(folder, pid))
        time.sleep(randomness.uniform(0, LATEST_S - MIN_S))
        if args.kill == "room":
            take_room(place, process, pid)
        if args.kill == "disk":
            fill(folder, process)
        if args.kill == "damage":
            damage(folder, process, pid)
        stderr = kill(args, process, pid, randomness)
        if args.kill == "disk":
            check_said(stderr)
        elif stderr:
            raise Failure(f"mtrace-record said: {stderr}")
        if args.kill == "damage":
            return check_damaged(tools, place, folder)
        counts = survive.published(place / "counts")
        if args.kill in ("room", "disk", "damage"):
            return check_without_room(tools, args, place, counts, folder)
        return check(harness.import_log(tools, place / "run.dat", place / "run.db"), args, counts)
    finally:
        kill_one(process.pid)
        kill_one(pid)
        if args.kill == "disk":
            subprocess.run(["umount", "--lazy", folder], check=False)


def main():
    survive.run_rounds("kills those who make a bounded log, and counts what survived", ("program", "recorder", "keeper", "both", "all", "room", "disk", "damage"), one_round,
                       {"--images": tuple(PROGRAMS)})


if __name__ == "__main__":
    harness.main(main)
