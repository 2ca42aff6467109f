#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""exhaust.py memory|address_space|disk [--threads N]: a recorded program runs out of a resource, and no event is lost.

memory         a control group of 256 MiB holds recorder and program; the program never frees, until the kernel kills it
address_space  the same under `ulimit -v`; the program aborts when malloc returns NULL
disk           the log lies on a file system of 16 MiB; the program continues when that is full: dropped events are
               counted, and earlier ones are there

The program counts its completed calls in shared memory, as for survive.py. Exit status 77: this machine does not
let us make a control group or mount a file system.
"""

import argparse
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))

import harness  # noqa: E402
import survive  # noqa: E402
from harness import Failure, Skip  # noqa: E402

LIMIT_BYTES = 256 << 20
ADDRESS_SPACE_BYTES = 512 << 20
DISK_BYTES = 16 << 20
DROPPED = slice(176, 240)  # eight counters of the log's header, docs/log-format.md


class ControlGroup:
    """A group of either version whose processes get LIMIT_BYTES together."""

    def __init__(self):
        name = f"mtrace-test-{os.getpid()}"
        for parent, limits in (("/sys/fs/cgroup", {"memory.max": LIMIT_BYTES, "memory.swap.max": 0}),
                               ("/sys/fs/cgroup/memory", {"memory.limit_in_bytes": LIMIT_BYTES})):
            self.path = Path(parent, name)
            try:
                if not Path(parent, "cgroup.procs").exists():
                    raise OSError(f"{parent} is no control group")
                self.path.mkdir()
                for file, limit in limits.items():
                    if (self.path / file).exists() or "swap" not in file:
                        (self.path / file).write_text(str(limit))
                return
            except OSError as why:
                self.close()
                reason = why
        raise Skip(f"no control group with a limit of memory can be made here: {reason}")

    def enter(self):
        (self.path / "cgroup.procs").write_text(str(os.getpid()))

    def close(self):
        for _ in range(100):
            try:
                self.path.rmdir()
                return
            except (FileNotFoundError, NotADirectoryError):
                return
            except OSError:  # its last process has not quite exited
                time.sleep(0.05)


def start(tools, args, place, log, manner, before_exec):
    program = [tools.workloads / "survive", place / "counts", str(args.threads), manner]
    argv, _ = harness.record_argv(tools, "record", log, program)

    def prepare():
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        before_exec()
    return subprocess.Popen([str(a) for a in argv], cwd=place, env=harness.environment(), stdin=subprocess.DEVNULL,
                            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True,
                            preexec_fn=prepare)


def wait(process, wanted_status, timeout=400):
    """Waits for mtrace-record, which passes on how the program ended."""
    try:
        stderr = process.communicate(timeout=timeout)[1].decode(errors="replace")
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise Failure(f"the program did not end within {timeout} s") from None
    if process.returncode not in wanted_status:
        raise Failure(f"mtrace-record ended with {process.returncode}, wanted {wanted_status}: {stderr}")


def check_all(tools, args, place, log):
    database = harness.import_log(tools, log, place / "run.db", "--no-symbols")
    return survive.check(database, args, survive.published(place / "counts"))


def memory(tools, args, place):
    group = ControlGroup()
    try:
        process = start(tools, args, place, place / "run.dat", "grow", group.enter)
        wait(process, (128 + signal.SIGKILL, -signal.SIGKILL))  # the kernel may choose the recorder, too
    finally:
        group.close()
    return check_all(tools, args, place, place / "run.dat")


def address_space(tools, args, place):
    limit = (ADDRESS_SPACE_BYTES, ADDRESS_SPACE_BYTES)
    process = start(tools, args, place, place / "run.dat", "grow", lambda: resource.setrlimit(resource.RLIMIT_AS, limit))
    wait(process, (128 + signal.SIGABRT,))
    return check_all(tools, args, place, place / "run.dat")


def unshared():
    """In its own mount namespace, whose mounts disappear with the test."""
    if os.environ.get("MTRACE_TEST_UNSHARED") != "1":
        unshare = shutil.which("unshare")
        if os.geteuid() != 0 or unshare is None:
            raise Skip("mounting a small file system needs root and unshare(1)")
        probe = subprocess.run([unshare, "--mount", "true"], capture_output=True, text=True)
        if probe.returncode != 0:
            raise Skip(f"no mount namespace can be made here: {probe.stderr.strip()}")
        os.environ["MTRACE_TEST_UNSHARED"] = "1"
        os.execv(unshare, [unshare, "--mount", "--propagation", "private", sys.executable, *sys.argv])


def mount(where, options):
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", where], capture_output=True, text=True)
    if done.returncode != 0:
        raise Skip(f"no file system can be mounted here: {done.stderr.strip()}")


def mounted(place):
    """A small file system."""
    unshared()
    disk = place / "disk"
    disk.mkdir()
    mount(disk, f"size={DISK_BYTES}")
    return disk


def wait_until_dropping(live, process):
    """The disk and the pool are full: the header counts dropped events."""
    survive.wait_for(process, "anything is dropped", lambda: live.exists() and any(live.read_bytes()[DROPPED]))


def wait_until_it_goes_on(counts):
    def completed():
        return sum(a + f for a, f, _ in survive.published(counts))
    before = completed()
    harness.wait_until("the program goes on though the disk is full", lambda: completed() > before)


def disk(tools, args, place):
    where = mounted(place)
    try:
        process = start(tools, args, place, where / "run.dat", "cycle", lambda: None)
        wait_until_dropping(where / "run.dat.live", process)
        wait_until_it_goes_on(place / "counts")
        os.kill(survive.published(place / "counts")[0][2], signal.SIGKILL)
        wait(process, (128 + signal.SIGKILL,))
        counts = survive.published(place / "counts")
        completed = sum(a + f for a, f, _ in counts)
        database = harness.import_log(tools, where / "run.dat", place / "run.db", "--no-symbols")
    finally:
        subprocess.run(["umount", "--lazy", where], check=False)
    recorded = sum(database.rows("SELECT count(*), count(ended_by) FROM allocations WHERE size_bytes % 1000 = 777")[0])
    dropped = database.value("SELECT sum(events_dropped) FROM processes")
    if not dropped:
        raise Failure(f"a full disk and nothing dropped? {completed} calls, {recorded} recorded")
    print(f"{completed} completed calls, {recorded} recorded, {dropped} dropped and counted")
    if recorded < 100000:
        raise Failure("hardly anything of the time before the disk was full is there")
    # A free whose allocation was dropped is an event without a row to end; the reverse never happens.
    if recorded + dropped > completed + 1000 + 2 * args.threads:
        raise Failure("more was recorded and dropped than happened")
    return recorded


def main():
    parser = argparse.ArgumentParser(description="a recorded program runs out of something")
    parser.add_argument("what", choices=("memory", "address_space", "disk"))
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    tools = harness.Tools.from_environment()
    with harness.scratch() as place:
        total = {"memory": memory, "address_space": address_space, "disk": disk}[args.what](tools, args, Path(place))
    print(f"out of {args.what}, {args.threads} threads: {total} completed calls, none lost")


if __name__ == "__main__":
    harness.main(main)
