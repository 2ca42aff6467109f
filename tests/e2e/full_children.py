#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""full_children.py PART: children of a recorded program on a disk that is full, where shared memory has no room either.

begin    a child without space for a log is reported with a remedy; it runs on without a log, and so does the program that it executes
later    a program that it executes when there is space again is recorded, and the rest is reported as missing
names    there is space for its log, but for none beside it: the log stays raw, is reported, and is imported
nameless there is not even an inode for the file that records the lack of space: that is one of the reported reasons
room     their logs are in shared memory, and cannot be packed beside it: when there is space `mtrace-record --pack FILE` packs all of them
grow     a log that cannot grow: dropped events are counted, with the reason

Exit status 77: this machine does not let us mount a file system.
"""

import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))

import exhaust  # noqa: E402
import harness  # noqa: E402
from harness import Failure  # noqa: E402

N_PAIRS = 150000
SIZE = 7777
DISK_BYTES = 24 << 20
NO_ROOM = r"no room for its log, neither beside FILE nor in shared memory: make room, or record onto another disk"

# Prints the pids of its children, and how each ended.
PROGRAM = r"""
import ctypes, os, sys
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.malloc.argtypes = [ctypes.c_size_t]
libc.free.argtypes = [ctypes.c_void_p]
folder, part, n_pairs, size = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
filler = folder + "/filler"

def allocate(n):
    for i in range(n):
        libc.free(libc.malloc(size))

def fill():
    fd = os.open(filler, os.O_CREAT | os.O_WRONLY)
    piece = 1 << 20
    while piece:
        try:
            os.write(fd, bytes(piece))
        except OSError:
            piece //= 2
    os.close(fd)

def fill_names(n_left):
    os.mkdir(filler)
    n = 0
    try:
        while True:
            os.close(os.open(f"{filler}/{n}", os.O_CREAT | os.O_WRONLY))
            n += 1
    except OSError:
        for i in range(n_left):
            os.unlink(f"{filler}/{i}")

def child(work):
    pid = os.fork()
    if pid == 0:
        work()
        os._exit(7)
    return pid

def ended(pid):
    print(pid, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)

def executes():
    allocate(1000)
    os.execv("/bin/sh", ["sh", "-c", "exit 7"])

def executes_later():
    allocate(1000)
    os.unlink(filler)
    executes()

def grows():
    allocate(1)
    fill()
    allocate(n_pairs)
    os.unlink(filler)

if part == "begin":
    fill()
    for work in (lambda: allocate(1000), lambda: allocate(1000), executes):
        ended(child(work))
    os.unlink(filler)
elif part == "later":
    fill()
    ended(child(executes_later))
elif part == "names":
    fill_names(1)
    ended(child(lambda: allocate(n_pairs)))
elif part == "nameless":
    fill_names(0)
    ended(child(lambda: allocate(n_pairs)))
