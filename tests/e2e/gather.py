#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""gather.py CASE [--rounds N]: logs sent to mtrace-gather while programs run; what arrives equals the log, even if processes are killed or
connections cut."""

import argparse
import os
import random
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
import harness
from harness import Failure, Skip, wait_until

TOOLS = harness.Tools.from_environment()
GATHER = os.environ.get("MTRACE_TEST_GATHER", "")
PATIENCE = 120  # seconds until an expected event counts as missing

# Allocates thousands of events in each round until its input ends; prints the number of rounds.
BUSY = """
import sys, select, time
n = 0
while not select.select([sys.stdin], [], [], 0.002)[0]:
    kept = [bytes(600 + i) for i in range(2000)]
    n += 1
print(n)
"""
PYTHON = "/usr/bin/python3"
RECORDER_PID_OFFSET = 240  # of struct log_header


def make_key(path, name="me", key=None):
    path.write_text(f"{name}:{key or os.urandom(32).hex()}\n")
    path.chmod(0o600)
    return ["--psk-file", path]


class Receiver:
    """mtrace-gather on a port that stays the same when it is started again."""

    def __init__(self, folder, options, port=0, extra=()):
        self.folder, self.options, self.port, self.extra = folder, options, port, extra
        self.output = ""
        self.start()

    def start(self):
        self.process = subprocess.Popen([str(word) for word in (GATHER, self.folder, "--listen", f"127.0.0.1:{self.port}",
                                                                *self.options, *self.extra)],
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=harness.environment())
        line = self.process.stdout.readline()
        found = re.match(r"listening on 127\.0\.0\.1:(\d+)(?:, and found by --to discover)?; logs go to", line)
        if not found:
            raise Failure(f"mtrace-gather printed {line!r}{self.process.stdout.read()!r}")
        self.port = int(found[1])
        self.reader = threading.Thread(target=self.read, args=(self.process.stdout,))
        self.reader.start()

    def read(self, pipe):
        for line in pipe:
            self.output += line

    def end(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        status = self.process.wait(PATIENCE)
        self.reader.join()
        if number == signal.SIGTERM and status != 0:
            raise Failure(f"mtrace-gather ended with {status}: {self.output}")

    def to(self):
        return f"127.0.0.1:{self.port}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.reader.join()


class Recording:
    """A busy program that is recorded and sent."""

    def __init__(self, log, to, options, extra=(), program=(PYTHON, "-c", BUSY)):
        self.log = log
        self.process = subprocess.Popen(
            [str(word) for word in (TOOLS.record, "-o", log, "--to", to, *options, "--send-timeout", f"{PATIENCE}s", *extra, "--", *program)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=harness.environment({"PYTHONMALLOC": "malloc"}))

    def find(self, is_it):
        for child in Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split():
            try:
                words = Path(f"/proc/{child}/cmdline").read_text().split("\0")
            except OSError:
                continue
            if is_it(words):
                return int(child)
        return None

    def sender(self):
        """Its process, or None."""
        return self.find(lambda words: words[0].endswith("mtrace-send") and "--live" in words)

    def program(self):
        return self.find(lambda words: BUSY in words)

    def end(self):
        stdout, stderr = self.process.communicate("", timeout=PATIENCE)
        if self.process.returncode != 0:
            raise Failure(f"the recording ended with {self.process.returncode}: {stderr}")
        self.rounds = int(stdout or 0)
        return stderr


def received(folder):
    return sorted(path for path in Path(folder).iterdir() if ".dat" in path.name)


def size_of_received(folder):
    return sum(path.stat().st_size for path in received(folder)) if Path(folder).exists() else 0


def check_same(folder, log):
    """One log arrived. It equals the local one byte for byte, and is large enough to be a test."""
    files = received(folder)
    if len(files) != 1:
        raise Failure(f"there are {[path.name for path in files]}")
    if files[0].read_bytes() != log.read_bytes():
        raise Failure(f"{files[0].name} ({files[0].stat().st_size}) is not the local log ({log.stat().st_size} bytes)")
    if log.stat().st_size < 200000:
        raise Failure(f"the log has {log.stat().st_size} bytes only")
    if not re.fullmatch(r"python3[\w.]*\.\d+\.\d{8}T\d{6}Z\.dat", files[0].name):
        raise Failure(f"it is called {files[0].name}")
    return files[0]


def check_sent(stderr, n_logs=1):
    if f"{n_logs} log{'s' if n_logs > 1 else ''}, " not in "".join(line for line in stderr.splitlines() if ": sent to" in line):
        raise Failure(f"it does not say that {n_logs} logs were sent: {stderr}")


def totals(place, log, name):
    database = harness.import_log(TOOLS, log, place / name)
    return database.rows("SELECT count(*), sum(size_bytes) FROM allocations")[0]


def equal(place, _rounds):
    """The received log equals the local one, also while it grows; mode and names; a second sending finds everything there."""
    key = make_key(place / "key")
    with Receiver(place / "in", key) as receiver:
        recording = Recording(place / "run.dat", receiver.to(), key)
        wait_until("the first 500 kB arrive while the program runs", lambda: size_of_received(place / "in") > 500000)
        arrived = received(place / "in")[0]
        if totals(place, arrived, "growing.db")[0] < 1000:
            raise Failure("what has arrived of a log that grows has no events")
        check_sent(recording.end())
        arrived = check_same(place / "in", place / "run.dat")
        if arrived.stat().st_mode & 0o777 != 0o600 or (place / "in").stat().st_mode & 0o777 != 0o700:
            raise Failure("others may read what arrived")
        if totals(place, arrived, "a.db") != totals(place, place / "run.dat", "b.db"):
            raise Failure("the databases differ")
        again = subprocess.run([TOOLS.record, "--send", place / "run.dat", "--to", receiver.to(), *key], capture_output=True, text=True)
        if again.returncode != 0:
            raise Failure(f"sending it again: {again.stderr}")
        check_same(place / "in", place / "run.dat")
        receiver.end()
        for word, n in (("begun by me at 127.0.0.1:", 1), (": ended, ", 2), (": goes on", 0), ("cut", 0)):
            if receiver.output.count(word) != n:
                raise Failure(f"mtrace-gather does not print {word!r} {n} times: {receiver.output}")


def follow(place, _rounds):
    """mtrace-import --follow keeps up with the received log, and ends with it."""
    key = make_key(place / "key")
    with Receiver(place / "in", key) as receiver:
        recording = Recording(place / "run.dat", receiver.to(), key)
        wait_until("the first 500 kB arrive", lambda: size_of_received(place / "in") > 500000)
        follower = subprocess.Popen([TOOLS.importer, "--follow", str(received(place / "in")[0]), str(place / "f.db")],
                                    stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=harness.environment())
        try:
            wait_until("there is a database", (place / "f.db").exists)
            if follower.poll() is not None:
                raise Failure(f"it does not follow what grows: {follower.stderr.read()}")
            check_sent(recording.end())
            _, stderr = follower.communicate(timeout=PATIENCE)
        finally:
            follower.kill()
        ours = totals(place, place / "run.dat", "b.db")
        theirs = harness.Database(place / "f.db").rows("SELECT count(*), sum(size_bytes) FROM allocations")[0]
        if follower.returncode != 0 or ours != theirs or "no end" in stderr:
            raise Failure(f"followed {theirs}, local {ours}: {stderr}")


def changed(place, _rounds):
    """A log whose beginning differs from the received one goes to a new file; received data is never changed."""
    key = make_key(place / "key")
    with Receiver(place / "in", key) as receiver:
        check_sent(Recording(place / "run.dat", receiver.to(), key).end())
        first = received(place / "in")[0]
        before = first.read_bytes()
        whole = bytearray(before)
        whole[-300] ^= 1
        (place / "other.dat").write_bytes(whole)
        for _ in range(2):  # the second time it is found
            subprocess.run([TOOLS.record, "-q", "--send", place / "other.dat", "--to", receiver.to(), *key], check=True)
        files = {path.name: path.read_bytes() for path in received(place / "in")}
        if sorted(files.values()) != sorted([before, bytes(whole)]) or files[first.name] != before:
            raise Failure(f"there are {list(files)}")


def sender_killed(place, rounds):
    key = make_key(place / "key")
    with Receiver(place / "in", key) as receiver:
        recording = Recording(place / "run.dat", receiver.to(), key)
        killed = set()
        for _ in range(rounds):
            wait_until("there is a sender", lambda: recording.sender() not in killed | {None})
            time.sleep(random.uniform(0, 0.3))
            victim = recording.sender()
            if victim:
                killed.add(victim)
                os.kill(victim, signal.SIGKILL)
        check_sent(recording.end())
        check_same(place / "in", place / "run.dat")
        if not killed:
            raise Failure("no sender was killed")


def receiver_killed(place, rounds):
    key = make_key(place / "key")
    with Receiver(place / "in", key) as receiver:
        recording = Recording(place / "run.dat", receiver.to(), key)
        for i in range(rounds):
            before = size_of_received(place / "in")
            wait_until(f"more arrives in round {i}", lambda: size_of_received(place / "in") > before)
            time.sleep(random.uniform(0, 0.2))
            receiver.end(signal.SIGKILL)
            receiver.start()
        check_sent(recording.end())
        check_same(place / "in", place / "run.dat")


class Proxy:
    """Forwards bytes to a port, and cuts a connection after as many of them as `limits` says."""

    def __init__(self, port, limits):
        self.target, self.limits, self.n_cuts = port, limits, 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            server = socket.create_connection(("127.0.0.1", self.target))
            left = [next(self.limits)]
            for a, b in ((client, server), (server, client)):
                threading.Thread(target=self.copy, args=(a, b, left), daemon=True).start()

    def copy(self, a, b, left):
        try:
            while data := a.recv(min(65536, max(left[0], 1))):
                if left[0] <= 0:
                    self.n_cuts += 1
                    break
                left[0] -= len(data)
                b.sendall(data)
        except OSError:
            pass
        for end in (a, b):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            end.close()


def cut(place, rounds):
    """Connections that are cut anywhere, also in the handshake."""
    draw = random.Random(place.name)

    def limits():
        for _ in range(rounds):
            yield draw.choice((draw.randrange(1, 2000), draw.randrange(1000, 100000), draw.randrange(5000, 2000000)))
        while True:
            yield 1 << 60
    key = make_key(place / "key")
    with Receiver(place / "in", key) as receiver:
        proxy = Proxy(receiver.port, limits())
        begun = time.monotonic()
        recording = Recording(place / "run.dat", f"127.0.0.1:{proxy.port}", key)
        wait_until("all cuts are made", lambda: proxy.n_cuts >= rounds // 2 and size_of_received(place / "in") > 3000000)
        output = recording.end()
        check_sent(output)
        check_same(place / "in", place / "run.dat")
        proxy.listener.close()
        if output.count("cannot send to") > 1 + (time.monotonic() - begun) / 60 or "the push function" in output:
            raise Failure(f"of {proxy.n_cuts} cuts it prints {output}")


def is_gone(pid):
    """The sender works without a waiting receiver, too."""
    return harness.state_of(pid) in "ZX"


def recorder_killed(place, _rounds):
    """The recorder is killed: the receiver has what it had packed, and the rest can be sent after --pack."""
    key = make_key(place / "key")
    with Receiver(place / "in", key) as receiver:
        recording = Recording(place / "run.dat", receiver.to(), key, ("--send-timeout", "20s"))
        wait_until("a million bytes arrive", lambda: size_of_received(place / "in") > 1000000)
        program = recording.program()
        recording.process.kill()
        recording.process.wait()
        wait_until("the sender ends", lambda: ": ended, " in receiver.output or ": cut at" in receiver.output)
        if ": ended, " in receiver.output or "where its recorder left it" not in receiver.output:
            raise Failure(f"of a log without its end mtrace-gather prints {receiver.output}")
        arrived = received(place / "in")[0]
        ours = (place / "run.dat").read_bytes()
        theirs = arrived.read_bytes()
        if ours[:len(theirs)] != theirs or len(ours) - len(theirs) > 70000:
            raise Failure(f"{len(theirs)} bytes arrived of {len(ours)}")
        # PIDs in received logs are those of another machine: an equal PID here means nothing.
        theirs = bytearray(theirs)
        theirs[RECORDER_PID_OFFSET:RECORDER_PID_OFFSET + 4] = theirs[48:52] = (1).to_bytes(4, "little")
        (place / "of_init.dat").write_bytes(theirs)
        for log in (arrived, place / "of_init.dat"):
            result = subprocess.run([TOOLS.importer, "--force", str(log), str(place / "cut.db")], capture_output=True, text=True,
                                  env=harness.environment(), timeout=PATIENCE)
            n = harness.Database(place / "cut.db").value("SELECT count(*) FROM allocations") if result.returncode == 0 else 0
            if n < 1000 or "the log is incomplete" not in result.stderr:
                raise Failure(f"{n} allocations, and the import prints {result.stderr!r}")
        result = subprocess.run([TOOLS.query, "summary", str(place / "cut.db")], capture_output=True, text=True, env=harness.environment()).stdout
        if "whether it still runs is not known" not in result or "the log is incomplete: " not in result or " 0 B" in result.splitlines()[1] or "killed" in result:
            raise Failure(f"of a log without its end the summary prints {result}")
        recording.process.stdin.close()
        wait_until("the program ends", lambda: is_gone(program))
        subprocess.run([TOOLS.record, "-q", "--pack", place / "run.dat"], check=True)
        subprocess.run([TOOLS.record, "-q", "--send", place / "run.dat", "--to", receiver.to(), *key], check=True)
        check_same(place / "in", place / "run.dat")
        receiver.end()
        if ": goes on, " not in receiver.output or ": ended, " not in receiver.output:
            raise Failure(f"mtrace-gather prints {receiver.output}")


def family(place, _rounds):
    """All logs of a run arrive under names by which they are imported together."""
    key = make_key(place / "key")
    script = "import os, subprocess; x = [bytes(700) for i in range(50000)]; " \
             "[subprocess.run(['/bin/sh', '-c', 'true; exec /usr/bin/env true']) for i in range(5)]"
    with Receiver(place / "in", key) as receiver:
        recording = Recording(place / "run.dat", receiver.to(), key, ("--follow-children", "--wait"),
                              ("/bin/sh", "-c", f'exec {PYTHON} -c "$0"', script))
        _, stderr = recording.process.communicate("", timeout=PATIENCE)
        logs = {path: path.read_bytes() for path in place.glob("run.dat*")}
        check_sent(stderr, len(logs))
        if len(logs) < 12 or sorted(logs.values()) != sorted(path.read_bytes() for path in received(place / "in")):
            raise Failure(f"{len(logs)} logs, arrived {[path.name for path in received(place / 'in')]}")
        first = [path for path in received(place / "in") if path.name.endswith(".dat")]
        if len(first) != 1:
            raise Failure(f"these are named after none: {first}")
        counts = [harness.import_log(TOOLS, log, place / name).value("SELECT count(*) FROM processes")
                  for log, name in ((first[0], "a.db"), (place / "run.dat", "b.db"))]
        if counts[0] != counts[1] or counts[0] < 12:
            raise Failure(f"processes imported: {counts}")


def try_to_send(log, to, options, timeout=None):
    """Must fail; returns its output: with a timeout all of it, else up to the line that says why it cannot be sent now, as it would be tried again."""
    sender = subprocess.Popen([str(word) for word in (TOOLS.record, "--send", log, "--to", to, *options, "--send-timeout", timeout or f"{PATIENCE}s")],
                              stderr=subprocess.PIPE, text=True, env=harness.environment())
    output = ""
    watchdog = threading.Timer(PATIENCE, sender.kill)
    watchdog.start()
    with sender:
        for line in sender.stderr:
            output += line
            if "cannot send to" in line and not timeout:
                sender.terminate()
                break
    watchdog.cancel()
    if sender.returncode == 0:
        raise Failure(f"it was let in: {options}")
    return output


def make_log(place, n_blocks=9000):
    harness.run([TOOLS.record, "-o", place / "run.dat", "--", PYTHON, "-c", f"x = [bytes(700) for i in range({n_blocks})]"], place,
                {"PYTHONMALLOC": "malloc"})
    return place / "run.dat"


def certtool(place, name, template, *options):
    (place / f"{name}.tmpl").write_text(template)
    for argv in (["--generate-privkey", "--key-type=ecdsa", "--outfile", f"{name}.key"],
                 [*options, "--load-privkey", f"{name}.key", "--template", f"{name}.tmpl", "--outfile", f"{name}.pem"]):
        made = subprocess.run(["certtool", *argv], cwd=place, capture_output=True, text=True)
        if made.returncode != 0:
            raise Failure(f"certtool: {made.stderr}")
    (place / f"{name}.key").chmod(0o600)


def make_certificates(place):
    if shutil.which("certtool") is None:
        raise Skip("certtool is not installed (gnutls-bin)")
    for ca in ("ca", "otherca"):
        certtool(place, ca, f"cn = {ca}\nca\ncert_signing_key\nexpiration_days = 9\n", "--generate-self-signed")
    for name, ca, host in (("server", "ca", "localhost"), ("client", "ca", "client"), ("strange", "otherca", "localhost"),
                           ("elsewhere", "ca", "elsewhere.example")):
        address = "ip_address = 127.0.0.1\n" if host == "localhost" else ""
        certtool(place, name, f"cn = {name}\ndns_name = {host}\n{address}signing_key\ntls_www_server\ntls_www_client\nexpiration_days = 9\n",
                 "--generate-certificate", "--load-ca-certificate", f"{ca}.pem", "--load-ca-privkey", f"{ca}.key")


def own_name():
    """A bare system has no /etc/hosts."""
    try:
        socket.getaddrinfo("localhost", 1)
        return "localhost"
    except OSError:
        return "127.0.0.1"


def by_certificate(place, name, ca="ca"):
    return ["--certificate", place / f"{name}.pem", "--key", place / f"{name}.key", "--ca", place / f"{ca}.pem"]


def certificates(place, _rounds):
    make_certificates(place)
    log = make_log(place)
    with Receiver(place / "in", by_certificate(place, "server")) as receiver:
        to = f"{own_name()}:{receiver.port}"
        for options in (by_certificate(place, "strange"), by_certificate(place, "client", "otherca"), make_key(place / "key"), ["--insecure"]):
            try_to_send(log, to, options)
        if received(place / "in"):
            raise Failure("something arrived of those who may not send")
        subprocess.run([TOOLS.record, "--send", log, "--to", to, *by_certificate(place, "client")], check=True)
        if received(place / "in")[0].read_bytes() != log.read_bytes() or "begun by client at" not in receiver.output:
            raise Failure(f"it did not arrive: {receiver.output}")
    with Receiver(place / "in2", by_certificate(place, "elsewhere")) as receiver:
        output = try_to_send(log, f"{own_name()}:{receiver.port}", by_certificate(place, "client"))
        if "ertificate" not in output:
            raise Failure(f"the wrong host is refused so: {output}")


def strangers(place, _rounds):
    """Senders without permission, or of garbage, leave nothing behind and do not block others."""
    log = make_log(place)
    key = make_key(place / "key")
    with Receiver(place / "in", key) as receiver:
        output = [try_to_send(log, receiver.to(), make_key(place / name, who, secret))
                for name, who, secret in (("wrong", "me", None), ("unknown", "you", None))]
        if any("know this key or certificate" not in text for text in output):
            raise Failure(f"a wrong key is refused so: {output}")
        try_to_send(log, receiver.to(), ["--insecure"])
        (place / "key").chmod(0o640)
        if "chmod 600" not in try_to_send(log, receiver.to(), key):
            raise Failure("a key that others can read is used")
        (place / "key").chmod(0o600)
        if "no authentication is configured" not in try_to_send(log, receiver.to(), []):
            raise Failure("it is sent without any proof")
        for argv in (["--send", log], ["-o", place / "no.dat", "--", "touch", place / "ran"]):
            refused = subprocess.run([str(word) for word in (TOOLS.record, "--to", "192.0.2.1:7878", "--insecure", *argv)], capture_output=True, text=True,
                                     timeout=PATIENCE, env=harness.environment())
            if refused.returncode != 2 or "--insecure is only for this machine" not in refused.stderr or (place / "ran").exists():
                raise Failure(f"--insecure to another machine: {refused.returncode}, {refused.stderr}")
        crowd = []
        for i in range(1000):
            crowd.append(socket.create_connection(("127.0.0.1", receiver.port)))
            try:
                crowd[-1].sendall(random.randbytes(random.randrange(300)) if i % 2 else b"")
            except OSError:
                pass
        subprocess.run([TOOLS.record, "-q", "--send", log, "--to", receiver.to(), *key], check=True)
        if received(place / "in")[0].read_bytes() != log.read_bytes() or len(received(place / "in")) != 1:
            raise Failure("it did not arrive in a crowd")
        n_open = len(os.listdir(f"/proc/{receiver.process.pid}/fd"))
        if n_open > 80:
            raise Failure(f"{n_open} descriptors are open")
        for end in crowd:
            end.close()
        receiver.end()
        if len(receiver.output) > 20000:
            raise Failure(f"mtrace-gather prints {len(receiver.output)} bytes about strangers")
    for options, why in ((["--insecure", "--listen", "0.0.0.0:0"], "--insecure is only for this machine"), ([], "no authentication is configured")):
        refused = subprocess.run([GATHER, str(place / "in"), *options], capture_output=True, text=True, timeout=PATIENCE)
        if refused.returncode == 0 or why not in refused.stderr:
            raise Failure(f"mtrace-gather {options}: {refused.stderr}")


def limits(place, _rounds):
    """--max-bytes holds, and refused data is accepted when there is room again."""
    key = make_key(place / "key")
    log = make_log(place, 200000)  # more than waits in sockets
    with Receiver(place / "in", key, extra=("--max-bytes", "10KiB")) as receiver:
        output = try_to_send(log, receiver.to(), key, "4s")
        if "--max-bytes" not in output or size_of_received(place / "in") > 10240:
            raise Failure(f"{size_of_received(place / 'in')} bytes, and {output}")
        receiver.end()
        result = receiver.output.splitlines()
        if len(result) > 3 or "begun by" not in result[0] or not re.search(r": cut at .*--max-bytes.*it goes on when it is sent again", result[1]):
            raise Failure(f"of a full folder it prints {receiver.output}")
    with Receiver(place / "in", key) as receiver:
        subprocess.run([TOOLS.record, "-q", "--send", log, "--to", receiver.to(), *key], check=True)
        if received(place / "in")[0].read_bytes() != log.read_bytes():
            raise Failure("it did not go on")
        receiver.end()
        if receiver.output.count(": goes on, ") != 1 or receiver.output.count(": ended, ") != 1:
            raise Failure(f"when there is room it prints {receiver.output}")


def look_around(port, key):
    return subprocess.run([str(word) for word in (GATHER, f"--discover={port}", *key)], capture_output=True, text=True, timeout=PATIENCE)


def discover(place, _rounds):
    """A client with the key finds receivers; one without the key, and replayed messages, are ignored and counted."""
    key, other = make_key(place / "key"), make_key(place / "other")
    with Receiver(place / "in", key, extra=("--announce",)) as receiver:
        found = look_around(receiver.port, key)
        if found.returncode != 0 or found.stdout != f"{receiver.to()}\n" or found.stderr:
            raise Failure(f"found: {found}")
        recording = Recording(place / "run.dat", f"discover:{receiver.port}", key)
        wait_until("the first 500 kB arrive", lambda: size_of_received(place / "in") > 500000)
        check_sent(recording.end())
        check_same(place / "in", place / "run.dat")
        if "ignored" in receiver.output:
            raise Failure(f"it prints {receiver.output}")
        overheard = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        overheard.bind(("127.0.0.1", 0))
        overheard.settimeout(PATIENCE)
        asking = threading.Thread(target=look_around, args=(overheard.getsockname()[1], key))
        asking.start()
        request = overheard.recv(4096)
        asking.join()
        answers = []
        for data in (b"x", request, request, request[:-1] + bytes([request[-1] ^ 1]), request + b"x", b""):
            overheard.sendto(data, ("127.0.0.1", receiver.port))
            overheard.settimeout(1)
            try:
                while True:
                    answer = overheard.recv(4096)
                    if answer[:8] == request[:8] and answer != request and answer[12] == 2:
                        answers.append(answer)
            except socket.timeout:
                pass
        if len(answers) != 1 or len(answers[0]) != len(request):
            raise Failure(f"{len(answers)} answers to one request and five that are none")
        not_found = look_around(receiver.port, other)
        if not_found.returncode != 1 or not_found.stdout or "no 'mtrace-gather --announce' with our key answers" not in not_found.stderr:
            raise Failure(f"with another key: {not_found}")
        refused = subprocess.run([str(word) for word in (TOOLS.record, "-o", place / "no.dat", "--to", f"discover:{receiver.port}", *other, "--",
                                                         "touch", place / "ran")], capture_output=True, text=True)
        if refused.returncode == 0 or (place / "ran").exists() or "no 'mtrace-gather --announce'" not in refused.stderr:
            raise Failure(f"no receiver is found, and it continues: {refused}")
        receiver.end()
        if "discovery messages: forged" not in receiver.output:
            raise Failure(f"strangers are not counted: {receiver.output}")
    with Receiver(place / "in", key) as receiver:
        if look_around(receiver.port, key).returncode != 1:
            raise Failure("one who was not asked to announces himself")
    refused = subprocess.run([str(word) for word in (GATHER, place / "in", *key, "--announce", "--listen", "[::1]:0")], capture_output=True, text=True, timeout=PATIENCE)
    if refused.returncode == 0 or "discovery uses IPv4" not in refused.stderr and "cannot listen" not in refused.stderr:
        raise Failure(f"a receiver that cannot be found announces itself: {refused}")


def broadcast(place, _rounds):
    """Between two network namespaces: only a broadcast arrives there. A receiver that listens on one address is found at that one, also from its own
    machine."""
    if os.geteuid() != 0 or not all(shutil.which(tool) for tool in ("ip", "unshare", "nsenter")):
        raise Skip("needs root, ip (iproute2), unshare and nsenter (util-linux)")
    key = make_key(place / "key")
    script = f"""
