# SPDX-License-Identifier: MIT
"""Shared by the end-to-end tests: runs a program untracked and recorded, imports, and queries the database."""

import hashlib
import os
import re
import resource
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path


class Failure(Exception):
    """The test failed; the text says how."""


class Skip(Exception):
    """The test cannot run here; the text has the reason."""


@dataclass
class Tools:
    """The build's files; see the add_test lines."""
    record: str = ""
    importer: str = ""
    query: str = ""
    collector: str = ""
    workloads: Path = Path(".")

    @classmethod
    def from_environment(cls):
        get = os.environ.get
        return cls(get("MTRACE_TEST_RECORD", ""), get("MTRACE_TEST_IMPORT", ""), get("MTRACE_TEST_QUERY", ""),
                   get("MTRACE_TEST_COLLECTOR", ""), Path(get("MTRACE_TEST_WORKLOADS", ".")))


@dataclass
class Outcome:
    """What an observer sees of a run."""
    status: int  # exit status; -N when signal N ended it, 128+N when a parent passed that on
    stdout: bytes
    stderr: bytes
    files: dict = field(default_factory=dict)  # name below the working directory -> digest


def environment(extra=None):
    """A small environment that does not depend on the caller's."""
    env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/nonexistent", "LC_ALL": "C.UTF-8", "TZ": "UTC",
           "PYTHONHASHSEED": "0", "PERL_HASH_SEED": "0", "GIT_CONFIG_NOSYSTEM": "1", "DEBUGINFOD_URLS": ""}
    for name in ("TMPDIR", "ASAN_OPTIONS", "UBSAN_OPTIONS"):
        if name in os.environ:
            env[name] = os.environ[name]
    return {**env, **(extra or {})}


def _limits():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)


def digest_files(directory):
    found = {}
    for path in sorted(Path(directory).rglob("*")):
        name = str(path.relative_to(directory))
        found[name] = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() and not path.is_symlink() else "-"
    return found


def run(argv, cwd, env=None, stdin=b"", timeout=400):
    """Runs a program to its end; a program that hangs is killed and is a failure."""
    process = subprocess.Popen([str(arg) for arg in argv], cwd=cwd, env=environment(env), stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=_limits,
                               start_new_session=True)
    try:
        stdout, stderr = process.communicate(stdin, timeout=timeout)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        stdout, stderr = process.communicate()
        raise Failure(f"{argv} did not end within {timeout} s\n{stdout.decode(errors='replace')}"
                      f"{stderr.decode(errors='replace')}") from None
    return Outcome(process.returncode, stdout, stderr, digest_files(cwd))


def same_status(untracked, tracked):
    """mtrace-record passes on a signal as 128 + N, as a shell does."""
    return tracked == untracked or (untracked < 0 and tracked == 128 - untracked)


def without_our_lines(stderr):
    """stderr of the program: mtrace-record's own lines begin with its name."""
    return b"".join(line for line in stderr.splitlines(keepends=True) if not line.startswith(b"mtrace"))


def check_unchanged(untracked, tracked):
    """An observer sees no difference between runs with and without recording."""
    if not same_status(untracked.status, tracked.status):
        raise Failure(f"exit status {tracked.status}, untracked {untracked.status}\n"
                      + tracked.stderr.decode(errors="replace"))
    for name, before, after in (("stdout", untracked.stdout, tracked.stdout),
                                ("stderr", untracked.stderr, without_our_lines(tracked.stderr))):
        if before != after:
            raise Failure(f"{name} changed; untracked:\n{before[-3000:].decode(errors='replace')}\n"
                          f"recorded:\n{after[-3000:].decode(errors='replace')}")
    if untracked.files != tracked.files:
        changed = {name for name in untracked.files.keys() | tracked.files.keys()
                   if untracked.files.get(name) != tracked.files.get(name)}
        raise Failure(f"the working directory differs in {sorted(changed)}")


class Database:
    """An imported recording."""

    def __init__(self, path):
        self.connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)

    def rows(self, sql, **parameters):
        return self.connection.execute(sql, parameters).fetchall()

    def value(self, sql, **parameters):
        return self.rows(sql, **parameters)[0][0]


def import_log(tools, log, target, *options):
    """Imports and returns the database; the importer's output is part of any failure message."""
    outcome = subprocess.run([tools.importer, *options, str(log), str(target)], capture_output=True, env=environment(),
                             text=True, errors="replace", timeout=300, stdin=subprocess.DEVNULL)
    if outcome.returncode != 0:
        raise Failure(f"mtrace-import ended with {outcome.returncode}: {outcome.stderr}{outcome.stdout}")
    return Database(target)


def workload_output(stdout):
    """The expectations and planted leaks that a workload printed."""
    expected, leaks = {}, []
    for line in stdout.splitlines():
        words = line.split()
        if words[:1] == ["expect"]:
            expected[words[1]] = int(words[2])
        elif words[:1] == ["leak"]:
            leaks.append((int(words[1]), int(words[2]), words[3], words[4], int(words[5])))
    return expected, leaks


