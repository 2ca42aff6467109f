#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""container_logs.py PART: a raw log of a process in its own PID namespace, on a file system that does not report who has it open.

forced    whether the process has ended cannot be known: the message suggests --force
layer     a log on overlayfs, named by its upper layer, where it is another file for all comparisons: a log that is being written is not packed
"""

import os
import signal
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))

import harness  # noqa: E402
from harness import Failure, Skip  # noqa: E402

SPACE = ("unshare", "--pid", "--fork", "--mount-proc", "--kill-child")
PROGRAM = "import sys; print(len([bytearray(77700) for _ in range(9)]), flush=True); sys.stdin.readline()"


def beneath(tools, place, test):
    """The folder is removed afterwards."""
    try:
        test(tools, place)
    finally:
        subprocess.run(["umount", "-l", place / "merged"], capture_output=True)


def mount_overlay(place):
    """The mount namespace has a folder of its own."""
    parts = {name: place / name for name in ("lowerdir", "upperdir", "workdir", "merged")}
    for part in parts.values():
        part.mkdir()
    options = ",".join(f"{name}={part}" for name, part in parts.items() if name != "merged")
    if subprocess.run(["mount", "-t", "overlay", "overlay", "-o", options, parts["merged"]], capture_output=True).returncode != 0:
        raise Skip("no overlayfs can be mounted here")
    return parts["merged"]


def start(tools, log):
    """A program that is process 1 there, and waits."""
    program = subprocess.Popen([*SPACE, "env", f"LD_PRELOAD={tools.collector}", f"MTRACE_OUTPUT={log}", sys.executable, "-c", PROGRAM],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    if program.stdout.readline() != b"9\n":
        raise Failure(f"the program ended with {program.poll()}")
    return program


def kill(program):
    """Process 1 of the namespace, which unshare waits for: when it has ended, the other has. The namespace is held, so that no later one has its
    number."""
    (first,) = Path(f"/proc/{program.pid}/task/{program.pid}/children").read_text().split()
    os.open(f"/proc/{first}/ns/pid", os.O_RDONLY)
    os.kill(int(first), signal.SIGKILL)
    program.wait()


def pack(tools, log, *options, before=()):
    done = subprocess.run([*before, tools.record, "--pack", str(log), *options], capture_output=True, text=True, timeout=60)
    return done.returncode, done.stderr


def wants(found, code_is_zero, word):
    if (found[0] == 0) != code_is_zero or word not in found[1]:
        raise Failure(f"wanted {word!r}: {found}")


def test_forced(tools, place):
    log = mount_overlay(place) / "run.dat"
    program = start(tools, log)
    wants(pack(tools, log), False, "of another pid namespace is unknown; if it is not, --force packs the log")
    kill(program)
    for before in ((), SPACE):
        wants(pack(tools, log, before=before), False, "--force packs the log")
    wants(pack(tools, log, "-f"), True, "--force assumes that it is not")
    check(tools, log)


def named_in_layer(log):
    return log.parent.parent / "upperdir" / log.name


def test_layer(tools, place):
    merged = mount_overlay(place)
    log = merged / "run.dat"
    program = subprocess.Popen(["env", f"LD_PRELOAD={tools.collector}", f"MTRACE_OUTPUT={log}", sys.executable, "-c", PROGRAM],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    program.stdout.readline()
    wants(pack(tools, named_in_layer(log)), False, "is being written by process")
    program.kill()
    program.wait()
    wants(pack(tools, log), True, "")
    check(tools, log)
    log.unlink()
    recorder = subprocess.Popen([tools.record, "-q", "-o", log, "--", sys.executable, "-c", PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    recorder.stdout.readline()
    live = max(merged.glob("*.live"), key=lambda path: path.stat().st_mtime)
    wants(pack(tools, named_in_layer(live)), False, "is being packed by mtrace-record")
    recorder.communicate(b"\n", timeout=60)
    if recorder.returncode != 0:
        raise Failure(f"the recorder ended with {recorder.returncode}")
    found = harness.import_log(tools, log, place / "run.db", "-f").rows("SELECT count(*) FROM allocations WHERE size_bytes BETWEEN 77700 AND 77720")
    if found != [(9,)]:
        raise Failure(f"of what was recorded there is {found}")


def check(tools, log):
    found = harness.import_log(tools, log, log.parent.parent / "run.db", "-f").rows("SELECT count(*) FROM allocations WHERE size_bytes BETWEEN 77700 AND 77720")
    if found != [(9,)] or len(list(log.parent.iterdir())) != 1:
        raise Failure(f"of the log that was packed there is {found}, {list(log.parent.iterdir())}")


if os.environ.get("MTRACE_TEST_INSIDE") != "1":
    if os.geteuid() != 0 or subprocess.run(["unshare", "--mount", *SPACE, "true"], capture_output=True).returncode != 0:
        print("skipped: no mount and pid namespaces can be made here")
        sys.exit(77)
    os.execvpe("unshare", ["unshare", "--mount", sys.executable, *sys.argv], {**os.environ, "MTRACE_TEST_INSIDE": "1"})
harness.main_of_parts({part: lambda tools, place, test=test: beneath(tools, place, test) for part, test in (("forced", test_forced), ("layer", test_layer))}, __doc__)