unshare -n sleep {PATIENCE} & other=$!
sleep 1
ip link add name mtrace0 type veth peer name mtrace1 && ip link set mtrace1 netns $other || {{ kill $other; exit 77; }}
ip addr add 10.97.98.1/24 brd 10.97.98.255 dev mtrace0 && ip link set mtrace0 up
nsenter -t $other -n ip addr add 10.97.98.2/24 brd 10.97.98.255 dev mtrace1 && nsenter -t $other -n ip link set mtrace1 up
nsenter -t $other -n ip link set lo up
for address in 0.0.0.0 10.97.98.2; do
nsenter -t $other -n timeout {PATIENCE} {GATHER} {place}/in --announce --listen $address:17878 --psk-file {key[1]} > {place}/said & gather=$!
while ! grep -q listening {place}/said; do kill -0 $gather || exit 1; sleep 0.05; done
{GATHER} --discover=17878 --psk-file {key[1]}; status=$?
nsenter -t $other -n {GATHER} --discover=17878 --psk-file {key[1]}
kill $gather; wait $gather; : > {place}/said
done
kill $other; exit $status
"""
    with open(place / "errors", "w") as errors:
        result = subprocess.run(["unshare", "-n", "sh", "-c", script], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, text=True,
                              timeout=PATIENCE)
    if result.returncode == 77:
        raise Skip(f"there is no network to be made: {(place / 'errors').read_text()}")
    if result.returncode != 0 or result.stdout != "10.97.98.2:17878\n127.0.0.1:17878\n" + 2 * "10.97.98.2:17878\n":
        raise Failure(f"by broadcast: {result}, {(place / 'errors').read_text()}")


def rotated(log):
    """The rotated files that still exist here."""
    return list(log.parent.glob(f"{log.name}.g*"))


def size_of_rotated(log):
    total = 0
    for path in rotated(log):
        try:
            total += path.stat().st_size
        except FileNotFoundError:  # removed by now
            pass
    return total


def wait_until_removed(place, log):
    wait_until("rotated files are removed", lambda: size_of_received(place / "in") > 10000000 and not Path(f"{log}.g1").exists())


def check_whole(place, rounds, name):
    """One log arrived, and is complete; it has every block of the program's rounds."""
    files = received(place / "in")
    result = subprocess.run([TOOLS.importer, "--force", str(files[0]), str(place / name)], capture_output=True, text=True, env=harness.environment(),
                          timeout=PATIENCE)
    n = harness.Database(place / name).value("SELECT count(*) FROM allocations WHERE size_bytes BETWEEN 633 AND 2632") if result.returncode == 0 else 0
    if len(files) != 1 or not 2000 <= n / rounds < 2050 or any(word in result.stderr for word in ("damage", "no end", "dropped")):
        raise Failure(f"{len(files)} logs, {n} blocks of {rounds} rounds: {result.stderr}")


