#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""core.py: mtrace-import --core finds in the kernel's core of a crashed program what held its blocks; a core that is cut, or of another run,
is ignored with one line."""

import os
import resource
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
import harness  # noqa: E402

STATES = {1001: "held", 2002: "held", 3003: "held", 4004: "lost", 5005: "lost_indirect"}
IMAGES = "SELECT count(*) FROM heap_images"


def crash(tools, folder, name):
    """Records the workload until it dies, and returns its log and its core."""
    place = folder / name
    place.mkdir()
    limit = resource.getrlimit(resource.RLIMIT_CORE)[1]
    subprocess.run([tools.record, "-q", "-o", place / "run.dat", "--", tools.workloads / "crash_holding"], cwd=place, env=harness.environment(),
                   preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (limit, limit)), stderr=subprocess.DEVNULL)
    cores = list(place.glob("core*"))
    if not cores:
        raise harness.Skip("the kernel wrote no core into the working directory (kernel.core_pattern, ulimit -c)")
    return place / "run.dat", cores[0]


def import_core(tools, log, core, target):
    """Returns what mtrace-import printed, and the database."""
    done = subprocess.run([tools.importer, "-f", "--core", core, log, target], env=harness.environment(), capture_output=True, text=True)
    if done.returncode:
        raise harness.Failure(f"the import of {core} failed: {done.stderr}")
    return done.stderr, harness.Database(target)


def check_states(tools, database, target):
    rows = database.rows("SELECT a.size_bytes, h.state, a.address FROM heap_image_blocks AS h JOIN allocations AS a USING (allocation_id)")
    found = {size: state for size, state, _ in rows if size in STATES}
    if found != STATES:
        raise harness.Failure(f"states are {found}")
    address = next(address for size, _, address in rows if size == 2002)
    path = subprocess.run([tools.query, "why", hex(address), target], env=harness.environment(), capture_output=True, text=True, check=True).stdout
    if "g_sessions" not in path:
        raise harness.Failure(f"the path to {address:#x} does not begin at g_sessions: {path}")


def check_refused(tools, log, core, target, expected):
    printed, database = import_core(tools, log, core, target)
    warnings = [line for line in printed.splitlines() if "warning" in line and expected in line]
    if len(warnings) != 1 or database.rows(IMAGES) != [(0,)]:
        raise harness.Failure(f"{core}: '{expected}' is missing: {printed}")
    if database.rows("SELECT count(*) FROM allocations WHERE size_bytes = 4004") != [(1,)]:
        raise harness.Failure(f"the import with {core} lost rows")


def check(tools, folder):
    if os.uname().machine not in ("x86_64", "aarch64"):
        raise harness.Skip(f"cores of {os.uname().machine} are not read")
    log, core = crash(tools, folder, "one")
    other_log, other_core = crash(tools, folder, "other")
    printed, database = import_core(tools, log, core, folder / "run.db")
    if "warning" in printed or database.rows(IMAGES) != [(1,)]:
        raise harness.Failure(f"the core was not read: {printed}")
    check_states(tools, database, folder / "run.db")

    cut = folder / "cut"
    cut.write_bytes(core.read_bytes()[:core.stat().st_size // 2])
    check_refused(tools, log, cut, folder / "cut.db", "is cut off")
    check_refused(tools, log, other_core, folder / "other.db", "which is not in the recording")
    check_refused(tools, log, other_log, folder / "log.db", "is no core")
    check_refused(tools, log, folder / "missing", folder / "missing.db", "No such file")


def test():
    with harness.scratch() as folder:
        check(harness.Tools.from_environment(), Path(folder))


if __name__ == "__main__":
    harness.main(test)
