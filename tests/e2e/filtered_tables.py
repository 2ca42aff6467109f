#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""filtered_tables.py PART: by-group, by-tag, phases, threads, flows, the histograms, by-pool and claimed-twice, computed again from the rows that pass a
filter.

all      a filter that all rows pass gives exactly the unfiltered answer
some     every number under a filter is what stock SQLite and a sweep in Python find in `allocations` and `group_moves`
page     the tables, numbers and flame graphs of `report` are those of the commands under the same filter
pools    the same of by-pool, whose rows are `pool_blocks`; filters that pools do not know are refused
claims   claimed-twice has the claims of blocks that pass
notes    elided blocks are noted, a slim import is refused, and --show-sql selects the rows that count
"""

import bisect
import collections
import csv
import io
import json
import re
import sqlite3
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
import harness  # noqa: E402

COMMANDS = ("by-group", "by-tag", "phases", "threads", "flows", "size-histogram", "lifetime-histogram")
NEVER = float("inf")

# Options, and the same of `allocations AS a`.
FILTERS = {
    ("--size-min", "0"): "1",
    ("--size-min", "9000"): "size_bytes >= 9000",
    ("--group", "request"): "group_id IN (SELECT group_id FROM allocation_groups WHERE name = 'request')",
    ("--group", "root"): "group_id = 1",
    ("--tag", "kind=read"): "group_id IN (SELECT group_id FROM allocation_group_tags WHERE key = 'kind' AND value = 'read')",
    ("--tag", "kind", "--lifetime", "only_leaked"):
        "is_leaked AND group_id IN (SELECT group_id FROM allocation_group_tags WHERE key = 'kind')",
    ("--phase", "odd"): "EXISTS (SELECT 1 FROM phases AS p WHERE p.name = 'odd' AND p.process_id = a.process_id"
                        " AND a.allocation_id BETWEEN p.first_allocation_id AND p.last_allocation_id)",
    ("--function-regex", "^change_place$"):
        "backtrace_id IN (SELECT backtrace_id FROM stack_frames WHERE function = 'change_place')",
    ("--size-max", "0"): "size_bytes <= 0",
}


def require(is_good, what):
    if not is_good:
        raise harness.Failure(what)


def ask(tools, command, database, *options, status=0):
    outcome = subprocess.run([tools.query, command, str(database), *options], capture_output=True, text=True, env=harness.environment(),
                             timeout=300)
    require(outcome.returncode == status, f"{command} {options}: {outcome.returncode}, {outcome.stderr}")
    return outcome


def table(tools, command, database, *options):
    text = ask(tools, command, database, "--csv", "--wide", "--count", "0", *options).stdout
    return [{name: None if value == "" else value for name, value in row.items()} for row in csv.DictReader(io.StringIO(text))]


# ---- the same from rows ----

def highest(changes):
    """(the first highest sum, when it was reached) of [(time, bytes)]; all changes at one time count together."""
    sums = collections.defaultdict(int)
    for at, n_bytes in changes:
        sums[at] += n_bytes
    live, best, best_at = 0, 0, None
    for at in sorted(sums):
        live += sums[at]
        if live > best:
            best, best_at = live, at
    return best, best_at


class Account:
    def __init__(self):
        self.numbers, self.changes = collections.Counter(), []

    def count(self, what, size):
        self.numbers[what + "_blocks"] += 1
        self.numbers[what + "_bytes"] += size

    def row(self):
        peak, at = highest(self.changes)
        names = ("allocated", "leaked", "freed", "freed_elsewhere")
        numbers = {f"{name}_{unit}": self.numbers[f"{name}_{unit}"] for name in names for unit in ("blocks", "bytes")}
        return {**numbers, "moved_in_bytes": self.numbers["moved_in_bytes"], "moved_out_bytes": self.numbers["moved_out_bytes"],
                "peak_bytes": peak, "peak_ns": at}


def end_of(row):
    return NEVER if row["free_ns"] is None or row["ended_by"] == "exec" else row["free_ns"]


def accounts(rows, moves, keys_of):
    """keys_of: a group's accounts."""
    all_of = collections.defaultdict(Account)

    def each(row, group):
        return [all_of[(row["process_id"], *key)] for key in keys_of(group)]

    for row in rows:
        size, mine = row["size_bytes"], moves.get(row["allocation_id"], [])
        holders = [(row["alloc_ns"], mine[0][1] if mine else row["group_id"])] + [(at, to) for at, _, to in mine]
        ends = [at for at, _ in holders[1:]] + [end_of(row)]
        for account in each(row, holders[0][1]):
            account.count("allocated", size)
        for at, before, after in mine:
            for account in each(row, before):
                account.count("moved_out", size)
            for account in each(row, after):
                account.count("moved_in", size)
        for (start, group), end in zip(holders, ends):
            for account in each(row, group):
                account.changes += [(start, size)] + ([(end, -size)] if end != NEVER else [])
        for account in each(row, row["group_id"]):
            if row["is_leaked"]:
                account.count("leaked", size)
            elif row["ended_by"] != "exec":
                account.count("freed", size)
                if row["free_group_id"] not in (None, row["group_id"]):
                    account.count("freed_elsewhere", size)
    return {key: account.row() for key, account in all_of.items()}