def refuses_to_import(place, log):
    result = subprocess.run([TOOLS.importer, str(log), str(place / "none.db")], capture_output=True, text=True, env=harness.environment(), timeout=PATIENCE)
    if result.returncode == 0 or "was recorded with --no-local: its events are at the receiver" not in result.stderr or len(result.stderr.splitlines()) != 1:
        raise Failure(f"the import of what is left says {result}")


def no_local(place, rounds):
    """Data that the receiver has on disk is removed here, whichever side is killed, and at the end all files are removed."""
    key, log = make_key(place / "key"), place / "run.dat"
    with Receiver(place / "in", key) as receiver:
        recording = Recording(log, receiver.to(), key, ("--no-local", "--no-compress"))
        for i in range(min(rounds, 6)):
            before = size_of_received(place / "in")
            wait_until(f"more arrives in round {i}", lambda: size_of_received(place / "in") > before + 3000000)
            if i % 2:
                receiver.end(signal.SIGKILL)
                receiver.start()
            elif recording.sender():
                os.kill(recording.sender(), signal.SIGKILL)
        wait_until_removed(place, log)
        wait_until("little is here", lambda: size_of_rotated(log) < size_of_received(place / "in") / 2)
        refuses_to_import(place, log)
        check_sent(output := recording.end())
        if log.exists() or rotated(log) or "removed here (--no-local)" not in output or "next: mtrace-query" in output:
            raise Failure(f"the log is {'kept' if log.exists() else 'gone'}: {output}")
        check_whole(place, recording.rounds, "arrived.db")


