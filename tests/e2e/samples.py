#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""samples.py estimates|children|rows|refusals|fresh|idle: recordings with --sample-bytes, compared with the program's own counts.

estimates: by function, in the program and its fork child. An interval 2.5 times as wide as the one of 95 % misses the truth in one recording
of a million. At least four fifths of the intervals of 95 % contain the truth: blocks and bytes of a function err together,
so only 40 are independent, and four deviations are 14 %. Blocks that other threads or realloc free are not leaked, and no
free is without its block.
children: siblings draw independently, though their parent draws nothing between two of them; with a seed all draw the same in each run.
rows: reports made of rows, which are samples, agree with totals and with a recording of every block, filters of blocks and times included.
fresh: samples are soon in the packed log while the program runs: a program killed together with its recorder has lost only seconds.
idle: beside a program that does nothing mtrace-record sleeps.
refusals: requests that samples cannot answer are refused with a message, and all other answers are marked as estimates.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
import harness  # noqa: E402
from harness import Failure  # noqa: E402

MEAN = 16384
SEEDS = range(1, 9)
COLUMNS = ("allocated_blocks", "allocated_bytes", "leaked_blocks", "leaked_bytes")
SUMS = """SELECT f.name, {} FROM site_totals AS t JOIN call_sites AS s ON s.call_site_id = t.call_site_id
  JOIN functions AS f ON f.function_id = s.function_id GROUP BY f.name""".format(
    ", ".join(f"sum(t.{figure}), sqrt(sum(t.{figure}_margin * t.{figure}_margin))" for figure in COLUMNS))


def record(tools, folder, seed, *options, arguments=()):
    log, database = folder / f"{seed}.dat", folder / f"{seed}.db"
    env = harness.environment({"MTRACE_SAMPLE_SEED": str(seed)})
    run = subprocess.run([tools.record, "-q", "-f", "-o", log, *options, "--", Path(tools.workloads) / "samples", *arguments], capture_output=True, text=True, env=env,
                         timeout=300)
    if run.returncode:
        raise Failure(f"recording ended with {run.returncode}: {run.stderr}")
    harness.import_log(tools, log, database)
    counted = {name: [int(number) for number in numbers] for name, *numbers in map(str.split, run.stdout.splitlines())}
    return counted, database


def compare(counted, database, seed):
    """How many of the intervals of 95 % have the truth in them, and of how many."""
    n_right = n_all = 0
    estimates = {row[0]: row[1:] for row in harness.Database(database).rows(SUMS)}
    for name, truths in counted.items():
        for index, truth in enumerate(truths):
            value, margin = estimates[name][2 * index:2 * index + 2]
            off = abs(value - truth)
            print(f"seed {seed}: {name} {COLUMNS[index]}: {truth:,}, estimated {value:,} ± {margin:,.0f}{'' if off <= margin else ' (!)'}")
            if truth == 0 and value:
                raise Failure(f"{name} {COLUMNS[index]} are {value}, and there are none")
            if off > 2.5 * margin:
                raise Failure(f"{name} {COLUMNS[index]} are {truth:,}, far from {value:,} ± {margin:,.0f}")
            n_right += off <= margin
            n_all += 1
    return n_right, n_all


def check_pairs(database):
    database = harness.Database(database)
    strays = database.rows("SELECT key, value FROM meta WHERE key GLOB 'anomaly.*' AND key <> 'anomaly.clock_inversion' AND value > 0")
    if strays:
        raise Failure(f"ends without a beginning: {strays}")
    if database.value("SELECT sum(events_dropped) FROM processes"):
        raise Failure("events were dropped")
    if database.value("SELECT count(inherited_frees) FROM processes"):
        raise Failure("samples tell how many blocks were inherited and freed")


