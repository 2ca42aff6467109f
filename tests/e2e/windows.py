#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""windows.py PART: windows of a python3 that counts what it allocates: blocks allocated in a window are recorded, and no others.

control   mtrace-record --ctl PID start, stop, snapshot and report, by the program's pid and by the recorder's
clients   two clients at the same time; hostile ones: silent, senseless, too long; after them others are served
unreachable  a PID without a process, not recorded, or whose recorder was killed; requests of another user are refused; wrong usage
idle      a program that does nothing handles a command with its next event, also one whose memory cannot be written
times     --start-after and --stop-after, beside the times at which the program allocated
size      --start-at-rss
judged    a leak that is steady while a window lasts is so when the program lives on for as long
short     in a window that is a small part of a run growth is found, with and without filters
apart     leaks over short windows far apart have no pattern; each single window, and a late short one, has pattern and rate
samples   a window has the samples that were allocated in it
exec      an executed program and fork children start in the recording state of their parent
own       a program that switches recording itself, and one whose recorder was killed while it was off, keep recording
crowd     many commands while four threads allocate: each is handled once
waits     --wait handles requests about children after the program has ended, too
names     a report of a log with a long path is found
taken     another process has the name of the control socket: mtrace-record says that it cannot be reached, and records
new_child   a child of a process that has not handled its command yet starts with the command's state
last      of several commands for an idle program the last one holds
forked    children of a process that forks without an event start with the state of the last command
unanswered  a recorder that ends before it answers is reported; a report that comes later has its own exit status
ordered   a program without an event between the command and its exec handles it at the exec
"""

import contextlib
import csv
import json
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
from harness import Failure, expect, wait_until  # noqa: E402

# Reads commands: "alloc SIZE N" makes N blocks and keeps them; "free" frees them; "fork"; "exec"; "sleep" and "wake" switch its own activity: it
# allocates a little every millisecond or so; "work N" starts threads that only allocate. Prints the line again when it is done.
SERVER = r"""
import ctypes, os, select, sys, threading
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.malloc.argtypes = [ctypes.c_size_t]
libc.free.argtypes = [ctypes.c_void_p]
kept, awake = [], True
def work():
    while True:
        libc.free(libc.malloc(1))
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
    elif words[0] == b"touch":
        for _ in range(int(words[2])):
            kept.append(libc.malloc(int(words[1])))
            ctypes.memset(kept[-1], 1, int(words[1]))
    elif words[0] == b"free":
        while kept:
            libc.free(kept.pop())
    elif words[0] in (b"sleep", b"wake"):
        awake = words[0] == b"wake"
    elif words[0] == b"work":
        for _ in range(int(words[1])):
            threading.Thread(target=work, daemon=True).start()
    elif words[0] == b"undumpable":
        libc.prctl(4, 0)
    elif words[0] == b"fork":
        pid = os.fork()
        if pid == 0:
            libc.malloc(int(words[1]))
            os._exit(0)
        os.waitpid(pid, 0)
    elif words[0] == b"daemon":
        if os.fork() == 0:
            libc.malloc(10777)
            while not os.path.exists("more"):
                libc.free(libc.malloc(1))
                select.select([], [], [], 0.001)
            libc.malloc(20777)
            os._exit(0)
    elif words[0] == b"exec":
        os.write(1, line)
        os.execv(sys.executable, [sys.executable, "-c", open("server.py").read()])
    elif words[0] == b"end":
        break
    os.write(1, line)
