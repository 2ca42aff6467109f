#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""exports.py FORMAT: a recording exported to another tool's format, read by that tool if installed, has the numbers of the
database: without filters and with them."""

import gzip
import json
import os
import re
import shutil
import struct
import subprocess
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
import harness  # noqa: E402

WORKLOADS = ("threads", "realloc_edges", "leak_cxx", "exec_again")
FILTERED = ("threads", "realloc_edges")
FILTERS = {"everything": ([], "1"),
           "sizes": (["size_min=100", "size_max=4KiB"], "size_bytes BETWEEN 100 AND 4096"),
           "second half": (["--from", "50%", "--to", "90%"], "alloc_ns BETWEEN :from AND :to"),
           "leaks": (["--lifetime", "only_leaked"], "ended_by IS NULL")}


class Expected:
    """The database's numbers for the rows that a condition selects."""

    def __init__(self, db, condition):
        self.rows = db.rows(f"SELECT alloc_ns, free_ns, size_bytes, backtrace_id, is_leaked, ended_by FROM allocations WHERE process_id = 1 AND ({condition})"
                            " ORDER BY allocation_id", **self._range(db))
        self.blocks = len(self.rows)
        self.bytes = sum(row[2] for row in self.rows)
        self.leaked_blocks = sum(row[4] for row in self.rows)
        self.leaked_bytes = sum(row[2] for row in self.rows if row[4])
        self.own_peak_bytes = self._peak()
        peak, = db.rows("SELECT peak_ns FROM processes")[0]
        self.peak_bytes = sum(row[2] for row in self.rows if row[0] <= peak and (row[1] is None or row[1] > peak or row[5] == "exec"))
        suppressed = {stack for (stack,) in db.rows("SELECT backtrace_id FROM suppressed_stacks")}
        self.suppressed_bytes = sum(row[2] for row in self.rows if row[4] and row[3] in suppressed)

    @staticmethod
    def _range(db):
        start, end = db.rows("SELECT start_ns, end_ns FROM processes")[0]
        return {"from": start + int(0.5 * (end - start)), "to": start + int(0.9 * (end - start))}

    def _peak(self):
        """Of the selected rows alone; at one time frees come first."""
        changes = [(row[0], 1, row[2]) for row in self.rows]
        changes += [(row[1], 0 if row[1] > row[0] else 2, -row[2]) for row in self.rows if row[1] is not None]
        live = peak = 0
        for _, _, change in sorted(changes):
            live += change
            peak = max(peak, live)
        return peak


def same(what, expected, found):
    if expected != found:
        raise harness.Failure(f"{what}: the database says {expected}, the export {found}")


def need(program):
    found = shutil.which(program, path="/usr/local/go/bin:" + os.environ.get("PATH", "") + ":/usr/bin:/usr/local/bin")
    if not found:
        raise harness.Skip(f"{program} is not installed")
    return found


def export(tools, path, output, format, filters):
    outcome = subprocess.run([tools.query, "export", "--to", format, "--process", "1", "-f", "-o", str(output), str(path), *filters],
                             capture_output=True, text=True, env=harness.environment(), timeout=400)
    is_printed = "leaked and suppressed are omitted" in outcome.stderr  # by leaked bytes only
    if outcome.returncode != 0 or (outcome.stderr and not ("leaked" in filters and is_printed)):
        raise harness.Failure(f"export --to {format} {filters} ended with {outcome.returncode}: {outcome.stderr}")
    return output


def output_of(argv, cwd, env=None):
    outcome = subprocess.run([str(arg) for arg in argv], cwd=cwd, env=env or harness.environment(), capture_output=True,
                             text=True, errors="replace", timeout=400)
    if outcome.returncode != 0:
        raise harness.Failure(f"{argv} ended with {outcome.returncode}: {outcome.stderr[-2000:]}")
    return outcome.stdout


# ---- heaptrack ----

def cost_of(folder, reader, path, cost):
    """The exact sums over all stacks, as heaptrack_print adds them up."""
    output_of([reader, "-f", path, "--flamegraph-cost-type", cost, "--disable-builtin-suppressions", "-F", "cost.txt"], folder)
    return sum(int(line.rsplit(" ", 1)[1]) for line in (folder / "cost.txt").read_text().splitlines())


