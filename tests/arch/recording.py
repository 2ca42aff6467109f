#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""recording CASE --emulator=QEMU --collector=LIBRARY --workloads=FOLDER --native=BUILD --source=FOLDER --arch=NAME: a program of another
processor is recorded under qemu-user, its log is imported by the native mtrace-import, and the database is compared with
the same program natively (totals), with its source (names), with libunwind's stacks (oracle), or with itself built otherwise."""

import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

from foreign import skip, parse_options

HWCAP_PACA = 1 << 30
C_WITHOUT_CFI = {"mips64el"}  # Debian's C library among it


def run(argv, env, folder):
    done = subprocess.run(list(map(str, argv)), env=env, cwd=folder, capture_output=True, text=True, timeout=240)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, argv))}: status {done.returncode}\n{done.stdout}{done.stderr}")


def imported(options, log, folder, *more):
    database = log.with_suffix(".db")
    run([options.native / "bin/mtrace-import", log, "-o", database, *more], os.environ, folder)
    return sqlite3.connect(database)


def environment():
    return {key: os.environ[key] for key in ("PATH", "QEMU_LD_PREFIX", "LD_LIBRARY_PATH") if key in os.environ}


def recorded(options, name, folder, cpu=None, page_bytes=None, **settings):
    """A database of the workload as the other processor ran it."""
    log = folder / f"{name}.{options.arch}.{page_bytes}.dat"
    settings = {"LD_PRELOAD": options.collector, "MTRACE_OUTPUT": log, **settings}
    if not options.emulator:
        run([options.workloads / name], {**environment(), **{key: str(value) for key, value in settings.items()}}, folder)
        return imported(options, log, folder)
    run([options.emulator, *(["-cpu", cpu] if cpu else []), *(["-p", page_bytes] if page_bytes else []), *(word for key, value in settings.items() for word in ("-E", f"{key}={value}")), options.workloads / name],
        environment(), folder)
    return imported(options, log, folder)


def recorded_natively(options, source, folder):
    program, log = folder / f"{source.stem}.native", folder / f"{source.stem}.native.dat"
    run(["cc", "-g", "-O1", "-fno-builtin", "-fno-optimize-sibling-calls", "-w", source, "-o", program], os.environ, folder)
    run([program], {"LD_PRELOAD": str(options.native / "lib/mtrace/libmtrace.so"), "MTRACE_OUTPUT": str(log)}, folder)
    return imported(options, log, folder)


def rows(database, sql):
    return database.execute(sql).fetchall()


def expect_equal(what, here, there):
    if here != there or not here:
        sys.exit(f"{what}: {there} there, {here} natively")


def totals(options, folder):
    here = recorded_natively(options, options.source / "same_everywhere.c", folder)
    there = recorded(options, "same_everywhere", folder)
    for what, sql in {
            "allocations by function and size": """SELECT top.function, a.kind, a.size_bytes, count(*), sum(a.free_ns IS NULL)
                FROM allocations a JOIN stack_frames top USING (backtrace_id) WHERE top.frame = 0 AND top.function IN ('make', 'grow')
                GROUP BY 1, 2, 3 ORDER BY 1, 2, 3""",
            "peak": "SELECT value FROM summary WHERE name = 'peak_blocks'",
            "depths": "SELECT n, count(*) FROM (SELECT backtrace_id, count(*) n FROM stack_frames WHERE function = 'replace' GROUP BY 1) GROUP BY 1",
    }.items():
        expect_equal(what, rows(here, sql), rows(there, sql))
    (machine,) = rows(there, "SELECT value FROM meta WHERE key = 'arch'")
    expect_equal("machine", options.arch, machine[0])


def numbers(options, folder):
    """Flags of mmap and errors have the same numbers in the database, whatever numbers the processor has for them."""
    here = recorded_natively(options, options.source / "numbers.c", folder)
    there = recorded(options, "numbers", folder)
    for what, sql in {
            "flags": "SELECT prot, flags FROM mmaps WHERE length = 0x770000 ORDER BY mmap_id",
            "errors": "SELECT DISTINCT errno FROM allocation_failures",
    }.items():
        expect_equal(what, rows(here, sql), rows(there, sql))


def recorder(options, folder):
    """mtrace-record of the processor packs the log. A program of it is started by the kernel as a script of qemu-user's."""
    script, log = folder / "script", folder / "recorder.dat"
    script.write_text(f"#!{options.emulator} {options.workloads / 'same_everywhere'}\n")
    script.chmod(0o755)
    run([options.emulator, options.recorder, "-o", log, script], os.environ, folder)
    packed, raw = imported(options, log, folder), recorded(options, "same_everywhere", folder)
    expect_equal("stacks", stacks(raw, "complete"), stacks(packed, "complete"))


