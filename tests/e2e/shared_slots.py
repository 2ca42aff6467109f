#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""shared_slots.py plain|elided|bounded [--asking] [--beside-child] [--rounds N]: totals of groups and phases of a program whose threads free, resize and move each other's
blocks equal the program's own counts: in live reports while all threads stand still, and in the database at the end, or in one that is made while it runs."""

import argparse
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))

import harness  # noqa: E402
from harness import Failure  # noqa: E402
from live_answers import expect, rows, run  # noqa: E402

OPTIONS = {"plain": [], "elided": ["--cull-temporary=1000"], "bounded": ["--aggregate"]}
COLUMNS = ("allocated_blocks", "allocated_bytes", "freed_blocks", "freed_bytes", "leaked_blocks", "leaked_bytes")
RING_BYTES = 2 << 20


def values(table):
    return {row["name"]: {name: row[name] for name in COLUMNS} for row in table if str(row["name"]).startswith("tenant")}


def check(what, got, books):
    wrong = [f"{name}.{figure}: {value} in place of {books[name][figure]}" for name in books
             for figure, value in got.get(name, dict.fromkeys(COLUMNS)).items() if value != books[name][figure]]
    if wrong:
        raise Failure(f"{what}: " + "; ".join(wrong))


def check_round(tools, place, how, is_asking, is_beside_child):
    options = ["-f", *OPTIONS[how], "-o", place / "run.dat", *(["--follow-children"] if is_beside_child else [])]
    arguments = [*([place] if is_asking else []), *(["beside_child"] if is_beside_child else [])]
    is_ring_small = how == "bounded" and not is_beside_child  # else consumed events stay readable, and could be consumed again
    outcome = run([tools.record, *options, "--", tools.workloads / "shared_slots", *arguments], place,
                  {"MTRACE_RING_BYTES": str(RING_BYTES)} if is_ring_small else None)
    reported = rows(outcome.stdout)
    books = values(reported)
    expect("groups", len(books), 7)
    for path in sorted(place.glob("still.*")):
        check(f"round {path.suffix[1:]}", values(rows(path.read_text())), values(rows((place / f"books{path.suffix}").read_text())))
    database = harness.import_log(tools, place / "run.dat", place / "run.db", "--no-symbols", "--force")
    dropped = database.value("SELECT sum(events_dropped) FROM processes")
    if dropped:
        raise Failure(f"{dropped} events were dropped: {outcome.stderr}")
    check("the end", values(rows(run([tools.query, "by-group", "--csv", "--count", "0", place / "run.db"], place).stdout)), books)
    if how == "plain" or is_asking and how == "elided":  # a thread's elided blocks may be counted in the next phase of another
        expect("phases", database.rows("SELECT name, allocated_blocks, allocated_bytes, freed_blocks, freed_bytes FROM phases WHERE process_id = 1 ORDER BY phase_id"),
               [tuple(row[column] for column in ("name", *COLUMNS[:4])) for row in reported if row["name"].startswith("round")])
    events = re.search(r"([0-9,]+) events", outcome.stderr)
    expect("events", database.value("SELECT sum(events) FROM processes"), int(events[1].replace(",", "")))
    expect("processes", database.value("SELECT count(*) FROM processes"), 1 + is_beside_child)
    expect("damage", database.rows("SELECT key, value FROM meta WHERE key LIKE 'log.damage%'"), [])
    if how != "plain" and not database.value("SELECT sum(elided_blocks) FROM backtrace_totals"):
        raise Failure("nothing was elided")


def main():
    parser = argparse.ArgumentParser(description="books of groups whose blocks are handed over")
    parser.add_argument("how", choices=OPTIONS)
    parser.add_argument("--asking", action="store_true")
    parser.add_argument("--beside-child", action="store_true")
    parser.add_argument("--rounds", type=int, default=1)
    args = parser.parse_args()
    tools = harness.Tools.from_environment()

    for _ in range(args.rounds):
        with harness.scratch() as folder:
            check_round(tools, Path(folder), args.how, args.asking, args.beside_child)


if __name__ == "__main__":
    harness.main(main)
