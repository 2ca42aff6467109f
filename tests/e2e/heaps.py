#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""heaps.py mallinfo|extents|inherited|freed|times|split SHAPE: what mtrace reports about heaps, compared with malloc's own numbers and the kernel's.

mallinfo  heap_shapes calls mallinfo2 and malloc_info at a time; the parts of the footprint at that time agree within 1 %
extents   the rows of heaps are the heaps of /proc/self/maps, from the first byte to the last; those of arenas have malloc_info's sizes
inherited in a fork child no memory that malloc calls in use is reported as free; its own heaps agree as above
freed     pinned_pages frees the blocks of sites and trims: the heap shrinks by what pinning predicted, within 5 %
split     in the highest memory sample the heap has as many resident bytes as the kernel reports, within 2 %, also when most of it is free
times     --at the time of the peak and of the end gives what the import computed; holes sum to the parts
"""

import csv
import io
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))

import harness  # noqa: E402
from harness import Failure  # noqa: E402

MIB = 1 << 20
PAGE = 4096
HEAP_BYTES = 64 << 20
# How long a workload waits for the recorder to look: on a busy machine some looks come late.
WAITS_MS = (2000, 10000, 40000)


class Run:
    """A workload, recorded and imported, with the numbers it printed."""

    def __init__(self, place, *argv, options=()):
        tools = harness.Tools.from_environment()
        log = place / f"{'_'.join(argv)}.dat"
        self.query_program, self.path = tools.query, log.with_suffix(".db")
        command, env = harness.record_argv(tools, "record", log, [tools.workloads / argv[0], *argv[1:]], options)
        outcome = harness.run(command, place, env)
        if outcome.status != 0:
            raise Failure(f"{argv} ended with {outcome.status}: {outcome.stderr.decode(errors='replace')}")
        lines = [line.split() for line in outcome.stdout.decode().splitlines()]
        self.values = {line[1]: int(line[2]) for line in lines if line and line[0] == "figure"}
        self.maps = [(int(line[1]), int(line[2]), line[3], line[4] if len(line) > 4 else "") for line in lines if line and line[0] == "map"]
        self.arenas = [int(line[2]) for line in lines if line and line[0] == "arena"]
        self.db = harness.import_log(tools, log, self.path)
        if self.db.value("SELECT sum(events_dropped) FROM processes"):
            raise Failure("events were dropped")

    def at(self):
        """The time of the numbers, as --at accepts it."""
        start_unix, start = self.db.rows("SELECT start_unix_ns, start_ns FROM processes ORDER BY process_id")[0]
        return f"{self.values['at_unix_ns'] - start_unix + start}ns"

    def ask(self, *argv):
        out = subprocess.run([self.query_program, *argv, str(self.path), "--format", "csv"], capture_output=True, text=True,
                             env=harness.environment(), timeout=400)
        if out.returncode != 0:
            raise Failure(f"{argv}: {out.stderr}")
        return [{key: int(value) if value.lstrip("-").isdigit() else value for key, value in row.items()}
                for row in csv.DictReader(io.StringIO(out.stdout))]


def patiently(check, place, *argv, options=()):
    """Repeats a check until the recorder had the time to look."""
    for wait_ms in WAITS_MS:
        try:
            return check(Run(place, *argv, str(wait_ms), options=options))
        except Failure as how:
            if wait_ms == WAITS_MS[-1]:
                raise
            print(f"after {wait_ms} ms: {how}")


def near(what, expected, found, share, at_least=0):
    print(f"{what}: expected {expected}, found {found}, {100 * (found - expected) / max(expected, 1):+.2f} %")
    if abs(found - expected) > max(share * expected, at_least):
        raise Failure(f"{what} is {found}, expected {expected} within {100 * share:g} %")


def total(rows, *columns):
    return sum(row[column] for row in rows for column in columns)


def mallinfo(run):
    """malloc counts chunks in its thread caches as in use, and its own structures also if no block is live."""
    malloc = run.values
    heaps = [row for row in run.ask("fragmentation", "--at", run.at()) if row["extent_bytes"]]
    near("bytes of all heaps", malloc["arena"], total(heaps, "extent_bytes"), 0.01)
    own = 4096 * len(heaps)
    near("bytes in use", malloc["uordblks"], total(heaps, "live_bytes", "slack_bytes", "overhead_bytes"), 0.01, own)
    near("free bytes", malloc["fordblks"], total(heaps, "hole_bytes", "free_page_bytes", "top_bytes"), 0.01, own)
    mapped = run.db.rows("SELECT count(*), coalesce(sum(usable_bytes + 16), 0) FROM allocations WHERE heap_id IS NULL"
                         " AND alloc_ns <= :at AND ifnull(free_ns > :at, 1)", at=int(run.at()[:-2]))[0]
    near("blocks with a mapping of their own", malloc["hblks"], mapped[0], 0)
    near("their bytes", malloc["hblkhd"], mapped[1], 0)
    near("pieces of arenas", malloc["subheaps"], sum(row["kind"] == "arena" for row in heaps), 0)


def mapped_heaps(maps):
    """glibc takes 64 MiB for a heap of an arena, at a multiple of that, of which the front can be written: what stands before another mapping may be part of it."""
    heaps = [("brk", start, end) for start, end, _, path in maps if path == "[heap]"]
    for before, reserved in zip(maps, maps[1:]):
        start = reserved[0] // HEAP_BYTES * HEAP_BYTES
        if (before[1] == reserved[0] and before[2] == "rw-p" and reserved[2] == "---p" and not before[3] and not reserved[3]
                and before[0] <= start < reserved[0] and reserved[1] >= start + HEAP_BYTES):
            heaps.append(("arena", start, reserved[0]))
    return sorted(heaps)


def extents(run):
    at = int(run.at()[:-2])
    found = sorted(run.db.rows("SELECT kind, start_address, (SELECT e.end_address FROM heap_extents e WHERE e.heap_id = h.heap_id AND e.at_ns <= :at"
                               " ORDER BY e.at_ns DESC LIMIT 1) FROM heaps h", at=at))
    wanted = mapped_heaps(run.maps)
    if found != wanted or len(run.arenas) < 3:
        raise Failure(f"heaps (kind, start, end)\n  found  {found}\n  wanted {wanted}\n  of arenas {run.arenas}")
    if sorted(end - start for _, start, end in found) != sorted(run.arenas):
        raise Failure(f"malloc_info has {run.arenas}, our rows {found}")
    print(f"{len(found)} heaps agree")


def inherited(run):
    """The child's first heap holds blocks of the parent, which it has no rows of; its arenas came after the fork."""
    malloc = run.values
    heaps = [row for row in run.ask("fragmentation", "--process", "2", "--at", run.at()) if row["extent_bytes"]]
    own = [row for row in heaps if row["kind"] == "arena"]
    shared = [row for row in heaps if row["kind"] != "arena"]
    free = total(own, "hole_bytes", "free_page_bytes", "top_bytes")
    near("bytes of all heaps", malloc["arena"], total(heaps, "extent_bytes"), 0.01)
    if len(own) != malloc["subheaps"] or len(shared) != 1:
        raise Failure(f"{malloc['subheaps']} arenas and what was inherited are expected: {heaps}")
    unknown = ("overhead_bytes", "hole_bytes", "free_page_bytes", "top_bytes", "unused_share", "pages_to_25", "topmost_allocation_id")
    if any(shared[0][column] != "" for column in unknown):
        raise Failure(f"what is free beside inherited blocks is not known, but said: {shared[0]}")
    if not 0.2 * malloc["fordblks"] < free <= 1.01 * malloc["fordblks"]:
        raise Failure(f"{free} bytes are called free, malloc has {malloc['fordblks']}")
    heap_of = "(SELECT heap_id FROM allocations WHERE allocation_id = ?)"
    for row in run.ask("pinning", "--process", "2", "--at", run.at()):
        kind = run.db.rows(f"SELECT kind FROM heaps WHERE heap_id = {heap_of}".replace("?", str(row["example_allocation_id"])))
        if kind != [("arena",)]:
            raise Failure(f"a page that inherited blocks may lie on is called pinned: {row}")
    if any(row["heap_id"] == shared[0]["heap_id"] for row in run.ask("holes", "--process", "2", "--at", run.at())):
        raise Failure("holes between inherited blocks are listed")
    for at in ("peak", "end"):
        values_then = dict(run.db.rows("SELECT name, value FROM summary WHERE process_id = 2"))
        if values_then[f"heap_at_{at}_hole_bytes"] is not None or values_then[f"heap_at_{at}_bytes"] is None:
            raise Failure(f"the summary of the child at the {at}: {values_then}")