def no_local_kept(place, _rounds):
    """Data that did not arrive is kept and sent later, only to the receiver that has the rest; what a killed recorder left is packed in its place."""
    key, log = make_key(place / "key"), place / "run.dat"
    with Receiver(place / "in", key) as receiver:
        recording = Recording(log, receiver.to(), key, ("--no-local", "--no-compress", "--send-timeout", "2s"))
        wait_until_removed(place, log)
        receiver.end()
        program = recording.program()
        recording.process.kill()
        live = Path(f"{log}.live")
        wait_until("more than a rotated file is left to pack", lambda: live.stat().st_blocks * 512 > 12 << 20)
        recording.process.stdin.close()
        wait_until("the program ends", lambda: is_gone(program))
        rounds = int(recording.process.stdout.read())
        output = recording.process.stderr.read()
        if "not sent to" not in output or "--no-local" not in output or not log.exists():
            raise Failure(f"of what was not sent it prints {output}")
        refused = subprocess.run([TOOLS.record, "--pack", log, "--cull-temporary", "1"], capture_output=True, text=True)
        if refused.returncode == 0 or "cannot be elided here" not in refused.stderr:
            raise Failure(f"what is half here is elided: {refused}")
        if b"MTRACE_RECORD_FAULT" in Path(TOOLS.record).read_bytes():  # interrupted, it continues where it stopped
            done = subprocess.run([TOOLS.record, "--pack", log], env=harness.environment({"MTRACE_RECORD_FAULT": "packed:60:9"}))
            if done.returncode != -signal.SIGKILL:
                raise Failure(f"--pack was to be killed: {done}")
        packed = subprocess.run([TOOLS.record, "--pack", log], check=True, capture_output=True, text=True).stderr
        if "events of those still here" not in packed or f"next: mtrace-record --send {log} --no-local --to HOST:PORT" not in packed or "mtrace-query" in packed:
            raise Failure(f"packing what is half here it prints {packed}")
        with Receiver(place / "other", key) as other:
            output = try_to_send(log, other.to(), key, "1s")
            if "does not have what it acknowledged" not in output or not log.exists():
                raise Failure(f"to one who has nothing of it: {output}")
        receiver.start()
        sent = subprocess.run([TOOLS.record, "--no-local", "--send", log, "--to", receiver.to(), *key], capture_output=True, text=True)
        if sent.returncode != 0 or log.exists() or rotated(log):
            raise Failure(f"sending the rest: {sent}")
        check_whole(place, rounds, "arrived.db")