def check_heaptrack(tools, folder, path, db, filters, expected):
    reader = need("heaptrack_print")
    plain = export(tools, path, folder / "out.heaptrack", "heaptrack", filters)
    printed = output_of([reader, "-f", plain, "-l", "1", "--disable-builtin-suppressions"], folder)
    same("calls", expected.blocks, int(re.search(r"calls to allocation functions: (\d+)", printed)[1]))
    same("leaked", expected.leaked_bytes, cost_of(folder, reader, plain, "leaked"))
    same("peak", expected.own_peak_bytes, cost_of(folder, reader, plain, "peak"))  # heaptrack finds its own
    for suffix in ("gz", "zst"):
        packed = export(tools, path, folder / f"out.{suffix}", "heaptrack", filters)
        if not filters:
            same(f"allocations of .{suffix}", expected.blocks, cost_of(folder, reader, packed, "allocations"))
    same(".gz", plain.read_bytes(), gzip.decompress((folder / "out.gz").read_bytes()))
    if not filters:
        check_heaptrack_functions(printed, db)


def heaptrack_size(size):
    """As heaptrack_print writes it: powers of 1000, two digits."""
    for unit in ("", "K", "M", "G"):
        if size < 1000:
            return f"{size:.2f}{unit}" if unit else f"{size}B"
        size /= 1000


def check_heaptrack_functions(printed, db):
    """The place with most calls, leaked and peak bytes: innermost, which heaptrack shows without operator new."""
    sql = """SELECT f.function, sum({0}) FROM (SELECT * FROM backtrace_totals WHERE process_id = 1) t JOIN stack_frames f ON f.backtrace_id = t.backtrace_id
             WHERE f.frame = (SELECT min(i.frame) FROM stack_frames i WHERE i.backtrace_id = t.backtrace_id
               AND ifnull(i.function, '') NOT LIKE 'operator new%(unsigned long)') AND f.inline_level = 0
             GROUP BY f.function, f.source, f.line, f.module ORDER BY 2 DESC"""
    for column, heading, write in (("allocated_blocks", r"(\S+) calls to allocation functions with \S+ peak consumption from", str),
                                   ("leaked_bytes", r"(\S+) leaked over \d+ calls from", heaptrack_size),
                                   ("peak_bytes", r"(\S+) peak memory consumed over \d+ calls from", heaptrack_size)):
        ours = [(write(total), name or "0x") for name, total in db.rows(sql.format(column)) if total]
        theirs = [(total, re.sub(r"^0x.*", "0x", name)) for total, name in re.findall(heading + r"\n(.+)\n", printed)]
        if not ours and not theirs:
            continue
        if not ours or not theirs:
            raise harness.Failure(f"no place by {column}:\n{ours}\n{printed[:2000]}")
        largest = {place for place in ours if place[0] == ours[0][0]}
        if theirs[0] not in largest:
            raise harness.Failure(f"by {column} the database begins with {largest}, heaptrack_print with {theirs[0]}")


# ---- flamegraph.pl ----

def check_collapsed(tools, folder, path, db, filters, expected):
    for measure, total in (("allocated", expected.bytes), ("leaked", expected.leaked_bytes - expected.suppressed_bytes)):
        out = export(tools, path, folder / "out.txt", "flamegraph.pl", [*filters, "--measure", measure])
        lines = out.read_text().splitlines()
        for line in lines:
            if not re.fullmatch(r"[^;]+(;[^;]+)* [1-9][0-9]*", line):
                raise harness.Failure(f"not a collapsed stack: {line}")
        same(f"{measure} bytes", total, sum(int(line.rsplit(" ", 1)[1]) for line in lines))
        same("distinct lines", len(lines), len({line.rsplit(" ", 1)[0] for line in lines}))


def check_flamegraph_pl(tools, folder, path, db, filters, expected):
    """Brendan Gregg's own, as it comes with NYTProf."""
    script = Path("/usr/share/perl5/Devel/NYTProf/flamegraph.pl")
    if not script.exists():
        raise harness.Skip("flamegraph.pl is not installed (Debian has it in libdevel-nytprof-perl)")
    out = export(tools, path, folder / "out.txt", "flamegraph.pl", [*filters, "--measure", "allocated"])
    if not expected.bytes:
        return  # it says that there is no input and fails
    printed = output_of([need("perl"), script, "--countname", "bytes", out], folder)
    same("total of the picture", f"{expected.bytes:,}", re.search(r"<title>all \(([\d,]+) bytes, 100%\)", printed)[1])


# ---- pprof ----

