#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""row_ranges.py: the summary of each 4,096 rows is what stock SQLite finds in them; random filters that use it choose the rows that stock
SQLite chooses, page after page, and give the sums that they give without it; and rows are found by it, in order, without being sorted."""

import csv
import io
import os
import random
import shutil
import sqlite3
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
import harness  # noqa: E402

EVENTS = 100_000
FILTERS = 20
RANGES = """SELECT min(allocation_id), max(allocation_id), min(size_bytes), max(size_bytes), min(address), max(address), max(lifetime_ns),
            sum(lifetime_ns IS NULL) FROM packed_allocation_rows GROUP BY (allocation_id - 1) / 4096"""
LIFETIME = "coalesce(lifetime_ns, (SELECT end_ns FROM processes) - alloc_ns)"


def require(is_good, what):
    if not is_good:
        raise harness.Failure(what)


def draw_filter(chance, stock):
    """Options and the same as SQL; values are those of some row, so that few rows and many pass."""
    address, size, lifetime, allocated = stock.execute("SELECT address, size_bytes, coalesce(lifetime_ns, 1000), alloc_ns FROM allocations"
                                                  " WHERE allocation_id = ?", [chance.randrange(1, 50000)]).fetchone()
    end = stock.execute("SELECT end_ns FROM processes").fetchone()[0]
    instant = chance.randrange(end)
    large = stock.execute("SELECT size_bytes FROM allocations ORDER BY size_bytes DESC LIMIT 1 OFFSET ?", [chance.randrange(200)]).fetchone()[0]
    long = stock.execute("SELECT lifetime_ns FROM allocations ORDER BY lifetime_ns DESC LIMIT 1 OFFSET ?", [chance.randrange(200)]).fetchone()[0]
    known = [(f"size_min={large}", f"size_bytes >= {large}"),
             (f"size_min={size}", f"size_bytes >= {size}"),
             (f"size_max={size}", f"size_bytes <= {size}"),
             (f"address_min={address}", f"address >= {address}"),
             (f"address_max={address}", f"address <= {address}"),
             (f"lifetime_min={long}ns", f"{LIFETIME} >= {long}"),
             (f"lifetime_min={lifetime}ns", f"{LIFETIME} >= {lifetime}"),
             ("lifetime=only_leaked", "is_leaked"),
             (f"from={allocated}ns", f"alloc_ns >= {allocated}"),
             (f"to={allocated}ns", f"alloc_ns <= {allocated}"),
             (f"at={instant}ns", f"alloc_ns <= {instant} AND coalesce(alloc_ns + lifetime_ns > {instant}, 1)"),
             ("thread=1", "thread_id = 1")]
    chosen = {option.split("=")[0]: (option, sql) for option, sql in chance.sample(known, chance.randrange(1, 4))}
    if "from" in chosen:
        chosen.pop("to", None)
    return [option for option, _ in chosen.values()], " AND ".join(f"({sql})" for _, sql in chosen.values())


def ids(text):
    return [int(row["allocation_id"]) for row in csv.DictReader(io.StringIO(text))]


def check_filter(tools, database, without, options, sql, stock):
    expected = [row[0] for row in stock.execute(f"SELECT allocation_id FROM allocations WHERE {sql} ORDER BY allocation_id")]
    found = ids(harness.ask(tools, "allocations", database, "--format", "csv", *options))
    require(found == expected, f"{options}: {len(found)} rows, stock SQLite has {len(expected)}")
    found = ids(harness.ask(tools, "allocations", database, "--format", "csv", "--order", "dsc", "--sort-by", "alloc_ns", *options))
    require(found == expected[::-1], f"{options}, the last ones first")
    if expected:
        middle = expected[len(expected) // 2]
        found = ids(harness.ask(tools, "allocations", database, "--format", "csv", "-n", "100", "--after", str(middle), *options))
        require(found == [i for i in expected if i > middle][:100], f"{options} after {middle}")
    for command in ("groups", "leaks", "unwind-quality"):
        if command == "leaks" and any(option.startswith("at=") for option in options):
            continue  # the time is then another query
        require(harness.ask(tools, command, database, "--format", "csv", *options) == harness.ask(tools, command, without, "--format", "csv", *options),
                f"{command} {options}: another answer without ranges")
    return len(expected)


def check_plan(tools, database, stock):
    largest = str(stock.execute("SELECT max(size_bytes) FROM allocations").fetchone()[0])
    require("row_ranges" not in harness.ask(tools, "allocations", database, "--size-min", "1", "--show-sql"), "ranges are asked where all pass")
    sql = harness.ask(tools, "allocations", database, "--size-min", largest, "--from", "10%", "--show-sql").strip().rstrip(";")
    plan = [row[3] for row in stock.execute(f"EXPLAIN QUERY PLAN {sql}")]
    where = [i for i, step in enumerate(plan) if step == "SCAN w"]
    require(where and "packed_allocation_rows USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)" in plan[where[0] + 1],
            f"rows are not found by ranges: {plan}")
    require(not any("TEMP B-TREE" in step for step in plan), f"rows are sorted: {plan}")


def test():
    tools = harness.Tools.from_environment()
    with harness.scratch() as folder:
        log, database, without = (f"{folder}/{name}" for name in ("run.dat", "run.db", "without.db"))
        harness.run([os.environ["MTRACE_TEST_GENERATE"], "-p", "-e", str(EVENTS), "-s", "500", log], folder)
        harness.import_log(tools, log, database)
        shutil.copy(database, without)
        with sqlite3.connect(without) as other:
            other.execute("DELETE FROM row_ranges")
        stock = sqlite3.connect(database)
        found = stock.execute("SELECT * FROM row_ranges ORDER BY first_id").fetchall()
        require(len(found) > 10 and found == stock.execute(RANGES).fetchall(), "ranges are not what lies in them")
        check_plan(tools, database, stock)
        chance = random.Random(7)
        n_rows = [check_filter(tools, database, without, *draw_filter(chance, stock), stock) for _ in range(FILTERS)]
        require(any(0 < n < 100 for n in n_rows) and max(n_rows) > 10000, f"filters do not choose few rows and many: {n_rows}")


harness.main(test)