"""


class Server:
    """The program under mtrace-record."""

    def __init__(self, tools, place, *options, name="run", prefix=()):
        self.tools, self.place, self.name = tools, place, name
        (place / "server.py").write_text(SERVER)
        self.log = place / f"{name}.dat"
        argv = [*prefix, tools.record, "-o", self.log, *options, "--", sys.executable, "-c", SERVER + "# " + name]
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

    def switch(self, verb, pid=None, between=None):
        """Until it was done: on a busy machine the program may let it wait longer than the client does. between: what the program does during that."""
        for _ in range(60):
            if between:
                self.do(between)
            output = self.ctl(verb, pid=pid)
            if not output.startswith("requested; "):
                break
        return output

    def end(self):
        self.process.stdin.write(b"end\n")
        self.process.stdin.close()

    def database(self):
        if not self.process.stdin.closed:
            self.end()
        self.process.wait(timeout=60)
        expect("exit status", self.process.returncode, 0)
        return harness.import_log(self.tools, self.log, self.place / f"{self.name}.db", "--no-symbols")


def ctl(tools, pid, *words):
    return subprocess.run([tools.record, "--ctl", str(pid), *words], capture_output=True, text=True, timeout=120,
                          env=harness.environment(), check=False)


def sizes(database):
    """How many blocks there are of each size that a test chose."""
    return dict(database.rows("SELECT size_bytes, count(*) FROM allocations WHERE size_bytes % 10000 = 777 AND size_bytes > 777 GROUP BY 1"))


def who(database):
    """How each window began and ended, and how many blocks of the test's sizes were allocated in it."""
    return database.rows("SELECT started_by, ended_by, (SELECT count(*) FROM allocations AS a WHERE a.process_id = w.process_id AND size_bytes % 10000 = 777"
                         " AND size_bytes > 777 AND allocation_id BETWEEN first_allocation_id AND last_allocation_id) FROM windows AS w ORDER BY window_id")


def in_window(tools, database, window):
    run = subprocess.run([tools.query, "allocations", "--window", str(window), "--size-min", "10777", "--count", "0", "--csv", str(database)],
                         capture_output=True, text=True, timeout=60, env=harness.environment(), check=True)
    found = [int(row["size_bytes"]) for row in csv.DictReader(run.stdout.splitlines())]
    return {size: found.count(size) for size in sorted(set(found)) if size % 10000 == 777}


def control(tools, place):
    server = Server(tools, place, "--start-after=1h")
    server.do("alloc 10777 3")
    expect("start", server.switch("start"), "recording 1 process")
    server.do("alloc 20777 5")
    expect("stop", server.switch("stop", pid=server.process.pid), "no longer recording 1 process")
    server.do("alloc 30777 7")
    server.do("free")  # also blocks of the window
    expect("snapshot", server.ctl("snapshot"), "snapshot 1")
    expect("snapshot", server.ctl("snapshot", "before the second"), "before the second")
    expect("start", server.switch("start", pid=server.process.pid), "recording 1 process")
    server.do("alloc 40777 11")
    report = Path(server.ctl("report"))
    expect("stop", server.switch("stop"), "no longer recording 1 process")
    server.do("alloc 50777 13")
    if "leaked" not in report.read_text():
        raise Failure(f"no report: {report.read_text()}")
    database = server.database()
    expect("blocks", sizes(database), {20777: 5, 40777: 11})
    expect("leaked", database.rows("SELECT size_bytes, count(*) FROM allocations WHERE is_leaked AND size_bytes IN (20777, 40777) GROUP BY 1"),
           [(40777, 11)])
    if database.value("SELECT value FROM meta WHERE key = 'frees.untracked'") < 3 + 7:
        raise Failure("frees of blocks from before the windows are not counted")
    expect("anomalies", database.value("SELECT total(value) FROM meta WHERE key LIKE 'anomaly.%'"), 0)
    expect("windows", who(database), [("control", "control", 5), ("control", "control", 11)])
    expect("of the second", in_window(tools, place / "run.db", 2), {40777: 11})
    expect("every block is of one", database.value("SELECT count(*) FROM allocations AS a JOIN windows AS w USING (process_id)"
                                                   " WHERE a.allocation_id BETWEEN first_allocation_id AND last_allocation_id"),
           database.value("SELECT count(*) FROM allocations"))
    share = database.value("SELECT value FROM summary WHERE name = 'recorded_share'")
    if not 0 < share < 1:
        raise Failure(f"{share} of it was recorded")
    expect("markers", [row[0] for row in database.rows("SELECT name FROM markers ORDER BY at_ns")], ["snapshot 1", "before the second"])


def connect(pid):
    client = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    client.connect(f"\0mtrace-record.{pid}")  # waits as one of many
    client.settimeout(30)
    return client


def say(pid, message):
    with contextlib.closing(connect(pid)) as client:
        client.send(message)
        return client.recv(4096)