def estimates(tools, folder):
    n_right = n_all = 0
    for seed in SEEDS:
        counted, database = record(tools, folder, seed, "--follow-children", f"--sample-bytes={MEAN}")
        if harness.Database(database).rows("SELECT DISTINCT sample_bytes FROM processes") != [(MEAN,)]:
            raise Failure("the database does not say that it is of samples")
        right, intervals = compare(counted, database, seed)
        check_pairs(database)
        n_right, n_all = n_right + right, n_all + intervals
    print(f"{n_right} of {n_all} intervals have the truth in them")
    if n_right < 0.8 * n_all:
        raise Failure(f"only {n_right} of {n_all} intervals of 95 % have the truth in them")
    counted, database = record(tools, folder, 0, "--follow-children")
    exact = {row[0]: row[1:] for row in harness.Database(database).rows(SUMS)}
    for name, truths in counted.items():
        if list(exact[name][::2]) != truths or any(margin is not None for margin in exact[name][1::2]):
            raise Failure(f"recorded in full, {name} is {exact[name]}, not {truths}")


def drawn_children(tools, folder, seed):
    """The children, of 60, that drew their block; 1 is the program."""
    _, database = record(tools, folder, seed, "--follow-children", "--sample-bytes=3000", arguments=["children"])
    return harness.Database(database).rows("""SELECT p.rank FROM allocations AS a JOIN (SELECT process_id, rank() OVER (ORDER BY process_id) AS rank
      FROM processes) AS p ON p.process_id = a.process_id WHERE a.size_bytes = 3000 ORDER BY 1""")


def children(tools, folder):
    for seed in (0, 1, 3):
        drawn = drawn_children(tools, folder, seed)
        print(f"seed {seed}: {len(drawn)} of 60 children drew")
        if not 16 <= len(drawn) <= 59:  # 38 on average; 16 is six deviations below
            raise Failure(f"{len(drawn)} of 60 children drew a block of a probability of 0.63")
    again = folder / "again"
    again.mkdir()
    if drawn_children(tools, again, 3) != drawn:
        raise Failure("with the same seed other children draw")


def ask(tools, *words):
    return subprocess.run([tools.query, *map(str, words)], capture_output=True, text=True, env=harness.environment(), timeout=300)


def check_culling(tools, folder):
    """A sample counts as many blocks, a recorded block as one, whichever way sampling was requested."""
    program = ["--", Path(tools.workloads) / "samples"]
    for variables, words in (({}, ["--sample-bytes=4KiB", *program]), ({"MTRACE_SAMPLE_BYTES": "4KiB"}, program), ({}, [f"--pack={folder / '1.dat'}"])):
        run = subprocess.run([tools.record, "-o", folder / "elided.dat", "--cull-temporary=1000", *words], capture_output=True, text=True,
                             env=harness.environment(variables), timeout=300)
        if run.returncode == 0 or "--cull-temporary counts all blocks" not in run.stderr or (folder / "elided.dat").exists():
            raise Failure(f"{variables} {words} ended with {run.returncode}: {run.stderr}")


def answer(tools, *words):
    run = ask(tools, *words, "--format", "json")
    if run.returncode:
        raise Failure(f"{words} ended with {run.returncode}: {run.stderr}")
    return json.loads(run.stdout)


def check_filtered(tools, database, counted):
    for query in ("threads", "flows", "size-histogram", "lifetime-histogram"):
        whole, filtered = answer(tools, query, database), answer(tools, query, database, "--function-regex", ".")
        if not whole or whole != filtered:
            raise Failure(f"{query} of all stacks is {filtered}, of the file {whole}")
    if any(row["temporary_blocks"] is not None for row in answer(tools, "size-histogram", database)):
        raise Failure("samples tell how many blocks were temporary")
    for function, truth in (("keep", counted["keep"][3]), ("grow", counted["grow"][3])):
        for more in ([], ["--measure", "leaked"]):
            live = answer(tools, "timeline", database, "--function", function, *more)[-1]["live_bytes"]
            print(f"timeline --function {function} {more}: {live:,} of {truth:,} at the end")
            if abs(live - truth) > 0.2 * truth:
                raise Failure(f"the timeline of {function} ends with {live}, and {truth} bytes were left")
    if answer(tools, "timeline", database, "--measure", "leaked")[-1]["live_bytes"] != harness.Database(database).value("SELECT sum(leaked_bytes) FROM site_totals"):
        raise Failure("the timeline of leaks does not end with their sum")


