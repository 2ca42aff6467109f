#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""bytehound_rest.py CASE: bytehound's REST interface returns what SQL finds in the same recording.

rows      allocations, groups and their filters, sorted and by pages
calls     calls of mmap and mallopt, and their stacks
curves    the list and the timelines
files     exports and the tree as text
readme    the requests of bytehound's README, letter by letter
samples   requests that a recording of samples cannot answer
long_files  answers that are sent while they are computed; a program that calls exec
wrong     unknown parameters and values
"""

import itertools
import json
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
CALL = {"timestamp", "thread", "backtrace_id", "backtrace"}
UNMAPPED = CALL | {"pointer", "pointer_s", "length"}
MAPPED = UNMAPPED | {"requested_address", "requested_address_s", "is_readable", "is_writable", "is_executable", "is_semaphore", "grows_down", "grows_up",
                     "is_shared", "is_private", "is_fixed", "is_anonymous", "is_uninitialized", "offset", "file_descriptor"}
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
    second = (asked.start + middle) // 1000000000
    first, last = asked.end // 5, asked.end * 3 // 5
    stack = asked.column("SELECT backtrace_id FROM backtrace_totals ORDER BY allocated_blocks DESC")[0]
    live = "alloc_ns <= {0} AND (free_ns IS NULL OR free_ns > {0})"
    chain = "coalesce((SELECT {} FROM realloc_chains k WHERE k.chain_id = v.chain_id), {})"
    group = "(SELECT {} FROM backtrace_totals g WHERE g.backtrace_id = v.backtrace_id)"
    frames = "backtrace_id {} (SELECT b.backtrace_id FROM backtraces b JOIN stack_frames s USING (backtrace_id) WHERE {})"
    end = f"coalesce(lifetime_ns, {asked.end} - alloc_ns)"
    middle_address = sorted(asked.column("SELECT address FROM allocations"))[asked.column("SELECT count(*) FROM allocations")[0] // 2]
    yield {}, "1"
    yield {"from": str(ms)}, f"alloc_ns >= {at}"
    yield {"to": str(ms)}, f"alloc_ns <= {at + 999999}"
    yield {"from": str(second)}, f"alloc_ns >= {second * 1000000000 - asked.start}"
    yield {"to": str(second)}, f"alloc_ns < {(second + 1) * 1000000000 - asked.start}"
    yield {"from": "50%"}, f"alloc_ns >= {middle}"
    yield {"from": "20%", "to": "60%"}, f"alloc_ns BETWEEN {first} AND {last}"
    yield {"from": "0"}, "1"
    yield {"to": "0"}, "0"
    yield {"alive_at": str(ms)}, live.format(at)
    yield {"alive_at": "25%", "alive_at_2": "75%"}, live.format(asked.end // 4) + " AND " + live.format(asked.end * 3 // 4)
    yield {"lifetime": "all"}, "1"
    yield {"lifetime": "only_leaked"}, "is_leaked"
    yield {"lifetime": "only_temporary"}, "NOT is_leaked"
    yield ({"lifetime": "only_not_deallocated_in_current_range", "from": "20%", "to": "60%"},
           f"alloc_ns BETWEEN {first} AND {last} AND coalesce(free_ns NOT BETWEEN {first} AND {last}, 1)")
    yield {"lifetime": "only_deallocated_in_current_range", "from": "20%", "to": "60%"}, f"alloc_ns BETWEEN {first} AND {last} AND free_ns BETWEEN {first} AND {last}"
    yield {"lifetime": "only_whole_group_leaked"}, group.format("sum(chains_leaked) = sum(chains_started) AND sum(chains_started) > 0")
    yield {"lifetime_min": "1ms"}, f"{end} >= 1000000"
    yield {"lifetime_max": "1MS 1us"}, f"{end} <= 1001000"
    yield {"lifetime_min": "1"}, f"{end} >= 1000000000"
    yield {"lifetime_max": "1"}, f"{end} <= 1000000000"
    yield {"size_min": "100", "size_max": "2000"}, "size_bytes BETWEEN 100 AND 2000"
    yield {"address_min": str(middle_address)}, f"address >= {middle_address}"
    yield {"address_max": str(middle_address)}, f"address <= {middle_address}"
    yield {"first_size_min": "100"}, chain.format("first_size_bytes", "size_bytes") + " >= 100"
    yield {"last_size_max": "100"}, chain.format("last_size_bytes", "size_bytes") + " <= 100"
    yield {"chain_length_min": "2"}, "chain_id IS NOT NULL"
    yield {"position_in_chain_min": "1"}, "chain_position >= 2"
    yield {"position_in_chain_max": "0"}, "coalesce(chain_position, 1) = 1"
    yield {"backtraces": str(stack)}, f"backtrace_id = {stack}"
    yield {"mmaped": "yes"}, "heap_id IS NULL"
    yield {"arena": "main"}, "heap_id IN (SELECT heap_id FROM heaps WHERE kind = 'brk')"
    yield {"backtrace_depth_min": "6"}, "backtrace_id IN (SELECT backtrace_id FROM backtraces WHERE depth >= 6)"
    yield {"backtrace_depth_max": "5"}, "backtrace_id IN (SELECT backtrace_id FROM backtraces WHERE depth <= 5)"
    yield {"function_regex": "^main$"}, frames.format("IN", "s.function = 'main'")
    yield {"negative_function_regex": "^main$"}, frames.format("NOT IN", "s.function = 'main'")
    yield {"source_regex": "workloads"}, frames.format("IN", "s.source LIKE '%workloads%'")
    yield {"negative_source_regex": "workloads"}, frames.format("NOT IN", "s.source LIKE '%workloads%'")
    yield {"group_allocations_min": "3"}, group.format("sum(allocated_blocks)") + " >= 3"
    yield {"group_allocations_max": "2"}, group.format("sum(allocated_blocks)") + " <= 2"
    yield {"group_leaked_allocations_min": "1"}, group.format("sum(leaked_blocks)") + " >= 1"
    yield {"group_leaked_allocations_min": "50%"}, group.format("2 * sum(leaked_blocks) >= sum(allocated_blocks)")
    yield {"group_leaked_allocations_max": "0"}, group.format("sum(leaked_blocks)") + " = 0"
    yield {"group_leaked_allocations_max": "40%"}, group.format("5 * sum(leaked_blocks) <= 2 * sum(allocated_blocks)")
    yield {"group_interval_min": "10%"}, group.format("max(last_ns) - min(first_ns)") + f" >= {asked.end} * 0.1"
    yield {"group_interval_max": "10%"}, group.format("max(last_ns) - min(first_ns)") + f" <= {asked.end} * 0.1"
    yield {"group_interval_min": "1"}, group.format("max(last_ns) - min(first_ns)") + " >= 1000000000"
    yield {"group_interval_max": "1us"}, group.format("max(last_ns) - min(first_ns)") + " <= 1000"


def rows(asked):
    n_rows = 0
    for given, condition in filters(asked):
        output = asked.json("allocations", **given)
        wanted = asked.sql(f"SELECT allocation_id, address, size_bytes, alloc_ns, free_ns, backtrace_id, free_backtrace_id, chain_position, chain_id, "
                           f"usable_bytes - size_bytes FROM allocations v WHERE {condition} ORDER BY allocation_id")
        expect(f"{given}: total_count", output["total_count"], len(wanted))
        found = [(a["id"], a["address"], a["size"], ns(a["timestamp"]) - asked.start, a["deallocation"] and ns(a["deallocation"]["timestamp"]) - asked.start,
                  a["backtrace_id"], a["deallocation"] and a["deallocation"]["backtrace_id"],
                  a["position_in_chain"] + 1 if a["chain_length"] > 1 else None, a["extra_space"]) for a in output["allocations"]]
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
    for side, name in itertools.product(("only_matched", "all"), ("min_timestamp", "max_timestamp", "interval", "allocated_count", "leaked_count", "size")):
        for order, filtered in itertools.product(("asc", "dsc"), ({}, {"size_min": 100})):
            groups = asked.json("allocation_groups", sort_by=f"{side}.{name}", order=order, **filtered)["allocations"]
            values = [ns(g[side][name]) if isinstance(g[side][name], dict) else g[side][name] for g in groups]
            expect(f"by {side}.{name} {order}", values, sorted(values, reverse=order == "dsc"))
    page = [g["backtrace_id"] for g in asked.json("allocation_groups", skip=1, count=2, sort_by="all.size")["allocations"]]
    expect("a page of groups", page, [g["backtrace_id"] for g in asked.json("allocation_groups", sort_by="all.size")["allocations"]][1:3])


def check_stacks(asked, found):
    """Frames of stacks by id, outermost first, with the number of allocations below each."""
    for stack, frames in found.items():
        wanted = asked.sql(f"SELECT function, source, line, column_number, module FROM stack_frames WHERE backtrace_id = {stack} ORDER BY frame DESC, inline_level DESC")
        expect(f"frames of {stack}", [(f["function"], f["source"], f["line"], f["column"], f["library"]) for f in frames], wanted)
    counts = {f["address"]: f["count"] for frames in found.values() for f in frames if f["function"] == "main"}
    return sum(counts.values())


def calls(asked):
    groups = asked.json("allocation_groups")["allocations"]
    expect("allocations below main", check_stacks(asked, {g["backtrace_id"]: g["backtrace"] for g in groups}), asked.sql(
        "SELECT coalesce(sum(allocated_blocks), 0) FROM backtrace_totals WHERE backtrace_id IN (SELECT b.backtrace_id FROM backtraces b "
        "JOIN stack_frames s USING (backtrace_id) WHERE s.function = 'main')")[0][0])

    operations = asked.json("mmaps")["operations"]
    expect("kinds of operations", {len(o) for o in operations} | {1}, {1})
    mapped = [o["mmap"] for o in operations if "mmap" in o]
    unmapped = [o["munmap"] for o in operations if "munmap" in o]
    expect("all operations", len(mapped) + len(unmapped), len(operations))
    expect("order", [ns(call["timestamp"]) for o in operations for call in o.values()], sorted(ns(call["timestamp"]) for o in operations for call in o.values()))
    expect("fields of mmap", {frozenset(call) for call in mapped} - {frozenset(MAPPED)}, set())
    expect("fields of munmap", {frozenset(call) for call in unmapped} - {frozenset(UNMAPPED)}, set())
    expect("calls of mmap", sorted((ns(c["timestamp"]) - asked.start, c["pointer"], int(c["pointer_s"], 16), c["length"], c["backtrace_id"], c["is_readable"], c["is_writable"],
                                    c["is_executable"], c["is_shared"], c["is_private"], c["is_fixed"], c["is_anonymous"], c["offset"], c["file_descriptor"]) for c in mapped),
           sorted(asked.sql("SELECT min(mapped_ns), min(address), min(address), sum(length), backtrace_id, prot & 1, prot & 2 <> 0, prot & 4 <> 0, flags & 1, flags & 3 = 2,"
                            " flags & 16 <> 0, flags & 32 <> 0, file_offset, coalesce(fd, -1) FROM mmaps WHERE flags IS NOT NULL GROUP BY mmap_call_id")))
    expect("calls of munmap", sorted((ns(c["timestamp"]) - asked.start, c["pointer"], c["length"], c["backtrace_id"]) for c in unmapped), sorted(asked.sql(
        "SELECT unmapped_ns, min(address), sum(length), unmap_backtrace_id FROM mmaps WHERE unmapped_ns IS NOT NULL GROUP BY unmapped_ns, unmap_backtrace_id")))
    check_stacks(asked, {call["backtrace_id"]: call["backtrace"] for call in mapped + unmapped if call["backtrace_id"]})

    answer = asked.json("mallopts")
    expect("mallopt", [(c["raw_param"], c["param"], c["value"], c["result"], ns(c["timestamp"]) - asked.start) for c in answer],
           asked.sql("SELECT parameter, parameter_name, value, result, at_ns FROM mallopts WHERE call = 'mallopt' ORDER BY mallopt_id"))
    expect("fields of mallopt", {frozenset(c) for c in answer} - {frozenset(CALL | {"raw_param", "param", "value", "result"})}, set())
    check_stacks(asked, {call["backtrace_id"]: call["backtrace"] for call in answer if call["backtrace_id"]})
    return len(mapped), len(unmapped), len(answer)


def curves(asked):
    listed = json.loads(asked.server.rows("/list"))
    expect("fields of the list", set(listed[0]), LISTED)
    expect("the list", (listed[0]["final_allocated"], listed[0]["final_allocated_count"]), asked.sql("SELECT coalesce(sum(size_bytes * is_leaked), 0), coalesce(sum(is_leaked), 0) FROM allocations")[0])
    expect("times", (ns(listed[0]["timestamp"]), ns(listed[0]["runtime"])), (asked.start, asked.end))
    for path, condition in (("timeline", "1"), ("timeline_leaked", "is_leaked")):
        output = asked.json(path)
        expect(path, set(output), {"xs", "size_delta", "count_delta", "allocated_size", "allocated_count", "allocations", "deallocations"})
        expect("lengths", {len(column) for column in output.values()}, {1000})
        allocated, freed, size = asked.sql(f"SELECT count(*), count(free_ns), coalesce(sum(size_bytes), 0) - coalesce(sum(CASE WHEN free_ns IS NOT NULL THEN size_bytes END), 0) FROM allocations WHERE {condition}")[0]
        expect(f"{path}: sums", (sum(output["allocations"]), sum(output["deallocations"]), output["allocated_size"][-1], output["allocated_count"][-1]), (allocated, freed, size, allocated - freed))
        expect(f"{path}: deltas", list(itertools.accumulate(output["size_delta"])), output["allocated_size"])
        expect(f"{path}: deltas of blocks", list(itertools.accumulate(output["count_delta"])), output["allocated_count"])
    memory = asked.json("timeline_maps")
    expect("memory", set(memory), {"xs", "address_space", "rss", "anonymous", "dirty", "clean", "swap"})
    expect("rss", memory["rss"], asked.column("SELECT sum(rss_bytes) FROM memory_samples GROUP BY at_ns ORDER BY at_ns"))
    expect("address space", memory["address_space"], asked.column(
        "SELECT (SELECT coalesce(sum(length), 0) FROM mmaps WHERE mapped_ns <= at_ns AND (unmapped_ns IS NULL OR unmapped_ns > at_ns)) FROM memory_samples GROUP BY at_ns ORDER BY at_ns"))


def files(asked):
    for given, condition in (({}, "1"), ({"size_min": 100}, "size_bytes >= 100"), ({"lifetime": "only_leaked"}, "is_leaked"),
                             ({"from": "20%", "to": "60%"}, f"alloc_ns BETWEEN {asked.end // 5} AND {asked.end * 3 // 5}"), ({"to": "0"}, "0")):
        blocks, size = asked.sql(f"SELECT count(*), coalesce(sum(size_bytes), 0) FROM allocations v WHERE {condition}")[0]
        folded = asked.raw("export/flamegraph.pl/x.txt", **given).decode().splitlines()
        expect(f"{given}: bytes of collapsed stacks", sum(int(line.rsplit(" ", 1)[1]) for line in folded), size)
        heaptrack = asked.raw("export/heaptrack/x.dat", **given).decode().splitlines()
        expect(f"{given}: allocations for heaptrack", sum(line.startswith("+") for line in heaptrack), blocks)
        title = asked.raw("allocation_ascii_tree", **given).decode().splitlines()[0]
        expect(f"{given}: title of the tree: {title}", f" in {blocks:,} block" in title, True)
    for path, kind in (("export/flamegraph/x.svg", "image/svg+xml"), ("export/flamegraph.pl", "text/plain"), ("export/heaptrack", "text/plain"),
                       ("allocation_ascii_tree", "text/plain"), ("allocations", "application/json")):
        _, headers, body = asked.server.ask(f"/data/last/{path}")
        expect(f"type of {path}", headers["Content-Type"].split(";")[0], kind)
        expect("a picture", body.startswith(b"<?xml"), kind == "image/svg+xml")


def readme(asked):
    listed = json.loads(asked.server.rows("/list"))[0]["id"]
    answers = {}
    for name in ("last", listed):
        for path in ("export/flamegraph?lifetime=only_leaked", "allocation_ascii_tree?lifetime=only_leaked", "allocations?sort_by=size&order=dsc&count=3",
                     "allocation_groups?group_allocations_min=10&group_leaked_allocations_min=50%&sort_by=all.size&count=3", "mmaps", "mallopts",
                     "export/flamegraph", "export/flamegraph.pl", "export/heaptrack", "allocation_ascii_tree", "allocations", "allocation_groups"):
            status, _, body = asked.server.ask(f"/data/{name}/{path}")
            expect(path, status, 200)
            expect(f"{path} by id and as the last", body, answers.setdefault(path, body))
    largest = json.loads(answers["allocations?sort_by=size&order=dsc&count=3"])["allocations"]
    expect("the biggest three", [a["size"] for a in largest], asked.column("SELECT size_bytes FROM allocations ORDER BY size_bytes DESC LIMIT 3"))
    sites = json.loads(answers["allocation_groups?group_allocations_min=10&group_leaked_allocations_min=50%&sort_by=all.size&count=3"])
    expect("call sites that leak half", [g["backtrace_id"] for g in sites["allocations"]], asked.column(
        "SELECT backtrace_id FROM backtrace_totals WHERE allocated_blocks >= 10 AND 2 * leaked_blocks >= allocated_blocks ORDER BY allocated_bytes LIMIT 3"))
    expect("there is one", sites["total_count"] > 0, True)


def wrong(asked):
    for path, parameters, status, part in (
            ("allocations", {"nothing": 1}, 400, "nothing"), ("allocations", {"from": "yesterday"}, 400, "from"), ("allocations", {"from": "200%"}, 400, "from"),
            ("allocations", {"sort_by": "age"}, 400, "timestamp"), ("allocations", {"order": "up"}, 400, "asc"), ("allocations", {"count": "-1"}, 400, "count"),
            ("allocations", {"lifetime": "short"}, 400, "only_leaked"), ("allocations", {"function_regex": "("}, 400, "regular expression"),
            ("allocations", {"custom_filter": "x"}, 400, "sql"), ("allocations", {"jemalloc": "yes"}, 400, "jemalloc"), ("allocations", {"size_min": "x"}, 400, "size_min"),
            ("allocation_groups", {"sort_by": "size"}, 400, "only_matched.size"), ("mmaps", {"size_min": "1"}, 400, "takes none"), ("timeline", {"from": "1"}, 400, "takes none"),
            ("maps", {}, 404, "maps"), ("backtrace/1", {}, 404, "backtrace"), ("nothing", {}, 404, "nothing"), ("allocations/more", {}, 404, "more")):
        found, message = asked.error(path, **parameters)
        expect(f"{path} {parameters}: {message}", (found, part in message), (status, True))
    expect("a script", error_of(asked.server.ask("/data/last/execute_script", "POST", "1"))[0], 405)
    expect("no recording", error_of(asked.server.ask("/data/0123/mmaps"))[0], 404)


def samples(tools, folder):
    """Requests about single blocks are refused for samples; leaks are the sum of what samples stand for."""
    harness.run([tools.record, "-q", "-o", folder / "few.dat", "--sample-bytes=16384", "--", tools.workloads / "samples"], folder)
    harness.import_log(tools, folder / "few.dat", folder / "few.db")
    with Server([folder / "few.db"], folder) as server:
        asked = Asked(server, folder / "few.db")
        for path in ("allocations", "allocation_groups?size_min=100"):
            status, message = error_of(server.ask(f"/data/last/{path}"))
            expect(path, (status >= 400, "--sample-bytes" in message), (True, True))
        expect("leaked", asked.json("timeline_leaked")["allocated_size"][-1], harness.Database(folder / "few.db").value("SELECT sum(leaked_bytes) FROM backtrace_totals"))


def long_files(tools, folder):
    """A streamed answer has the content type of its kind, too; a process that calls exec frees nothing."""
    harness.record_database(tools, folder, "long", ["/bin/sh", "-c", f"exec {sys.executable} -c 'import ast, json'"])
    with Server([folder / "long.db"], folder) as server:
        asked = Asked(server, folder / "long.db")
        _, headers, body = server.ask("/data/last/export/flamegraph")
        expect("a long answer", (len(body) > 256 * 1024, headers["Content-Type"]), (True, "image/svg+xml"))
        lost = asked.column("SELECT allocation_id FROM allocation_rows WHERE ended_by = 4 AND allocation_id <= 100")
        expect("blocks are lost by exec", len(lost) > 0, True)
        found = {a["id"]: a["deallocation"] for a in asked.json("allocations", count=100)["allocations"]}
        expect("their ends", {found[one] for one in lost}, {None})


CASES = {"rows": rows, "calls": calls, "curves": curves, "files": files, "readme": readme, "wrong": wrong}
ALONE = {"samples": samples, "long_files": long_files}
WORKLOADS = {"rows": ("thread_ends", "realloc_edges"), "calls": ("thread_ends", "mappings", "mallopt_calls"), "curves": ("thread_ends", "mappings"),
             "files": ("realloc_edges",), "readme": ("thread_ends",), "wrong": ("leak_c",)}
# There are at least that many calls of mmap, munmap and mallopt.
CALLS = {"mappings": (5, 3, 0), "mallopt_calls": (0, 0, 3)}


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
                counts = CASES[name](Asked(server, folder / f"{workload}.db"))
                if name == "calls":
                    expect(f"calls of {workload}: {counts}", all(n >= least for n, least in zip(counts, CALLS.get(workload, (0, 0, 0)))), True)


if __name__ == "__main__":
    harness.main(lambda: main(sys.argv[1]))