def promised(run, name):
    rows = [row for row in run.ask("pinning", "--at", run.at()) if row["function"] == name]
    return total(rows, "would_free_bytes")


def freed(place, shape):
    """Pages shared by a and b belong to neither: they are returned only when both are freed."""
    for sites in {"shared": ("a", "b", "ab"), "callers": ("ab",)}.get(shape, ("a",)):
        run = Run(place, "pinned_pages", shape, sites)
        shrunk = run.values["rss_before"] - run.values["rss_after"]
        bytes_of = sum(promised(run, f"site_{site}") for site in (sites if shape == "shared" else "a"))
        if shape == "shared" and sites == "ab":
            used = run.ask("fragmentation", "--at", run.at())
            pages = total(used, "pages_to_25", "pages_to_50", "pages_to_75", "pages_to_100")
            alone = run.db.value("SELECT count(*) FROM allocations WHERE size_bytes = 40") // 2
            near("promised for a and b alone, of all they hold", (pages - alone) * PAGE, bytes_of, 0.05)
            bytes_of += alone * PAGE
        if bytes_of < 50 * PAGE:
            raise Failure(f"{shape}: only {bytes_of} bytes are promised")
        near(f"{shape}, {sites} freed: RSS of the heap shrinks by", bytes_of, shrunk, 0.05)


