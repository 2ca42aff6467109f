#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""live_checklist.py PART FOLDER: reports about a program itself by mtrace_report, for each thing that the Rust library alloc-track can answer.

run                      records knows_itself into the folder, for all other parts
a01_threads              totals of each thread, equal to the program's own counts
a02_pairs                blocks freed by other threads, by pairs of threads
a03_exited               exited threads stay
a04_modes                stacks with no names, with short ones and in full
a05_frames               reports with, without and past certain functions
a06_filter               a filter needs no symbols
a07_sorted               sorted, limited, and totals
a08_text                 text, JSON and folded stacks have the numbers of the CSV
a09_csv                  CSV that any reader of RFC 4180 understands
a10_counts               blocks, bytes in use, and their mean
a11_same_as_sql          equal to the rows of the finished database, to the byte
a12_many_threads         more than 1024 threads
"""

import csv
import io
import json
import re
import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))

import harness  # noqa: E402
from harness import Failure  # noqa: E402
from live_answers import ask, check_stacks, check_threads, expect, rows, run, usage_of  # noqa: E402

N_GONE, N_STAY = 1100, 3
ODD_NAME = 'a "b",\nc'
COLUMNS = ["allocated_blocks", "allocated_bytes", "freed_blocks", "freed_bytes", "leaked_blocks", "leaked_bytes"]


def record(tools, place):
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    run([tools.record, "-q", "-o", place / "run.dat", "--", tools.workloads / "knows_itself", place], place)
    run([tools.importer, place / "run.dat", place / "run.db"], place)


def report(place, name):
    return (place / name).read_text()


def table(place, name):
    return rows(report(place, name))


def books(place):
    found = table(place, "books.csv")
    expect("threads in the books", len(found), N_GONE + N_STAY)
    return found


def marker_of(place, number):
    return ask(place / "run.db", "SELECT at_ns FROM markers WHERE name = ?", f"mtrace report {number}")[0]["at_ns"]


def sums(found, columns=COLUMNS):
    return {column: sum(row[column] for row in found) for column in columns}


def values(found):
    return sorted(tuple(row[column] for column in COLUMNS) for row in found)


def a01_threads(place):
    by_tid = {row["tid"]: row for row in table(place, "threads.csv")}
    for book in books(place):
        row = by_tid[book["tid"]]
        expect(f"allocated by {book}", row["allocated_bytes"], book["allocated"])
        expect(f"freed by {book}", row["freed_bytes"], book["freed_own"] + book["freed_foreign"])


def a02_pairs(place):
    threads = table(place, "threads.csv")
    tid = {row["thread_id"]: row["tid"] for row in threads}
    flows = table(place, "flows.csv")
    got = {(tid[row["thread_id"]], tid[row["free_thread_id"]]): row["bytes"] for row in flows}
    wanted = {(book["tid"], book["tid"]): book["freed_own"] for book in books(place) if book["freed_own"]}
    wanted.update({(book["foreign"], book["tid"]): book["freed_foreign"] for book in books(place) if book["freed_foreign"]})
    expect("pairs", got, wanted)
    for row in threads: # sums of rows and of columns
        of_others = sum(flow["bytes"] for flow in flows if flow["free_thread_id"] == row["thread_id"])
        own = sum(flow["bytes"] for flow in flows if flow["thread_id"] == row["thread_id"])
        expect(f"freed by {row}", row["freed_bytes"], of_others)
        expect(f"live of {row}", row["leaked_bytes"], row["allocated_bytes"] - own)


def a03_exited(place):
    by_tid = {row["tid"]: row for row in table(place, "threads.csv")}
    gone = [by_tid[book["tid"]] for book in books(place)[:N_GONE]]
    expect("gone without an end", [row for row in gone if row["end_ns"] is None], [])
    expect("there with an end", [book for book in books(place)[N_GONE:] if by_tid[book["tid"]]["end_ns"] is not None], [])
    last = books(place)[N_GONE - 1]
    expect("live bytes of the thread that ended last", by_tid[last["tid"]]["leaked_bytes"], last["allocated"] - last["freed_own"])
    expect("live bytes of those before", sum(row["leaked_bytes"] for row in gone[:-1]), 0)


def a04_modes(place):
    none, short, full = report(place, "none.csv"), report(place, "stacks.txt"), report(place, "full.txt")
    expect("numbers with and without names", values(rows(none)), values(table(place, "stacks.csv")))
    expect("names in none", re.findall("keep_for_life|come_and_go", none.replace(ODD_NAME, "")), [])
    if not re.search(r"< knows_itself\+0x[0-9a-f]+|knows_itself\+0x", none):
        raise Failure(f"no addresses in\n{none}")
    if not re.search(r"^ +keep_for_life  knows_itself\.c:\d+$", short, re.M) or re.search(r"/knows_itself\.c", short):
        raise Failure(f"not short:\n{short}")
    if not re.search(r"^ +keep_for_life /.*/knows_itself\.c:\d+$", full, re.M):
        raise Failure(f"not full:\n{full}")


def a05_frames(place):
    every, with_it, without = (table(place, name) for name in ("stacks.csv", "with.csv", "without.csv"))
    expect("stacks with the function", {row["function"] for row in with_it}, {"keep_for_life"})
    expect("the function's blocks", usage_of(with_it[0])[0], N_STAY)
    expect("stacks with it and without it", values(with_it + without), values(every))
    blamed, past = (table(place, name) for name in ("blamed.csv", "past.csv"))
    passed = {row["function"]: row["allocated_bytes"] for row in blamed}
    used = {row["function"]: row["allocated_bytes"] for row in past}
    expect("whom the frame that passes on is left out for", used.pop("use_passed"), passed.pop("pass_on"))
    expect("all others", used, passed)


def a06_filter(place):
    named, bare = table(place, "large.csv"), table(place, "large_none.csv")
    expect("with and without symbols", values(bare), values(named))
    expect("what the filter leaves", (named[0]["leaked_blocks"], named[0]["leaked_bytes"]),
           (N_STAY, sum(book["allocated"] for book in books(place)[N_GONE:])))
    expect("names without symbols", [row["function"] for row in bare if "+0x" not in row["function"]], [])


def a07_sorted(place):
    top, rest, every = (table(place, name) for name in ("top.csv", "rest.csv", "stacks.csv"))
    order = [row["allocated_bytes"] for row in top + rest]
    expect("order", order, sorted(order, reverse=True))
    expect("limit", len(top), 2)
    expect("what is shown and what is left", values(top + rest), values(every))
    total = sums(table(place, "threads.csv"))
    expect("totals by stack and by thread", sums(every), total)
    expect("totals by group and by thread", sums(table(place, "total.csv")), total)


def folded(text):
    return sum(int(line.rsplit(" ", 1)[1]) for line in text.splitlines())


def a08_text(place):
    threads, stacks = table(place, "threads.csv"), table(place, "stacks.csv")
    expect("folded, allocated", folded(report(place, "allocated.folded")), sums(stacks)["allocated_bytes"])
    expect("folded, live", folded(report(place, "live.folded")), sums(stacks)["leaked_bytes"])
    expect("JSON", sums(json.loads(report(place, "threads.json"))), sums(threads))
    for row in threads: # numbers of blocks are written out, bytes are rounded
        if not re.search(rf"^ *{row['thread_id']}  .* {row['tid']} ", report(place, "threads.txt"), re.M):
            raise Failure(f"thread {row['thread_id']} is not in the text")
    for row in stacks:
        if not re.search(rf" {row['allocated_blocks']:,} .* {row['leaked_blocks']:,} .* {row['backtrace_id']} ", report(place, "stacks.txt")):
            raise Failure(f"stack {row} is not in the text")


def a09_csv(place):
    for path in sorted(place.glob("*.csv")):
        lines = list(csv.reader(io.StringIO(path.read_text()), strict=True))
        expect(f"{path.name}: fields", {len(line) for line in lines}, {len(lines[0])})
        expect(f"{path.name}: rows", len(lines) > 1, True)
    names = [row["name"] for row in table(place, "threads.csv")]
    expect("a name of quotes, a comma and a line's end", names.count(ODD_NAME), N_STAY)


def a10_counts(place):
    for row in table(place, "stacks.csv"):
        expect(f"in use: {row}", (row["leaked_blocks"], row["leaked_bytes"]),
               (row["allocated_blocks"] - row["freed_blocks"], row["allocated_bytes"] - row["freed_bytes"]))
    own = {row["function"]: row for row in table(place, "stacks.csv")}
    passed = [i % 7 * 1000 + 777 for i in range(N_GONE)]
    row = own["pass_on"]
    expect("mean of what passed", row["allocated_bytes"] / row["allocated_blocks"], sum(passed) / len(passed))
    expect("least and most", (row["min_size_bytes"], row["max_size_bytes"]), (min(passed), max(passed)))


def a11_same_as_sql(place):
    live_by_thread, _ = check_threads(place / "run.db", report(place, "threads.csv"), marker_of(place, 1))
    live_by_stack = check_stacks(place / "run.db", report(place, "stacks.csv"), marker_of(place, 5))
    expect("live bytes by thread and by stack", live_by_thread, live_by_stack)
    pairs = ask(place / "run.db", """SELECT thread_id, free_thread_id, count(*) AS blocks, sum(size_bytes) AS bytes FROM allocations
                                     WHERE free_ns <= ? GROUP BY 1, 2""", marker_of(place, 4))
    got = [{key: row[key] for key in ("thread_id", "free_thread_id", "blocks", "bytes")} for row in table(place, "flows.csv")]
    expect("pairs", sorted(map(str, got)), sorted(map(str, pairs)))
    wanted = ask(place / "run.db", "SELECT thread_id, sum(size_bytes) AS bytes FROM allocations WHERE alloc_ns <= ? GROUP BY 1", marker_of(place, 20))
    expect("single rows, by SQL", table(place, "sql.csv"), wanted)


def a12_many_threads(place):
    threads = table(place, "threads.csv")
    expect("rows", len(threads), 1 + N_GONE + N_STAY)
    expect("numbers", [row["thread_id"] for row in threads], list(range(1, len(threads) + 1)))
    expect("their kernel's numbers", {row["tid"] for row in threads} >= {book["tid"] for book in books(place)}, True)


PARTS = [a01_threads, a02_pairs, a03_exited, a04_modes, a05_frames, a06_filter, a07_sorted, a08_text, a09_csv, a10_counts, a11_same_as_sql,
         a12_many_threads]


def main():
    parts = {part.__name__: part for part in PARTS}
    if len(sys.argv) != 3 or sys.argv[1] not in {"run", *parts}:
        sys.exit(__doc__)
    place = Path(sys.argv[2])
    if sys.argv[1] == "run":
        record(harness.Tools.from_environment(), place)
    else:
        parts[sys.argv[1]](place)


harness.main(main)