def clients(tools, place):
    server = Server(tools, place)
    recorder = server.process.pid
    silent = [connect(recorder) for _ in range(12)]  # more than are served at a time
    for message in (b"x", b"1", b"start", b"\0" * 100, b"9" * 300, b"a" * 100000, f"{server.pid} start now".encode(), f"{server.pid}  start".encode(),
                    f"{server.pid} snapshot {'x' * 64}".encode(), f"{server.pid} start\0".encode(), b"-1 start", f"{server.pid + 2**32} stop".encode()):
        answer = say(recorder, message)
        if not answer.startswith(b"1"):
            raise Failure(f"{message[:40]!r} is answered by {answer!r}")
    expect("a process of another recorder", say(recorder, b"1 stop"), b"2")
    for client in silent:
        client.close()
    server.do("alloc 10777 3")
    with contextlib.ExitStack() as stack:
        both = [stack.enter_context(contextlib.closing(connect(recorder))) for _ in range(2)]
        for client in both:
            client.send(f"{server.pid} stop".encode())
        output = [client.recv(4096) for client in both]
        if not all(answer == b"0no longer recording 1 process" or answer.startswith(b"0requested; ") for answer in output):
            raise Failure(f"both printed {output}")
    expect("then", server.switch("stop"), "no longer recording 1 process")
    server.do("alloc 20777 3")
    expect("start", server.switch("start"), "recording 1 process")
    server.do("alloc 30777 3")
    expect("blocks", sizes(server.database()), {10777: 3, 30777: 3})


def refused(tools, pid, *words, status=1):
    run = ctl(tools, pid, *words)
    expect(f"status of {words}", run.returncode, status)
    expect("lines", run.stderr.count("\n") if status == 1 else 1, 1)
    return run.stderr


# Takes the name of a recorder, so that no client reaches the real one.
DEAF = r"""
import os, socket, sys
name = f"\0mtrace-record.{os.getpid()}"
server, waiting = (socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) for _ in range(2))
server.bind(name)
server.listen(0)
waiting.connect(name)
print("full", flush=True)
while sys.argv[1:] == ["lies"]:
    client = server.accept()[0]
    client.send(b"0recording 1 process")
sys.stdin.read()
"""


# Answers a client that asks for its own process by its argument, or ends without an answer; clients of other tests ask every recorder.
FAKE = r"""
import os, socket, sys
server = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
server.bind(f"\0mtrace-record.{os.getpid()}")
server.listen(8)
print("ready", flush=True)
client = server.accept()[0]
while not client.recv(512).startswith(f"{os.getpid()} ".encode()):
    client.send(b"2")
    client = server.accept()[0]
if sys.argv[1:]:
    client.send(sys.argv[1].encode())
else:
    server.close()
"""


def unanswered(tools, _):
    with subprocess.Popen([sys.executable, "-c", FAKE], stdout=subprocess.PIPE) as silent:  # the answer is about the recorder that is asked
        silent.stdout.readline()
        silent.send_signal(signal.SIGSTOP)
        harness.wait_until("it is stopped", lambda: harness.state_of(silent.pid) == "T")
        try:
            ask_unanswered(tools)
        finally:
            silent.kill()


def ask_unanswered(tools):
    for answer, status, wanted in (([], 1, "ended before it answered"), (["3asked; later"], 3, "asked; later")):
        with subprocess.Popen([sys.executable, "-c", FAKE, *answer], stdout=subprocess.PIPE) as fake:
            fake.stdout.readline()
            run = ctl(tools, fake.pid, "report")
        expect(f"status: {run.stdout}{run.stderr}", run.returncode, status)
        if wanted not in run.stdout + run.stderr:
            raise Failure(f"not '{wanted}': {run.stdout}{run.stderr}")


def behind_hidepid(tools, pid):
    """A user who may not see processes of others in /proc gets the same messages. The mount is private, and ends with the command."""
    if tuple(int(n) for n in re.findall(r"\d+", os.uname().release)[:2]) < (5, 8):
        print("no hidden processes: this kernel hides them everywhere, or nowhere")
        return
    script = 'mount -t proc -o hidepid=2 proc /proc && exec setpriv --reuid=65534 --regid=65534 --clear-groups "$@"'
    run = subprocess.run(["unshare", "--mount", "--propagation", "private", "sh", "-c", script, "sh", tools.record, "--ctl", str(pid), "stop"],
                         capture_output=True, text=True, timeout=60, env=harness.environment(), check=False)
    if run.returncode in (32, 126) or "unshare" in run.stderr:
        print(f"no hidden processes: {run.stderr.strip()}")
    elif "recorders of other users" not in run.stderr:
        raise Failure(f"behind hidepid=2 another user gets {run.stdout}{run.stderr}")