def without(rows, *columns):
    return [{key: value for key, value in row.items() if key not in columns} for row in rows]


def same_as_imported(run, command):
    everything = run.ask(command)
    for name, sql in (("peak", "SELECT peak_ns FROM processes"), ("end", "SELECT end_ns FROM processes")):
        stored = [row for row in everything if row["at"] == name]
        scanned = run.ask(command, "--at", f"{run.db.value(sql)}ns")
        if not stored or without(stored, "at") != without(scanned, "at"):
            raise Failure(f"{command} at {name}: imported\n{stored}\nscanned\n{scanned}")
        if stored != run.ask(command, "--at", name):
            raise Failure(f"{command} --at {name} is something else")
        print(f"{command} at {name}: {len(stored)} rows agree")


def holes_fit(run, at):
    """HS-3: the rest of the last used page of a heap is no hole."""
    holes = run.ask("holes", "--at", at)
    for heap in run.ask("fragmentation", "--at", at):
        mine = total([row for row in holes if row["heap_id"] == heap["heap_id"]], "bytes")
        all_free = heap["hole_bytes"] + heap["free_page_bytes"]
        if not 0 <= all_free - mine < PAGE:
            raise Failure(f"heap {heap['heap_id']}: holes of {mine} bytes, but {all_free} are free below the top")


def times(place, shape):
    run = Run(place, *{"arenas": ("heap_shapes", "arenas"), "threads": ("threads",), "cxx": ("leak_cxx",)}[shape])
    for command in ("fragmentation", "pinning"):
        same_as_imported(run, command)
    for at in ("peak", "end", "30%", "77%"):
        holes_fit(run, at)


def split(run):
    figure = dict(run.db.rows("SELECT name, value FROM summary WHERE name LIKE 'rss_%'"))
    near("heaps in the highest sample", run.values["heap_rss"], figure["rss_heaps_bytes"], 0.02)
    near("all and mtrace's own", run.values["all_rss"], figure["rss_parts_bytes"] + figure["rss_own_bytes"], 0.02)
    near("own mappings", 3 * MIB + 500 * 100 * 1024, figure["rss_mappings_bytes"], 0.01)
    near("stacks", 5 * MIB, figure["rss_stacks_bytes"], 0.05)
    near("shared memory", 7 * MIB, figure["rss_shared_bytes"], 0.01)
    near("mapped by a system call", 9 * MIB, figure["rss_other_bytes"], 0.05)
    parts = sum(figure[f"rss_{part}_bytes"] for part in ("heaps", "mappings", "stacks", "shared", "files", "other"))
    if parts != figure["rss_parts_bytes"]:
        raise Failure(f"the parts are {parts} bytes of {figure['rss_parts_bytes']}")
    peaks = run.db.rows("SELECT peak_rss_bytes, count(*), min(peak_rss_ns) > 0 FROM mmaps WHERE length = 100 * 1024 GROUP BY 1 ORDER BY 1")
    if peaks != [(0, 500, 1), (100 * 1024, 500, 1)]:
        raise Failure(f"of 1,000 neighbours, of which every second one was written, were resident: {peaks}")


CASES = {"mallinfo": lambda place, shape: patiently(mallinfo, place, "heap_shapes", shape),
         "extents": lambda place, shape: patiently(extents, place, "heap_shapes", shape),
         "inherited": lambda place, shape: patiently(inherited, place, "heap_shapes", shape, options=["--follow-children"]),
         "freed": freed, "times": times, "split": lambda place, workload: patiently(split, place, workload)}


def main():
    with harness.scratch() as place:
        CASES[sys.argv[1]](Path(place), sys.argv[2])


if __name__ == "__main__":
    harness.main(main)
