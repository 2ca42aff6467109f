#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""windows.py PART: windows of a python3 that counts what it allocates: what was born in one is recorded, and nothing else.

control   mtrace-record --ctl PID start, stop, snapshot and report, by the program's pid and by the recorder's
clients   two clients at once; hostile ones: silent, senseless, too long; after them others are served
nobody    a pid that is nobody's, not recorded, or whose recorder was killed; another user is not heard; wrong usage
idle      a program that does nothing obeys with its next event; one whose memory cannot be written obeys nonetheless
exec      a program that is executed, and fork children, begin as who starts them is
"""

import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))

import harness  # noqa: E402
from harness import Failure  # noqa: E402

# Obeys lines: "alloc SIZE N" makes N blocks and keeps them; "free" frees what it kept; "fork"; "exec"; "sleep" and "wake"
# switch off and on what else it does: it allocates a little every millisecond or so. Says the line again when it is done.
SERVER = r"""
import ctypes, os, select, sys
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.malloc.argtypes = [ctypes.c_size_t]
libc.free.argtypes = [ctypes.c_void_p]
kept, awake = [], True
while True:
    if awake:
        libc.free(libc.malloc(1))
    if not select.select([0], [], [], 0.001 if awake else None)[0]:
        continue
    line = b""
    while not line.endswith(b"\n"):
        line += os.read(0, 1) or sys.exit()
    words = line.split()
    if words[0] == b"alloc":
        for _ in range(int(words[2])):
            kept.append(libc.malloc(int(words[1])))
    elif words[0] == b"free":
        while kept:
            libc.free(kept.pop())
    elif words[0] in (b"sleep", b"wake"):
        awake = words[0] == b"wake"
    elif words[0] == b"undumpable":
        libc.prctl(4, 0)
    elif words[0] == b"fork":
        pid = os.fork()
        if pid == 0:
            libc.malloc(int(words[1]))
            os._exit(0)
        os.waitpid(pid, 0)
    elif words[0] == b"exec":
        os.write(1, line)
        os.execv(sys.executable, [sys.executable, "-c", open("server.py").read()])
    elif words[0] == b"end":
        break
    os.write(1, line)
