#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""recompute.py DATABASE…: computes every table of totals again from the rows alone, and prints every difference.

Also checks what must hold between tables: chains, heaps, pages, mappings, function totals.
Nothing here shares code with the importer. Without arguments: records and imports WORKLOADS first.
"""

import argparse
import bisect
import collections
import itertools
import os
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

WORKLOADS = ("threads", "cross_thread_free", "realloc_edges", "alignments", "mappings", "fork_children", "leak_cxx",
             "short_threads", "exec_again")
# Other threads make a hundred thousand rows while a child lives, and each row is looked at here in Python.
ARGUMENTS = {"fork_children": ("fork", "2")}
NEVER = None


class Complaints:
    def __init__(self, name):
        self.name, self.n, self.n_compared = name, 0, 0

    def __call__(self, text):
        self.n += 1
        if self.n <= 20:
            print(f"{self.name}: {text}")

    def equal(self, what, expected, found):
        self.n_compared += 1
        if expected != found:
            self(f"{what}: rows say {expected}, the table {found}")

    def same_table(self, what, expected, found):
        for key in sorted(expected.keys() | found.keys(), key=str):
            self.equal(f"{what} {key}", expected.get(key), found.get(key))


def table(db, sql, n_key):
    return {tuple(row[:n_key]): tuple(row[n_key:]) for row in db.execute(sql)}


class Rows:
    """All allocations, and the times at which live sums of a process change."""

    def __init__(self, db):
        db.row_factory = sqlite3.Row
        self.all = db.execute("SELECT * FROM allocations ORDER BY allocation_id").fetchall()
        db.row_factory = None
        self.by_process = collections.defaultdict(list)
        for row in self.all:
            self.by_process[row["process_id"]].append(row)

    @staticmethod
    def changes(rows):
        """[(time, bytes, blocks)] in order, one entry per time."""
        sums = collections.defaultdict(lambda: [0, 0])
        for row in rows:
            new = sums[row["alloc_ns"]]
            new[0] += row["size_bytes"]
            new[1] += 1
            if row["free_ns"] is not None:
                died = sums[row["free_ns"]]
                died[0] -= row["size_bytes"]
                died[1] -= 1
        return [(at, *sums[at]) for at in sorted(sums)]

    @classmethod
    def peak(cls, rows):
        """(bytes, blocks, time) of the first highest sum; time None when it is 0."""
        live = blocks = 0
        best = (0, 0, NEVER)
        for at, n_bytes, n_blocks in cls.changes(rows):
            live += n_bytes
            blocks += n_blocks
            if live > best[0]:
                best = (live, blocks, at)
        return best


def live_at(row, at):
    return row["alloc_ns"] <= at and (row["free_ns"] is None or row["free_ns"] > at)


def check_processes(db, rows, complain):
    found = table(db, "SELECT process_id, peak_bytes, peak_blocks, peak_ns FROM processes", 1)
    expected = {(process,): Rows.peak(rows.by_process[process]) for (process,) in found}
    complain.same_table("peak of process", expected, found)
    complain.equal("ids that are not in order of time", 0, sum(a["alloc_ns"] > b["alloc_ns"] for a, b in zip(rows.all, rows.all[1:])))


def stack_row(mine, peak_ns):
    leaked = [row for row in mine if row["is_leaked"]]
    ended = [row for row in mine if row["free_ns"] is not None]
    temporary = [row for row in mine if row["intervening_allocations"] is not None and row["intervening_allocations"] <= 1]
    at_peak = [row for row in mine if peak_ns is not None and live_at(row, peak_ns)]
    own_peak = Rows.peak(mine)
    total = lambda some: sum(row["size_bytes"] for row in some)
    return (len(mine), total(mine), len(leaked), total(leaked),
            min((row["alloc_ns"] for row in leaked), default=None), max((row["alloc_ns"] for row in leaked), default=None),
            len(temporary), total(temporary), len(at_peak), total(at_peak),
            own_peak[0], own_peak[2] if own_peak[0] else min(row["alloc_ns"] for row in mine),
            min(row["alloc_ns"] for row in mine), max(row["alloc_ns"] for row in mine),
            min(row["size_bytes"] for row in mine), max(row["size_bytes"] for row in mine),
            sum((row["usable_bytes"] or row["size_bytes"]) - row["size_bytes"] for row in mine),
            sum(row["lifetime_ns"] for row in ended),
            sum(row["chain_position"] in (None, 1) for row in mine),
            sum(row["realloc_from_id"] is not None for row in mine))


def check_stacks(db, rows, complain):
    found = table(db, """SELECT process_id, backtrace_id, allocated_blocks - elided_blocks, allocated_bytes - elided_bytes,
        leaked_blocks, leaked_bytes, leaked_first_ns, leaked_last_ns, temporary_blocks, temporary_bytes,
        peak_blocks, peak_bytes, own_peak_bytes, own_peak_ns, first_ns, last_ns, min_size_bytes, max_size_bytes, slack_bytes,
        lifetime_sum_ns, chains_started, realloc_count FROM backtrace_totals WHERE elided_blocks = 0""", 2)
    elided = {row for row in db.execute("SELECT process_id, backtrace_id FROM backtrace_totals WHERE elided_blocks > 0")}
    peaks = dict(db.execute("SELECT process_id, peak_ns FROM processes"))
    groups = collections.defaultdict(list)
    for row in rows.all:
        groups[row["process_id"], row["backtrace_id"]].append(row)
    expected = {key: stack_row(mine, peaks[key[0]]) for key, mine in groups.items() if key not in elided}
    complain.same_table("stack", expected, found)
    complain.equal("freed = allocated - live", 0, db.execute(
        """SELECT count(*) FROM backtrace_totals JOIN processes USING (process_id)
           WHERE allocated_blocks - freed_blocks <> leaked_blocks AND end_kind <> 'exec'""").fetchone()[0])


def check_chains_leaked(db, rows, complain):
    by_id = {row["allocation_id"]: row for row in rows.all}
    last_of = dict(db.execute("SELECT chain_id, last_allocation_id FROM realloc_chains"))
    expected = collections.Counter()
    for row in rows.all:
        if row["chain_position"] not in (None, 1):
            continue
        last = by_id[last_of.get(row["chain_id"], row["allocation_id"])]
        if last["is_leaked"]:
            expected[row["process_id"], row["backtrace_id"]] += 1
    found = table(db, "SELECT process_id, backtrace_id, chains_leaked FROM backtrace_totals WHERE chains_leaked > 0", 2)
    complain.same_table("chains leaked", {key: (n,) for key, n in expected.items()}, found)


def copied_bytes(before, row):
    """glibc moves the pages of a block with a mapping of its own."""
    return 0 if before["heap_id"] is None and row["heap_id"] is None else min(before["size_bytes"], row["size_bytes"])


def check_chains(db, rows, complain):
    members = collections.defaultdict(list)
    for row in rows.all:
        if row["chain_id"] is not None:
            members[row["chain_id"]].append(row)
    expected, sums = {}, collections.defaultdict(lambda: [0] * 8)
    for chain, mine in members.items():
        complain.equal(f"positions of chain {chain}", list(range(1, len(mine) + 1)), [row["chain_position"] for row in mine])
        complain.equal(f"links of chain {chain}", [None] + [row["allocation_id"] for row in mine[:-1]],
                       [row["realloc_from_id"] for row in mine])
        moved = [copied_bytes(a, b) for a, b in zip(mine, mine[1:]) if a["address"] != b["address"]]
        first, last = mine[0], mine[-1]
        expected[(chain,)] = (first["process_id"], first["backtrace_id"], last["allocation_id"], last["backtrace_id"], len(mine),
                              first["size_bytes"], last["size_bytes"], first["alloc_ns"], last["free_ns"], sum(moved), len(moved))
        entry = sums[first["process_id"], first["backtrace_id"]]
        for i, value in enumerate((1, len(mine) - 1, len(moved), sum(moved), 0, first["size_bytes"], last["size_bytes"],
                                   int(last["is_leaked"]))):
            entry[i] += value
        entry[4] = max(entry[4], len(mine))
    complain.same_table("chain", expected, table(db, """SELECT chain_id, process_id, first_backtrace_id, last_allocation_id,
        last_backtrace_id, length, first_size_bytes, last_size_bytes, start_ns, end_ns, copied_bytes, moves
        FROM realloc_chains""", 1))
    complain.same_table("chain totals", {key: tuple(value) for key, value in sums.items()}, table(db, """SELECT process_id,
        first_backtrace_id, chains, reallocs, moves, copied_bytes, longest, first_bytes, last_bytes, leaked_chains
        FROM chain_totals""", 2))
    copied = collections.Counter()
    for mine in members.values():
        for before, row in zip(mine, mine[1:]):
            if before["address"] != row["address"]:
                copied[row["process_id"], row["backtrace_id"]] += copied_bytes(before, row)
    complain.same_table("copied", {key: (n,) for key, n in copied.items() if n}, table(db, """SELECT process_id, backtrace_id,
        realloc_copied_bytes FROM backtrace_totals WHERE realloc_copied_bytes > 0""", 2))


def count(rows, key):
    """{key: (blocks, bytes)}; a None anywhere in the key leaves a row out."""
    sums = collections.defaultdict(lambda: [0, 0])
    for row in rows:
        k = key(row)
        if k is not None and None not in k:
            sums[k][0] += 1
            sums[k][1] += row["size_bytes"]
    return {k: tuple(value) for k, value in sums.items()}


def check_tallies(db, rows, complain):
    elided = db.execute("SELECT coalesce(sum(elided_blocks), 0) FROM backtrace_totals").fetchone()[0]
    if elided == 0:
        freed = [row for row in rows.all if row["ended_by"] == "free"]
        complain.same_table("free site", count(freed, lambda r: (r["process_id"], r["backtrace_id"], r["free_backtrace_id"])),
                            table(db, "SELECT * FROM free_sites", 3))
    ended = [row for row in rows.all if row["ended_by"] in ("free", "realloc")]
    complain.same_table("flow", count(ended, lambda r: (r["process_id"], r["thread_id"], r["free_thread_id"])),
                        table(db, "SELECT * FROM thread_flows", 3))


def check_threads(db, rows, complain):
    groups = collections.defaultdict(list)
    for row in rows.all:
        groups[row["thread_id"]].append(row)
    allocated = count(rows.all, lambda r: (r["thread_id"],))
    leaked = count([r for r in rows.all if r["is_leaked"]], lambda r: (r["thread_id"],))
    freed = count([r for r in rows.all if r["ended_by"] in ("free", "realloc")], lambda r: (r["free_thread_id"],))
    expected = {}
    found = table(db, """SELECT thread_id, allocated_blocks, allocated_bytes, freed_blocks, freed_bytes, leaked_blocks,
        leaked_bytes, peak_bytes FROM threads""", 1)
    for (thread,) in found:
        key = (thread,)
        expected[key] = (*allocated.get(key, (0, 0)), *freed.get(key, (0, 0)), *leaked.get(key, (0, 0)),
                         Rows.peak(groups[thread])[0])
    if not db.execute("SELECT sum(elided_blocks) FROM backtrace_totals").fetchone()[0]:
        complain.same_table("thread", expected, found)
    complain.equal("rows of unknown threads", set(), {row["thread_id"] for row in rows.all} - {key[0] for key in found})


def check_classes(db, rows, complain):
    for process, start, end, *numbers in db.execute("SELECT * FROM size_classes"):
        mine = [r for r in rows.by_process[process] if start <= r["size_bytes"] <= end]
        leaked = [r for r in mine if r["is_leaked"]]
        temporary = [r for r in mine if r["intervening_allocations"] is not None and r["intervening_allocations"] <= 1]
        total = lambda some: sum(r["size_bytes"] for r in some)
        complain.equal(f"sizes {start}..{end} of {process}",
                       [len(mine), total(mine), len(leaked), total(leaked), len(temporary),
                        sum((r["usable_bytes"] or r["size_bytes"]) - r["size_bytes"] for r in mine)], numbers)
    for process, start, end, blocks, n_bytes in db.execute("SELECT * FROM lifetime_classes"):
        mine = [r for r in rows.by_process[process] if r["free_ns"] is not None and start <= r["lifetime_ns"] < end]
        complain.equal(f"lifetimes {start}..{end} of {process}", (len(mine), sum(r["size_bytes"] for r in mine)),
                       (blocks, n_bytes))
    ended = sum(r["free_ns"] is not None for r in rows.all)
    complain.equal("blocks in size classes", len(rows.all),
                   db.execute("SELECT coalesce(sum(allocated_blocks), 0) FROM size_classes").fetchone()[0])
    complain.equal("blocks in lifetime classes", ended,
                   db.execute("SELECT coalesce(sum(blocks), 0) FROM lifetime_classes").fetchone()[0])


def check_timeline(db, rows, complain):
    for (process,) in db.execute("SELECT process_id FROM processes").fetchall():
        mine = rows.by_process[process]
        changes = Rows.changes(mine)
        allocations, ends, kept = collections.Counter(), collections.Counter(), collections.Counter()
        buckets = db.execute("SELECT * FROM timeline WHERE process_id = ? ORDER BY bucket", (process,)).fetchall()
        if not buckets:
            complain.equal(f"events of process {process} without a timeline", 0, len(mine))
            continue
        start_ns, width = buckets[0][2], buckets[0][3] - buckets[0][2]
        for row in mine:
            allocations[max(0, (row["alloc_ns"] - start_ns) // width)] += 1
            if row["free_ns"] is not None:
                ends[max(0, (row["free_ns"] - start_ns) // width)] += 1
            if row["is_leaked"]:
                kept[max(0, (row["alloc_ns"] - start_ns) // width)] += row["size_bytes"]
        live = i = lost = 0
        for _, bucket, start, end, live_bytes, _, peak, low, new, _, freed, _, _, leaked_bytes, *margins in buckets:
            values = [] if i < len(changes) and changes[i][0] <= start and bucket else [live]
            while i < len(changes) and changes[i][0] < end:
                live += changes[i][1]
                values.append(live)
                i += 1
            lost += kept[bucket]
            complain.equal(f"timeline bucket {bucket} of {process}",
                           (live, max(values, default=live), min(values, default=live), allocations[bucket], ends[bucket], lost),
                           (live_bytes, peak, low, new, freed, leaked_bytes))
            complain.equal(f"margins of what is exact in bucket {bucket} of {process}", [None] * 5, margins)
        complain.equal(f"changes of {process} after its timeline", len(changes), i)


def check_snapshots(db, rows, complain):
    for (process,) in db.execute("SELECT process_id FROM processes").fetchall():
        state = {}
        for snapshot, at, reason in db.execute("SELECT snapshot_id, at_ns, reason FROM snapshots WHERE process_id = ?"
                                               " ORDER BY snapshot_id", (process,)).fetchall():
            found = table(db, f"SELECT backtrace_id, live_blocks, live_bytes FROM snapshot_backtraces"
                              f" WHERE snapshot_id = {snapshot}", 1)
            expected = count([r for r in rows.by_process[process] if live_at(r, at)], lambda r: (r["backtrace_id"],))
            if reason == "regular":
                state.update(found)
                found = dict(state)
            found = {key: value for key, value in found.items() if value[0]}
            complain.same_table(f"snapshot {snapshot} ({reason}) of {process}, stack", expected, found)


def sums_by_site(db, rows, pick):
    """{(process, site): [blocks, bytes, stacks]} of the rows that are picked."""
    site_of = dict(db.execute("SELECT backtrace_id, call_site_id FROM backtraces"))
    sums, stacks = collections.defaultdict(lambda: [0, 0]), collections.defaultdict(set)
    for row in filter(pick, rows.all):
        key = row["process_id"], site_of[row["backtrace_id"]]
        sums[key][0] += 1
        sums[key][1] += row["size_bytes"]
        stacks[key].add(row["backtrace_id"])
    return {key: (*value, len(stacks[key])) for key, value in sums.items()}


def check_sites(db, rows, complain):
    """Call sites from rows, and what rows lack (elided blocks) from stacks."""
    if not db.execute("SELECT sum(elided_blocks) FROM backtrace_totals").fetchone()[0]:
        peaks = dict(db.execute("SELECT process_id, peak_ns FROM processes"))
        complete = {stack for (stack,) in db.execute("SELECT backtrace_id FROM backtraces WHERE status = 'complete'")}
        for what, columns, n, pick in (
                ("allocated", "allocated_blocks, allocated_bytes, stacks", 3, lambda r: True),
                ("leaked", "leaked_blocks, leaked_bytes", 2, lambda r: r["is_leaked"]),
                ("temporary", "temporary_blocks, temporary_bytes", 2,
                 lambda r: r["intervening_allocations"] is not None and r["intervening_allocations"] <= 1),
                ("live at the peak", "peak_blocks, peak_bytes", 2,
                 lambda r: peaks[r["process_id"]] is not None and live_at(r, peaks[r["process_id"]])),
                ("with a complete stack", "complete_blocks", 1, lambda r: r["backtrace_id"] in complete),
                ("moved", "realloc_count", 1, lambda r: r["realloc_from_id"] is not None)):
            expected = {key: value[:n] for key, value in sums_by_site(db, rows, pick).items()}
            found = table(db, f"SELECT process_id, call_site_id, {columns} FROM site_totals WHERE {columns.split(',')[0]} > 0", 2)
            complain.same_table(f"{what} of site", expected, found)
    numbers = ("freed_blocks", "freed_bytes", "own_peak_bytes", "slack_bytes", "lifetime_sum_ns", "realloc_copied_bytes",
               "elided_blocks", "elided_bytes")
    expected = collections.defaultdict(lambda: [0] * len(numbers))
    for process, site, *values in db.execute(f"SELECT process_id, call_site_id, {', '.join(numbers)} FROM backtrace_totals"
                                             " JOIN backtraces USING (backtrace_id)").fetchall():
        for i, value in enumerate(values):
            expected[process, site][i] += value
    complain.same_table("sums of site", {key: tuple(value) for key, value in expected.items()},
                        table(db, f"SELECT process_id, call_site_id, {', '.join(numbers)} FROM site_totals", 2))


def check_leaks(db, rows, complain):
    rules = {(process, stack): rule for process, stack, rule in db.execute("SELECT * FROM suppressed_stacks")}
    site_of = dict(db.execute("SELECT backtrace_id, call_site_id FROM backtraces"))
    lost = {process for (process,) in db.execute("SELECT process_id FROM processes WHERE end_kind = 'exec'")}
    groups = collections.defaultdict(list)
    for row in rows.all:
        process, stack = row["process_id"], row["backtrace_id"]
        if row["is_leaked"] and process not in lost:
            groups[process, site_of[stack], rules.get((process, stack))].append(row)
    expected = {key: (len({r["backtrace_id"] for r in mine}), len(mine), sum(r["size_bytes"] for r in mine),
                      min(r["alloc_ns"] for r in mine), max(r["alloc_ns"] for r in mine)) for key, mine in groups.items()}
    complain.same_table("leaks of site", expected, table(db, "SELECT process_id, call_site_id, rule_id, stacks, leaked_blocks,"
                                                             " leaked_bytes, leaked_first_ns, leaked_last_ns FROM site_leaks", 3))
    check_allocations(db, rows, complain)
    check_leak_patterns(db, groups, rows, complain)
    leaking = set(db.execute("SELECT process_id, backtrace_id FROM backtrace_totals WHERE leaked_blocks > 0"))
    freed = collections.defaultdict(collections.Counter)
    for process, stack, free_stack, blocks in db.execute("SELECT process_id, backtrace_id, free_backtrace_id, blocks FROM free_sites"):
        if site_of[free_stack] is not None:
            freed[process, site_of[stack], (process, stack) in leaking][site_of[free_stack]] += blocks
    expected = {key: min(((site, n) for site, n in sites.items()), key=lambda item: (-item[1], item[0]))
                for key, sites in freed.items()}
    complain.same_table("frees of site", expected, table(db, "SELECT * FROM site_frees", 3))


def lives(db):
    """process -> (start, length of a 64th of its life)."""
    return {process: (start, (end - start) // 64) for process, start, end in
            db.execute("SELECT process_id, start_ns, end_ns FROM processes")}


def part_of(life, at):
    start, part = life
    return min(63, (at - start) // part) if part > 0 and at > start else 0


def check_allocations(db, rows, complain):
    life = lives(db)
    allocations = collections.defaultdict(lambda: [0, 0])
    for row in rows.all:
        if row["is_leaked"]:
            entry = allocations[row["process_id"], row["backtrace_id"], part_of(life[row["process_id"]], row["alloc_ns"])]
            entry[0] += 1
            entry[1] += row["size_bytes"]
    complain.same_table("allocations of leaks", {key: tuple(entry) for key, entry in allocations.items()},
                        table(db, "SELECT * FROM leaked_allocations", 3))


def first_where(sums, share):
    """Index of the first running sum that has come to a share, in tenths, of the last."""
    return next(i for i, value in enumerate(sums) if 10 * value >= share * sums[-1])


def levels_of(db, rows, process):
    """Parts of the regular snapshots, and at each the live bytes of a list of rows."""
    times, parts = looks_of(db, process)
    steps = [0] * (len(times) + 1)
    for row in rows:
        steps[bisect.bisect_left(times, row["alloc_ns"])] += row["size_bytes"]
        if row["free_ns"] is not None:
            steps[bisect.bisect_left(times, row["free_ns"])] -= row["size_bytes"]
    return parts, list(itertools.accumulate(steps[:-1]))


def teardown_of(snapshots, levels, start, end):
    """When the last fall of all live bytes before an exit begins, as in the view _growth_range; else the end."""
    regular = [(at, level) for (_, at, reason), level in zip(snapshots, levels) if reason == "regular"]
    if not regular or len(regular) == len(snapshots):
        return end
    falls = [0 < i and level <= max(below for _, below in regular[max(0, i - 2):i]) for i, (_, level) in enumerate(regular)]
    first = max(i for i, fall in enumerate(falls) if not fall)
    top = regular[first][1]
    begin = max(at for at, level in regular[first:] if 20 * level >= 19 * top)
    last_at, last = regular[-1]
    settled = max((at for at, level in regular if 20 * level > 21 * last), default=begin)
    is_slow = 4 * (settled - begin) >= 3 * (last_at - begin)
    return begin if 2 * levels[-1] <= top and 4 * last <= 3 * top and is_slow and 2 * begin >= start + end else end


def looks_of(db, process, end=None):
    """When the regular snapshots were, and in which 64th of the process's life, or of the time to its teardown."""
    start, life_end = db.execute("SELECT start_ns, end_ns FROM processes WHERE process_id = ?", (process,)).fetchone()
    end = life_end if end is None else end
    times = [at for (at,) in db.execute("SELECT at_ns FROM snapshots WHERE process_id = ? AND reason = 'regular' ORDER BY at_ns, snapshot_id",
                                           (process,))]
    return times, [min(63, max(0, int(64.0 * (at - start) / max(1, end - start)))) for at in times]