def unreachable(tools, place):
    server = Server(tools, place)
    other = Server(tools, place, name="other")
    gone = subprocess.Popen(["true"])
    gone.wait()
    for pid, what in ((gone.pid, "there is no process"), (os.getpid(), f"'mtrace-record --attach {os.getpid()}' records it")):
        output = refused(tools, pid, "stop")
        if what not in output:
            raise Failure(f"{pid}: not '{what}': {output}")
    for words in ((), ("begin",), ("start", "x"), ("snapshot", "x", "y"), ("snapshot", "x" * 64), ("snapshot", "")):
        refused(tools, server.pid, *words, status=2)
    for pid in ("0", "x", "-1", "1x"):
        refused(tools, pid, "start", status=2)
    if os.geteuid() == 0 and shutil.which("setpriv"):
        run = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", tools.record, "--ctl", str(server.pid), "stop"],
                             capture_output=True, text=True, timeout=60, env=harness.environment(), check=False)
        if run.returncode != 126 and "recorders of other users" not in run.stderr:
            raise Failure(f"another user gets {run.stdout}{run.stderr}")
        behind_hidepid(tools, server.pid)
        with subprocess.Popen(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", sys.executable, "-c", DEAF], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE) as deaf:
            expect("a deaf one says", deaf.stdout.readline(), b"full\n")
            run = subprocess.run(["setpriv", "--reuid=65533", "--regid=65533", "--clear-groups", tools.record, "--ctl", str(server.pid), "stop"],
                                 capture_output=True, text=True, timeout=60, env=harness.environment(), check=False)
            deaf.stdin.close()
        if run.returncode != 126 and "recorders of other users" not in run.stderr:
            raise Failure(f"beside a deaf one another user gets {run.stdout}{run.stderr}")
        with subprocess.Popen(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", sys.executable, "-c", DEAF, "lies"], stdout=subprocess.PIPE) as liar:
            expect("a liar says", liar.stdout.readline(), b"full\n")
            output = refused(tools, os.getpid(), "stop")
            liar.kill()
        if "is not being recorded" not in output:
            raise Failure(f"beside a liar: {output}")
    else:
        print("not as root: no other user asks")
    os.kill(server.process.pid, signal.SIGSTOP)
    expect("beside a stopped one", other.ctl("stop", pid=other.process.pid)[:5] in ("no lo", "reque"), True)
    output = refused(tools, server.pid, "stop")
    os.kill(server.process.pid, signal.SIGCONT)
    if f"mtrace-record {server.process.pid} does not answer" not in output:
        raise Failure(f"of a stopped one: {output}")
    other.process.kill()
    other.process.wait()
    output = refused(tools, other.pid, "stop")
    if "is not being recorded" not in output:
        raise Failure(f"a recorder that is gone: {output}")
    os.kill(other.pid, signal.SIGKILL)
    server.do("alloc 10777 4")
    expect("blocks", sizes(server.database()), {10777: 4})


def idle(tools, place):
    # as if it were no root's
    prefix = ["setpriv", "--bounding-set=-sys_ptrace"] if os.geteuid() == 0 and shutil.which("setpriv") else []
    server = Server(tools, place, prefix=prefix)
    server.do("sleep")
    if not re.match("requested; ", server.ctl("stop")):
        raise Failure("a sleeping program handles a command")
    server.do("alloc 1 2")  # one finds the command, the next one executes it
    server.do("alloc 10777 3")
    server.do("wake")
    expect("start", server.switch("start"), "recording 1 process")
    server.do("undumpable")  # the recorder may not write into it any more
    expect("stop", server.switch("stop"), "no longer recording 1 process")  # long before its segment is full
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
    expect("stop", server.switch("stop"), "no longer recording 1 process")
    server.do("fork 60777")
    server.do("alloc 70777 2")
    server.do("exec")
    server.do("alloc 80777 2")
    database = server.database()
    expect("blocks", sizes(database), {30777: 1, 40777: 2, 50777: 2})
    expect("windows", sorted(who(database)), [("control", "end", 2), ("start", "control", 2), ("start", "end", 1)])


def own(tools, place):
    """Frees are written in the pause, too."""
    server = Server(tools, place, "--toggle-signal=USR1")
    server.do("alloc 10777 5")
    os.kill(server.pid, signal.SIGUSR1)
    wait_until("off", lambda: not is_open(server))
    server.process.kill()
    server.process.wait()
    server.do("alloc 1 20000")
    server.do("free")
    os.kill(server.pid, signal.SIGUSR1)
    server.do("alloc 20777 3")
    server.end()
    wait_until("the end", lambda: not Path(f"/proc/{server.pid}").exists())
    subprocess.run([tools.record, "--pack", str(place / "run.dat.live")], check=True, capture_output=True)
    database = harness.import_log(tools, server.log, place / "run.db", "--no-symbols")
    expect("blocks", sizes(database), {10777: 5, 20777: 3})
    expect("freed", database.value("SELECT count(*) FROM allocations WHERE size_bytes = 10777 AND NOT is_leaked"), 5)
    expect("its end", database.rows("SELECT end_kind FROM processes"), [("exit",)])


def crowd(tools, place):
    server = Server(tools, place)
    server.do("work 4")
    wanted = {}
    for i in range(12):
        switches = [subprocess.Popen([tools.record, "--ctl", str(server.pid), verb], stdout=subprocess.PIPE, text=True, env=harness.environment())
                    for verb in ("start", "stop")]
        server.ctl("snapshot", f"mark {i}")
        for switch in switches:
            switch.communicate()
        verb = ("start", "stop")[i % 2]
        expect(verb, server.switch(verb), ("recording 1 process", "no longer recording 1 process")[i % 2])
        server.do(f"alloc {10777 + i * 10000} 7")
        if verb == "start":
            wanted[10777 + i * 10000] = 7
    database = server.database()
    expect("blocks", sizes(database), wanted)
    expect("markers", [row[0] for row in database.rows("SELECT name FROM markers ORDER BY at_ns")], [f"mark {i}" for i in range(12)])
    expect("each window ends before the next", database.value("SELECT count(*) FROM windows AS a JOIN windows AS b ON b.window_id = a.window_id + 1"
                                                              " WHERE a.end_ns > b.start_ns"), 0)


def waits(tools, place):
    server = Server(tools, place, "--follow-children", "--wait")
    server.do("daemon")
    server.end()
    wait_until("waiting", lambda: "waiting for processes" in (place / "run.stderr").read_text())
    expect("stop", server.switch("stop", pid=server.process.pid), "no longer recording 1 process")
    (place / "more").touch()
    expect("blocks", sizes(server.database()), {10777: 1})


def names(tools, place):
    deep = place.joinpath(*["d" * 200] * 3)
    deep.mkdir(parents=True)
    server = Server(tools, deep)
    expect("said", server.ctl("report"), "report 1 is beside the log")
    if "leaked" not in (deep / "run.dat.report.1.txt").read_text():
        raise Failure("no report")
    server.end()
    expect("exit status", server.process.wait(timeout=60), 0)


def last(tools, place):
    server = Server(tools, place)
    wanted = {}
    for i, verbs in enumerate(("stop start", "stop stop stop start", "stop", "start stop", "stop start snapshot")):
        server.do("sleep")
        for verb in verbs.split():
            server.ctl(verb)
        server.do("alloc 1 2")  # one finds the command, the next one executes it
        server.do(f"alloc {10777 + i * 10000} 1000")
        server.do("wake")
        if not verbs.endswith("stop"):
            wanted[10777 + i * 10000] = 1000
    expect("blocks", sizes(server.database()), wanted)


def forked(tools, place):
    for verb, options, wanted in (("start", ("--start-after=1h",), {20777: 15}), ("stop", (), {})):
        log = place / f"{verb}.dat"
        process = subprocess.Popen([str(word) for word in (tools.record, "-q", "--follow-children", "-o", log, *options, "--",
                                                           tools.workloads / "exec_ordered", "forks")],
                                   cwd=place, env=harness.environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for i in range(3):
            expect("the program says", process.stdout.readline(), b"ready\n")
            if i == 0:
                run = ctl(tools, process.pid, verb)
                if run.returncode or not run.stdout.startswith("requested; "):
                    raise Failure(f"{verb}: {run.stdout}{run.stderr}")
            process.stdin.write(b"\n")
            process.stdin.flush()
        process.communicate(timeout=60)
        expect("exit status", process.returncode, 0)
        expect(f"blocks after {verb}", sizes(harness.import_log(tools, log, place / f"{verb}.db", "--no-symbols")), wanted)


def ordered(tools, place):
    for verb, options, wanted in (("start", ("--start-after=1h",), {20777: 5}), ("stop", (), {})):
        log = place / f"{verb}.dat"
        process = subprocess.Popen([str(word) for word in (tools.record, "-q", "-o", log, *options, "--", tools.workloads / "exec_ordered")],
                                   cwd=place, env=harness.environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        expect("the program says", process.stdout.readline(), b"ready\n")
        run = ctl(tools, process.pid, verb)  # of the recorder's: all
        if run.returncode or not run.stdout.startswith("requested; "):
            raise Failure(f"{verb}: {run.stdout}{run.stderr}")
        process.stdin.write(b"\n")
        process.stdin.flush()
        expect("the next image says", process.stdout.readline(), b"ready\n")
        process.communicate(b"\n", timeout=60)
        expect("exit status", process.returncode, 0)
        expect(f"blocks after {verb}", sizes(harness.import_log(tools, log, place / f"{verb}.db", "--no-symbols")), wanted)


def new_child(tools, place):
    log = place / "run.dat"
    process = subprocess.Popen([str(word) for word in (tools.record, "-q", "--follow-children", "-o", log, "--start-after=100ms", "--",
                                                       tools.workloads / "exec_ordered", "fork")],
                               cwd=place, env=harness.environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    expect("the program says", process.stdout.readline(), b"ready\n")

    def head(path):
        with path.open("rb") as live:
            return live.read(4096)

    def is_given(path):
        return head(path)[3840:3844] != bytes(4)

    def is_begun(path):
        return head(path)[3840 + 16:3840 + 20] != bytes(4)

    wait_until("ordered", lambda: is_given(place / "run.dat.live"))
    process.stdin.write(b"\n")
    process.stdin.flush()
    wait_until("recording a child", lambda: any(is_begun(path) for path in place.glob("run.dat*.live") if path.name != "run.dat.live"))
    process.communicate(b"\n", timeout=60)
    expect("exit status", process.returncode, 0)
    expect("blocks", sizes(harness.import_log(tools, log, place / "run.db", "--no-symbols")), {20777: 5})


def is_open(server):
    """By the flag in the live log: is_open of struct log_mailbox."""
    with (server.place / f"{server.name}.dat.live").open("rb") as live:
        live.seek(3840 + 16)
        return live.read(4) != bytes(4)


SLACK_NS = 50_000_000  # clocks are read one after the other


def times(tools, place):
    """Blocks allocated well inside of the window's times are recorded, those well outside are not: by the program's own clock."""
    server = Server(tools, place, "--start-after=700ms", "--stop-after=2s")
    allocated = []

    def bear():
        before = time.time_ns()
        size = 10777 + 10000 * len(allocated)
        server.do(f"alloc {size} 1")
        allocated.append((size, before, time.time_ns()))
        return True

    wait_until("begun", lambda: bear() and is_open(server))
    wait_until("over", lambda: bear() and not is_open(server))
    time.sleep(2 * SLACK_NS / 1e9)
    for _ in range(5):  # well outside, however slow the machine is
        bear()
    server.ctl("start")  # ends by itself, too
    wait_until("over", lambda: not is_open(server))
    database = server.database()
    found = sizes(database)
    expect("windows", [row[:2] for row in who(database)], [("time", "time"), ("control", "time")])
    zero = database.value("SELECT start_unix_ns - start_ns FROM processes")
    start, end = (zero + at for at in database.rows("SELECT start_ns, end_ns FROM windows ORDER BY window_id")[0])
    if not 650_000_000 < start - zero or not 1_950_000_000 < end - start:
        raise Failure(f"the window is from {(start - zero) / 1e9} to {(end - zero) / 1e9} s")
    inside = [size for size, before, after in allocated if before > start + SLACK_NS and after < end - SLACK_NS]
    outside = [size for size, before, after in allocated if after < start - SLACK_NS or before > end + SLACK_NS]
    if len(outside) < 5:  # on a slow machine none may be inside
        raise Failure(f"nothing to compare: {len(allocated)} blocks, {len(inside)} inside, {len(outside)} outside")
    expect("blocks inside that are missing", [size for size in inside if size not in found], [])
    expect("blocks outside", [size for size in outside if size in found], [])


def judged(tools, place):
    server = Server(tools, place, "--start-after=1h")
    time.sleep(0.5)
    time.sleep(leak_for(server, 120))
    server.do("alloc 20777 1")
    server.database()
    for query, figure in (("leaks", "leaked_bytes"), ("growth", "grown_bytes")):
        row = worst(tools, place / "run.db", query, figure)
        if not row or row["pattern"] != "steady":
            raise Failure(f"the worst of {query} is {row}")
    run = subprocess.run([tools.query, "leaks", place / "run.db", "--size-min", "10000", "--format", "json"], capture_output=True, text=True, timeout=60,
                         env=harness.environment(), check=True)
    expect("with a filter", [row["pattern"] for row in json.loads(run.stdout)], ["steady"])


def short(tools, place):
    """A sixteenth of a run has as many regular snapshots as all of one, so growth can be found."""
    server = Server(tools, place, "--start-after=1h")
    took = leak_for(server, 40)
    time.sleep(15 * took)
    database = server.database()
    begin, end = database.rows("SELECT start_ns, end_ns FROM windows")[0]
    inside, all_of_them = database.rows("SELECT sum(at_ns BETWEEN :begin AND :end), count(*) FROM snapshots WHERE reason = 'regular'", begin=begin, end=end)[0]
    if inside != all_of_them or inside < 60:
        raise Failure(f"{inside} of {all_of_them} regular snapshots are in the window")
    for options in ((), ("--window", "1"), ("--size-min", "10000")):
        rows = ask(tools, place / "run.db", "growth", *options)
        if not rows or rows[0]["pattern"] != "steady" or not rows[0]["bytes_per_s"]:
            raise Failure(f"growth of {options} is {rows}")


def leak_a_little(server):
    server.do("alloc 10777 20")
    time.sleep(0.01)


def switch_leaking(server, verb):
    output = "requested; "
    while output.startswith("requested; "):
        client = subprocess.Popen([server.tools.record, "--ctl", str(server.pid), verb], stdout=subprocess.PIPE, text=True, env=harness.environment())
        while client.poll() is None:
            leak_a_little(server)
        output = client.communicate()[0]
    expect(f"status of --ctl {verb}", client.returncode, 0)


def leak_for(server, n):
    """Runs at least n times, for as long as that takes, which it returns. It leaks while it is switched, too, which takes a while on a busy machine:
    the window grows evenly from its begin to its end."""
    began = time.monotonic()
    switch_leaking(server, "start")
    for _ in range(n):
        leak_a_little(server)
    switch_leaking(server, "stop")
    return time.monotonic() - began


def ask(tools, database, query, *options, format="json"):
    answer = harness.ask(tools, query, database, *options, "--format", format)
    return json.loads(answer) if format == "json" else answer


def worst(tools, database, query, figure):
    return max(ask(tools, database, query), key=lambda row: row[figure], default=None)


def apart(tools, place):
    server = Server(tools, place, "--start-after=1h")
    took = leak_for(server, 100)
    time.sleep(4 * took)
    leak_for(server, 100)
    server.database()
    big = ("--size-min", "10000")
    expect("of both windows", [row["pattern"] for row in ask(tools, place / "run.db", "leaks", *big)], [None])
    expect("growth of both windows", ask(tools, place / "run.db", "growth", *big), [])
    if not worst(tools, place / "run.db", "leaks", "leaked_bytes")["pattern"] is None:
        raise Failure("without a filter there is a pattern")
    for window in ("1", "2"):
        expect(f"window {window}", [row["pattern"] for row in ask(tools, place / "run.db", "leaks", *big, "--window", window)], ["steady"])
        grown = [row["pattern"] for row in ask(tools, place / "run.db", "growth", *big, "--window", window) if row["grown_bytes"] > 1 << 20]
        expect(f"growth in window {window}", grown, ["steady"])  # Python's own lists grow by little
    output = ask(tools, place / "run.db", "leaks", *big, "--window", "1", format="table")
    if not re.search(r"steady [0-9.]+ [KMG]iB/s", output):
        raise Failure(f"no rate of what goes on for all of a window: {output}")


def samples(tools, place):
    server = Server(tools, place, "--start-after=1h", "--sample-bytes=16KiB")
    server.do("alloc 20777 300")
    server.switch("start")
    server.do("alloc 10777 400")
    server.ctl("stop")
    server.switch("stop", between="alloc 1000000 2")  # blocks that are drawn for sure
    server.do("alloc 30777 300")
    server.switch("start")
    server.do("alloc 40777 200")
    database = server.database()
    found = sizes(database)
    expect("sizes", sorted(found), [10777, 40777])
    for window, size, n in ((1, 10777, 400), (2, 40777, 200)):
        estimate, leaked = (database.value(f"SELECT {figure} FROM windows WHERE window_id = {window}") for figure in ("allocated_bytes", "leaked_bytes"))
        margin = 2 * (n * size * 16384) ** 0.5
        print(f"window {window}: {n * size:,}, estimated {estimate:,}, leaked {leaked:,} ± {margin:,.0f}")
        if abs(leaked - n * size) > 2.5 * margin or estimate < leaked:
            raise Failure(f"window {window} has {estimate}, and {leaked} of them leaked; {n * size} did")


# A process that has the socket name of a recorder's PID: the recorder itself, before its exec.
TAKES = r"""
import os, socket, sys
server = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
server.bind(f"\0mtrace-record.{os.getpid()}")
server.set_inheritable(True)
os.execv(sys.argv[1], sys.argv[1:])
"""


def taken(tools, place):
    server = Server(tools, place, prefix=(sys.executable, "-c", TAKES))
    recorder = server.process.pid
    refused(tools, server.pid, "stop")
    server.do("alloc 10777 3")
    expect("blocks", sizes(server.database()), {10777: 3})
    output = [line for line in (place / "run.stderr").read_text().splitlines() if "--ctl" in line]
    expect("it says", output, [f"mtrace-record: --ctl cannot reach this run: cannot listen on '@mtrace-record.{recorder}': Address already in use"])


def size(tools, place):
    server = Server(tools, place, "--start-at-rss=96MiB", "--sample-memory=10")
    time.sleep(0.2)
    expect("a small program is recorded", is_open(server), False)
    server.do("touch 20000777 6")  # the creation of the last ones may be recorded
    wait_until("begun", lambda: is_open(server))
    server.do("alloc 10777 3")
    database = server.database()
    found = sizes(database)
    if found.pop(20000777, 0) > 3:
        raise Failure("recorded too early")
    expect("blocks", found, {10777: 3})
    expect("windows", [row[:2] for row in who(database)], [("size", "end")])
    refusal = subprocess.run([tools.record, "--start-at-rss=1GiB", "--sample-memory=0", "true"], capture_output=True, text=True, timeout=60, env=harness.environment(),
                             check=False)
    expect("without samples", refusal.returncode, 2)
    small = subprocess.run([tools.record, "-o", "small.dat", "--start-at-rss=1TiB", tools.workloads / "exec_ordered", "fork"], input="\n", cwd=place,
                           capture_output=True, text=True, timeout=60, env=harness.environment(), check=False)
    if "it ended before the time of --start-after or the size of --start-at-rss was reached" not in small.stderr:
        raise Failure(f"of a program that stays small: {small.stderr}")


PARTS = {"control": control, "clients": clients, "unreachable": unreachable, "unanswered": unanswered, "idle": idle, "exec": exec_, "last": last, "forked": forked, "ordered": ordered, "new_child": new_child, "own": own, "crowd": crowd, "waits": waits, "names": names, "taken": taken, "times": times, "size": size, "judged": judged, "short": short, "apart": apart, "samples": samples}


def main():
    if len(sys.argv) != 2 or sys.argv[1] not in PARTS:
        sys.exit(__doc__)
    with harness.scratch() as place:
        PARTS[sys.argv[1]](harness.Tools.from_environment(), Path(place))


harness.main(main)
