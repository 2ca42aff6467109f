#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""many_children.py soft|hard|namespace|alike: the log of a running child never counts as ended.

soft, hard: more children than the recorder has descriptors for; it raises its limit, or cannot.
namespace: children in their own PID namespace, whose PIDs belong to other processes here.
alike: two programs that are process 1 of their own PID namespaces are started with the same log.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))

import harness  # noqa: E402
from harness import Failure, Skip  # noqa: E402

N_BLOCKS = 20100
FIRST_PID_SPACE = 0xeffffffc
TELLING = ("ef53", "58465342", "9123683e", "f2f52010", "1021994")  # ext4, XFS, btrfs, F2FS, tmpfs: lib/abi/file_systems.h
BEHIND = {
    "soft": (30, ["sh", "-c", 'ulimit -Sn 40; exec "$@"', "sh"], []),
    "hard": (30, ["sh", "-c", 'ulimit -n 40; exec "$@"', "sh"], []),
    "namespace": (3, [], ["unshare", "--fork", "--pid"]),
}


def namespace(command):
    """Adds a user namespace where that is needed and possible."""
    for options in ([], ["--user", "--map-root-user"]):
        try:
            if subprocess.run([*command, *options, "true"], capture_output=True, timeout=60).returncode == 0:
                return [*command, *options]
        except FileNotFoundError:
            break
    raise Skip("no pid namespace can be made")


def can_be_known(place):
    """Whether the end of a process in another PID namespace can be known: above all of them, or if the file system reports who has a file open."""
    if os.stat("/proc/self/ns/pid").st_ino == FIRST_PID_SPACE:
        return True
    kind = subprocess.run(["stat", "-f", "-c", "%t", str(place)], capture_output=True, text=True).stdout.strip()
    return kind in TELLING


def check_limit(tools, place):
    """The program has the limit that the recorder was started with."""
    argv, env = harness.record_argv(tools, "record", place / "limit.dat", ["sh", "-c", "ulimit -Sn"], ["-q"])
    output = harness.run(["sh", "-c", 'ulimit -Sn 40; exec "$@"', "sh", *argv], place, env).stdout
    if output != b"40\n":
        raise Failure(f"the program's limit of descriptors is not its own: {output}")


def alike(tools, place):
    log = place / "run.dat"
    argv = [*namespace(["unshare", "--fork", "--pid"]), "env", f"LD_PRELOAD={tools.collector}", f"MTRACE_OUTPUT={log}",
            str(tools.workloads / "many_children"), "1"]
    programs = []
    for _ in range(2):
        programs.append(subprocess.Popen(argv, cwd=place, env=harness.environment(), stdout=subprocess.PIPE))
        for _ in range(200):
            if len(list(place.glob("run.dat*"))) == len(programs):
                break
            time.sleep(0.02)
    for program in programs:
        if program.communicate(timeout=100)[0] != b"children_ok 1\n":
            raise Failure(f"a program ended with {program.returncode}")
    if len(list(place.glob("run.dat*"))) != 2:
        raise Failure(f"of two running programs one replaced the log of the other: {sorted(place.glob('run.dat*'))}")


def main():
    what = sys.argv[1]
    if what == "alike":
        with harness.scratch() as scratch:
            alike(harness.Tools.from_environment(), Path(scratch))
        return
    n_children, before, inside = BEHIND[what]
    inside = namespace(inside) if inside else []
    tools = harness.Tools.from_environment()
    with harness.scratch() as scratch:
        place = Path(scratch)
        if inside and not can_be_known(place):
            raise Skip("in this namespace, on this file system, it cannot be known whether processes of others have ended")
        log = place / "run.dat"
        argv, env = harness.record_argv(tools, "record", log, [*inside, tools.workloads / "many_children", n_children],
                                        ["--follow-children", "--wait"])
        outcome = harness.run([*before, *argv], place, env)
        if f"children_ok {n_children}\n".encode() not in outcome.stdout:
            raise Failure(f"ended with {outcome.status}: {outcome.stdout.decode()}{outcome.stderr.decode()}")
        if b"not recorded" in outcome.stderr or b"still running" in outcome.stderr:
            raise Failure(outcome.stderr.decode())
        if list(place.glob("*.live")):
            raise Failure(f"not packed: {sorted(place.glob('*.live'))}: {outcome.stderr.decode()}")
        database = harness.import_log(tools, log, place / "run.db", "--no-symbols")
        rows = database.rows("SELECT process_id, count(*) FROM allocations WHERE size_bytes = 777 GROUP BY 1")
        if [n for _, n in rows] != [N_BLOCKS] * n_children:
            raise Failure(f"{N_BLOCKS} blocks of each of {n_children} children were wanted, found {rows}: {outcome.stderr.decode()}")
        if what == "soft":
            check_limit(tools, place)


harness.main(main)