def max_local(place, _rounds):
    """Without a receiver the log stays within its limit, the program does not wait, and dropped events are counted."""
    key, log, live = make_key(place / "key"), place / "run.dat", place / "run.dat.live"
    most = 64 << 20
    with Receiver(place / "in", key) as receiver:
        recording = Recording(log, receiver.to(), key, ("--no-local", "--no-compress", "--max-local", "64MiB"),
                              (PYTHON, "-c", BUSY.replace("0.002", "0")))
        wait_until("the log begins", log.exists)
        os.kill(receiver.process.pid, signal.SIGSTOP)
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end and size_of_rotated(log) < (most >> 1) - (1 << 20):
            time.sleep(0.05)
        wait_until("the live log is full", lambda: live.stat().st_size >= (most >> 2) - (2 << 20))
        time.sleep(2)
        used = size_of_rotated(log) + live.stat().st_size
        os.kill(receiver.process.pid, signal.SIGCONT)
        if used > most:
            raise Failure(f"{used} bytes are here")
        check_sent(output := recording.end())
        dropped = int(re.search(r"([\d,]+) dropped", output)[1].replace(",", ""))
        if dropped == 0 or output.count("has reached --max-local") != 1 or "see --max-live, and --max-local" not in output or log.exists() or rotated(log):
            raise Failure(f"it prints {output}")
        result = subprocess.run([TOOLS.importer, str(received(place / "in")[0]), str(place / "a.db")], capture_output=True, text=True, env=harness.environment())
        if result.returncode != 0 or f"{dropped:,}" not in result.stderr.replace("_", ",") and str(dropped) not in result.stderr:
            raise Failure(f"{dropped} events were dropped, and the import prints {result.stderr}")


