#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""production.py: all parts together. A redis-server under load is attached to, sampled and sent to mtrace-gather; one client makes its memory grow by
bytes that the test knows; the server and its recorder are killed by SIGKILL. The received log names the growth with an interval that contains the truth."""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
import harness  # noqa: E402
from harness import Failure, Skip, wait_until  # noqa: E402

TOOLS = harness.Tools.from_environment()
GATHER = os.environ.get("MTRACE_TEST_GATHER", "")
SAMPLE_BYTES = 64 << 10
VALUE_BYTES = 2000
N_VALUES = 8000
PATIENCE = 60
STARTED = []


def start(words, **more):
    process = subprocess.Popen([str(word) for word in words], **more)
    STARTED.append(process)
    return process


def command(*words):
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words)


def is_up(path):
    try:
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(path))
            client.sendall(command(b"PING"))
            return client.recv(100) == b"+PONG\r\n"
    except OSError:
        return False


def grow(path):
    """Values that stay: redis keeps each in a block of its own, which has its length and a few bytes more."""
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(path))
        answers = client.makefile("rb")
        for i in range(N_VALUES):
            client.sendall(command(b"SET", b"kept:%d" % i, b"x" * VALUE_BYTES))
            if answers.readline() != b"+OK\r\n":
                raise Failure("the server does not keep its keys")


def size_of(place):
    return sum(path.stat().st_size for path in (place / "in").iterdir())


def check(rows):
    """Twice the margin, because one recording of 10,000 may miss the truth."""
    row = max(rows, key=lambda row: row["leaked_bytes"])
    if "sdsnewlen" not in (row["function"] or "") and "redis" not in (row["module"] or ""):
        raise Failure(f"the growth is blamed on {row}")
    for name, low, high in (("leaked_blocks", N_VALUES, N_VALUES), ("leaked_bytes", N_VALUES * VALUE_BYTES, N_VALUES * (VALUE_BYTES + 100))):
        estimate, margin = row[name], row[f"{name}_margin"]
        if not low - 2 * margin <= estimate <= high + 2 * margin or not 0 < margin < estimate / 3:
            raise Failure(f"{name}: {estimate} ± {margin}, and {low} to {high} is true")
    print(f"{row['function']}: {row['leaked_blocks']} ± {row['leaked_blocks_margin']:.0f} blocks of {N_VALUES}")


def print_results(place):
    """The live bytes of blocks of about that size in the received log, and their margin."""
    logs = [path for path in (place / "in").iterdir() if ".dat" in path.name]
    if len(logs) != 1:
        raise Failure(f"there are {logs}")
    subprocess.run([TOOLS.importer, "-f", str(logs[0]), str(place / "run.db")], check=True, capture_output=True)
    answer = subprocess.run([TOOLS.query, "leaks", str(place / "run.db"), "--size-min", str(VALUE_BYTES), "--size-max", str(VALUE_BYTES + 100), "--json"],
                            check=True, capture_output=True, text=True)
    return json.loads(answer.stdout)


def run(place):
    site = place / "redis.sock"
    start(["redis-server", "--port", "0", "--unixsocket", site, "--save", "", "--appendonly", "no", "--dir", place], stdout=subprocess.DEVNULL)
    server = STARTED[-1]
    wait_until("redis-server answers", lambda: is_up(site))
    key = place / "key"
    key.write_text(f"me:{os.urandom(32).hex()}\n")
    key.chmod(0o600)
    gather = start([GATHER, place / "in", "--listen", "127.0.0.1:0", "--psk-file", key], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    port = re.match(r"listening on 127\.0\.0\.1:(\d+)", gather.stdout.readline())[1]
    load = start(["redis-benchmark", "-s", site, "-q", "-t", "set,get,lpush,lpop", "-d", "100", "-c", "8", "-n", "10000000"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(0.5)
    recorder = start([TOOLS.record, "--attach", server.pid, "--sample-bytes", SAMPLE_BYTES, "--to", f"127.0.0.1:{port}", "--psk-file", key,
                      "-o", place / "run.dat"], stderr=subprocess.PIPE, text=True)
    line = recorder.stderr.readline()
    if "attached to process" not in line:
        raise Failure(f"not attached: {line}")
    grow(site)
    if load.poll() is not None or not is_up(site):
        raise Failure("the load, or the server, has ended")
    before = size_of(place)
    wait_until("what came behind the growth arrives", lambda: size_of(place) > before + 20000)
    recorder.kill()
    server.kill()
    recorder.wait()
    server.wait()
    sizes = [-1, size_of(place)]
    while sizes[-1] != sizes[-2]:
        time.sleep(1)
        sizes.append(size_of(place))
    gather.terminate()
    gather.wait(PATIENCE)
    return print_results(place)


def main():
    if not shutil.which("redis-server") or not shutil.which("redis-benchmark"):
        raise Skip("no redis-server")
    with harness.scratch() as place:
        try:
            rows = run(Path(place))
        finally:
            for process in STARTED:
                process.kill()
                process.wait()
    check(rows)


harness.main(main)