FILTERS = (["--size-min", "1000"], ["--size-max", "500"], ["--size-min", "300", "--size-max", "700"], ["--kind", "calloc"], ["--lifetime", "only_leaked"],
           ["--lifetime", "only_temporary"], ["--size-max", "900", "--function-regex", "keep"], ["--thread", "1", "--size-min", "1500"])


def total(tools, database, words):
    """The sums of hot and of leaks, each with the square of its margin."""
    sums = []
    for query, values in (("hot", ("allocated_blocks", "allocated_bytes")), ("leaks", ("leaked_blocks", "leaked_bytes"))):
        rows = answer(tools, query, database, *words)
        for figure in values:
            sums.append((sum(row[figure] for row in rows), sum((row[f"{figure}_margin"] or 0) ** 2 for row in rows)))
    return sums


def check_timeline(tools, database):
    """The margins of a timeline are those of the same sums elsewhere, from the file and from rows."""
    stored, made = (answer(tools, "timeline", database, *words) for words in ([], ["--size-min", "0"]))
    allocated, leaked, freed, peak = harness.Database(database).rows("""SELECT sum(allocated_bytes_margin * allocated_bytes_margin), sum(leaked_bytes_margin * leaked_bytes_margin),
      sum(allocated_bytes_margin * allocated_bytes_margin - leaked_bytes_margin * leaked_bytes_margin), sum(peak_bytes_margin * peak_bytes_margin) FROM backtrace_totals""")[0]
    for rows in (stored, made):
        squares = [sum(row[f"{figure}_margin"] ** 2 for row in rows) for figure in ("allocated_bytes", "freed_bytes")]
        squares += [rows[-1]["live_bytes_margin"] ** 2, rows[-1]["leaked_bytes_margin"] ** 2, max(rows, key=lambda row: row["peak_bytes"])["peak_bytes_margin"] ** 2]
        wanted = [allocated, freed, leaked, leaked, peak]
        if not all(abs(square / want - 1) < 1e-6 for square, want in zip(squares, wanted)):
            raise Failure(f"squares of the margins of a timeline are {squares}, of the totals {wanted}")
    for row, same in zip(stored, made):
        if any(abs(value - same[name]) > 1e-6 * value + 1e-3 for name, value in row.items() if name.endswith("_margin")):
            raise Failure(f"a part of the timeline is {row}, made of rows {same}")
    if ask(tools, "timeline", database).stdout.splitlines()[1].count("±") != 2:
        raise Failure("the head of a timeline has no margins")


def check_row_filters(tools, folder):
    """Filters of single blocks give intervals, which equal those of the file if all blocks pass."""
    _, exact = record(tools, folder, 100)
    sampled = [record(tools, folder, seed, f"--sample-bytes={MEAN}")[1] for seed in (101, 102, 103, 104)]
    for query in ("hot", "leaks", "leaks-by-stack", "peak", "by-function", "by-module"):
        whole, filtered = (answer(tools, query, sampled[0], *words) for words in ([], ["--size-min", "0"]))
        if not whole or len(whole) != len(filtered):
            raise Failure(f"{query} of all blocks has {len(filtered)} rows, of the file {len(whole)}")
        for row, same in zip(whole, filtered):
            for name, value in row.items():
                if "margin" in name and not (value >= 0 and abs(value - same[name]) <= 1e-6 * value + 1e-6) or "margin" not in name and name in (
                        "allocated_bytes", "allocated_blocks", "leaked_bytes", "leaked_blocks", "bytes", "blocks", "self_leaked_bytes", "inclusive_peak_bytes") and value != same[name]:
                    raise Failure(f"{query}: {name} of all blocks is {same[name]}, of the file {value}")
    n_right = n_all = 0
    for words in FILTERS:
        truths = total(tools, exact, words)
        for database in sampled:
            for (truth, zero), (value, square) in zip(truths, total(tools, database, words)):
                off, margin = abs(value - truth), square ** 0.5
                print(f"{' '.join(words)}: {truth:,}, estimated {value:,} ± {margin:,.0f}{'' if off <= margin else ' (!)'}")
                if zero or (truth and not margin) or off > 2.5 * margin:
                    raise Failure(f"with {words} {truth:,} are {value:,} ± {margin:,.0f}, or have no margin, or the truth has one")
                n_right, n_all = n_right + (off <= margin), n_all + 1
    print(f"{n_right} of {n_all} intervals have the truth in them")
    if n_right < 0.8 * n_all:
        raise Failure(f"only {n_right} of {n_all} intervals of 95 % have the truth in them")