def attach(options, folder):
    """Remote calls are implemented for x86-64 only: on other processors --attach fails with one line, and nothing is written."""
    log = folder / "attach.dat"
    done = subprocess.run([options.emulator, options.recorder, "--attach", str(os.getpid()), "-o", log], env=environment(), capture_output=True, text=True)
    expected = f"mtrace-record: process {os.getpid()} cannot be attached to on this processor: start it under mtrace-record\n"
    if (done.returncode, done.stderr) != (2, expected) or log.exists():
        sys.exit(f"status {done.returncode}: {done.stderr}")


def widths(options, folder):
    """mtrace-record of this machine takes the collector of the program, and what it executes is recorded, whatever its width."""
    for libraries, build in ("lib/mtrace", options.native), ("lib/i386-linux-gnu/mtrace", options.collector.parents[2]):
        (folder / libraries).mkdir(parents=True)
        shutil.copy(build / "lib/mtrace/libmtrace.so", folder / libraries)
    (folder / "bin").mkdir()
    shutil.copy(options.native / "bin/mtrace-record", folder / "bin")
    there, here = options.workloads / "goes_on", folder / "goes_on"
    run(["cc", "-g", "-O1", options.source / "goes_on.c", "-o", here], os.environ, folder)
    log = folder / "widths.dat"
    done = subprocess.run([folder / "bin/mtrace-record", "-o", log, there, here, there, here], cwd=folder, capture_output=True, text=True,
                          env={"PATH": os.environ["PATH"]})
    if done.returncode or "ERROR" in done.stderr:
        sys.exit(f"status {done.returncode}\n{done.stderr}")
    found = rows(imported(options, log, folder), "SELECT count(*), count(DISTINCT process_id) FROM allocations WHERE size_bytes = 1777")
    expect_equal("blocks and images", [(4, 4)], found)
    (folder / "lib/i386-linux-gnu/mtrace/libmtrace.so").unlink()
    done = subprocess.run([folder / "bin/mtrace-record", "-o", folder / "none.dat", there], cwd=folder, capture_output=True, text=True)
    if "mtrace-collector-i386: lib/i386-linux-gnu/mtrace/libmtrace.so" not in done.stderr:
        sys.exit(f"nothing says which collector is missing:\n{done.stderr}")


def names(options, folder):
    database = recorded(options, "same_everywhere", folder)
    lines = (options.source / "same_everywhere.c").read_text().splitlines()
    wanted = 1 + next(n for n, line in enumerate(lines) if "= malloc(" in line)
    found = rows(database, "SELECT DISTINCT function, source, line FROM stack_frames WHERE frame = 0 AND function = 'make'")
    expect_equal("the line of malloc", [("make", str(options.source / "same_everywhere.c"), wanted)], found)


def check_ends(name, database):
    """Every stack, guessed or not, reaches code without a caller: where programs and (without a name) threads begin."""
    ends = rows(database, """SELECT t.status, coalesce(f.function, f.module), count(*) FROM stack_texts t JOIN allocations USING (backtrace_id) JOIN stack_frames f USING (backtrace_id)
        WHERE f.frame = (SELECT max(frame) FROM stack_frames o WHERE o.backtrace_id = f.backtrace_id) GROUP BY 1, 2""")
    print(f"{name}: {ends}")
    if not all(status in ("complete", "guessed") and function in ("__start", "/lib/mips64el-linux-gnuabi64/libc.so.6") for status, function, _ in ends):
        sys.exit(f"{name}: stacks end elsewhere")


def oracle(options, folder):
    """Each stack, as soon as it is taken, is compared with libunwind's of the same processor."""
    interrupted = "interrupted.later" if (options.workloads / "interrupted.later").exists() else "interrupted"
    # Functions of RISC-V's C library have no CFI: there stacks end, and those of all threads do. Of ARM's some have no table.
    is_cut = options.arch in ("riscv64", "arm")
    without = {"riscv64": ["threads"], "arm": [interrupted]}.get(options.arch, [])
    # On ARM libunwind does not know the code to which handlers of Debian's libc return (the case stacks compares that with the native ones), and
    # spends most of its time looking for .debug_frame at each step, unless told to use tables only: 4.
    method = {"UNW_ARM_UNWIND_METHOD": 4} if options.arch == "arm" else {}
    for name in "same_everywhere", interrupted, "leak_c", "threads", "alignments", "realloc_edges":
        if name in without:
            continue
        database = recorded(options, name, folder, MTRACE_UNWINDER="check", **method)
        meta = dict(rows(database, "SELECT key, value FROM meta"))
        print(f"{name}: {meta['unwinder.checked']} stacks compared, {meta['unwinder.mismatches']} differ")
        if int(meta["unwinder.checked"]) == 0 or int(meta["unwinder.mismatches"]) != 0:
            sys.exit("\n".join(value for key, value in meta.items() if key.startswith("message")))
        share = rows(database, "SELECT value FROM summary WHERE name = 'complete_share'")
        if options.arch in C_WITHOUT_CFI:
            check_ends(name, database)
        elif not is_cut or share[0][0] < 0.9:
            expect_equal(f"{name}: complete stacks", [(1.0,)], share)