def expected_groups(db, rows, moves):
    return accounts(rows, moves, lambda group: [(group,)])


def expected_tags(db, rows, moves):
    tags = collections.defaultdict(list)
    for group, key, value in db.execute("SELECT * FROM allocation_group_tags"):
        tags[group].append((key, value))
    return accounts(rows, moves, lambda group: tags[group])


def expected_phases(db, rows, moves):
    answer = {}
    total = lambda some: {"_blocks": len(some), "_bytes": sum(row["size_bytes"] for row in some)}
    for phase in db.execute("SELECT * FROM phases").fetchall():
        own = [row for row in rows if row["process_id"] == phase["process_id"]]
        start, end = phase["start_ns"], NEVER if phase["end_ns"] is None else phase["end_ns"]
        first = phase["first_allocation_id"]
        begun = [row for row in own if (row["allocation_id"] < first if first else row["alloc_ns"] <= start)]
        allocated = [row for row in own if first and first <= row["allocation_id"] <= phase["last_allocation_id"]]
        live = [row for row in begun if end_of(row) > start]
        freed = [row for row in live + allocated if end_of(row) <= end and end_of(row) != NEVER]
        leaked = [row for row in allocated if row["is_leaked"]]
        start_bytes = total(live)["_bytes"]
        changes = [(start, start_bytes)] + [(row["alloc_ns"], row["size_bytes"]) for row in allocated] + [(end_of(row), -row["size_bytes"]) for row in freed]
        answer[phase["phase_id"],] = {
            **{"allocated" + unit: n for unit, n in total(allocated).items()}, **{"freed" + unit: n for unit, n in total(freed).items()},
            **{"leaked" + unit: n for unit, n in total(leaked).items()},
            "live_start_bytes": start_bytes, "live_end_bytes": start_bytes + total(allocated)["_bytes"] - total(freed)["_bytes"],
            "peak_bytes": max(highest(changes)[0], start_bytes)}
    return answer


def expected_threads(db, rows, moves):
    answer = {}
    for (thread,) in db.execute("SELECT thread_id FROM threads").fetchall():
        allocated = [row for row in rows if row["thread_id"] == thread]
        ended = [row for row in rows if row["free_thread_id"] == thread]
        leaked = [row for row in allocated if row["is_leaked"]]
        changes = [(row["alloc_ns"], row["size_bytes"]) for row in allocated] + [(end_of(row), -row["size_bytes"]) for row in allocated if end_of(row) != NEVER]
        answer[thread,] = {f"{name}_{unit}": len(some) if unit == "blocks" else sum(row["size_bytes"] for row in some)
                           for name, some in (("allocated", allocated), ("freed", ended), ("leaked", leaked)) for unit in ("blocks", "bytes")}
        answer[thread,]["peak_bytes"] = highest(changes)[0]
    return answer


def expected_flows(db, rows, moves):
    answer = collections.defaultdict(lambda: {"blocks": 0, "bytes": 0})
    for row in rows:
        if row["free_thread_id"] is not None:
            flow = answer[row["thread_id"], row["free_thread_id"]]
            flow["blocks"] += 1
            flow["bytes"] += row["size_bytes"]
    return dict(answer)