def changes_of(levels):
    return [now - before for before, now in zip([0, *levels], levels)]


def has_fallen(levels):
    return any(2 * level < high for level, high in zip(levels, itertools.accumulate(levels, max)))


def check_leak_patterns(db, groups, rows, complain):
    """The patterns of leaks, from rows, by the rules in the comment of the view _site_shapes."""
    life, site_of = lives(db), dict(db.execute("SELECT backtrace_id, call_site_id FROM backtraces"))
    of_site = collections.defaultdict(list)
    for row in rows.all:
        of_site[row["process_id"], site_of[row["backtrace_id"]]].append(row)
    found = table(db, "SELECT process_id, call_site_id, rule_id, pattern FROM site_leaks", 3)
    allocations = {}
    for (process, site, rule), mine in groups.items():
        by_stack = collections.defaultdict(lambda: [0, 0])  # blocks of no bytes count as one byte
        for row in mine:
            entry = by_stack[row["backtrace_id"], part_of(life[process], row["alloc_ns"])]
            entry[0] += row["size_bytes"]
            entry[1] += 1
        parts = allocations[process, site, rule] = collections.Counter()
        for (_, part), (size, blocks) in by_stack.items():
            parts[part] += max(size, blocks)
    for (process, site, rule), mine in groups.items():
        if len(mine) <= 2:
            complain.equal(f"pattern of {len(mine)} blocks of site {site} of {process}", ("once" if len(mine) == 1 else "burst",),
                           found.get((process, site, rule)))
            continue
        steps = [(part, 0, n, n, 0) for part, n in allocations[process, site, rule].items()]
        for (other_process, other_site, other), parts in allocations.items():
            if (other_process, other_site) == (process, site) and other != rule and len(groups[process, site, other]) > 2:
                steps += [(part, 0, 0, n, 0) for part, n in parts.items()]
        site_total = sum(sum(parts.values()) for key, parts in allocations.items() if key[:2] == (process, site))
        looks, levels = levels_of(db, of_site[process, site], process)
        steps += [(part, i + 1, 0, 0, change) for i, (part, change) in enumerate(zip(looks, changes_of(levels))) if change]
        complain.equal(f"pattern of site {site} of {process}", (shape("leaks", len(looks), steps, site_total),), found.get((process, site, rule)))