def record_argv(tools, mode, log, argv, options=()):
    """The command and environment that record argv: `record` by mtrace-record, `preload` by the library alone."""
    if mode == "record":
        return [tools.record, *options, "-o", log, "--", *argv], {}
    return list(argv), {"LD_PRELOAD": tools.collector, "MTRACE_OUTPUT": str(log)}


def record_database(tools, folder, name, program, options=(), env=None):
    """The database of a program, whatever its exit status; its log lies beside it."""
    argv, ours = record_argv(tools, "record", folder / f"{name}.dat", program, options)
    outcome = run(argv, folder, {**ours, **(env or {})})
    if not (folder / f"{name}.dat").exists():
        raise Failure(f"{program} was not recorded: exit status {outcome.status}, {outcome.stderr.decode(errors='replace')}")
    import_log(tools, folder / f"{name}.dat", folder / f"{name}.db")
    return folder / f"{name}.db"


# Blocks that the C and C++ runtimes free only when asked to stay in use, as they do without valgrind.
VALGRIND = ["valgrind", "--run-libc-freeres=no", "--run-cxx-freeres=no", "--num-callers=2"]


def valgrind_totals(argv, place, env):
    """memcheck's counts for argv; a realloc is one free and one allocation."""
    log = place.parent / "valgrind.log"
    output = subprocess.run([*VALGRIND, f"--log-file={log}", *map(str, argv)], cwd=place, env=environment(env), capture_output=True, text=True,
                          errors="replace", timeout=600)
    text = log.read_text(errors="replace")
    total = re.search(r"total heap usage: ([\d,]+) allocs, ([\d,]+) frees, ([\d,]+) bytes", text)
    in_use = re.search(r"in use at exit: ([\d,]+) bytes in ([\d,]+) blocks", text)
    if total is None or in_use is None:
        raise Failure(f"valgrind printed nothing about the heap: {text[-500:]}{output.stderr[-500:]}")
    allocations, frees, allocated = (int(n.replace(",", "")) for n in total.groups())
    return {"allocations": allocations, "frees": frees, "allocated_bytes": allocated,
            "leaked_bytes": int(in_use.group(1).replace(",", ""))}


def heaptrack_totals(argv, place, env):
    """heaptrack's counts for argv."""
    def run(*command, env=None):
        return subprocess.run([str(word) for word in command], cwd=place, env=environment(env), stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, errors="replace", timeout=600)
    output = run("heaptrack", "-o", place.parent / "heaptrack", *argv, env=env)
    found = sorted(place.parent.glob("heaptrack.*"))
    if not found:
        raise Failure(f"heaptrack wrote nothing: {output.stdout[-500:]}{output.stderr[-500:]}")
    text = run("heaptrack_print", "-f", found[0]).stdout
    calls = re.search(r"calls to allocation functions: (\d+)", text)
    if calls is None:
        raise Failure(f"heaptrack_print said nothing of the calls: {text[-500:]}")
    return {"allocations": int(calls.group(1))}


def expect(what, found, wanted):
    if found != wanted:
        raise Failure(f"{what}: {found!r}, but {wanted!r} was expected"[:2000])


def ask(tools, *words):
    """What mtrace-query prints."""
    run = subprocess.run([tools.query, *map(str, words)], capture_output=True, text=True, env=environment(), timeout=300)
    if run.returncode:
        raise Failure(f"mtrace-query {words} ended with {run.returncode}: {run.stderr}")
    return run.stdout


def wait_until(what, is_true, patience=120):
    """`patience`: seconds until a missing event counts as a failure."""
    end = time.monotonic() + patience
    while not is_true():
        if time.monotonic() > end:
            raise Failure(f"waited {patience} s: {what}")
        time.sleep(0.02)


def state_of(pid):
    """The letter of proc_pid_stat(5); X: there is no such process."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return "X"


def fill_disk(folder):
    """Fills the file system to the last byte, by a file `filler`."""
    with open(folder / "filler", "wb", buffering=0) as filler:
        for piece in (bytes(65536), b"x"):
            try:
                while True:
                    filler.write(piece)
            except OSError:
                pass


def scratch():
    return tempfile.TemporaryDirectory(prefix="mtrace-e2e.")


def main(test):
    """Runs test() and turns what it raises into an exit status and a line."""
    try:
        test()
    except Skip as why:
        print(f"skipped: {why}")
        sys.exit(77)
    except Failure as how:
        print(f"FAILED: {how}")
        sys.exit(1)
    print("passed")


def main_of_parts(parts, usage):
    """The part that the only argument names, with the tools and a scratch directory."""
    def test():
        with scratch() as place:
            parts[sys.argv[1]](Tools.from_environment(), Path(place))

    if len(sys.argv) != 2 or sys.argv[1] not in parts:
        sys.exit(usage)
    main(test)