"""


def expect(what, got, wanted):
    if got != wanted:
        raise Failure(f"{what}: {got!r} instead of {wanted!r}")


class Server:
    """The program under mtrace-record."""

    def __init__(self, tools, place, *options, name="run"):
        self.tools, self.place, self.name = tools, place, name
        (place / "server.py").write_text(SERVER)
        self.log = place / f"{name}.dat"
        argv = [tools.record, "-o", self.log, *options, "--", sys.executable, "-c", SERVER + "# " + name]
        self.process = subprocess.Popen([str(word) for word in argv], cwd=place, env=harness.environment(), stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=(place / f"{name}.stderr").open("w"))
        self.do("alloc 1 1")
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        self.pid = next(int(pid) for pid in children if Path(f"/proc/{pid}/cmdline").read_bytes().startswith(sys.executable.encode()))

    def do(self, line):
        self.process.stdin.write(f"{line}\n".encode())
        self.process.stdin.flush()
        expect("the program says", self.process.stdout.readline().decode().strip(), line)

    def ctl(self, *words, pid=None):
        run = ctl(self.tools, pid or self.pid, *words)
        if run.returncode:
            raise Failure(f"--ctl {words}: status {run.returncode}: {run.stderr}")
        return run.stdout.strip()

    def database(self):
        self.process.stdin.write(b"end\n")
        self.process.stdin.close()
        self.process.wait(timeout=60)
        expect("exit status", self.process.returncode, 0)
        return harness.import_log(self.tools, self.log, self.place / f"{self.name}.db", "--no-symbols")


def ctl(tools, pid, *words):
    return subprocess.run([tools.record, "--ctl", str(pid), *words], capture_output=True, text=True, timeout=120,
                          env=harness.environment(), check=False)


def sizes(database):
    """How many blocks there are of each size that a test chose."""
    return dict(database.rows("SELECT size_bytes, count(*) FROM allocations WHERE size_bytes % 10000 = 777 AND size_bytes > 777 GROUP BY 1"))


def control(tools, place):
    server = Server(tools, place, "--start-after=1h")
    server.do("alloc 10777 3")
    expect("start", server.ctl("start"), "recording 1 process")
    server.do("alloc 20777 5")
    expect("stop", server.ctl("stop", pid=server.process.pid), "no longer recording 1 process")
    server.do("alloc 30777 7")
    server.do("free")  # also of what was born in the window
    expect("snapshot", server.ctl("snapshot"), "snapshot 1")
    expect("snapshot", server.ctl("snapshot", "before the second"), "before the second")
    expect("start", server.ctl("start", pid=server.process.pid), "recording 1 process")
    server.do("alloc 40777 11")
    report = Path(server.ctl("report"))
    expect("stop", server.ctl("stop"), "no longer recording 1 process")
    server.do("alloc 50777 13")
    if "leaked" not in report.read_text():
        raise Failure(f"no report: {report.read_text()}")
    database = server.database()
    expect("blocks", sizes(database), {20777: 5, 40777: 11})
    expect("leaked", database.rows("SELECT size_bytes, count(*) FROM allocations WHERE is_leaked AND size_bytes IN (20777, 40777) GROUP BY 1"),
           [(40777, 11)])
    expect("markers", [row[0] for row in database.rows("SELECT name FROM markers ORDER BY at_ns")], ["snapshot 1", "before the second"])


def connect(pid):
    client = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    client.connect(f"\0mtrace-record.{pid}")  # waits where many do
    client.settimeout(30)
    return client


def say(pid, message):
    with contextlib.closing(connect(pid)) as client:
        client.send(message)
        return client.recv(4096)


def clients(tools, place):
    server = Server(tools, place)
    recorder = server.process.pid
    silent = [connect(recorder) for _ in range(12)]  # more than are served at once
    for message in (b"x", b"1", b"start", b"\0" * 100, b"9" * 300, b"a" * 100000, f"{server.pid} start now".encode(), f"{server.pid}  start".encode(),
                    f"{server.pid} snapshot {'x' * 64}".encode(), f"{server.pid} start\0".encode(), b"-1 start", f"{server.pid + 2**32} stop".encode()):
        answer = say(recorder, message)
        if not answer.startswith(b"1"):
            raise Failure(f"{message[:40]!r} is answered by {answer!r}")
    expect("somebody else's process", say(recorder, b"1 stop"), b"2")
    for client in silent:
        client.close()
    server.do("alloc 10777 3")
    with contextlib.ExitStack() as stack:
        both = [stack.enter_context(contextlib.closing(connect(recorder))) for _ in range(2)]
        for client in both:
            client.send(f"{server.pid} stop".encode())
        expect("both", [client.recv(4096) for client in both], [b"0no longer recording 1 process"] * 2)
    server.do("alloc 20777 3")
    expect("start", server.ctl("start"), "recording 1 process")
    server.do("alloc 30777 3")
    expect("blocks", sizes(server.database()), {10777: 3, 30777: 3})


def refused(tools, pid, *words, status=1):
    run = ctl(tools, pid, *words)
    expect(f"status of {words}", run.returncode, status)
    expect("lines", run.stderr.count("\n") if status == 1 else 1, 1)
    return run.stderr


def nobody(tools, place):
    server = Server(tools, place)
    other = Server(tools, place, name="other")
    gone = subprocess.Popen(["true"])
    gone.wait()
    for pid, what in ((gone.pid, "there is no process"), (os.getpid(), "is not being recorded")):
        if what not in refused(tools, pid, "stop"):
            raise Failure(f"{pid}: not '{what}'")
    for words in ((), ("begin",), ("start", "x"), ("snapshot", "x", "y"), ("snapshot", "x" * 64), ("snapshot", "")):
        refused(tools, server.pid, *words, status=2)
    for pid in ("0", "x", "-1", "1x"):
        refused(tools, pid, "start", status=2)
    if os.geteuid() == 0 and shutil.which("setpriv"):
        run = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", tools.record, "--ctl", str(server.pid), "stop"],
                             capture_output=True, text=True, timeout=60, env=harness.environment(), check=False)
        if run.returncode != 126 and "those of other users" not in run.stderr:
            raise Failure(f"another user is told {run.stdout}{run.stderr}")
    else:
        print("not as root: no other user asks")
    other.process.kill()
    other.process.wait()
    said = refused(tools, other.pid, "stop")
    if "is not being recorded" not in said:
        raise Failure(f"a recorder that is gone: {said}")
    os.kill(other.pid, signal.SIGKILL)
    server.do("alloc 10777 4")
    expect("blocks", sizes(server.database()), {10777: 4})


def idle(tools, place):
    server = Server(tools, place)
    server.do("sleep")
    if not re.match("asked; ", server.ctl("stop")):
        raise Failure("a sleeping program obeys")
    server.do("alloc 10777 3")  # by then it has obeyed
    server.do("wake")
    expect("start", server.ctl("start"), "recording 1 process")
    server.do("undumpable")  # the recorder may not write into it any more, unless it is root's
    server.ctl("stop")
    server.do("alloc 1 20000")  # until the thread's segment is full
    server.do("alloc 20777 3")
    server.ctl("start")
    server.do("alloc 30777 3")
    expect("blocks", sizes(server.database()), {30777: 3})


def exec_(tools, place):
    server = Server(tools, place, "--follow-children", "--start-after=1h")
    server.do("fork 10777")
    server.do("exec")
    server.do("alloc 20777 2")
    server.ctl("start")
    server.do("fork 30777")
    server.do("alloc 40777 2")
    server.do("exec")
    server.do("alloc 50777 2")
    expect("stop", server.ctl("stop"), "no longer recording 1 process")
    server.do("fork 60777")
    server.do("alloc 70777 2")
    server.do("exec")
    server.do("alloc 80777 2")
    expect("blocks", sizes(server.database()), {30777: 1, 40777: 2, 50777: 2})


PARTS = {"control": control, "clients": clients, "nobody": nobody, "idle": idle, "exec": exec_}


def main():
    if len(sys.argv) != 2 or sys.argv[1] not in PARTS:
        sys.exit(__doc__)
    with harness.scratch() as place:
        PARTS[sys.argv[1]](harness.Tools.from_environment(), Path(place))


harness.main(main)