def shape(curve, n_looks, steps, site_total):
    """steps: (part, order, what came to stay, the same of the whole site, change of live bytes)."""
    steps = sorted(steps)
    total = sum(step[2] for step in steps)
    so_far, passes, level = (list(itertools.accumulate(values)) for values in
                             ([s[2] for s in steps], [s[4] - s[3] for s in steps], [s[4] for s in steps]))
    first, last = steps[first_where(so_far, 1)][0], steps[first_where(so_far, 9)][0]
    spans = [(step[0], max(step[0], (steps[i + 1][0] if i + 1 < len(steps) else 64) - 1)) for i, step in enumerate(steps)]

    def most(values, is_in):
        return max((value for value, (begin, end) in zip(values, spans) if is_in(begin, end)), default=None)

    def stayed(since):
        return sum(step[2] for step in steps if step[0] >= since)

    before = most(passes, lambda begin, end: end >= 2 * first - 64 and 3 * begin < 64 + 2 * first)
    just_before = most(passes, lambda begin, end: begin < first and 4 * end >= 5 * first - 72)
    since = most(passes, lambda _, end: end >= first + 2)
    in_half = most(passes, lambda _, end: 2 * end >= 64 + first)
    after = most(passes, lambda _, end: 4 * end >= 192 + first)
    first_top = most(level, lambda begin, _: begin < 32) or 0
    top, third, fourth = (most(level, is_in) for is_in in (lambda _, end: end >= 32, lambda begin, end: end >= 32 and begin < 48,
                                                         lambda _, end: end >= 48))
    is_full = (before is not None and in_half is not None and 2 * before >= total and 2 * before <= 3 * site_total and 4 * in_half >= before
               and 2 * (after or 0) < before)
    is_drained = just_before is not None and 2 * just_before >= total and 4 * (since or 0) < just_before
    is_any = (since is not None and None not in (top, third, fourth) and 4 * top <= 5 * site_total and 4 * (after or 0) <= 3 * since
              and 20 * stayed(48) >= total and stayed(48) > 0 and 20 * (fourth - third) < top)
    is_level = (curve == "growth" and since is not None and since > 2 * total and stayed(32) > 0 and 5 * stayed(32) >= total
                and 2 * (top - first_top) < stayed(32))
    if n_looks >= 8 and (is_full or is_drained or is_any or is_level):
        return "saw tooth" if has_fallen(level) else "plateau"
    if curve == "growth" and n_looks < 8 or 2 * max(step[2] for step in steps) >= total:
        return "burst"
    return "plateau" if last < 43 else "late" if first >= 32 else "steady"