def check_times(tools, database):
    """Parts of the time add up to the whole time."""
    halves = [total(tools, database, words)[1] for words in ([], ["--to", "50%"], ["--from", "50%"])]
    if halves[0][0] != halves[1][0] + halves[2][0] or abs(halves[0][1] / (halves[1][1] + halves[2][1]) - 1) > 1e-6:
        raise Failure(f"of both halves of the time there are {halves[1:]}, of all {halves[0]}")
    live = answer(tools, "live", database, "--at", "end")
    if sum(row["bytes"] for row in live) != harness.Database(database).value("SELECT sum(leaked_bytes) FROM site_totals"):
        raise Failure("what lives at the end is not what leaked")
    for query in (["timeline", "--from", "10%", "--to", "90%"], ["timeline", "--size-min", "500"], ["size-histogram", "--size-min", "500"], ["threads", "--size-min", "500"],
                     ["diff", "--at", "0%", "--at", "end"], ["tree", "--size-min", "500"], ["by-function", "--size-max", "800"]):
        if not answer(tools, query[0], database, *query[1:]):
            raise Failure(f"{query} has no answer")


def record_workload(tools, folder, name, *words):
    """The databases of every block and of samples."""
    for options in ([], ["--sample-bytes=4096"]):
        log, database = folder / "part.dat", folder / f"{name}{len(options)}.db"
        subprocess.run([tools.record, "-q", "-f", "-o", log, *options, "--", Path(tools.workloads) / name, *words], check=True, stdout=subprocess.DEVNULL,
                       env=harness.environment({"MTRACE_SAMPLE_SEED": "3"}), timeout=300)
        harness.import_log(tools, log, database)
        yield harness.Database(database)


def rows(tools, folder):
    counted, database = record(tools, folder, 1, f"--sample-bytes={MEAN}")
    check_filtered(tools, database, counted)
    check_times(tools, database)
    check_row_filters(tools, folder)
    every_block, some = record_workload(tools, folder, "container_table")
    for figure in ("(SELECT sum(bytes) FROM unclaimed_totals)", "(SELECT sum(claimed_bytes) FROM object_walks)"):
        whole, samples = (data.value(f"SELECT {figure}") for data in (every_block, some))
        print(f"{figure}: {whole:,}, of samples {samples:,}")
        if abs(samples - whole) > 3 * (whole * 4096) ** 0.5:
            raise Failure(f"{figure} is {whole}, and of samples {samples}")
    whole, samples = record_workload(tools, folder, "pools", "arena")
    if not whole.value("SELECT sum(taken_blocks) FROM pools") or samples.value("SELECT count(taken_blocks) + count(held_bytes) FROM pools"):
        raise Failure("pools say what they took of blocks that were not seen")


