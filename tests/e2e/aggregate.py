#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""aggregate.py [--rounds N] [--threads N] [--kill program|recorder|follower|both|all|room|disk|damage] [--images one|exec|child] [--seed N]

A program with a bounded log (mtrace-record --aggregate) allocates and frees as fast as it can; the chosen processes get SIGKILL at random times.
The program counts its completed calls in shared memory, as for survive.py. The totals of the import must contain each of them, and at most one
more of each kind per thread. Dropped events must be counted. Rotation sizes are small, so that checkpoints are frequent; a round counts only
if there was one.
room: after a checkpoint the recorder is stopped until the live log is full. Recorded and dropped events must add up. If the last rotated file is
torn, the rest is imported with a warning.
disk: the log is on a small file system that fills up after a checkpoint. Later checkpoints are written and rotated files removed. When space
stays short, events are dropped, and the summary names the disk as the cause.
damage: while the follower is stopped, one unread rotated file is removed and one is overwritten. The import must report both as lost.
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
# A small live log, so that the disk has space for the first checkpoint. The rotated files can hold its events and those that come later.
MAX_LIVE = {"disk": "1M", "damage": "8M"}
DAMAGED_RING_BYTES = 4 * RING_BYTES  # of which at most 16 exist (LOG_ROTATION_MAX): twice the size of that live log
# How the program is run by mtrace-record: directly, as an image after an exec, or as a child of a process that waits for it.
PROGRAMS = {"one": ([], []), "exec": ([], ["env"]), "child": (["--follow-children"], ["sh", "-c", 'exec 2>/dev/null; "$@"; :', "sh"])}
MIN_S, LATEST_S = 0.9, 1.6  # events are certain after a quarter of a second


def followers(recorder):
    """PIDs of the followers of the log."""
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
    """Returns whether a rotated file of the process's last image was removed, which happens only after a checkpoint."""
    logs = sorted(place.glob(f"run.dat.{pid}.*.g[0-9]*")) or sorted(place.glob("run.dat.g[0-9]*"))
    return bool(logs) and not any(path.suffix == ".g1" for path in logs) and (place / "run.dat.state").exists()


def fill(folder, process):
    """The disk is full except for the space of removed rotated files: checkpoints are still written.

    Without files to remove nothing would free space: events are dropped until space is made."""
    survive.wait_for(process, "rotated files", lambda: len(numbers_of(folder)) >= 4)
    harness.fill_disk(folder)
    wait_for_states(folder, process, 3, "on a full disk")
    follower_pids = followers(process.pid)
    for pid in follower_pids:
        os.kill(pid, signal.SIGSTOP)
    survive.wait_for(process, "events that are dropped", lambda: any(dropped_by_reason(folder)))
    for pid in follower_pids:
        os.kill(pid, signal.SIGCONT)


def dropped_by_reason(folder):
    with open(folder / "run.dat.live", "rb") as live:
        return struct.unpack("<8Q", live.read(4096)[exhaust.DROPPED])


def check_output(stderr):
    """The disk must be named as the cause, not the program."""
    last = [line for line in stderr.splitlines() if " dropped" in line]
    if len(last) != 1 or " events, " not in last[0] or "make room" not in last[0]:
        raise Failure(f"mtrace-record printed: {stderr}")


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
    """Bytes of all rotated files of all logs of the run, some of which may be removed during the search."""
    return sum(size_of(path) for path in folder.glob("run.dat*.g[0-9]*"))


def part_of(folder, number):
    return folder / f"run.dat.g{number}"


def stop(process, pids):
    """Stops all threads of the processes before it returns."""
    def states(pid):
        try:
            return {path.read_text().rsplit(")", 1)[1].split()[0] for path in Path(f"/proc/{pid}/task").glob("*/stat")}
        except (FileNotFoundError, ProcessLookupError):  # a thread exited during the search
            return set()
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    survive.wait_for(process, "they stand still", lambda: all(states(pid) == {"T"} for pid in pids))


def first_frame(folder, number):
    """Kind and payload size of the first frame of a rotated file, and the time at which the file was begun."""
    with open(part_of(folder, number), "rb") as part:
        head = part.read(raw_log.HEADER_BYTES + FRAME.size + raw_log.SEGMENT_HEADER_BYTES)
    _, _, kind, _, payload_bytes, *_ = FRAME.unpack_from(head, raw_log.HEADER_BYTES)
    return kind, payload_bytes, raw_log.SEGMENT.unpack_from(head, raw_log.HEADER_BYTES + FRAME.size)[8]


