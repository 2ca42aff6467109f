#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""heap_image.py PART: heap images of workloads/heap_image.c and of programs whose images are refused.

planted   each planted block has its state, in an image that the program takes and in one at its exit; lost, held, why
killed    the recorder is killed at steps of an image and at random times: the program goes on and ends as ever
refused   one line and no image: samples, a signal, a seccomp filter, another tracer, a sanitizer; the program is unharmed
damaged   images that are cut, changed or of another run: one line, and the recording is whole
attached  images of an attached process, by --ctl and at its exit: a block from before may hold others
grown     an image when the process has grown
allocators  under other allocators the same blocks are lost
"""

import csv
import ctypes
import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))

import harness  # noqa: E402
from harness import Failure, Skip, ask, expect  # noqa: E402

PTRACE_SEIZE = 0x4206
PTRACE_DETACH = 17
STEPS = ("image_seized:1", "image_seized:3", "image_stopped:1", "image_stopped:5", "image_read:1", "image_read:7", "image_released:1",
         "image_released:4", "image_taken:1", "image_taken:3")
RANDOM_ROUNDS = 10

# size: state, interior_only, kind of the root
PLANTED = {1001: {("lost", 0, None): 1}, 1002: {("lost", 0, None): 1, ("lost_indirect", 0, None): 4},
           1003: {("lost", 0, None): 1, ("lost_indirect", 0, None): 2}, 1004: {("held", 0, "global"): 1}, 1005: {("held", 0, "global"): 1},
           1006: {("held", 0, "stack"): 1}, 1007: {("held", 1, "global"): 1}, 1008: {("held", 0, "tls"): 1},
           1009: {("held", 0, "mapping"): 1}, 1010: {("held", 0, "register"): 1}, 1011: {("lost", 0, None): 20},
           1012: {("lost", 0, None): 1}}


def workload(name="heap_image"):
    return Path(os.environ["MTRACE_TEST_WORKLOADS"]) / name


def record(tools, place, *argv, options=("--heap-image=exit",), env=None):
    return subprocess.run([tools.record, *options, "--force", "-o", place / "run.dat", "--", *argv], cwd=place, env=harness.environment(env),
                          capture_output=True, text=True, errors="replace", timeout=300, stdin=subprocess.DEVNULL)


def table(tools, columns, *words):
    """The columns of each row of a report."""
    return [" ".join(row[column] or "-" for column in columns.split()) for row in csv.DictReader(ask(tools, *words, "--csv").splitlines())]


def states(database, image):
    found = {}
    for row in database.rows("SELECT a.size_bytes, h.state, h.interior_only, r.kind, count(*) AS n FROM heap_image_blocks AS h"
                             " JOIN allocations AS a USING (allocation_id) LEFT JOIN roots AS r USING (root_id)"
                             " WHERE h.image_id = :image AND a.size_bytes BETWEEN 1001 AND 1012 GROUP BY 1, 2, 3, 4", image=image):
        size, state, interior, kind, n = tuple(row)
        found.setdefault(size, {})[(state, interior, kind)] = n
    return found


def images(place):
    return sorted(path.name for path in place.glob("run.dat.image*"))


def skip_elsewhere():
    if os.uname().machine != "x86_64":
        raise Skip("heap images are taken on x86-64 only")


def planted(tools, place):
    outcome = record(tools, place, workload(), "planted")
    expect("the program's status and output", (outcome.returncode, outcome.stdout), (7, "image 0\n"))
    expect("files", images(place), ["run.dat.image1", "run.dat.image2"])
    expect("mode of an image", oct((place / "run.dat.image1").stat().st_mode & 0o777), "0o600")
    database = harness.import_log(tools, place / "run.dat", place / "run.db")
    rows = [tuple(row) for row in database.rows("SELECT image_id, name, cause, method FROM heap_images")]
    expect("images", rows, [(1, "here", "program", "stop"), (2, None, "exit", "stop")])
    expect("states in the first image", states(database, 1), PLANTED)
    expect("states at the exit", states(database, 2), {**PLANTED, 1010: {("lost", 0, None): 1}})
    resident = database.value("SELECT max(rss_bytes) FROM heap_images")
    if not 1 << 20 < resident < 1 << 28:
        raise Failure(f"resident memory of an image: {resident}")
    address = database.value("SELECT printf('0x%x', address + 4) FROM allocations WHERE size_bytes = 1005")
    path = table(tools, "step state size_bytes function", "why", address, place / "run.db")
    expect("why", path, ["0 global - g_global", "1 held 1004 hold", "2 held 1005 hold"])
    lost = table(tools, "retained_bytes bytes blocks function", "lost", place / "run.db")
    expect("lost", sorted(lost), sorted(["20220 20220 20 leave_stale", "1010 1010 1 plant", "1001 1001 1 lose", "5010 1002 1 lose",
                                         "3009 1003 1 lose", "1012 1012 1 lose"]))
    held = table(tools, "bytes blocks kind symbol", "held", place / "run.db")
    if "2009 2 global g_global" not in held or "1007 1 global g_interior" not in held:
        raise Failure(f"held: {held}")
    site = database.value("SELECT call_site_id FROM backtraces JOIN allocations USING (backtrace_id) WHERE size_bytes = 1007")
    path = table(tools, "step state size_bytes function", "why", "--site", str(site), place / "run.db")
    expect("why of a call site", path, ["0 global - g_interior", "1 held 1007 hold"])
    function = database.value("SELECT function FROM roots JOIN heap_image_blocks USING (root_id) JOIN allocations USING (allocation_id)"
                              " WHERE size_bytes = 1006")
    expect("whose frame holds a block", function, "plant")
    sites = "(SELECT call_site_id FROM backtraces JOIN allocations USING (backtrace_id) WHERE size_bytes = 1002)"
    references = database.value('SELECT sum("references") FROM site_references WHERE image_id = 1'
                                f" AND from_site_id IN {sites} AND to_site_id IN {sites}")
    expect("pointers in the lost list", references, 4)
    site = database.value("SELECT call_site_id FROM backtraces JOIN allocations USING (backtrace_id) WHERE size_bytes = 1004")
    found = states(harness.import_log(tools, place / "run.dat", place / "without.db", "--ignore-link", f"{site}:8"), 1)
    expect("states without a link", {size for size in PLANTED if found[size] != PLANTED[size]}, {1005})
    verdicts = set(table(tools, "leaked_bytes verdict", "leaks", place / "run.db", "--count", "0"))
    wanted = {"20220 lost", "1007 held by g_interior", "1004 held by g_global", "1006 held by a stack", "1012 lost"}
    expect("verdicts", wanted - verdicts, set())
    if "the program could no longer reach 30.5 KiB, most of it allocated in leave_stale" not in ask(tools, "summary", place / "run.db"):
        raise Failure(f"summary: {ask(tools, 'summary', place / 'run.db')}")


def wait_until_gone(pid):
    harness.wait_until(f"process {pid} ends", lambda: harness.state_of(pid) in "ZX", 60)


def child_of(process):
    found = []

    def find():
        try:
            children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
            found.extend(int(pid) for pid in children if Path(f"/proc/{pid}/comm").read_text().strip() == "heap_image")
        except OSError:
            pass # it is gone
        return found
    harness.wait_until("the program starts", lambda: find() or process.poll() is not None)
    return found[0] if found else 0


def one_kill(tools, place, what, fault, delay):
    for left in place.glob("run.dat*"):
        left.unlink()
    env = harness.environment({"MTRACE_RECORD_FAULT": fault} if fault else None)
    with open(place / "output", "w") as output:
        process = subprocess.Popen([tools.record, "-o", place / "run.dat", "--", workload(), "asking"], cwd=place, env=env, stdout=output,
                                   stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
        try:
            pid = child_of(process)
            if fault is None:
                harness.wait_until("the first image", lambda: (place / "run.dat.image1").exists())
                time.sleep(delay)
                process.kill()
            process.wait(timeout=60)
            harness.wait_until("the program ends its work", lambda: "calls" in (place / "output").read_text(), 60)
            if pid:
                wait_until_gone(pid)
        finally:
            process.kill()
            process.wait()
    expect(f"{what}: status of mtrace-record", process.returncode, -signal.SIGKILL)
    printed = (place / "output").read_text()
    if not re.fullmatch(r"(epoll_wait 4\n)*images \d+\n(epoll_wait 4\n)*calls 1\n", printed):
        raise Failure(f"{what}: the program wrote {printed!r}")


def killed(tools, place):
    chance = random.Random(33)
    if b"MTRACE_RECORD_FAULT" in Path(tools.record).read_bytes():
        for step in STEPS:
            one_kill(tools, place, step, step, 0)
    for round_ in range(RANDOM_ROUNDS):
        one_kill(tools, place, f"round {round_}", None, chance.random() * 0.05)


def refuse(tools, place, what, line, argv, status, **more):
    outcome = record(tools, place, *argv, **more)
    expect(f"{what}: images", images(place), [])
    expect(f"{what}: status", outcome.returncode, status)
    printed = [text for text in outcome.stderr.splitlines() if "heap image" in text or "--heap-image" in text]
    if len(printed) != 1 or line not in printed[0]:
        raise Failure(f"{what}: {outcome.stderr}")
    return outcome


def refuse_traced(tools, place):
    """Another process traces the program when its image is due."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    process = subprocess.Popen([tools.record, "--heap-image=exit", "-o", place / "traced.dat", "--", workload(), "waiting"], cwd=place,
                               env=harness.environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    expect("the program waits", process.stdout.readline(), "waiting 0\n")
    pid = child_of(process)
    if libc.ptrace(PTRACE_SEIZE, pid, None, None) != 0:
        process.communicate("\n\n", timeout=60)
        print("another tracer: left out, as this process may not trace")
        return
    process.stdin.write("\n\n")
    process.stdin.flush()
    while not os.WIFEXITED(os.waitpid(pid, 0)[1]):
        pass # its tracer takes the end first
    _, stderr = process.communicate(timeout=60)
    expect("another tracer: status", process.returncode, 0)
    if f"is traced by process {os.getpid()}" not in stderr or stderr.count("heap image") != 1:
        raise Failure(f"another tracer: {stderr}")