def named(place, _rounds):
    """A log has the name of its program, but not its arguments."""
    key = make_key(place / "key")
    with Receiver(place / "in", key) as receiver:
        for words in (("/bin/echo", "--token=abc/SECRET"), ("/bin/ls", "/")):
            check_sent(Recording(place / f"{Path(words[0]).name}.dat", receiver.to(), key, program=words).process.communicate(timeout=PATIENCE)[1])
    names = [path.name.split(".")[0] for path in received(place / "in")]
    if names != ["echo", "ls"]:
        raise Failure(f"the logs are of {names}")


def slow_peer(place, _rounds):
    """A peer that sends a byte now and then and never finishes its message delays others no longer than the time limit."""
    log, key = make_log(place), make_key(place / "key")
    with socket.create_server(("127.0.0.1", 0)) as server:
        def drip():
            connection, _ = server.accept()
            with connection:
                connection.recv(4096)
                connection.sendall(b"\x16\x03\x03\x3f\x00\x02\x00\x3e\xfc")  # the head of a ServerHello of 16 KB
                try:
                    while True:
                        time.sleep(0.3)
                        connection.sendall(b"\x03")
                except OSError:
                    pass
        threading.Thread(target=drip, daemon=True).start()
        relative = [os.path.relpath(word) if isinstance(word, Path) else word for word in key]
        output = try_to_send(log, f"127.0.0.1:{server.getsockname()[1]}", relative, timeout="1s")
        if "does not answer" not in output or "not sent to" not in output or f"'{(place / 'key').resolve()}'" not in output:
            raise Failure(f"it prints {output}")