def parts_since(folder, began_ns):
    """Complete rotated files that begin with events of a new segment. The follower may have read the events of others in the live log."""
    frames = [(number, first_frame(folder, number)) for number in numbers_of(folder)[:-1]]
    return [number for number, (kind, _, since_ns) in frames if kind == FRAME_SEGMENT and since_ns > began_ns]


def overwrite(folder, number):
    """Changes up to 200 bytes of the first frame's payload."""
    n_bytes = min(200, first_frame(folder, number)[1])
    with open(part_of(folder, number), "r+b") as part:
        at = raw_log.HEADER_BYTES + FRAME.size + raw_log.SEGMENT_HEADER_BYTES
        part.seek(at)
        wrong = bytes(byte ^ 255 for byte in part.read(n_bytes))
        part.seek(at)
        part.write(wrong)


def damage(folder, process, pid):
    """Removes one rotated file and changes bytes in a frame of another; the import continues and keeps reporting the loss."""
    stop(process, [pid])
    survive.wait_for(process, "room for what comes next", lambda: ring_bytes(folder) < DAMAGED_RING_BYTES)
    follower_pids = followers(process.pid)
    stop(process, follower_pids)
    began_ns = time.monotonic_ns()
    os.kill(pid, signal.SIGCONT)
    survive.wait_for(process, "parts of what came since then", lambda: len(parts_since(folder, began_ns)) >= 2)
    missing, damaged = parts_since(folder, began_ns)[:2]
    part_of(folder, missing).unlink()
    overwrite(folder, damaged)
    for follower in follower_pids:
        os.kill(follower, signal.SIGCONT)
    survive.wait_for(process, "the damaged parts were taken in", lambda: damaged < numbers_of(folder)[0])


def check_damaged(tools, place, folder):
    recorded, _ = count_events(tools, place, folder)
    database = harness.Database(place / "run.db")
    found = dict(database.rows("SELECT key, value FROM meta WHERE key GLOB 'log.damage*' OR key = 'log.lost_bytes'"))
    if int(found.get("log.damage.missing_part", 0)) < 2 or int(found.get("log.lost_bytes", 0)) == 0:
        raise Failure(f"a part that is missing, and one that is damaged, and the messages are {found}")
    return recorded


def kill_one(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def take_room(place, process, pid):
    """The live log cannot grow any more, and no space is freed."""
    limit = (place / "run.dat.live").stat().st_size
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (limit, limit))
    os.kill(process.pid, signal.SIGSTOP)
    time.sleep(1)
    os.kill(process.pid, signal.SIGCONT)
    time.sleep(0.3)


def kill(args, process, pid, randomness):
    if args.kill in ("follower", "all"):
        for _ in range(randomness.randrange(1, 4)):
            for follower in followers(process.pid):
                kill_one(follower)
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
        completed = sum(count[index] for count in counts[:args.threads])
        if not completed <= recorded <= completed + args.threads:
            raise Failure(f"the program completed {completed} {what}, the database has {recorded}")
    return sum(a + f for a, f, _ in counts)


def count_events(tools, place, folder):
    """Allocations and frees that are in the log, and dropped ones. A free whose allocation was dropped is in the log and unmatched. A block whose
    free was dropped ends, without a free, at the next allocation of its address."""
    return events_of(harness.import_log(tools, folder / "run.dat", place / "run.db"))


def events_of(database):
    dropped = database.value("SELECT sum(events_dropped) FROM processes")
    recorded = database.value("SELECT sum(allocated_blocks) + sum(freed_blocks) FROM backtrace_totals")
    unknown = database.value("SELECT sum(value) FROM meta WHERE key IN ('anomaly.unknown_free', 'frees.untracked')")
    unseen = database.value("SELECT sum(value) FROM meta WHERE key = 'anomaly.double_allocation'")
    return recorded + unknown - unseen, dropped


def check_sum(database, args, counts):
    """Checks that all calls were recorded or dropped. Returns the number of completed calls."""
    completed = sum(a + f for a, f, _ in counts[:args.threads])
    recorded, dropped = events_of(database)
    others = 200 * database.value("SELECT count(*) FROM processes")  # calls of libc itself, and calls that had not returned
    if not completed <= recorded + dropped <= completed + others:
        raise Failure(f"the program completed {completed} calls; {recorded} are recorded, {dropped} dropped")
    return completed


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
            check_output(stderr)
        elif stderr:
            raise Failure(f"mtrace-record printed: {stderr}")
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
    survive.run_rounds("kills those who make a bounded log, and counts what survived", ("program", "recorder", "follower", "both", "all", "room", "disk", "damage"), one_round,
                       {"--images": tuple(PROGRAMS)})


if __name__ == "__main__":
    harness.main(main)