def refused(tools, place):
    outcome = record(tools, place, "true", options=("--heap-image=exit", "--sample-bytes=1000"))
    if outcome.returncode != 2 or "--heap-image cannot be used with --sample-bytes" not in outcome.stderr:
        raise Failure(f"samples: {outcome.stderr}")
    refuse(tools, place, "a signal", "a signal killed it", ["sh", "-c", "kill -9 $$"], 137)
    filtered = [workload("restricted"), "filter"]
    plain = subprocess.run(filtered, capture_output=True)
    refuse(tools, place, "a filter", "seccomp filter", filtered, plain.returncode)
    refuse_traced(tools, place)


def damaged(tools, place):
    record(tools, place, workload(), "planted")
    good = (place / "run.dat.image1").read_bytes()
    (place / "run.dat.image2").unlink()
    changed = bytearray(good)
    changed[len(good) // 2] ^= 0x40
    other = bytearray(good)
    other[16] ^= 1
    for what, content in (("cut", good[:len(good) * 2 // 3]), ("changed", bytes(changed)), ("empty", b""), ("of another run", bytes(other))):
        (place / "run.dat.image1").write_bytes(content)
        outcome = subprocess.run([tools.importer, "--force", place / "run.dat", place / f"{len(content)}.db"], capture_output=True, text=True,
                                 env=harness.environment(), timeout=60)
        expect(f"{what}: status", outcome.returncode, 0)
        expect(f"{what}: lines", sum("heap image" in line for line in outcome.stderr.splitlines()), 1)
        database = harness.Database(place / f"{len(content)}.db")
        expect(f"{what}: images", database.value("SELECT count(*) FROM heap_images"), 0)
        expect(f"{what}: blocks", database.value("SELECT count(*) FROM allocations WHERE size_bytes = 1004"), 1)


def attached(tools, place):
    program = subprocess.Popen([workload(), "waiting"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=place)
    program.stdout.readline()
    recorder = subprocess.Popen([tools.record, "--attach", str(program.pid), "--heap-image=exit", "-o", place / "run.dat"], cwd=place, env=harness.environment(),
                                stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        def take():
            return subprocess.run([tools.record, "--ctl", str(program.pid), "heap-image", "by hand"], capture_output=True, text=True,
                                  env=harness.environment(), timeout=100)
        answers = []
        harness.wait_until("the recorder takes an image", lambda: recorder.poll() is not None or answers.append(take()) or
                           answers[-1].returncode == 0, 60)
        if recorder.poll() is not None:
            raise Skip(f"the process cannot be attached to: {recorder.stderr.read()}")
        expect("answer", answers[-1].stdout.strip(), str(place / "run.dat.image1"))
        program.communicate(b"\n\n", timeout=60)
        expect("status of the program", program.returncode, 0)
        recorder.wait(timeout=60)
    finally:
        for process in (program, recorder):
            process.kill()
            process.wait()
    database = harness.import_log(tools, place / "run.dat", place / "run.db")
    expect("images", [tuple(row) for row in database.rows("SELECT name, cause FROM heap_images")], [("by hand", "control"), (None, "exit")])
    late = [tuple(row) for row in database.rows("SELECT a.size_bytes, h.state, r.kind FROM heap_image_blocks AS h JOIN allocations AS a"
                                                " USING (allocation_id) LEFT JOIN roots AS r USING (root_id) WHERE h.image_id = 2 AND"
                                                " a.size_bytes BETWEEN 1013 AND 1014 ORDER BY 1")]
    expect("blocks from after the attach", late, [(1013, "held", "heap"), (1014, "lost", None)])


def grown(tools, place):
    process = subprocess.Popen([tools.record, "--heap-image-at-rss=24MiB", "--sample-memory=20", "-o", place / "run.dat", "--", workload(),
                                "waiting", "32"], cwd=place, env=harness.environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    process.stdout.readline()
    process.stdin.write(b"\n")
    process.stdin.flush()
    harness.wait_until("the image", lambda: (place / "run.dat.image1").exists(), 60)
    process.communicate(b"\n", timeout=60)
    expect("status", process.returncode, 0)
    database = harness.import_log(tools, place / "run.dat", place / "run.db")
    expect("images", [tuple(row) for row in database.rows("SELECT cause, rss_bytes >= 24 << 20 FROM heap_images")], [("rss", 1)])


def allocators(tools, place):
    """Links in memory that was freed before may make a lost block an indirect one, but never a held one."""
    def is_lost(found):
        return {size: sum(n for (state, _, _), n in counts.items() if state != "held") for size, counts in found.items()}
    paths = [path for name in ("jemalloc.so.2", "tcmalloc_minimal.so.4", "mimalloc.so.2") for path in Path("/usr/lib").glob(f"*/lib{name}")]
    if not paths:
        raise Skip("neither jemalloc nor tcmalloc nor mimalloc is installed")
    for path in paths:
        expect(f"{path.name}: status", record(tools, place, workload(), "planted", env={"LD_PRELOAD": str(path)}).returncode, 7)
        found = states(harness.import_log(tools, place / "run.dat", place / f"{path.name}.db"), 1)
        expect(f"{path.name}: lost blocks", is_lost(found), is_lost(PLANTED))


def on_x86_64(test):
    def run(tools, place):
        skip_elsewhere()
        test(tools, place)
    return run


PARTS = {test.__name__: on_x86_64(test) for test in (planted, killed, refused, damaged, attached, grown, allocators)}

if __name__ == "__main__":
    harness.main_of_parts(PARTS, __doc__)