def flood(place, _rounds):
    """The same for a peer that never finishes its announcement."""
    log = make_log(place)
    ping = struct.pack("<IIQII", 11, 0, 0, 0, 0)
    hello = struct.pack("<IIQII", 1, 0, 0, 16, 0) + b"mtrace\r\n" + struct.pack("<II", 1, 0)
    with socket.create_server(("127.0.0.1", 0)) as server:
        def pour():
            connection, _ = server.accept()
            with connection:
                try:
                    connection.sendall(hello)
                    while True:
                        connection.sendall(ping * 10000)
                except OSError:
                    pass
        for _ in range(2):
            threading.Thread(target=pour, daemon=True).start()
        begun = time.monotonic()
        output = try_to_send(log, f"127.0.0.1:{server.getsockname()[1]}", ["--insecure"], timeout="1s")
        if "not sent to" not in output or time.monotonic() - begun > PATIENCE / 2:
            raise Failure(f"after {time.monotonic() - begun:.1f} s it prints {output}")


def full_disk(place, _rounds):
    if os.geteuid() != 0:
        raise Skip("only root can mount a small file system")
    (place / "small").mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k,mode=700", "tmpfs", place / "small"], capture_output=True).returncode != 0:
        raise Skip("a small file system cannot be mounted here")
    try:
        key = make_key(place / "key")
        (place / "small" / "filler").write_bytes(bytes(200000))
        with Receiver(place / "small", key) as receiver:
            recording = Recording(place / "run.dat", receiver.to(), key)
            wait_until("the receiver complains", lambda: "No space left" in receiver.output)
            (place / "small" / "filler").unlink()
            subprocess.run(["mount", "-o", "remount,size=1g", place / "small"], check=True)
            wait_until("500 kB are there", lambda: size_of_received(place / "small") > 500000)
            check_sent(recording.end())
            check_same(place / "small", place / "run.dat")
    finally:
        subprocess.run(["umount", "-l", place / "small"])