def check_pictures(tools, database, folder):
    """Titles, tooltips and numbers of pictures and pages have margins, and those of a recording of every block have none."""
    _, exact = record(tools, folder, 99)
    total, margin = harness.Database(database).rows("SELECT sum(leaked_bytes), sqrt(sum(leaked_bytes_margin * leaked_bytes_margin)) FROM backtrace_totals")[0]
    for words, name in ((["flamegraph", "--measure", "leaked"], "flames.svg"), (["report"], "page.html"), (["export", "--to", "speedscope"], "profile.json")):
        for data, expected in ((database, True), (exact, False)):
            run = ask(tools, words[0], data, *words[1:], "-o", folder / name, "--force")
            if run.returncode:
                raise Failure(f"{words} ended with {run.returncode}: {run.stderr}")
            text = (folder / name).read_text()
            if ("±" in text or "estimates from samples" in text) != expected:
                raise Failure(f"{words} of {data} {'has no' if expected else 'has a'} margin")
            if expected and name == "flames.svg" and not any(f"{total / 2 ** 20:.1f} MiB ± {margin / 2 ** 20:.1f} MiB" in line for line in text.splitlines()):
                raise Failure(f"the flame graph does not print {total} ± {margin}")
    title = ask(tools, "tree", database, "--measure", "leaked").stdout.splitlines()[0]
    if title.count("±") != 2:
        raise Failure(f"the title of a tree has no margins: {title}")
    for words in (["live", "--at", "end"], ["diff", "--at", "1%", "--at", "end"]):
        columns = ask(tools, words[0], database, *words[1:]).stdout.count("±")
        if columns != (2 if words[0] == "live" else 4):  # two more in the title
            raise Failure(f"{words} has {columns} margins")
    summary = ask(tools, "summary", database).stdout
    if not all(line.count("±") == 2 for line in summary.splitlines() if line.startswith(("allocated", "freed", "leaked", "peak"))):
        raise Failure(f"the summary has no margins: {summary}")
    if not all(f'"{name}_margin":' in (folder / "page.html").read_text() for name in ("leaked_bytes", "bytes", "allocated_blocks")):
        raise Failure("the tables of a report have no margins")


def refusals(tools, folder):
    _, database = record(tools, folder, 1, f"--sample-bytes={MEAN}")
    check_culling(tools, folder)
    for query in (["temporary"], ["reallocs"], ["realloc-chains"], ["fragmentation"], ["pinning"], ["holes"], ["heap-map"], ["leaks", "--chain-length-min", "2"],
                     ["hot", "--first-size-max", "100"], ["hot", "--intervening-max", "1"], ["allocations", "--intervening-max", "1"], ["allocations", "--chain-length-min", "2"], ["timeline", "--measure", "temporary"], ["tree", "--measure", "temporary"],
                     *(["export", "--to", form] for form in ("heaptrack", "dhat", "massif"))):
        run = ask(tools, query[0], database, *query[1:])
        print(" ".join(query), run.returncode, run.stderr.strip())
        if run.returncode == 0 or run.stdout or "--sample-bytes" not in run.stderr or run.stderr.count("\n") > 2:
            raise Failure(f"{query} is answered: {run.stdout}{run.stderr}")
    for query in ([], ["leaks"], ["peak"], ["hot"], ["groups"], ["timeline"], ["growth"], ["threads"], ["by-function"], ["size-histogram"], ["tree"], ["allocations"],
                     ["leaks", "--function-regex", "keep"]):
        run = ask(tools, *query[:1], database, *query[1:])
        output = run.stdout + run.stderr
        if run.returncode or output.count("estimates from samples") != 1:
            raise Failure(f"{query} ended with {run.returncode} and does not say once that it is an estimate: {output}")
    check_pictures(tools, database, folder)
    check_timeline(tools, database)
    if ask(tools, "by-pool", database).stderr.count("not known from samples") != 1 or ask(tools, "hot", database).stderr.count("not known from samples"):
        raise Failure("by-pool alone says what is not known of pools")
    for query, columns in (("leaks-by-stack", 2), ("peak", 2), ("hot", 2), ("by-function", 6), ("by-module", 6)):
        if ask(tools, query, database).stdout.count("±") != columns:
            raise Failure(f"{query} has no column of margins for each of its estimates")
    for query, column in (("growth", "grown_bytes_margin"), ("by-module", "inclusive_allocated_bytes_margin")):
        header = ask(tools, query, database, "--format", "csv").stdout.splitlines()[0].split(",")
        if column not in header:
            raise Failure(f"{query} has no column {column}: {header}")
    if harness.Database(database).value("SELECT count(value) FROM summary WHERE name = 'suppressed_bytes_margin' AND value >= 0") != 1:
        raise Failure("the summary has no margin of what is suppressed")
    slim = folder / "slim.db"
    harness.import_log(tools, database.with_suffix(".dat"), slim, "--slim")
    margins, most = (dict(harness.Database(path).rows("SELECT coalesce(call_site_id, 0), grown_bytes_margin FROM site_growth")) for path in (database, slim))
    if not margins or margins.keys() != most.keys() or not all(0 <= margins[site] <= 1.001 * most[site] for site in margins):
        raise Failure(f"the margins of growth are {margins}, and without rows {most}")
    rows = json.loads(ask(tools, "leaks", database, "--format", "json").stdout)
    if not all(row["leaked_bytes_margin"] >= 0 for row in rows) or "±" not in ask(tools, "leaks", database).stdout:
        raise Failure(f"leaks have no margins: {rows}")


