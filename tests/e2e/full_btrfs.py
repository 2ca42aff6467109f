#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A recording on a btrfs that fills up: the program and its child continue, and no event is missing.

btrfs may lack reserved space when it is written, so the log must be elsewhere. Exit status 77: this
machine has no btrfs, or does not let us mount an image of one.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))

import harness  # noqa: E402
import raw_log  # noqa: E402
from harness import Failure, Skip  # noqa: E402

IMAGE_BYTES = 160 << 20
N_PAIRS = 150000
PROGRAM = """
import ctypes, os, sys
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.free.argtypes = [ctypes.c_void_p]
folder, pairs = sys.argv[1], int(sys.argv[2])

def allocate():
    for i in range(pairs):
        libc.free(libc.malloc(5777))

go, gone = os.pipe()
done, finished = os.pipe()
child = os.fork()
if child == 0:
    libc.free(libc.malloc(6777))
    os.read(go, 1)
    allocate()
    os.write(finished, b"x")
    os.read(go, 1)  # a log that ends on a full disk is not packed
    os._exit(0)
filler = os.open(folder + "/filler", os.O_CREAT | os.O_WRONLY)
piece = 1 << 20
while piece:
    try:
        os.write(filler, os.urandom(piece))
        os.fsync(filler)
    except OSError:
        piece //= 2
allocate()
os.write(gone, b"x")
os.read(done, 1)
os.close(filler)
os.unlink(folder + "/filler")
os.sync()
os.write(gone, b"x")
status = os.waitpid(child, 0)[1]
print("child", status)
"""


class Btrfs:
    def __init__(self, image, folder):
        if not shutil.which("mkfs.btrfs", path="/usr/sbin:/sbin:/usr/bin:/bin"):
            raise Skip("mkfs.btrfs is not there (package btrfs-progs)")
        with image.open("wb") as file:
            file.truncate(IMAGE_BYTES)
        self.folder = folder
        for argv in (["mkfs.btrfs", "-q", image], ["mount", "-t", "btrfs", "-o", "loop", image, folder]):
            done = subprocess.run(argv, capture_output=True, text=True, errors="replace",
                                  env={"PATH": "/usr/sbin:/sbin:/usr/bin:/bin"})
            if done.returncode != 0:
                raise Skip(f"no btrfs can be mounted here: {done.stderr.strip()}")

    def unmount(self):
        subprocess.run(["umount", self.folder], check=True)


def check(tools, place, folder):
    argv = [sys.executable, "-S", "-c", PROGRAM, folder, str(N_PAIRS)]
    argv, env = harness.record_argv(tools, "record", folder / "run.dat", argv, ["--follow-children"])
    outcome = harness.run(argv, place, env)
    output = outcome.stderr.decode(errors="replace")
    if outcome.status != 0 or outcome.stdout != b"child 0\n":
        raise Failure(f"the program ended with {outcome.status}, {outcome.stdout.decode()}: {output}")
    if not re.match(r"mtrace-record: the live log is '/dev/shm/mtrace-.*': beside .* the file system copies on write", output):
        raise Failure(f"no message about the place of the log: {output}")
    logs = [path for path in folder.iterdir() if path.is_file() and ".dat" in path.name]
    if len(logs) != 2:
        raise Failure(f"a log of the program and one of its child are expected: {logs}")
    left = [path for path in [*map(raw_log.live_log_elsewhere, logs), *folder.glob("*.live")] if path.exists() or path.is_symlink()]
    if left:
        raise Failure(f"left behind: {left}")
    database = harness.import_log(tools, folder / "run.dat", place / "run.db", "--no-symbols")
    found = database.rows("SELECT process_id, count(*) FROM allocations WHERE size_bytes = 5777 GROUP BY 1 ORDER BY 1")
    if found != [(1, N_PAIRS), (2, N_PAIRS)]:
        raise Failure(f"of {N_PAIRS} blocks of each process the database has {found}; {output}")
    print(output)


def main():
    tools = harness.Tools.from_environment()
    with harness.scratch() as scratch:
        place = Path(scratch)
        folder = place / "btrfs"
        folder.mkdir()
        (place / "run").mkdir()
        mounted = Btrfs(place / "image", folder)
        try:
            check(tools, place / "run", folder)
        finally:
            mounted.unmount()


harness.main(main)