def stacks(database, status):
    """Functions and lines of the workload alone on each stack, and how much was allocated there."""
    found = rows(database, """SELECT group_concat(function || ':' || line, ' < '), n FROM (SELECT f.backtrace_id, f.function, f.line, n FROM stack_frames f
        JOIN (SELECT backtrace_id, count(*) n FROM allocations GROUP BY 1) USING (backtrace_id) WHERE f.source LIKE '%/tests/arch/%' AND f.line > 0
        ORDER BY f.backtrace_id, f.frame) GROUP BY backtrace_id ORDER BY 1, 2""")
    statuses = rows(database, "SELECT DISTINCT status FROM stack_texts JOIN allocations USING (backtrace_id)")
    if statuses != [(status,)]:
        sys.exit(f"stacks are {statuses}, not {status}")
    return found


def stacks_of(options, folder):
    """The same functions and lines as natively, handlers and what they interrupt among them."""
    for name in "same_everywhere", "interrupted":
        here = recorded_natively(options, options.source / f"{name}.c", folder)
        there = recorded(options, name, folder)
        expect_equal(f"{name}: stacks", stacks(here, "complete"), stacks(there, "complete"))


def signed(options, folder):
    """Return addresses with pointer authentication: the same stacks as without."""
    shown = subprocess.run([options.emulator, "-cpu", "max", "-E", "LD_SHOW_AUXV=1", options.workloads / "same_everywhere.signed"],
                           capture_output=True, text=True, check=True).stdout
    if not int(re.search(r"AT_HWCAP: +(?:0x)?([0-9a-f]+)", shown)[1], 16) & HWCAP_PACA:
        skip("this qemu-user has no pointer authentication")
    for name in "same_everywhere", "interrupted":
        plain = recorded(options, name, folder)
        here = recorded(options, f"{name}.signed", folder, cpu="max")
        expect_equal(f"{name}: stacks", stacks(plain, "complete"), stacks(here, "complete"))


def without_cfi(options, folder):
    """Only frame records lead outwards: the same functions and lines, marked as guessed."""
    plain = recorded(options, "same_everywhere", folder)
    guessed = recorded(options, "same_everywhere.without_cfi", folder)
    expect_equal("stacks", stacks(plain, "complete"), stacks(guessed, "guessed"))


def pages(options, folder):
    """If pages are larger than the header of a log, the rest of the log is mapped from within a page."""
    sql = "SELECT kind, size_bytes, free_ns IS NULL, count(*) FROM allocations GROUP BY 1, 2, 3 ORDER BY 1, 2, 3"
    # Linux has pages of 4, 16 and 64 KiB. qemu-user after version 8 uses the size of the real ones.
    for page_bytes in 4096, 16384, 65536:
        shown = subprocess.run([options.emulator, "-p", str(page_bytes), "-E", "LD_SHOW_AUXV=1", options.workloads / "threads"],
                               capture_output=True, text=True, check=True).stdout
        if not re.search(rf"AT_PAGESZ: +{page_bytes}\b", shown):
            skip(f"this qemu-user has no pages of {page_bytes} bytes")
        database = recorded(options, "threads", folder, page_bytes=page_bytes)
        meta = dict(rows(database, "SELECT key, CAST(value AS TEXT) FROM meta"))
        expect_equal("size of a page", str(page_bytes), meta["page_size"])
        expect_equal("events dropped", "0", meta["events.dropped"])
        found = rows(database, sql)
        expected = found if page_bytes == 4096 else expected
        expect_equal(f"allocations with pages of {page_bytes} bytes", expected, found)


def main():
    options = parse_options(["totals", "numbers", "names", "stacks", "oracle", "signed", "without_cfi", "recorder", "attach", "pages", "widths"],
                   names=["arch"], paths=["collector", "recorder", "workloads", "native", "source"])
    case = {"stacks": stacks_of}.get(options.case, globals()[options.case])
    with tempfile.TemporaryDirectory() as folder:
        case(options, Path(folder))


if __name__ == "__main__":
    main()