# The first of each class, and after all of them the end.
SIZES = [0, *range(1, 129, 16), *((1 << doubling) * (4 + step) // 4 + 1 for doubling in range(7, 62) for step in range(4))]
LIFETIMES = [0, *(step * 100 * 10 ** decade for decade in range(13) for step in (1, 2, 5)), 2**63 - 1]


def expected_sizes(db, rows, moves):
    answer = collections.defaultdict(collections.Counter)
    for row in rows:
        i = bisect.bisect_right(SIZES, row["size_bytes"]) - 1
        numbers = answer[row["process_id"], SIZES[i]]
        is_temporary = int(row["intervening_allocations"] is not None and row["intervening_allocations"] <= 1)
        numbers.update(blocks=1, bytes=row["size_bytes"], leaked_blocks=row["is_leaked"], leaked_bytes=row["is_leaked"] * row["size_bytes"],
                       temporary_blocks=is_temporary, slack_bytes=0 if row["usable_bytes"] is None else row["usable_bytes"] - row["size_bytes"])
        numbers["to_bytes"] = SIZES[i + 1] - 1
    return answer


def expected_lifetimes(db, rows, moves):
    answer = collections.defaultdict(collections.Counter)
    for row in rows:
        i = bisect.bisect_right(LIFETIMES, row["lifetime_ns"]) - 1 if end_of(row) != NEVER else None
        if row["is_leaked"]:
            answer[row["process_id"], None].update(blocks=1, bytes=row["size_bytes"])
        elif i is not None:
            numbers = answer[row["process_id"], LIFETIMES[i]]
            numbers.update(blocks=1, bytes=row["size_bytes"])
            numbers["to_ns"] = LIFETIMES[i + 1]
    return answer


KEYS = {"by-group": (("process_id", "group_id"), expected_groups), "by-tag": (("process_id", "key", "value"), expected_tags),
        "phases": (("phase_id",), expected_phases), "threads": (("thread_id",), expected_threads),
        "flows": (("thread_id", "free_thread_id"), expected_flows),
        "size-histogram": (("process_id", "from_bytes"), expected_sizes),
        "lifetime-histogram": (("process_id", "from_ns"), expected_lifetimes)}


# ---- parts ----

def recordings(tools, folder, names):
    programs = {
        "charges": (["charges"], ()),
        "family": (["charges", "fork"], ("--follow-children",)),
        "ends": (["groups", "ends"], ()),
        "phases": (["groups", "phases"], ()),
        "untracked": (["groups", "untracked"], ()),
        "late": (["groups", "late"], ()),
        "handed_over": (["groups", "handed_over"], ("--follow-children",)),
        "arena": (["pools", "arena"], ()),
        "nested": (["pools", "nested"], ()),
        "exec_again": (["exec_again"], ()),
        "crossed": (["cross_thread_free"], ()),
        "threads of pools": (["pools", "threads"], ()),
        "ends of pools": (["pools", "ends"], ()),
        "claimed": (["objects", "twice"], ()),
    }
    for name in names or programs:
        (program, *arguments), options = programs[name]
        yield name, harness.record_database(tools, folder, name, [tools.workloads / program, *arguments], options)


def let_all_pass(tools, folder):
    n_moves, n_rows = 0, collections.Counter()
    for name, database in recordings(tools, folder, None):
        for command in COMMANDS:
            plain = ask(tools, command, database, "--csv", "--wide", "--count", "0").stdout
            n_rows[command] += plain.count("\n") - 1
            for options in (("--size-min", "0"), ("--lifetime-min", "0s"), ("--backtrace-depth-min", "0")):
                require(ask(tools, command, database, "--csv", "--wide", "--count", "0", *options).stdout == plain,
                        f"{name}: {command} {options} is not {command}")
        with sqlite3.connect(database) as db:
            n_moves += db.execute("SELECT count(*) FROM group_moves").fetchone()[0]
    require(n_moves > 1000 and all(n_rows[command] > 5 for command in COMMANDS), f"{n_moves} moves, {n_rows}: too few to show anything")


def compare(tools, database, command, options, expected):
    keys = KEYS[command][0]
    found = {}
    for row in table(tools, command, database, *options):
        key = tuple(row[name] for name in keys)
        found[key] = row
    expected = {tuple(None if part is None else str(part) for part in key): numbers for key, numbers in expected.items()}
    require(found.keys() == expected.keys(), f"{command} {options}: rows {sorted(found.keys() ^ expected.keys(), key=str)} of one side only")
    for key, numbers in expected.items():
        for name, value in numbers.items():
            require(found[key][name] == (None if value is None else str(value)),
                    f"{command} {options} {key}: {name} is {found[key][name]}, rows say {value}")
    return len(expected)


def some_pass(tools, folder):
    for name, database in recordings(tools, folder, ("charges", "family")):
        db = sqlite3.connect(database)
        db.row_factory = sqlite3.Row
        moves = collections.defaultdict(list)
        for move in db.execute("SELECT * FROM group_moves ORDER BY allocation_id, move"):
            moves[move["allocation_id"]].append((move["at_ns"], move["from_group_id"], move["group_id"]))
        processes = [row[0] for row in db.execute("SELECT process_id FROM processes")]
        require(len(processes) == (2 if name == "family" else 1), f"{name} has {len(processes)} processes")
        n_passed = []
        for options, sql in FILTERS.items():
            rows = db.execute(f"SELECT * FROM allocations AS a WHERE {sql} ORDER BY allocation_id").fetchall()
            n_passed.append(len(rows))
            for command in COMMANDS:
                compare(tools, database, command, options, KEYS[command][1](db, rows, moves))
        for command in COMMANDS:  # of one process alone
            options = ("--process", str(processes[-1]), "--size-min", "9000")
            both = [row for row in table(tools, command, database, "--size-min", "9000") if row["process_id"] == str(processes[-1])]
            require(table(tools, command, database, *options) == both, f"{name}: {command} {options}")
        require(sum(n > 100 for n in n_passed) >= 7 and len(set(n_passed)) >= 7, f"{name}: filters let {n_passed} rows pass")


# Options, and the same of `pool_blocks AS a`.
IN_PHASE = "EXISTS (SELECT 1 FROM phases AS p WHERE p.name = 'odd' AND p.process_id = a.process_id AND a.alloc_ns BETWEEN p.start_ns AND p.end_ns)"
POOL_FILTERS = {
    ("--size-min", "0"): "1",
    ("--size-min", "100"): "size_bytes >= 100",
    ("--lifetime", "only_leaked"): "is_leaked",
    ("--lifetime-max", "1ms", "--lifetime", "only_temporary"): "lifetime_ns <= 1000000",
    ("--thread", "{thread}"): "thread_id = {thread}",
    ("--window", "1", "--group", "root"): "group_id = 1",
    ("--group", "request"): "group_id IN (SELECT group_id FROM allocation_groups WHERE name = 'request')",
    ("--phase", "odd"): IN_PHASE,
    ("--from", "{middle}ns"): "alloc_ns >= {middle}",
    ("--to", "{middle}ns", "--size-max", "100"): "alloc_ns <= {middle} AND size_bytes <= 100",
    ("--at", "{middle}ns"): "alloc_ns <= {middle} AND ifnull(free_ns > {middle}, 1)",
    ("--backtrace", "{stack}"): "backtrace_id = {stack}",
}
NO_POOL_FILTERS = (("--kind", "malloc"), ("--mmaped", "yes"), ("--arena", "main"), ("--chain-length-min", "2"), ("--intervening-max", "1"),
                   ("--group-allocations-min", "2"), ("--lifetime", "only_chain_leaked"))
TAKEN = ("taken_blocks", "taken_bytes", "held_bytes", "spare_bytes")


def expected_pools(db, rows):
    answer = {}
    for (pool,) in db.execute("SELECT pool_id FROM pools").fetchall():
        own = [row for row in rows if row["pool_id"] == pool]
        live = [row for row in own if end_of(row) == NEVER]
        peak, at = highest([(row["alloc_ns"], row["size_bytes"]) for row in own] + [(end_of(row), -row["size_bytes"]) for row in own if end_of(row) != NEVER])
        answer[str(pool)] = {"allocated_blocks": len(own), "live_blocks": len(live), "allocated_bytes": sum(row["size_bytes"] for row in own),
                             "live_bytes": sum(row["size_bytes"] for row in live), "peak_bytes": peak, "peak_ns": at}
    return answer


def pools(tools, folder):
    n_passed = collections.Counter()
    for name, database in recordings(tools, folder, ("charges", "family", "nested", "threads of pools", "ends of pools")):
        db = sqlite3.connect(database)
        db.row_factory = sqlite3.Row
        known = dict(db.execute("SELECT thread_id AS thread, backtrace_id AS stack, (SELECT avg(alloc_ns) FROM pool_blocks) AS middle FROM pool_blocks"
                                " GROUP BY 1, 2 ORDER BY count(*) DESC LIMIT 1").fetchone())
        known["middle"] = int(known["middle"])
        plain = [{key: value for key, value in row.items() if key not in TAKEN} for row in table(tools, "by-pool", database)]
        for options, sql in POOL_FILTERS.items():
            if name not in ("charges", "family") and ("--group" in options or "--phase" in options):
                continue
            options = [option.format(**known) for option in options]
            rows = db.execute(f"SELECT * FROM pool_blocks AS a WHERE {sql.format(**known)}").fetchall()
            n_passed[sql] += len(rows)
            found = table(tools, "by-pool", database, *options)
            require(all(row[taken] is None for row in found for taken in TAKEN), f"{name}: {options} tells what of malloc is of blocks that pass")
            found = {row["pool_id"]: {key: value for key, value in row.items() if key not in TAKEN} for row in found}
            for pool, numbers in expected_pools(db, rows).items():
                for figure, value in numbers.items():
                    require(found[pool][figure] == (None if value is None else str(value)),
                            f"{name}: {options}, pool {pool}: {figure} is {found[pool][figure]}, rows say {value}")
            require(sql != "1" or list(found.values()) == plain, f"{name}: {options} is not by-pool")
        for options in NO_POOL_FILTERS:
            words = ask(tools, "by-pool", database, *options, status=2).stderr
            require("cannot be used for blocks of pools" in words, f"{options}: {words}")
        shown = ask(tools, "by-pool", database, "--size-min", "100", "--show-sql").stdout
        views, select = shown.split("-- What the table below is made of:\n")
        db.executescript(views)
        require(len(db.execute(select.split(";")[0]).fetchall()) == db.execute("SELECT count(*) FROM pool_blocks WHERE size_bytes >= 100").fetchone()[0],
                f"{name}: {select} selects other rows")
    require(all(n_passed.values()), f"some let nothing pass: {n_passed}")


def claims(tools, folder):
    for _, database in recordings(tools, folder, ("claimed",)):
        plain = table(tools, "claimed-twice", database)
        require(len(plain) == 1 and plain[0]["allocation_id"], f"{plain}")
        size, thread = sqlite3.connect(database).execute("SELECT size_bytes, thread_id FROM allocations WHERE allocation_id = ?",
                                                         (plain[0]["allocation_id"],)).fetchone()
        for options in (("--size-min", str(size)), ("--thread", str(thread), "--size-max", str(size)), ("--lifetime", "only_leaked"), ("--backtrace-depth-min", "0")):
            require(table(tools, "claimed-twice", database, *options) == plain, f"{options} lets the claim not pass")
        for options in (("--size-min", str(size + 1)), ("--size-max", str(size - 1)), ("--lifetime", "only_temporary"), ("--backtrace-depth-max", "0")):
            require(table(tools, "claimed-twice", database, *options) == [], f"{options} lets the claim pass")


# Parts of the page, and what says the same.
PARTS = {"leaks": "leaks", "peak": "peak", "temporary": "temporary", "hot": "hot", "modules": "by-module", "threads": "threads"}


def page(tools, folder, database, *options):
    ask(tools, "report", database, "--process", "1", "-f", "-o", str(folder / "page.html"), *options)
    text = (folder / "page.html").read_text()
    parts = {name: json.loads(rows) for name, rows in re.findall(r'<script type="application/json" id="(?:rows-)?(.*?)">(.*?)</script>', text, re.S)}
    return text, parts, dict(re.findall(r'<dd data-name="(.*?)">(.*?)</dd>', text))


def weight_of(flames, title):
    """Bytes of all frames' own."""
    nodes = next(measure["nodes"] for measure in flames["measures"] if measure["title"] == title)
    return sum(nodes[2::4])


def pages(tools, folder):
    for _, database in recordings(tools, folder, ("charges",)):
        _, plain, numbers = page(tools, folder, database)
        for options in (("--size-min", "0"), ("--backtrace-depth-min", "0")):
            text, parts, same = page(tools, folder, database, *options)
            require("growth" not in parts and "mtrace-query growth takes the same" in text, "growth is there, though it is of no filter")
            require(same and all(numbers[name] == value for name, value in same.items()), f"{options}: numbers {same}, without {numbers}")
            require(parts["hot"], "no rows")
            for name, rows in plain.items():
                if name != "growth":
                    require(parts[name] == rows, f"{options}: {name} of the page is not that without a filter")
        for options, sql in list(FILTERS.items())[:-1]:
            if sql == "1":
                continue
            text, parts, numbers = page(tools, folder, database, *options)
            for name, command in PARTS.items():
                output = json.loads(ask(tools, command, database, "--process", "1", "--json", "--count", "0", *options).stdout)
                output = [row for row in output if not row.get("suppressed_by")]
                rows = [{key: value for key, value in row.items() if key in (output[0] if output else ()) and key != "stack"} for row in parts[name]]
                output = [{key: row[key] for key in row if not rows or key in rows[0]} for row in output[:len(rows)]]
                order = (lambda row: row["tid"]) if name == "threads" else (lambda row: 0)
                require(sorted(rows, key=order) == sorted(output, key=order), f"{options}: {name} of the page is not what {command} says")
            db = sqlite3.connect(database)
            n_blocks, n_bytes = db.execute(f"SELECT count(*), sum(size_bytes) FROM allocations AS a WHERE {sql}").fetchone()
            require(numbers["allocations"] == f"{n_blocks:,}" and "peak_bytes" not in numbers, f"{options}: {numbers}, not {n_blocks} blocks")
            require(weight_of(parts["flame"], "allocated") == n_bytes, f"{options}: the flame graph is not of {n_bytes} bytes")
            require(f"; {options[0][2:].replace('-', '_')} {options[1].replace('<', '')}" in text, f"{options} is in no headline")


def what_is_printed(tools, folder):
    short = "for i in range(300000): bytes(600 + i % 9000)"
    database = harness.record_database(tools, folder, "elided", [sys.executable, "-c", short], ("--cull-temporary", "10"))
    elided = sqlite3.connect(database).execute("SELECT sum(elided_blocks) FROM backtrace_totals").fetchone()[0]
    require(elided, "nothing was elided")
    for command in COMMANDS:
        for options in (("--size-min", "0"), ("--backtrace-depth-min", "0")):
            words = ask(tools, command, database, *options).stderr
            require("were elided: totals include them, but this answer is made of rows and does not" in words, f"{command} {options} says {words}")
    harness.import_log(tools, folder / "elided.dat", folder / "slim.db", "--slim")
    for command in COMMANDS:
        for options in (("--size-min", "0"), ("--backtrace-depth-min", "0")):
            words = ask(tools, command, folder / "slim.db", *options, status=1).stderr
            require("imported with --slim" in words, f"{command} {options} of a slim import prints {words}")
        ask(tools, command, folder / "slim.db")
        shown = ask(tools, command, database, "--size-min", "9000", "--show-sql").stdout
        require(shown.startswith("-- What the table below is made of:\n"), f"{command} --show-sql: {shown}")
        first = shown.split("\n", 1)[1].split(";")[0]
        db = sqlite3.connect(database)
        require(len(db.execute(first).fetchall()) == db.execute("SELECT count(*) FROM allocations WHERE size_bytes >= 9000").fetchone()[0],
                f"{command}: {first} selects other rows")
    require(sqlite3.connect(folder / "slim.db").execute("SELECT count(*) FROM group_moves").fetchone() == (0,), "a slim import has moves of blocks")


def test():
    tools = harness.Tools.from_environment()
    with harness.scratch() as folder:
        {"all": let_all_pass, "some": some_pass, "page": pages, "pools": pools, "claims": claims, "notes": what_is_printed}[sys.argv[1]](tools, Path(folder))


if __name__ == "__main__":
    harness.main(test)
