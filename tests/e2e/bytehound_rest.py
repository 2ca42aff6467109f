#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""bytehound_rest.py CASE: bytehound's REST interface says what SQL says of the same recording.

rows      allocations, groups and their filters, sorted and by pages
places    stacks, the tree, regions, mappings, mallopt
curves    the list and the timelines
files     exports, and the list of operations replayed
initial   what static initialisers leave
samples   what a recording of samples cannot say
wrong     what is no such parameter or value
"""

import itertools
import json
import struct
import sys
import urllib.parse
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

import harness  # noqa: E402
from serve import Server, error_of, expect  # noqa: E402

ALLOCATION = {"id", "address", "address_s", "timestamp", "timestamp_relative", "timestamp_relative_p", "thread", "size", "backtrace_id",
              "deallocation", "chain_deallocation", "backtrace", "is_mmaped", "is_jemalloc", "in_main_arena", "extra_space", "chain_lifetime",
              "position_in_chain", "chain_length"}
FRAME = {"address", "address_s", "count", "library", "function", "raw_function", "source", "line", "column", "is_inline"}
TIMES = {"{}", "{}_relative", "{}_relative_p"}
SUMS = {"size", "min_size", "max_size", "interval", "leaked_count", "allocated_count", "graph_preview_url", "graph_url"} | {
    name.format(stamp) for name in TIMES for stamp in ("min_timestamp", "max_timestamp")}
MAP = {"id", "address", "address_s", "size", "source", "deallocation", "is_readable", "is_writable", "is_executable", "is_shared", "name",
       "peak_rss", "graph_preview_url", "graph_url"} | {name.format("timestamp") for name in TIMES}
LISTED = {"id", "executable", "cmdline", "architecture", "final_allocated", "final_allocated_count", "runtime", "unique_backtrace_count",
          "maximum_backtrace_depth", "timestamp"}


class Asked:
    """A server of one recording, asked below /data/last; and its database, by SQL."""

    def __init__(self, server, database):
        self.server = server
        self.sql = harness.Database(database).rows
        self.start = self.sql("SELECT start_unix_ns FROM processes WHERE process_id = 1")[0][0]
        self.end = self.sql("SELECT max(end_ns) FROM processes")[0][0]

    def raw(self, path, **parameters):
        return self.server.rows("/data/last/" + path, **parameters)

    def json(self, path, **parameters):
        return json.loads(self.raw(path, **parameters))

    def error(self, path, **parameters):
        return error_of(self.server.ask("/data/last/" + path + "?" + urllib.parse.urlencode(parameters)))

    def column(self, sql):
        return [row[0] for row in self.sql(sql)]


def ns(timeval):
    return timeval["secs"] * 1000000000 + timeval["fract_nsecs"]


# name, bytehound's parameters, the same as a condition over the view allocations
def filters(asked):
    middle = asked.end // 2
    ms = (asked.start + middle) // 1000000
    at = ms * 1000000 - asked.start
    stack = asked.column("SELECT backtrace_id FROM backtrace_totals ORDER BY allocated_blocks DESC")[0]
    live = "alloc_ns <= {0} AND (free_ns IS NULL OR free_ns > {0})"
    chain = "coalesce((SELECT {} FROM realloc_chains k WHERE k.chain_id = v.chain_id), {})"
    yield {}, "1"
    yield {"from": str(ms)}, f"alloc_ns >= {at}"
    yield {"to": str(ms)}, f"alloc_ns <= {at + 999999}"
    yield {"from": "50%"}, f"alloc_ns >= {middle}"
    yield {"alive_at": str(ms)}, live.format(at)
    yield {"alive_at": "25%", "alive_at_2": "75%"}, live.format(asked.end // 4) + " AND " + live.format(asked.end * 3 // 4)
    yield {"lifetime": "only_leaked"}, "is_leaked"
    yield {"lifetime": "only_temporary"}, "NOT is_leaked"
    yield {"lifetime_min": "1ms"}, f"coalesce(lifetime_ns, {asked.end} - alloc_ns) >= 1000000"
    yield {"lifetime_max": "1MS 1us"}, f"coalesce(lifetime_ns, {asked.end} - alloc_ns) <= 1001000"
    yield {"size_min": "100", "size_max": "2000"}, "size_bytes BETWEEN 100 AND 2000"
    yield {"address_min": "4096"}, "address >= 4096"
    yield {"first_size_min": "100"}, chain.format("first_size_bytes", "size_bytes") + " >= 100"
    yield {"last_size_max": "100"}, chain.format("last_size_bytes", "size_bytes") + " <= 100"
    yield {"chain_length_min": "2"}, "chain_id IS NOT NULL"
    yield {"position_in_chain_min": "1"}, "chain_position >= 2"
    yield {"position_in_chain_max": "0"}, "coalesce(chain_position, 1) = 1"
    yield {"backtraces": str(stack)}, f"backtrace_id = {stack}"
    yield {"mmaped": "yes"}, "heap_id IS NULL"
    yield {"arena": "main"}, "heap_id IN (SELECT heap_id FROM heaps WHERE kind = 'brk')"
    yield {"jemalloc": "yes"}, "0"
    yield {"jemalloc": "no"}, "1"
    yield {"function_regex": "^main$"}, "backtrace_id IN (SELECT b.backtrace_id FROM backtraces b JOIN stack_frames s USING (backtrace_id) WHERE s.function = 'main')"
    yield {"negative_function_regex": "^main$"}, "backtrace_id NOT IN (SELECT b.backtrace_id FROM backtraces b JOIN stack_frames s USING (backtrace_id) WHERE s.function = 'main')"
    yield {"group_allocations_min": "3"}, "(SELECT sum(allocated_blocks) FROM backtrace_totals g WHERE g.backtrace_id = v.backtrace_id) >= 3"
    yield ({"group_max_total_usage_first_seen_min": "50%"},
           f"backtrace_id IN (SELECT backtrace_id FROM backtrace_totals WHERE own_peak_ns >= {middle})")
    yield {"from": "0"}, "1"
    yield {"to": "0"}, "0"


def rows(asked):
    n_rows = 0
    for given, condition in filters(asked):
        said = asked.json("allocations", **given)
        wanted = asked.sql(f"SELECT allocation_id, address, size_bytes, alloc_ns, free_ns, backtrace_id, free_backtrace_id, chain_position, chain_id, "
                           f"usable_bytes - size_bytes FROM allocations v WHERE {condition} ORDER BY allocation_id")
        expect(f"{given}: total_count", said["total_count"], len(wanted))
        found = [(a["id"], a["address"], a["size"], ns(a["timestamp"]) - asked.start, a["deallocation"] and ns(a["deallocation"]["timestamp"]) - asked.start,
                  a["backtrace_id"], a["deallocation"] and a["deallocation"]["backtrace_id"],
                  a["position_in_chain"] + 1 if a["chain_length"] > 1 else None, a["extra_space"]) for a in said["allocations"]]
        expect(f"{given}", found, [(*row[:8], row[9] or 0) for row in wanted])
        n_rows += len(found)
        groups = asked.json("allocation_groups", **given)
        summed = asked.sql(f"SELECT backtrace_id, count(*), sum(size_bytes), min(size_bytes), max(size_bytes), min(alloc_ns), max(alloc_ns), sum(is_leaked) "
                           f"FROM allocations v WHERE {condition} GROUP BY backtrace_id ORDER BY min(alloc_ns), backtrace_id")
        matched = [(g["backtrace_id"], g["only_matched"]) for g in groups["allocations"]]
        expect(f"{given}: groups", [(i, m["allocated_count"], m["size"], m["min_size"], m["max_size"], ns(m["min_timestamp"]) - asked.start,
                                     ns(m["max_timestamp"]) - asked.start, m["leaked_count"]) for i, m in matched], summed)
        expect(f"{given}: intervals", [ns(m["interval"]) for _, m in matched], [row[6] - row[5] for row in summed])
        expect(f"{given}: all of the groups", [g["all"]["allocated_count"] for g in groups["allocations"]],
               [asked.sql(f"SELECT sum(allocated_blocks) FROM backtrace_totals WHERE backtrace_id = {row[0]}")[0][0] for row in summed])
    expect("rows were compared", n_rows > 100, True)
    everything = asked.json("allocations")["allocations"]
    for one in everything:
        expect("fields", set(one), ALLOCATION)
        expect("frames", {frozenset(frame) for frame in one["backtrace"]} - {frozenset(FRAME)}, set())
        expect("relative", ns(one["timestamp"]) - asked.start, ns(one["timestamp_relative"]))
        expect("hexadecimal", int(one["address_s"], 16), one["address"])
    for group in asked.json("allocation_groups")["allocations"]:
        expect("fields of a group", (set(group), set(group["only_matched"])), ({"all", "only_matched", "backtrace_id", "backtrace"}, SUMS))
        expect("fields of a whole group", set(group["all"]), SUMS | {name.format("max_total_usage_first_seen_at") for name in TIMES})
    for key, column in (("timestamp", "allocation_id"), ("address", "address"), ("size", "size_bytes")):
        for order, direction in (("asc", "ASC"), ("dsc", "DESC")):
            page = asked.json("allocations", sort_by=key, order=order, skip=7, count=50)
            expect(f"by {key} {order}", [a["id"] for a in page["allocations"]],
                   asked.column(f"SELECT allocation_id FROM allocations ORDER BY {column} {direction}, allocation_id LIMIT 50 OFFSET 7"))
            expect("all are counted", page["total_count"], len(everything))
    for key in ("only_matched.size", "all.size", "only_matched.interval", "all.leaked_count", "only_matched.max_timestamp"):
        side, name = key.split(".")
        values = [g[side][name] for g in asked.json("allocation_groups", sort_by=key, order="dsc")["allocations"]]
        values = [ns(value) if isinstance(value, dict) else value for value in values]
        expect(key, values, sorted(values, reverse=True))
    code = asked.json("allocation_filter_to_script", size_min=100)["code"]
    expect("the filter as SQL", len(asked.sql(code)), asked.json("allocations", size_min=100)["total_count"])


def names(frames):
    return [frame["function"] for frame in frames]


def map_alone(asked, one):
    expect("one map", [m["id"] for m in asked.json("maps", id=one)["maps"]], [one])
    expect("blocks inside it", {a["id"] for a in asked.json("allocations", from_map=one)["allocations"]}, set(asked.column(
        f"SELECT allocation_id FROM allocations a, mmaps m WHERE m.mmap_call_id = {one} AND a.address < m.address + m.length "
        f"AND a.address + max(1, a.size_bytes) > m.address AND a.alloc_ns >= m.mapped_ns AND (m.unmapped_ns IS NULL OR a.alloc_ns < m.unmapped_ns)")))


def places(asked):
    stacks = asked.column("SELECT DISTINCT backtrace_id FROM backtrace_totals ORDER BY 1")
    said = asked.json("backtraces")
    expect("stacks", (said["total_count"], len(said["backtraces"])), (len(stacks), len(stacks)))
    for stack, frames in zip(stacks, said["backtraces"]):
        expect(f"stack {stack}", frames, asked.json(f"backtrace/{stack}")["frames"])
        wanted = asked.sql(f"SELECT function, source, line, column_number, module FROM stack_frames WHERE backtrace_id = {stack} ORDER BY frame DESC, inline_level DESC")
        expect(f"frames of {stack}", [(f["function"], f["source"], f["line"], f["column"], f["library"]) for f in frames], wanted)
    counts = {f["address"]: f["count"] for frames in said["backtraces"] for f in frames if f["function"] == "main"}
    expect("allocations below main", sum(counts.values()), asked.sql(
        "SELECT coalesce(sum(allocated_blocks), 0) FROM backtrace_totals WHERE backtrace_id IN (SELECT b.backtrace_id FROM backtraces b "
        "JOIN stack_frames s USING (backtrace_id) WHERE s.function = 'main')")[0][0])
    raw = asked.json("raw_allocations")
    expect("raw stacks", len(raw), asked.column("SELECT count(*) FROM allocations")[0])

    def check(node, path):
        below = sum(child["size"] for child in node["children"])
        own = sums.get(tuple(path), [0, 0])
        expect(f"{path}", (node["size"] - below, node["count"] - sum(child["count"] for child in node["children"])), tuple(own))
        for child in node["children"]:
            expect("fields of a node", set(child), {"size", "count", "first", "last", "value", "children"})
            check(child, [*path, (child["value"]["function"], child["value"]["address"])])

    sums = {}
    for stack, size, count in asked.sql("SELECT backtrace_id, sum(size_bytes), count(*) FROM allocations WHERE size_bytes > 50 GROUP BY 1"):
        path = tuple((f["function"], f["address"]) for f in asked.json(f"backtrace/{stack}")["frames"])
        total = sums.setdefault(path, [0, 0])
        total[0] += size
        total[1] += count
    tree = asked.json("tree", size_min=51)
    check(tree, [])
    expect("the whole tree", tree["size"], sum(total[0] for total in sums.values()))

    ranges = sorted(asked.sql("SELECT address - CASE WHEN heap_id IS NULL THEN 16 ELSE 8 END, address + usable_bytes FROM allocations WHERE is_leaked"))
    merged = []
    for start, end in ranges:
        if merged and start <= merged[-1][1]:
            merged[-1][1] = max(end, merged[-1][1])
        else:
            merged.append([start, end])
    regions = asked.json("regions", lifetime="only_leaked")
    expect("regions", regions["regions"], merged)
    expect("fields of regions", set(regions), {"main_heap_start", "main_heap_end", "main_heap_start_s", "main_heap_end_s", "regions"})

    maps = asked.json("maps", with_regions="true")
    wanted = asked.sql("SELECT mmap_call_id, min(address), sum(length), min(mapped_ns), count(*) FROM mmaps GROUP BY 1 ORDER BY min(mapped_ns), 1")
    expect("maps", [(m["id"], m["address"], m["size"], ns(m["timestamp_relative"]), len(m["regions"])) for m in maps["maps"]], wanted)
    expect("all maps are counted", maps["total_count"], len(wanted))
    expect("fields of maps", {frozenset(m) for m in maps["maps"]} - {frozenset(MAP | {"regions"})}, set())
    for given, condition in (({"readable": "only_true"}, "prot & 1"), ({"writable": "only_false"}, "NOT prot & 2"), ({"size_min": 65536}, "length >= 65536"),
                             ({"lifetime": "only_leaked"}, "unmapped_ns IS NULL"), ({"jemalloc": "only_true"}, "0"),
                             ({"function_regex": "^main$"}, "backtrace_id IN (SELECT b.backtrace_id FROM backtraces b JOIN stack_frames s USING (backtrace_id) WHERE s.function = 'main')")):
        expect(f"maps {given}", {m["id"] for m in asked.json("maps", **given)["maps"]}, set(asked.column(f"SELECT mmap_call_id FROM mmaps WHERE {condition}")))
    for one in [row[0] for row in wanted[:5]]:
        map_alone(asked, one)

    calls = asked.json("mallopts")
    expect("mallopt", [(c["raw_param"], c["param"], c["value"], c["result"], ns(c["timestamp"]) - asked.start) for c in calls],
           asked.sql("SELECT parameter, parameter_name, value, result, at_ns FROM mallopts WHERE call = 'mallopt' ORDER BY mallopt_id"))
    expect("fields of mallopt", {frozenset(c) for c in calls} - {frozenset({"timestamp", "thread", "backtrace_id", "backtrace", "raw_param", "param", "value", "result"})}, set())


def curves(asked):
    listed = json.loads(asked.server.rows("/list"))
    expect("fields of the list", set(listed[0]), LISTED)
    expect("the list", (listed[0]["final_allocated"], listed[0]["final_allocated_count"]), asked.sql("SELECT coalesce(sum(size_bytes * is_leaked), 0), coalesce(sum(is_leaked), 0) FROM allocations")[0])
    expect("times", (ns(listed[0]["timestamp"]), ns(listed[0]["runtime"])), (asked.start, asked.end))
    for path, condition in (("timeline", "1"), ("timeline_leaked", "is_leaked")):
        said = asked.json(path)
        expect(path, set(said), {"xs", "size_delta", "count_delta", "allocated_size", "allocated_count", "allocations", "deallocations"})
        expect("lengths", {len(column) for column in said.values()}, {1000})
        born, freed, size = asked.sql(f"SELECT count(*), count(free_ns), coalesce(sum(size_bytes), 0) - coalesce(sum(CASE WHEN free_ns IS NOT NULL THEN size_bytes END), 0) FROM allocations WHERE {condition}")[0]
        expect(f"{path}: sums", (sum(said["allocations"]), sum(said["deallocations"]), said["allocated_size"][-1], said["allocated_count"][-1]), (born, freed, size, born - freed))
        expect(f"{path}: deltas", list(itertools.accumulate(said["size_delta"])), said["allocated_size"])
        expect(f"{path}: deltas of blocks", list(itertools.accumulate(said["count_delta"])), said["allocated_count"])
    memory = asked.json("timeline_maps")
    expect("memory", set(memory), {"xs", "address_space", "rss", "anonymous", "dirty", "clean", "swap"})
    expect("rss", memory["rss"], asked.column("SELECT sum(rss_bytes) FROM memory_samples GROUP BY at_ns ORDER BY at_ns"))
    expect("address space", memory["address_space"], asked.column(
        "SELECT (SELECT coalesce(sum(length), 0) FROM mmaps WHERE mapped_ns <= at_ns AND (unmapped_ns IS NULL OR unmapped_ns > at_ns)) FROM memory_samples GROUP BY at_ns ORDER BY at_ns"))


def replay(data):
    """Sizes of what is left live, by slot; fails where a slot is used twice."""
    n_slots, n_operations = struct.unpack_from("=QQ", data)
    expect("length of the list", len(data), 16 + 32 * n_operations)
    live = {}
    last = 0
    for operation, slot, time, size in struct.iter_unpack("=QQQQ", data[16:]):
        expect("a slot within", slot < n_slots, True)
        expect("order", time >= last, True)
        last = time
        if operation == 1:
            expect("a free slot", slot in live, False)
            live[slot] = size
        elif operation == 2:
            live.pop(slot)
        else:
            expect("a realloc of a live block", (operation, slot in live), (3, True))
            live[slot] = size
    return sorted(live.values())


def files(asked):
    for given, condition in filters(asked):
        if set(given) & {"alive_at", "alive_at_2"}:
            continue
        expect(f"{given}: what a replay leaves", replay(asked.raw("export/replay", **given)),
               sorted(asked.column(f"SELECT size_bytes FROM allocations v WHERE free_ns IS NULL AND {condition}")))
    kinds = {operation for operation, *_ in struct.iter_unpack("=QQQQ", asked.raw("export/replay")[16:])}
    expect("kinds of operations", kinds, {1, 2, 3})
    folded = asked.raw("export/flamegraph.pl/x.txt", size_min=100).decode().splitlines()
    expect("bytes of collapsed stacks", sum(int(line.rsplit(" ", 1)[1]) for line in folded), asked.column("SELECT sum(size_bytes) FROM allocations WHERE size_bytes >= 100")[0])
    expect("a picture", asked.raw("export/flamegraph/x.svg").startswith(b"<?xml"), True)
    heaptrack = asked.raw("export/heaptrack", lifetime="only_leaked").decode().splitlines()
    expect("allocations for heaptrack", sum(line.startswith("+") for line in heaptrack), asked.column("SELECT sum(is_leaked) FROM allocations")[0])
    text = asked.raw("allocation_ascii_tree").decode().splitlines()
    roots = [line.split() for line in text[1:] if line[27] != " "]
    expect("bytes of the roots of the text", sum(int(root[0]) for root in roots), asked.column("SELECT sum(size_bytes) FROM allocations")[0])


def wrong(asked):
    for path, parameters, status, part in (
            ("allocations", {"nothing": 1}, 400, "nothing"), ("allocations", {"from": "yesterday"}, 400, "from"), ("allocations", {"from": "200%"}, 400, "from"),
            ("allocations", {"sort_by": "age"}, 400, "timestamp"), ("allocations", {"order": "up"}, 400, "asc"), ("allocations", {"count": "-1"}, 400, "count"),
            ("allocations", {"lifetime": "short"}, 400, "only_leaked"), ("allocations", {"function_regex": "("}, 400, "regular expression"),
            ("allocations", {"custom_filter": "x"}, 400, "sql"), ("allocations", {"jemalloc": "maybe"}, 400, "jemalloc"),
            ("allocations", {"strip_template_args": "perhaps"}, 400, "strip_template_args"), ("allocation_groups", {"sort_by": "size"}, 400, "only_matched.size"),
            ("maps", {"lifetime": "only_chain_leaked"}, 400, "only_leaked"), ("maps", {"readable": "yes"}, 400, "only_true"), ("maps", {"id": "x"}, 400, "id"),
            ("maps", {"size_min": "x"}, 400, "size_min"), ("backtraces", {"size_min": "1"}, 400, "size_min"), ("backtrace/x", {}, 400, "number"),
            ("backtrace/99999999", {}, 404, "99999999"), ("backtrace", {}, 400, "number"), ("nothing", {}, 404, "nothing"), ("allocations/more", {}, 404, "more")):
        found, message = asked.error(path, **parameters)
        expect(f"{path} {parameters}: {message}", (found, part in message), (status, True))
    expect("a script", error_of(asked.server.ask("/data/last/execute_script", "POST", "1"))[0], 405)
    expect("no recording", error_of(asked.server.ask("/data/0123/tree"))[0], 404)


SOURCE = """
#include <stdlib.h>
struct Kept { void *volatile block; explicit Kept(int n) : block(malloc(n)) {} };
static Kept one(777);
static Kept two(1777);
int main() { return one.block == two.block; }
"""


def initial(tools, folder):
    (folder / "kept.cc").write_text(SOURCE)
    harness.run(["c++", "-g", "-O0", folder / "kept.cc", "-o", folder / "kept"], folder)
    harness.record_database(tools, folder, "kept", [folder / "kept"])
    with Server([folder / "kept.db"], folder) as server:
        asked = Asked(server, folder / "kept.db")
        constants, statics = asked.json("dynamic_constants"), asked.json("dynamic_statics")
        expect("both", constants["count"] + statics["count"], 2)
        found = statics if statics["count"] else constants
        expect("bytes", found["size"], 777 + 1777)
        expect("lines", found["per_file"], {str(folder / "kept.cc"): {"count": 2, "size": 777 + 1777, "per_line": {
            "4": {"count": 1, "size": 777}, "5": {"count": 1, "size": 1777}}}})


def samples(tools, folder):
    """What is made of single blocks refuses, where they are samples; what never ends is the sum of what samples stand for."""
    harness.run([tools.record, "-q", "-o", folder / "few.dat", "--sample-bytes=16384", "--", tools.workloads / "samples"], folder)
    harness.import_log(tools, folder / "few.dat", folder / "few.db")
    with Server([folder / "few.db"], folder) as server:
        asked = Asked(server, folder / "few.db")
        for path in ("allocations", "raw_allocations", "regions", "allocation_groups?size_min=100", "export/replay"):
            status, message = error_of(server.ask(f"/data/last/{path}"))
            expect(path, (status >= 400, "--sample-bytes" in message), (True, True))
        expect("leaked", asked.json("timeline_leaked")["allocated_size"][-1], harness.Database(folder / "few.db").value("SELECT sum(leaked_bytes) FROM backtrace_totals"))


CASES = {"rows": rows, "places": places, "curves": curves, "files": files, "wrong": wrong}
ALONE = {"initial": initial, "samples": samples}
WORKLOADS = {"rows": ("thread_ends", "realloc_edges"), "places": ("thread_ends", "mappings", "mallopt_calls"), "curves": ("thread_ends", "mappings"),
             "files": ("realloc_edges",), "wrong": ("leak_c",)}


def main(name):
    tools = harness.Tools.from_environment()
    with harness.scratch() as scratch:
        folder = Path(scratch)
        if name in ALONE:
            ALONE[name](tools, folder)
            return
        for workload in WORKLOADS[name]:
            harness.record_database(tools, folder, workload, [tools.workloads / workload])
            with Server([folder / f"{workload}.db"], folder) as server:
                CASES[name](Asked(server, folder / f"{workload}.db"))


if __name__ == "__main__":
    harness.main(lambda: main(sys.argv[1]))