elif part == "room":
    fill()
    for pid in [child(lambda: allocate(n_pairs // 10)) for i in range(12)]:
        ended(pid)
else:
    ended(child(grows))
"""


def record(tools, place, part, options="", shared="64k", reason="has no permission to create a log next to FILE"):
    """The PIDs of the children, and the messages of mtrace-record, which name only true reasons."""
    exhaust.mount("/dev/shm", f"size={shared}")
    disk = place / "disk"
    disk.mkdir()
    exhaust.mount(disk, f"size={DISK_BYTES}{options}")
    words = [tools.record, "--follow-children", "-o", disk / "run.dat", sys.executable, "-c", PROGRAM, disk, part, N_PAIRS, SIZE]
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=200, env=harness.environment())
    ends = dict(line.split() for line in done.stdout.splitlines())
    if done.returncode != 0 or not ends or set(ends.values()) != {"7"}:
        raise Failure(f"the program ended with {done.returncode}, its children with {ends}: {done.stderr}")
    if reason in done.stderr:
        raise Failure(f"a reason that is none: {done.stderr}")
    return sorted(ends), done.stderr


def expect(pattern, output):
    found = re.search(pattern, output)
    if not found:
        raise Failure(f"no message matches {pattern!r}, but {output}")
    return found


def imported(tools, place):
    links = [path for path in (place / "disk").iterdir() if path.is_symlink()]
    if links:
        raise Failure(f"links are left: {links}")
    return harness.import_log(tools, place / "disk/run.dat", place / "run.db", "--no-symbols")


def test_begin(tools, place):
    pids, output = record(tools, place, "begin")
    listed = expect(rf"not recorded: ([^\n]*) \(there was {NO_ROOM}", output)[1]
    if sorted(re.findall(r"\d+", listed)) != pids:
        raise Failure(f"children {pids}, without room: {listed}")
    if imported(tools, place).value("SELECT count(*) FROM processes") != 1:
        raise Failure("who had no room for a log has one")


def test_later(tools, place):
    (pid,), output = record(tools, place, "later")
    expect(rf"not recorded wholly: {pid} [^\n]*\(there was {NO_ROOM}", output)
    images = imported(tools, place).rows(f"SELECT executable FROM processes WHERE pid = {pid}")
    if len(images) != 1:
        raise Failure(f"of what was executed when there was room: {images}")


def test_names(tools, place):
    (pid,), output = record(tools, place, "names", ",nr_inodes=200")
    expect(rf"1 log of other processes is not packed: [^\n]*run.dat.{pid}.0': No space left on device; "
           r"what is in FILE.PID.N.live is imported as it is, and 'mtrace-record --pack \S*run.dat' packs it where there is room", output)
    if "not recorded" in output:
        raise Failure(f"an unexpected message about a child that has a log: {output}")
    database = imported(tools, place)
    check_sum(database, pid, output)


def test_nameless(tools, place):
    (pid,), output = record(tools, place, "nameless", ",nr_inodes=200", reason=NO_ROOM)
    expect(rf"not recorded: {pid} [^\n]*the file system there had no inode left", output)


def test_room(tools, place):
    pids, output = record(tools, place, "room", shared="256m")
    expect(r"logs of other processes are not packed: [^\n]*: No space left on device; .* 'mtrace-record --pack \S*run.dat' packs it where there is room", output)
    disk = place / "disk"
    (disk / "filler").unlink()
    done = subprocess.run([tools.record, "--pack", disk / "run.dat"], capture_output=True, text=True, timeout=200)
    expect(rf"run.dat and {len(pids)} logs of child processes: ", done.stderr)
    if done.returncode != 0 or list(disk.glob("*.live")) or list(Path("/dev/shm").glob("mtrace-*")):
        raise Failure(f"--pack ended with {done.returncode}, and left {list(disk.iterdir())}: {done.stderr}")
    found = imported(tools, place).rows(f"SELECT pid, count(*) + count(ended_by) FROM allocations JOIN processes USING (process_id) "
                                        f"WHERE size_bytes = {SIZE} GROUP BY 1")
    if found != [(pid, N_PAIRS // 10 * 2) for pid in sorted(map(int, pids))]:
        raise Failure(f"of {len(pids)} children with {N_PAIRS // 10} blocks each: {found}")


def check_sum(database, pid, output):
    """Checks that every lost event is counted. Returns the number of dropped events."""
    (recorded,), = database.rows(f"SELECT count(*) + count(ended_by) FROM allocations WHERE size_bytes = {SIZE} AND process_id = "
                                 f"(SELECT process_id FROM processes WHERE pid = {pid})")
    (dropped,), = database.rows(f"SELECT events_dropped FROM processes WHERE pid = {pid}")
    print(f"{2 * N_PAIRS} events, {recorded} recorded, {dropped} dropped and counted")
    if recorded + dropped < 2 * N_PAIRS or recorded == 0:
        raise Failure(f"{recorded} recorded, {dropped} dropped: {output}")
    return dropped


def test_grow(tools, place):
    (pid,), output = record(tools, place, "grow")
    dropped_shown = expect(r" ([\d,]+) dropped \(no room for the live log: make room, or see 'ulimit -f'\)", output)[1]
    expect(rf"not recorded wholly: {pid} [^\n]*\(it dropped events, see below\)", output)
    dropped = check_sum(imported(tools, place), pid, output)
    if dropped == 0 or dropped != int(dropped_shown.replace(",", "")):
        raise Failure(f"{dropped} dropped, {dropped_shown} said")


PARTS = {name[5:]: test for name, test in globals().copy().items() if name.startswith("test_")}


def main():
    if len(sys.argv) != 2 or sys.argv[1] not in PARTS:
        sys.exit(__doc__)
    exhaust.unshared()
    with harness.scratch() as place:
        try:
            PARTS[sys.argv[1]](harness.Tools.from_environment(), Path(place))
        finally:
            subprocess.run(["umount", "--lazy", Path(place, "disk")], check=False)


harness.main(main)