def other_user(place, _rounds):
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        raise Skip("only root can be another user, by setpriv")
    log = make_log(place)
    key = make_key(place / "key")
    place.chmod(0o755)
    with Receiver(place / "in", key) as receiver:
        subprocess.run([TOOLS.record, "-q", "--send", log, "--to", receiver.to(), *key], check=True)
        arrived = received(place / "in")[0]
        as_other = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        for argv in (["cat", arrived], ["cat", place / "key"], ["ls", place / "in"]):
            if subprocess.run([*as_other, *argv], capture_output=True).returncode == 0:
                raise Failure(f"another user can {argv}")
        receiver.end()
    (place / "in").chmod(0o777)
    refused = subprocess.run([GATHER, str(place / "in"), *map(str, key)], capture_output=True, text=True, timeout=PATIENCE)
    if refused.returncode == 0 or "others may write" not in refused.stderr:
        raise Failure(f"a folder that others can write to is used: {refused.stderr}")


CASES = {case.__name__: case for case in (equal, follow, changed, sender_killed, receiver_killed, cut, recorder_killed, family, certificates,
                                         strangers, limits, discover, broadcast, no_local, no_local_kept, max_local, named, slow_peer, flood, full_disk, other_user)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("case", choices=CASES)
    parser.add_argument("--rounds", type=int, default=20)
    arguments = parser.parse_args()
    with harness.scratch() as place:
        CASES[arguments.case](Path(place), arguments.rounds)


if __name__ == "__main__":
    harness.main(main)