SLOW = """
import time
while True:
    kept = [bytes(100000) for _ in range(20)]
    time.sleep(0.05)
"""


def fresh(tools, folder):
    """Ten samples or so a second: a segment of 64 KiB would be full after minutes."""
    log, alone = folder / "run.dat", folder / "alone.dat"
    recorder = subprocess.Popen([tools.record, "-q", "--sample-bytes", "4MiB", "-o", log, "--", sys.executable, "-c", SLOW], start_new_session=True,
                                stdout=subprocess.DEVNULL)
    end = time.monotonic() + 90
    n = 0
    try:
        while n == 0 and time.monotonic() < end:
            time.sleep(0.5)
            if recorder.poll() is not None:
                raise Failure(f"mtrace-record ended with {recorder.returncode}")
            if log.exists():
                shutil.copy(log, alone)  # without the pool, as another machine has it
                (folder / "alone.db").unlink(missing_ok=True)
                harness.import_log(tools, alone, folder / "alone.db", "--no-symbols")
                n = harness.Database(folder / "alone.db").value("SELECT count(*) FROM allocation_rows")
    finally:
        os.killpg(recorder.pid, signal.SIGKILL)  # the program, too
        recorder.wait()
    print(f"{n} samples after {90 - (end - time.monotonic()):.1f} s")
    if n == 0:
        raise Failure("no sample is in the packed log after 90 s")


def wakes(pid):
    status = Path(f"/proc/{pid}/status").read_text()
    return int(next(line.split()[1] for line in status.splitlines() if line.startswith("voluntary")))


def idle(tools, folder):
    """Twelve times a second, its samples of memory included, where it was fifty; slower machines only make it fewer."""
    recorder = subprocess.Popen([tools.record, "-q", "--sample-bytes", "512KiB", "-o", folder / "run.dat", "--", "sleep", "300"])
    try:
        time.sleep(4)  # it looks often at first
        before, began = wakes(recorder.pid), time.monotonic()
        time.sleep(4)
        rate = (wakes(recorder.pid) - before) / (time.monotonic() - began)
    finally:
        recorder.terminate()
        recorder.wait()
    print(f"{rate:.1f} times a second")
    if rate > 30:
        raise Failure(f"mtrace-record wakes up {rate:.1f} times a second for nothing")


def main():
    tools = harness.Tools.from_environment()
    with harness.scratch() as scratch:
        {"estimates": estimates, "children": children, "rows": rows, "refusals": refusals, "fresh": fresh, "idle": idle}[sys.argv[1]](tools, Path(scratch))


harness.main(main)