def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def fields(data):
    """(number, value) of a protobuf message; a value is an int or bytes."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        elif key & 7 == 2:
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
        elif key & 7 == 1:
            value, at = struct.unpack_from("<q", data, at)[0], at + 8
        else:
            raise harness.Failure(f"wire type {key & 7}")
        yield key >> 3, value


def numbers(value):
    if isinstance(value, int):
        return [value]
    found, at = [], 0
    while at < len(value):
        number, at = varint(value, at)
        found.append(number)
    return found


def check_pprof_structure(path):
    """Checks every reference; returns the types and the sums of the samples by type."""
    parts = {number: [] for number in range(1, 15)}
    for number, value in fields(gzip.decompress(path.read_bytes())):
        parts[number].append(value)
    strings = [value.decode() for value in parts[6]]
    same("first string", "", strings[0])
    types = [strings[dict(fields(value)).get(1, 0)] for value in parts[1]]
    functions, mappings, locations = set(), set(), set()
    for value in parts[3]:
        mappings.add(dict(fields(value))[1])
    for value in parts[5]:
        function = dict(fields(value))
        functions.add(function[1])
        if any(function.get(number, 0) >= len(strings) for number in (2, 3, 4)):
            raise harness.Failure(f"a function without its string: {function}")
    for value in parts[4]:
        location = list(fields(value))
        locations.add(dict(location)[1])
        if dict(location).get(2, 0) not in mappings | {0}:
            raise harness.Failure("a location without its mapping")
        if any(dict(fields(line))[1] not in functions for number, line in location if number == 4):
            raise harness.Failure("a line without its function")
    sums = Counter()
    for value in parts[2]:
        sample = dict(fields(value))
        if not set(numbers(sample[1])) <= locations:
            raise harness.Failure("a sample without its location")
        for kind, number in zip(types, numbers(sample[2]), strict=True):
            sums[kind] += number
    return types, sums


def check_pprof(tools, folder, path, db, filters, expected):
    out = export(tools, path, folder / "out.pb.gz", "pprof", filters)
    wanted = {"alloc_objects": expected.blocks, "alloc_space": expected.bytes, "inuse_objects": expected.leaked_blocks,
              "inuse_space": expected.leaked_bytes}
    types, sums = check_pprof_structure(out)
    same("types", [*wanted, "peak_objects", "peak_space"], types)
    for kind, total in wanted.items():
        same(kind, total, sums[kind])


def check_pprof_tool(tools, folder, path, db, filters, expected):
    go = need("go")
    out = export(tools, path, folder / "out.pb.gz", "pprof", filters)
    env = {**harness.environment(), "HOME": os.environ.get("HOME", str(folder)), "PATH": os.environ["PATH"]}
    printed = output_of([go, "tool", "pprof", "-raw", out], folder, env)
    rows = [list(map(int, line.split(":")[0].split())) for line in printed.splitlines() if re.match(r"\s+\d+ [ \d]+: ", line)]
    for column, total in enumerate((expected.blocks, expected.bytes, expected.leaked_blocks, expected.leaked_bytes)):
        same(f"column {column} of go tool pprof", total, sum(row[column] for row in rows))
    if not filters:
        top = output_of([go, "tool", "pprof", "-top", "-sample_index=alloc_space", "-unit=B", out], folder, env)
        same("total of -top", expected.bytes, int(re.search(r"of (\d+)B total", top)[1]))


# ---- speedscope ----

def check_speedscope(tools, folder, path, db, filters, expected):
    data = json.loads(export(tools, path, folder / "out.json", "speedscope", filters).read_text())
    same("$schema", "https://www.speedscope.app/file-format-schema.json", data["$schema"])
    frames = data["shared"]["frames"]
    for frame in frames:
        if set(frame) - {"name", "file", "line", "col"} or not isinstance(frame["name"], str) or not frame["name"]:
            raise harness.Failure(f"not a frame: {frame}")
    same("one frame for each function, and for each module without one",
         db.value("SELECT count(DISTINCT coalesce('f' || l.function_id, 'm' || f.object_id, '')) FROM frame_lines AS l JOIN frames AS f USING (frame_id)"),
         len(frames))
    sums = {}
    for profile in data["profiles"]:
        same("keys", {"type", "name", "unit", "startValue", "endValue", "samples", "weights"}, set(profile))
        same("type", "sampled", profile["type"])
        if profile["unit"] not in ("none", "nanoseconds", "microseconds", "milliseconds", "seconds", "bytes"):
            raise harness.Failure(f"unit {profile['unit']}")
        same("weights", len(profile["samples"]), len(profile["weights"]))
        same("endValue", sum(profile["weights"]), profile["endValue"] - profile["startValue"])
        if any(not 0 <= index < len(frames) for stack in profile["samples"] for index in stack):
            raise harness.Failure("a sample of an unknown frame")
        sums[profile["name"]] = sum(profile["weights"])
    same("live bytes", expected.leaked_bytes, sums["live bytes"])
    same("allocated bytes", expected.bytes, sums["allocated bytes"])
    same("allocated blocks", expected.blocks, sums["allocated blocks"])


# ---- dhat ----

def check_dhat(tools, folder, path, db, filters, expected):
    """The rules that dh_view.js asserts of a file, and the sums."""
    data = json.loads(export(tools, path, folder / "dhat.out", "dhat", filters).read_text())
    same("version", 2, data["dhatFileVersion"])
    for key, kind in (("mode", str), ("verb", str), ("bklt", bool), ("bkacc", bool), ("tu", str), ("Mtu", str), ("tuth", int),
                      ("cmd", str), ("pid", int), ("te", int), ("tg", int), ("pps", list), ("ftbl", list)):
        if not isinstance(data.get(key), kind):
            raise harness.Failure(f"'{key}' is {data.get(key)!r}")
    same("root", "[root]", data["ftbl"][0])
    same("tg within te", True, 0 <= data["tg"] <= data["te"])
    keys = {"tb", "tbk", "tl", "mb", "mbk", "gb", "gbk", "eb", "ebk", "fs"}
    for point in data["pps"]:
        same("keys of a point", keys, set(point))
        if any(not 0 < frame < len(data["ftbl"]) for frame in point["fs"]) or not point["fs"]:
            raise harness.Failure(f"frames {point['fs']}")
        if not (point["mb"] <= point["tb"] and point["gb"] <= point["mb"] and point["eb"] <= point["mb"]):
            raise harness.Failure(f"not possible: {point}")
    for key, total in (("tb", expected.bytes), ("tbk", expected.blocks), ("eb", expected.leaked_bytes),
                       ("ebk", expected.leaked_blocks), ("gb", expected.peak_bytes)):
        same(key, total, sum(point[key] for point in data["pps"]))


def check_dhat_viewer(tools, folder, path, db, filters, expected):
    viewer = Path("/usr/libexec/valgrind/dh_view.js")
    if not viewer.exists():
        raise harness.Skip("dh_view.js of Valgrind is not installed")
    out = export(tools, path, folder / "dhat.out", "dhat", filters)
    printed = json.loads(output_of([need("node"), Path(__file__).with_name("read_dhat.js"), viewer, out], folder))
    for key, total in (("totalBytes", expected.bytes), ("totalBlocks", expected.blocks), ("atPeakBytes", expected.peak_bytes),
                       ("atEndBytes", expected.leaked_bytes), ("atEndBlocks", expected.leaked_blocks)):
        same(key, total, printed[key])
    if expected.blocks and f"{expected.bytes:,} bytes" not in printed["shown"]:
        raise harness.Failure(f"the viewer shows no {expected.bytes:,} bytes:\n{printed['shown'][:2000]}")


# ---- massif ----

def check_tree(lines):
    """Reads one node and what is below it; returns its bytes. "nK: BYTES …" is followed by K nodes one blank deeper."""
    line = lines.pop(0)
    match = re.match(r"( *)n(\d+): (\d+) ", line)
    if not match:
        raise harness.Failure(f"not a node: {line}")
    below = sum(check_tree(lines) for _ in range(int(match[2])))
    if below > int(match[3]):
        raise harness.Failure(f"{below} bytes below {line}")
    return int(match[3])


def check_massif(tools, folder, path, db, filters, expected):
    out = export(tools, path, folder / "massif.out", "massif", filters)
    printed = output_of([need("ms_print"), out], folder)
    if ("(peak)" in printed) != (expected.peak_bytes > 0):  # blocks of no bytes have none
        raise harness.Failure(f"ms_print on the peak of {expected.peak_bytes} bytes:\n{printed[:2000]}")
    snapshots = out.read_text().split("#-----------\nsnapshot=")[1:]
    sizes, times = [], []
    for index, text in enumerate(snapshots):
        values = dict(line.split("=", 1) for line in text.splitlines()[1:] if re.match(r"\w+=", line))
        same("snapshot", index, int(text.splitlines()[0]))
        sizes.append(int(values["mem_heap_B"]))
        times.append(int(values["time"]))
        tree = text.split("heap_tree=", 1)[1].splitlines()[1:]
        if values["heap_tree"] == "empty":
            same("lines of an empty tree", [], tree)
        else:
            same("root of a tree", sizes[-1], check_tree(tree))
            same("lines behind a tree", [], tree)
        if values["heap_tree"] == "peak":
            same("peak", expected.peak_bytes, sizes[-1])
    same("times", sorted(times), times)
    if max(sizes) > expected.own_peak_bytes:
        raise harness.Failure(f"{max(sizes)} bytes were never live")
    same("last", expected.leaked_bytes, sizes[-1])


# ---- json ----

def check_view(db, allocations):
    """Each has all columns of its view, under the same names in the same order."""
    rows = {row[0]: row for row in db.rows("SELECT * FROM allocations")}
    columns = [row[0] for row in db.rows("SELECT name FROM pragma_table_info('allocations')")]
    for found in allocations:
        same("members", columns, list(found))
        same("allocation", rows[found["allocation_id"]], tuple(found.values()))


def check_json(tools, folder, path, db, filters, expected):
    data = json.loads(export(tools, path, folder / "out.json", "json", filters).read_text())
    same("tables", {"meta", "processes", "threads", "modules", "frames", "backtraces", "allocations", "mmaps", "mallopts",
                    "allocation_failures", "memory_samples", "timeline", "heaps", "markers", "allocation_groups", "allocation_group_tags", "phases", "phase_totals"}, set(data))
    for table in ("mmaps", "mallopts", "allocation_failures", "memory_samples", "timeline", "heaps", "markers", "allocation_groups", "allocation_group_tags", "phases", "phase_totals"):
        same(f"rows of {table}", db.value(f"SELECT count(*) FROM {table}"), len(data[table]))
    same("allocations", [(row[0], row[2], row[3]) for row in expected.rows],
         [(row["alloc_ns"], row["size_bytes"], row["backtrace_id"]) for row in data["allocations"]])
    check_view(db, data["allocations"])
    for suffix, unpack in (("gz", ["zcat"]), ("zst", ["zstdcat"])):
        packed = export(tools, path, folder / f"out.json.{suffix}", "json", filters)
        same(f".{suffix}", (folder / "out.json").read_bytes(),
             subprocess.run([need(unpack[0]), packed], capture_output=True, check=True).stdout)
    stacks = {row["backtrace_id"] for row in data["backtraces"]}
    frames = {row["frame_id"] for row in data["frames"]}
    if any(row["backtrace_id"] not in stacks for row in data["allocations"]):
        raise harness.Failure("an allocation without its stack")
    if any(row["frame_id"] not in frames or row["parent_backtrace_id"] not in stacks | {None} for row in data["backtraces"]):
        raise harness.Failure("a stack without its frame or its caller")


FORMATS = {"heaptrack": check_heaptrack, "flamegraph.pl": check_collapsed, "flamegraph_pl": check_flamegraph_pl,
           "pprof": check_pprof, "go_pprof": check_pprof_tool,
           "speedscope": check_speedscope, "dhat": check_dhat, "dh_view": check_dhat_viewer, "massif": check_massif, "json": check_json}


def main(name):
    tools = harness.Tools.from_environment()
    with harness.scratch() as scratch:
        folder = Path(scratch)
        for workload in WORKLOADS:
            argv, env = harness.record_argv(tools, "record", folder / "run.dat", [tools.workloads / workload], ["-f"])
            harness.run(argv, folder, env)
            (folder / "run.db").unlink(missing_ok=True)
            db = harness.import_log(tools, folder / "run.dat", folder / "run.db")
            for what, (filters, condition) in FILTERS.items():
                if filters and workload not in FILTERED:
                    continue
                try:
                    expected = Expected(db, condition)
                    if not filters:
                        same("peak", db.value("SELECT peak_bytes FROM processes"), expected.peak_bytes)
                    FORMATS[name](tools, folder, folder / "run.db", db, filters, expected)
                except harness.Failure as how:
                    raise harness.Failure(f"{workload}, {what}: {how}") from None


harness.main(lambda: main(sys.argv[1]))
