#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""heaptrack.py raw|interpreted PROGRAM | rules | text: an imported recording of heaptrack has the numbers that heaptrack's tools print.

PROGRAM is a workload, python3 or sqlite3. `rules` looks at a program's own suppressions, at stacks deeper than heaptrack
keeps, and at the notes; `text` reads the hand-made recordings of every format version in tests/fuzz/corpus/heaptrack.
Environment: MTRACE_TEST_IMPORT, _QUERY, _WORKLOADS.
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
# Blocks whose free is the very next event, as heaptrack_interpret counts them. Times differ by 1 ns at least.
NEXT_FREED = """WITH events(at_ns, id) AS (SELECT alloc_ns, allocation_id FROM allocations
                   UNION ALL SELECT free_ns, -allocation_id FROM allocations WHERE free_ns IS NOT NULL)
  SELECT count(*) FROM (SELECT id, lag(id) OVER (ORDER BY at_ns) AS before FROM events) WHERE id = -before AND id < 0"""
PROGRAMS = {
    "python3": [sys.executable, "-c", "import json; [json.loads(json.dumps({str(k): [k] * 3 for k in range(50)})) for i in range(300)]"],
    "sqlite3": ["sqlite3", ":memory:", "CREATE TABLE t(a, b); WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)"
                " INSERT INTO t SELECT i, hex(randomblob(40)) FROM n; SELECT count(*), max(b) FROM t; SELECT b FROM t ORDER BY b LIMIT 1;"],
}
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
        db, output = import_file(CORPUS / name, folder)
        expect(name, db.execute(TOTALS).fetchone(), wanted)
        expect(f"{name}: threads, kinds, usable sizes",
               db.execute("SELECT count(kind), count(usable_bytes), count(free_backtrace_id) FROM allocations").fetchone(),
               (0, 0, 0))
        expect(f"{name}: memory", db.execute("SELECT rss_bytes, anonymous_bytes FROM memory_samples").fetchone(), (0x10000, None))
        expect(f"{name}: warned", "warning" in output, False)
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
    db, output = import_file(CORPUS / "bad", folder)
    expect("damage: cut, lines, stacks", output.count("warning:"), 3)
    expect("damage: first line", "line 2 makes no sense" in output, True)


def printed(recording):
    text = subprocess.run(["heaptrack_print", "-f", recording, "--disable-builtin-suppressions", "--shorten-templates=0"], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True, check=False).stdout
    return int(re.search(r"calls to allocation functions: (\d+)", text)[1]), text


def bytes_of(text, what):
    number, unit = re.search(what + r": ([\d.]+)([KMG]?)B?", text).groups()
    scale = {"": 1, "K": 1000, "M": 1000**2, "G": 1000**3}[unit]
    return float(number) * scale, scale / 100


def record(options, workload, folder):
    argv = PROGRAMS.get(workload) or [Path(os.environ["MTRACE_TEST_WORKLOADS"]) / workload]
    if not shutil.which(argv[0]):
        print(f"{argv[0]} is not installed")
        sys.exit(SKIPPED)
    subprocess.run(["heaptrack", *options, "-o", folder / "run", *argv], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                   check=False, cwd=folder, env={**os.environ, "PYTHONMALLOC": "malloc"})
    found = sorted(folder.glob("run*.zst")) + sorted(folder.glob("run*.gz"))
    if not found:
        sys.exit("heaptrack wrote nothing")
    return found[0]


def interpret(raw, folder):
    """heaptrack's own interpretation of a raw recording, and its count of temporary blocks; None without its tool."""
    tools = [path for pattern in ("lib/*/heaptrack/libexec", "lib/heaptrack/libexec") for path in Path("/usr").glob(pattern)]
    if not tools:
        return None, 0
    text = subprocess.run(["zstdcat" if raw.suffix == ".zst" else "zcat", raw], stdout=subprocess.PIPE, check=True).stdout
    done = subprocess.run([tools[0] / "heaptrack_interpret"], input=text, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=True)
    (folder / "interpreted").write_bytes(done.stdout)
    return folder / "interpreted", int(re.search(rb"temporary allocations:\s+(\d+)", done.stderr)[1])


