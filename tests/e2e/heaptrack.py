#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""heaptrack.py raw|interpreted|text WORKLOAD: a recording of heaptrack, imported, says what heaptrack_print says of it.

`text` reads the hand-made recordings of every format version in tests/fuzz/corpus/heaptrack instead.
Environment: MTRACE_TEST_IMPORT, _WORKLOADS.
"""

import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

CORPUS = Path(__file__).resolve().parent.parent / "fuzz" / "corpus" / "heaptrack"
SKIPPED = 77
TOTALS = """SELECT count(*), sum(CASE WHEN is_leaked THEN size_bytes ELSE 0 END),
  (SELECT peak_bytes FROM processes), (SELECT value FROM meta WHERE key = 'pairing') FROM allocations"""
# Allocations, leaked bytes, peak, pairing; by hand from the text.
TEXTS = {
    "raw3": (6, 16 + 24 + 8 + 8, 56, "address"),
    "v3": (6, 32 + 8 + 8, 64, "size_and_stack"),
    "v2": (6, 32 + 8 + 8, 64, "size_and_stack"),
    "v1": (6, 32 + 8 + 8, 64, "size_and_stack"),
    "v3.gz": (12, 32 + 8 + 8, 64, "size_and_stack"),
    "v0": (3, 32 + 16, 48, "address"),
}


def import_file(recording, folder):
    database = folder / "run.db"
    done = subprocess.run([os.environ["MTRACE_TEST_IMPORT"], "-f", "-o", database, recording], stderr=subprocess.PIPE,
                          text=True, check=False)
    if done.returncode:
        sys.exit(f"mtrace-import {recording}: {done.stderr}")
    return sqlite3.connect(database), done.stderr


def expect(what, got, wanted):
    if got != wanted:
        sys.exit(f"{what}: {got}, but {wanted} is right")


def check_texts(folder):
    for name, wanted in TEXTS.items():
        if name == "v3.gz":
            continue  # two members are one text, in which numbers go on: see below
        db, said = import_file(CORPUS / name, folder)
        expect(name, db.execute(TOTALS).fetchone(), wanted)
        expect(f"{name}: threads, kinds, usable sizes",
               db.execute("SELECT count(kind), count(usable_bytes), count(free_backtrace_id) FROM allocations").fetchone(),
               (0, 0, 0))
        expect(f"{name}: memory", db.execute("SELECT rss_bytes, anonymous_bytes FROM memory_samples").fetchone(), (0x10000, None))
        expect(f"{name}: warned", "warning" in said, False)
        if name in ("v1", "v2", "v3"):
            expect(f"{name}: lines", db.execute(
                "SELECT function, source, line, module FROM stack_frames WHERE backtrace_id ="
                " (SELECT max(backtrace_id) FROM allocations WHERE size_bytes = 16) ORDER BY frame, inline_level").fetchall(),
                [("inner", "a.c", 5, "/bin/pro"), ("main", "a.c", 8, "/bin/pro"), ("main", "a.c", 7, "/bin/pro")])
            expect(f"{name}: addresses", db.execute("SELECT count(address) FROM allocations").fetchone(), (0,))
    db, _ = import_file(CORPUS / "raw3", folder)
    expect("arguments", db.execute("SELECT command_line FROM processes").fetchone(),
           ('["prog","a\\u000a+","0\\u000afoo"]',))
    expect("offsets", db.execute("SELECT group_concat(object_offset) FROM (SELECT object_offset FROM frames WHERE object_id ORDER BY 1)")
           .fetchone(), (f"{0x101},{0x201}",))
    db, said = import_file(CORPUS / "bad", folder)
    expect("damage: cut, lines, stacks", said.count("warning:"), 3)
    expect("damage: first line", "line 2 makes no sense" in said, True)


def printed(recording):
    text = subprocess.run(["heaptrack_print", "-f", recording, "--disable-builtin-suppressions"], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True, check=False).stdout
    return int(re.search(r"calls to allocation functions: (\d+)", text)[1]), text


def bytes_of(text, what):
    number, unit = re.search(what + r": ([\d.]+)([KMG]?)B?", text).groups()
    scale = {"": 1, "K": 1000, "M": 1000**2, "G": 1000**3}[unit]
    return float(number) * scale, scale / 100


def record(options, workload, folder):
    program = Path(os.environ["MTRACE_TEST_WORKLOADS"]) / workload
    subprocess.run(["heaptrack", *options, "-o", folder / "run", program], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                   check=False, cwd=folder)
    found = sorted(folder.glob("run*.zst")) + sorted(folder.glob("run*.gz"))
    if not found:
        sys.exit("heaptrack wrote nothing")
    return found[0]


def interpret(raw, folder):
    """heaptrack's own interpretation of a raw recording; None where its tool is not to be found."""
    tools = [path for pattern in ("lib/*/heaptrack/libexec", "lib/heaptrack/libexec") for path in Path("/usr").glob(pattern)]
    if not tools:
        return None
    text = subprocess.run(["zstdcat" if raw.suffix == ".zst" else "zcat", raw], stdout=subprocess.PIPE, check=True).stdout
    done = subprocess.run([tools[0] / "heaptrack_interpret"], input=text, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
    (folder / "interpreted").write_bytes(done.stdout)
    return folder / "interpreted"


def check_recording(how, workload, folder):
    recording = record(["--raw"] if how == "raw" else [], workload, folder)
    db, said = import_file(recording, folder)
    theirs = interpret(recording, folder) if how == "raw" else recording
    if theirs is None:
        print("heaptrack_interpret is not installed")
        sys.exit(SKIPPED)
    calls, text = printed(theirs)
    got = db.execute(TOTALS).fetchone()
    expect("warnings", "warning" in said, False)
    expect("allocations", got[0], calls)
    expect("pairing", got[3], "address" if how == "raw" else "size_and_stack")
    for what, value in (("total memory leaked", got[1]), ("peak heap memory consumption", got[2])):
        wanted, tolerance = bytes_of(text, what)
        if abs(value - wanted) > tolerance:
            sys.exit(f"{what}: {value}, but heaptrack says {wanted}")
    check_functions(db, text)


def check_functions(db, text):
    """The function that heaptrack ranks first by calls has as many calls here."""
    ranking = text.split("MOST CALLS TO ALLOCATION FUNCTIONS")[1].split("PEAK MEMORY")[0]
    calls, function = re.search(r"\n(\d+) calls to allocation functions.*? from\n(\S+)\n", ranking, re.S).groups()
    got = db.execute(
        "SELECT max(t.total_allocated_blocks) FROM function_totals t JOIN functions f USING (function_id)"
        " WHERE f.name = ? OR f.name LIKE ? || '(%'", (function, function.split("(")[0])).fetchone()[0]
    if got is None or got < int(calls):
        sys.exit(f"{function}: {got} allocations, but heaptrack says {calls}")


def main():
    how = sys.argv[1]
    with tempfile.TemporaryDirectory() as place:
        if how == "text":
            check_texts(Path(place))
        elif not (shutil.which("heaptrack") and shutil.which("heaptrack_print")):
            print("heaptrack is not installed")
            sys.exit(SKIPPED)
        else:
            check_recording(how, sys.argv[2], Path(place))


if __name__ == "__main__":
    main()