def growth_of(looks, times, levels):
    """(pattern, since, until) of levels at regular snapshots, by the rules of the view growth; None: they did not rise."""
    if levels[-1] <= levels[0]:
        return (None, None, None)
    floor = [min(levels[i:]) for i in range(len(levels))]
    stays = [now - before for before, now in zip([floor[0], *floor], floor)]
    under = [floor[0], *stays[1:]]
    steps = [(part, i, rise, below, change) for i, (part, rise, below, change) in enumerate(zip(looks, stays, under, changes_of(levels)))
             if change]
    sums = list(itertools.accumulate(stays))
    return (shape("growth", len(levels), steps, sum(stays)), times[first_where(sums, 1)], times[first_where(sums, 9)])


def check_growth(db, rows, complain):
    """Levels of call sites at all snapshots but the peak, from rows."""
    site_of = dict(db.execute("SELECT backtrace_id, call_site_id FROM backtraces"))
    changes = table(db, "SELECT snapshot_id, call_site_id, change_bytes FROM snapshot_sites", 2)
    growth = table(db, "SELECT * FROM site_growth", 2)
    expected_changes, n_sites = {}, 0
    for (process,) in db.execute("SELECT process_id FROM processes").fetchall():
        snapshots = db.execute("SELECT snapshot_id, at_ns, reason FROM snapshots WHERE process_id = ? AND reason <> 'peak'"
                               " ORDER BY at_ns, snapshot_id", (process,)).fetchall()
        times = [at for _, at, _ in snapshots]
        changes_of = collections.defaultdict(lambda: [0] * (len(snapshots) + 1))
        for row in rows.by_process[process]:
            steps = changes_of[site_of[row["backtrace_id"]]]
            steps[bisect.bisect_left(times, row["alloc_ns"])] += row["size_bytes"]
            if row["free_ns"] is not None:
                steps[bisect.bisect_left(times, row["free_ns"])] -= row["size_bytes"]
        start, end, kind = db.execute("SELECT start_ns, end_ns, end_kind FROM processes WHERE process_id = ?", (process,)).fetchone()
        all_levels = list(itertools.accumulate(sum(values) for values in zip(*(steps[:-1] for steps in changes_of.values()))))
        if kind == "exit" and all_levels:
            end = teardown_of(snapshots, all_levels, start, end)
        for site, (*steps, _) in changes_of.items():
            level = list(itertools.accumulate(steps))
            expected_changes.update({(snapshots[i][0], site): (step,) for i, step in enumerate(steps) if step})
            regular = [i for i, (_, _, reason) in enumerate(snapshots) if reason == "regular" and snapshots[i][1] <= end]
            if not any(steps[i] for i in regular):
                continue
            n_sites += 1
            found = growth.get((process, site))
            expected = (len(regular), level[regular[0]], level[regular[-1]],
                        *growth_of(looks_of(db, process, end)[1], [times[i] for i in regular], [level[i] for i in regular]))
            complain.equal(f"growth of site {site} of {process}", expected, found and found[:6])
    complain.equal("sites that changed", n_sites, len(growth))
    complain.same_table("change at (snapshot, site)", expected_changes, changes)


