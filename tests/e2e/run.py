#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""run.py MODE CASE: runs one workload untracked and recorded, and compares both with each other and with the database.

MODE is `record` (mtrace-record) or `preload` (libmtrace.so alone). CASE is a name of cases.py.
A workload prints `expect NAME VALUE` and `leak BYTES BLOCKS FUNCTION FILE LINE`; names and their SQL are in cases.py.
Environment: MTRACE_TEST_RECORD, _IMPORT, _QUERY, _COLLECTOR, _WORKLOADS; MTRACE_TEST_KEEP keeps the files.
"""

import os
import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))

import cases  # noqa: E402
import harness  # noqa: E402
from harness import Failure, Skip  # noqa: E402


def check_values(database, case, expected):
    """Compares each expectation that has SQL; returns how many were compared."""
    complaints, n_compared = [], 0
    dropped = database.value("SELECT coalesce(sum(events_dropped), 0) FROM processes")
    for name, value in {**expected, **case.expect}.items():
        sql = case.sql.get(name) or cases.sql_of(name)
        if sql is None or value is None:
            continue
        n_compared += 1
        got = database.value(sql)
        if case.may_drop and dropped and name in cases.LOWERED_BY_DROPS and got is not None and 0 < got < value:
            continue
        if got != value:
            complaints.append(f"{name}: the workload prints {value}, the database {got}")
    if complaints:
        raise Failure("\n".join(complaints))
    return n_compared


def same_function(planted, shown):
    """A lambda is called operator() by its debug info; a C function has no parameters in its name."""
    return planted == shown or planted.split("(")[0] == shown or planted.split("}::")[-1].startswith(f"{shown}(")


def check_leaks(database, leaks):
    """The leaks view shows the planted leaks, all of them, and nothing else that no rule suppresses."""
    wanted = [(b, n, f.replace(" ", ""), file, line) for b, n, f, file, line in leaks]
    extra = []
    for b, n, f, source, line in database.rows("SELECT leaked_bytes, leaked_blocks, function, source, line FROM leaks "
                                               "WHERE suppressed_by IS NULL"):
        row = (b, n, (f or "?").replace(" ", ""), os.path.basename(source or "?"), line)
        match = [w for w in wanted if w[:2] == row[:2] and w[3:] == row[3:] and same_function(w[2], row[2])]
        if match:
            wanted.remove(match[0])
        else:
            extra.append(row)
    if wanted or extra:
        raise Failure("the leaks view differs from what was planted\n  missing: " + "\n           ".join(map(str, wanted))
                      + "\n  extra:   " + "\n           ".join(map(str, extra)))


def check_health(database, case):
    """Events were recorded, none was dropped, and the importer found no anomalies."""
    events = database.value("SELECT coalesce(sum(events), 0) FROM processes")
    if events < case.least_events:
        raise Failure(f"only {events} events were recorded")
    dropped = database.value("SELECT coalesce(sum(events_dropped), 0) FROM processes")
    if dropped and not case.may_drop:
        raise Failure(f"{dropped} events were dropped")
    odd = [(key, value) for key, value in database.rows("SELECT key, value FROM meta WHERE key GLOB 'anomaly.*'")
           if value and key not in case.anomalies]
    if odd and not dropped:
        raise Failure(f"the importer counted anomalies: {odd}")


def check_end(database, case, mode):
    wanted = case.end if mode == "record" else case.end_without_recorder or case.end
    got = database.rows("SELECT end_kind, end_value FROM processes ORDER BY process_id LIMIT 1")[0]
    if wanted is not None and got != wanted:
        raise Failure(f"the process ended as {wanted}, the database says {got}")


def run_case(tools, mode, name, place):
    case = cases.CASES[name]
    argv = [tools.workloads / case.argv[0], *[arg.replace("@", str(tools.workloads)) for arg in case.argv[1:]]]
    log = place / "logs" / "run.dat"
    for folder in ("logs", "untracked", "recorded"):
        (place / folder).mkdir()
    untracked = harness.run(argv, place / "untracked", case.own_env())
    if untracked.status == 77:
        raise Skip(untracked.stderr.decode().strip())
    for file in case.leaves:
        (place / "untracked" / file).unlink()
    recorded_argv, env = harness.record_argv(tools, mode, log, argv, case.options)
    recorded = harness.run(recorded_argv, place / "recorded", {**env, **case.env})
    for file in case.leaves:
        (place / "recorded" / file).unlink()
        recorded.files.pop(file), untracked.files.pop(file)
    harness.check_unchanged(untracked, recorded)
    if not log.exists():
        raise Failure(f"no log was written; stderr: {recorded.stderr.decode(errors='replace')}")
    leftovers = [p.name for p in (place / "logs").iterdir() if p.name.endswith(".live")]
    if leftovers and mode == "record":
        raise Failure(f"the pool is left behind: {leftovers}")
    database = harness.import_log(tools, log, place / "run.db")
    expected, leaks = harness.workload_output(recorded.stdout.decode())
    check_health(database, case)
    n_compared = check_values(database, case, expected)
    if leaks:
        check_leaks(database, leaks)
    check_end(database, case, mode)
    print(f"{name} ({mode}): {database.value('SELECT sum(events) FROM processes')} events, {n_compared} totals and "
          f"{len(leaks)} planted leaks agree")


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in ("record", "preload") or sys.argv[2] not in cases.CASES:
        sys.exit(__doc__)
    keep = os.environ.get("MTRACE_TEST_KEEP")
    with harness.scratch() as place:
        try:
            run_case(harness.Tools.from_environment(), sys.argv[1], sys.argv[2], Path(place))
        finally:
            if keep:
                shutil.copytree(place, keep, dirs_exist_ok=True)


harness.main(main)
