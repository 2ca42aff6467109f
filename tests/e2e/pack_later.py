#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""pack_later.py PART: `mtrace-record --pack` packs logs that lost their recorder, and no others.

scribbled a program that overwrites the header of its log, as if it had ended without a recorder, is recorded to its end
others    of a killed recorder: with the first log the other logs of its run are packed; one that is still written is named, and is packed later
"""

import os
import signal
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))

import harness  # noqa: E402
from harness import Failure  # noqa: E402

N_PAIRS = 20000
SIZE = 7777
BLOCKS = f"SELECT count(*), count(ended_by) FROM allocations WHERE size_bytes = {SIZE}"

PROGRAM = r"""
import ctypes, os, struct, sys
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.malloc.argtypes = [ctypes.c_size_t]
libc.free.argtypes = [ctypes.c_void_p]
part, n_pairs, size = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])

def allocate():
    for i in range(n_pairs):
        libc.free(libc.malloc(size))

def child(name):
    pid = os.fork()
    if pid == 0:
        allocate()
        open(name + ".done", "w").close()
        open(name).read()
        os._exit(0)
    return pid

allocate()
if part == "scribbled":
    live = os.open("run.dat.live", os.O_RDWR)
    os.pwrite(live, struct.pack("<II", 0, 1), 240)  # recorder_pid, end_kind
    print(os.getpid(), flush=True)
    sys.stdin.readline()
    allocate()
else:
    print(os.getpid(), child("first"), child("second"), flush=True)
    sys.stdin.readline()
    os.wait()
os._exit(0)
"""


def start(tools, place, part, *options):
    """The recorder, and the PIDs that the program printed."""
    words = [tools.record, "-q", *options, "-o", "run.dat", "--", sys.executable, "-c", PROGRAM, part, N_PAIRS, SIZE]
    recorder = subprocess.Popen([str(word) for word in words], cwd=place, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=harness.environment())
    return recorder, [int(word) for word in recorder.stdout.readline().split()]


def wait_until_gone(pid):
    harness.wait_until(f"process {pid} has ended", lambda: harness.state_of(pid) in "ZX")


def pack(tools, place, wanted_code, *words):
    done = subprocess.run([tools.record, "--pack", "run.dat"], cwd=place, capture_output=True, text=True, timeout=60)
    missing = [word for word in words if word not in done.stderr]
    if done.returncode != wanted_code or missing or "no allocation" in done.stderr:
        raise Failure(f"--pack ended with {done.returncode}, and does not print {missing}, or misses allocations: {done.stderr}")


def check(tools, place, n_times):
    found = harness.import_log(tools, place / "run.dat", place / "run.db", "-f", "--no-symbols").rows(BLOCKS)
    if found != [(N_PAIRS * n_times, N_PAIRS * n_times)]:
        raise Failure(f"of {n_times} times {N_PAIRS} blocks there are {found}")


def test_scribbled(tools, place):
    recorder, _ = start(tools, place, "scribbled")
    pack(tools, place, 1, "is being packed by mtrace-record; wait until it has ended")
    recorder.communicate(b"\n", timeout=60)
    if recorder.returncode != 0:
        raise Failure(f"the recorder ended with {recorder.returncode}")
    check(tools, place, 2)


def test_others(tools, place):
    for name in ("first", "second"):
        os.mkfifo(place / name)
    recorder, pids = start(tools, place, "others", "--follow-children")
    try:
        pack_others(tools, place, recorder, *pids)
    finally:
        for pid in pids:
            if harness.state_of(pid) not in "ZX":
                os.kill(pid, signal.SIGKILL)


def pack_others(tools, place, recorder, pid, first, second):
    harness.wait_until("both children are done", lambda: all((place / f"{name}.done").exists() for name in ("first", "second")))
    os.kill(recorder.pid, signal.SIGKILL)
    (place / "first").write_text("")
    recorder.stdin.write(b"\n")
    recorder.stdin.flush()
    recorder.wait()
    for ended in (pid, first):
        wait_until_gone(ended)
    pack(tools, place, 0, "run.dat and 1 log of child processes: ", f"written by process {second}; wait until it has ended")
    if [path.name for path in place.glob("*.live")] != [f"run.dat.{second}.0.live"]:
        raise Failure(f"what is left of {first} and {second}: {list(place.iterdir())}")
    (place / "second").write_text("")
    wait_until_gone(second)
    pack(tools, place, 0, "run.dat and 1 log of child processes: ")
    if list(place.glob("*.live")):
        raise Failure(f"what is left of {second}: {list(place.iterdir())}")
    check(tools, place, 3)


harness.main_of_parts({name[5:]: test for name, test in globals().copy().items() if name.startswith("test_")}, __doc__)