def check_heaps(db, rows, complain):
    for row in db.execute("""SELECT snapshot_id, heap_id, extent_bytes, live_bytes + slack_bytes + overhead_bytes + hole_bytes
            + free_page_bytes + top_bytes, live_bytes, slack_bytes, topmost_allocation_id, min(live_bytes, slack_bytes,
            overhead_bytes, hole_bytes, free_page_bytes, top_bytes), unseen_blocks FROM heap_states JOIN heaps USING (heap_id)""").fetchall():
        snapshot, heap, extent, parts, live, slack, topmost, least, unseen = row
        if unseen is None:
            complain.equal(f"six parts of heap {heap} at {snapshot}", extent, parts)
            complain.equal(f"least part of heap {heap} at {snapshot} is negative", False, least < 0)
        else:
            complain.equal(f"parts of heap {heap} at {snapshot}, where blocks are unseen", None, parts)
        process, at = db.execute("SELECT process_id, at_ns FROM snapshots WHERE snapshot_id = ?", (snapshot,)).fetchone()
        mine = [r for r in rows.by_process[process] if r["heap_id"] == heap and live_at(r, at)]
        complain.equal(f"live and slack of heap {heap} at {snapshot}",
                       (sum(r["size_bytes"] for r in mine), sum((r["usable_bytes"] or r["size_bytes"]) - r["size_bytes"] for r in mine)),
                       (live, slack))
        last = max(mine, key=lambda r: r["address"] + (r["usable_bytes"] or r["size_bytes"]), default=None)
        complain.equal(f"topmost block of heap {heap} at {snapshot}", last["allocation_id"] if last and not unseen else None, topmost)
    known = {heap for heap, in db.execute("SELECT heap_id FROM heaps WHERE unseen_blocks IS NULL")}
    pages = collections.defaultdict(lambda: [0, 0, set()])
    for snapshot, process, at, reason in db.execute("SELECT * FROM snapshots WHERE reason <> 'regular'").fetchall():
        for r in rows.by_process[process]:
            if r["heap_id"] is None or not live_at(r, at):
                continue
            end = r["address"] + (r["usable_bytes"] or r["size_bytes"])
            for page in range(r["address"] // 4096 * 4096, end, 4096):
                entry = pages[snapshot, page]
                entry[0] += min(end, page + 4096) - max(r["address"], page)
                entry[1] += 1
                entry[2].add(r["backtrace_id"] if r["heap_id"] in known else None)
    complain.same_table("page", {key: (n, blocks, stacks.pop() if len(stacks) == 1 else None)
                                 for key, (n, blocks, stacks) in pages.items()},
                        {(snapshot, page + 4096 * i): (live // count, *rest)
                         for snapshot, page, count, live, *rest in db.execute(
                             "SELECT snapshot_id, page_address, page_count, usable_bytes, live_blocks, owner_backtrace_id FROM heap_pages")
                         for i in range(count)})


def check_heap_sums(db, complain):
    """Sums of heap_pages, and the extents of heaps."""
    fills = collections.defaultdict(lambda: [0, 0, 0, 0])
    pins = {}
    for snapshot, heap, count, live, owner, example in db.execute(
            "SELECT snapshot_id, heap_id, page_count, usable_bytes / page_count, owner_backtrace_id, example_allocation_id FROM heap_pages"
            " ORDER BY page_address"):
        fills[snapshot, heap][min(4 * live // 4096, 3)] += count
        if owner is not NEVER:
            pages, all_live, least, block = pins.get((snapshot, owner), (0, 0, live + 1, None))
            pins[snapshot, owner] = (pages + count, all_live + count * live, *((live, example) if live < least else (least, block)))
    found = table(db, "SELECT snapshot_id, heap_id, pages_to_25, pages_to_50, pages_to_75, pages_to_100 FROM heap_states"
                      " WHERE heap_id IN (SELECT heap_id FROM heaps WHERE unseen_blocks IS NULL)", 2)
    complain.same_table("fill of heap", {key: tuple(fills[key]) for key in found}, found)
    complain.same_table("pin", pins, table(
        db, "SELECT snapshot_id, backtrace_id, pages, usable_bytes, emptiest_usable_bytes, example_allocation_id FROM heap_pins"
            " WHERE common_frames = 0", 2))
    for snapshot, heap, end, seen in db.execute("""SELECT n.snapshot_id, h.heap_id, h.start_address + t.extent_bytes,
            (SELECT e.end_address FROM heap_extents AS e WHERE e.heap_id = h.heap_id AND e.at_ns <= n.at_ns ORDER BY e.at_ns DESC LIMIT 1)
            FROM heap_states AS t JOIN heaps AS h USING (heap_id) JOIN snapshots AS n USING (snapshot_id)""").fetchall():
        complain.equal(f"end of heap {heap} at {snapshot} is below where it was seen", False, seen is not None and seen > end)
    complain.same_table("lowest block of heap", table(db, "SELECT heap_id, min(address) FROM allocations WHERE heap_id > 0 GROUP BY 1", 1),
                        table(db, "SELECT heap_id, lowest_block_address FROM heaps", 1))


def check_mappings(db, complain):
    complain.equal("live mappings that overlap", 0, db.execute(
        """SELECT count(*) FROM mmaps a JOIN mmaps b ON a.process_id = b.process_id AND a.mmap_id < b.mmap_id
           AND a.address < b.address + b.length AND b.address < a.address + a.length
           AND a.mapped_ns < coalesce(b.unmapped_ns, 1 << 62) AND b.mapped_ns < coalesce(a.unmapped_ns, 1 << 62)""").fetchone()[0])


def check_functions(db, complain):
    """Functions, and files of code, which are on a stack when a frame of it is theirs."""
    parents = dict(db.execute("SELECT backtrace_id, parent_backtrace_id FROM backtraces"))
    frames = dict(db.execute("SELECT backtrace_id, frame_id FROM backtraces"))
    for what, owners, sites in (
            ("function", "SELECT frame_id, function_id FROM frame_lines WHERE function_id IS NOT NULL", "function_id"),
            ("module", "SELECT frame_id, object_id FROM frames WHERE object_id IS NOT NULL", "object_id")):
        of_frame = collections.defaultdict(set)
        for frame, owner in db.execute(owners):
            of_frame[frame].add(owner)
        site = dict(db.execute(f"SELECT backtrace_id, {sites} FROM backtraces JOIN call_sites USING (call_site_id)"))
        expected = collections.defaultdict(lambda: [0] * 10)
        for process, stack, *numbers in db.execute("""SELECT process_id, backtrace_id, allocated_blocks, allocated_bytes,
                leaked_bytes, peak_bytes, temporary_blocks FROM backtrace_totals""").fetchall():
            seen, node = set(), stack
            while node is not None:
                seen |= of_frame[frames[node]]
                node = parents[node]
            for i, value in enumerate(numbers):
                if site.get(stack) is not None:
                    expected[process, site[stack]][i] += value
                for owner in seen:
                    expected[process, owner][5 + i] += value
        exact = (None,) * 8  # no margins: these are no samples
        complain.same_table(what, {key: (*value, *exact) for key, value in expected.items()},
                            table(db, f"SELECT * FROM {what}_totals", 2))


def check(path):
    db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    complain = Complaints(Path(path).name)
    rows = Rows(db)
    for part in (check_processes, check_stacks, check_chains_leaked, check_chains, check_tallies, check_threads, check_classes,
                 check_timeline, check_snapshots, check_sites, check_leaks, check_growth, check_heaps):
        part(db, rows, complain)
    check_heap_sums(db, complain)
    check_mappings(db, complain)
    check_functions(db, complain)
    print(f"{complain.name}: {len(rows.all)} allocations, {complain.n_compared} values compared, {complain.n} differ")
    return complain.n


def record(folder, name):
    log, database = folder / f"{name}.dat", folder / f"{name}.db"
    program = [Path(os.environ["MTRACE_TEST_WORKLOADS"]) / name, *ARGUMENTS.get(name, ())]
    for argv in ([os.environ["MTRACE_TEST_RECORD"], "--follow-children", "--wait", "-o", str(log), "--", *map(str, program)],
                 [os.environ["MTRACE_TEST_IMPORT"], str(log), str(database)]):
        run = subprocess.run(argv, capture_output=True, text=True, errors="replace", timeout=400, cwd=folder)
        if run.returncode != 0 and argv[0] == os.environ["MTRACE_TEST_IMPORT"]:
            sys.exit(f"{' '.join(argv)} ended with {run.returncode}: {run.stderr}")
    return database


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("database", nargs="*")
    parser.add_argument("--record", action="append", default=[], help="a workload to record and import first")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        databases = arguments.database + [record(Path(folder), name) for name in arguments.record]
        if not databases:
            databases = [record(Path(folder), name) for name in WORKLOADS]
        sys.exit(1 if sum(check(path) for path in databases) else 0)


if __name__ == "__main__":
    main()