def check_recording(how, workload, folder):
    recording = record(["--raw"] if how == "raw" else [], workload, folder)
    db, output = import_file(recording, folder)
    theirs, temporary = interpret(recording, folder) if how == "raw" else (recording, None)
    if theirs is None:
        print("heaptrack_interpret is not installed")
        sys.exit(SKIPPED)
    calls, text = printed(theirs)
    got = db.execute(TOTALS).fetchone()
    expect("warnings", "warning" in output, False)
    expect("allocations", got[0], calls)
    expect("pairing", got[3], "address" if how == "raw" else "size_and_stack")
    for what, value in (("total memory leaked", got[1]), ("peak heap memory consumption", got[2])):
        wanted, tolerance = bytes_of(text, what)
        if abs(value - wanted) > tolerance:
            sys.exit(f"{what}: {value}, but heaptrack says {wanted}")
    if temporary is None:
        # It takes "no block yet" for the first size and stack, which counts one too many.
        more = int(re.search(r"temporary memory allocations: (\d+)", text)[1]) - db.execute(NEXT_FREED).fetchone()[0]
        expect("temporary of heaptrack_print, but for one", more in (0, 1), True)
    else:
        expect("temporary", db.execute(NEXT_FREED).fetchone()[0], temporary)
    check_functions(db, text)


# ---- a program's own rules, deep stacks, notes ----


def asked(command, database):
    done = subprocess.run([os.environ["MTRACE_TEST_QUERY"], command, database], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          check=True)
    return done.stdout, done.stderr


def check_suppressions(recording, folder, db):
    """heaptrack_print reads the rules only without the length that heaptrack itself writes in front of them."""
    text = subprocess.run(["zstdcat" if recording.suffix == ".zst" else "zcat", recording], stdout=subprocess.PIPE, check=True).stdout
    (folder / "plain").write_bytes(re.sub(rb"(?m)^S [0-9a-f]+ ", b"S ", text))
    output = subprocess.run(["heaptrack_print", "-f", folder / "plain", "--disable-builtin-suppressions", "--print-suppressions", "1"],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True).stdout
    theirs = {(f"leak:{pattern}", int(matches), leaked) for matches, leaked, pattern
              in re.findall(r"^ +(\d+) +(\S+) (\S+)$", output.split("Suppressions used:")[1], re.M)}
    ours = {(rule, blocks, f"{size / 1000:.2f}KB") for rule, blocks, size in db.execute(
        "SELECT suppressed_by, sum(leaked_blocks), sum(leaked_bytes) FROM leaks WHERE suppressed_by IN"
        " (SELECT value FROM meta WHERE key LIKE 'suppression.%') GROUP BY 1")}
    expect("suppressed, by rule", ours, theirs)
    expect("rules that matched", len(ours), 2)
    shown, _ = asked("leaks", folder / "run.db")
    n_blocks, n_rules = db.execute("SELECT sum(leaked_blocks), count(DISTINCT suppressed_by) FROM leaks WHERE suppressed_by IS NOT NULL").fetchone()
    rules = rf" in {n_blocks} blocks \((leak:\S+), and {n_rules - 1} more rules?\)"
    expect("counted: rules", bool(re.search(r"(?m)^suppressed: .*" + rules, shown)), True)


def check_deep(db):
    expect("status of the deep stack", db.execute(
        "SELECT b.status, b.depth FROM allocations a JOIN backtraces b USING (backtrace_id) WHERE a.size_bytes = 100777").fetchall(),
        [("truncated", 62)])
    expect("other stacks", db.execute(
        "SELECT DISTINCT b.status FROM allocations a JOIN backtraces b USING (backtrace_id) WHERE a.size_bytes <> 100777").fetchall(),
        [("complete",)])


def check_notes(database, is_raw):
    for command in ("threads", "flows", "temporary", "mmaps", "mallopts", "allocation-failures", "reallocs", "realloc-chains",
                    "fragmentation", "pinning"):
        _, output = asked(command, database)
        expect(f"note of {command}", output.count("mtrace-query: note: ") - output.count("note: no rows"), 0 if is_raw and command == "pinning" else 1)
    expect("note of leaks", "note:" in asked("leaks", database)[1], False)


def check_rules(folder):
    for options in ([], ["--raw"]):
        recording = record(options, "heaptrack_rules", folder)
        db, _ = import_file(recording, folder)
        if not options:
            check_suppressions(recording, folder, db)
        expect("rules", [row[0] for row in db.execute("SELECT value FROM meta WHERE key LIKE 'suppression.%' ORDER BY key")],
               ["leak:kept_for_ever", "leak:^ends_here$", "leak:never_matches"])
        check_deep(db)
        check_notes(folder / "run.db", bool(options))
        recording.unlink()


def check_functions(db, text):
    """The function that heaptrack ranks first by calls has as many calls here."""
    ranking = text.split("MOST CALLS TO ALLOCATION FUNCTIONS")[1].split("PEAK MEMORY")[0]
    entries = re.findall(r"\n(\d+) calls to allocation functions with \S+ peak consumption from\n(.+)\n", ranking)
    named = [entry for entry in entries if not entry[1].startswith("0x")]
    if not named:
        return
    calls, function = named[0]
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
        elif how == "rules":
            check_rules(Path(place))
        else:
            check_recording(how, sys.argv[2], Path(place))


if __name__ == "__main__":
    main()
