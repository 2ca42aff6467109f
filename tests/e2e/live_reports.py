#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""live_reports.py PART: live reports that a program requests equal its finished database as of that time, to the byte.

server   a multithreaded server requests reports during its work and at its end, about threads, stacks, groups, tags and flows
samples  the same with samples, blocks and slack included, also for reports made of rows
more     reports that need more than totals, that a rule criticizes, or that explain what is wrong with the query
sealed   queries that would open files, read the environment, or use options that belong to the recorder and not to the program
bad      queries that cannot be answered: senseless ones, without a recorder, in a fork child, from many threads, of a recorder that is gone
scarce   the recorder has few descriptors: the program gets an error, or an answer
turns    threads that request all the time are served in turn
quiet    a thread that waits for an answer sleeps until it is there
crowd    the same for many waiting threads
endless  a query that would never be answered is ended; the folder for temporary files is missing
every    mtrace-record writes reports by itself, by time and by signal, and they say what the program has in its books
family   these reports are of the current image and of recorded children, and are removed when --force replaces the run; signals during a report
unwritten  the file of a report cannot be created, or the disk is full
ended    the report process or the follower is killed; the program ends during a report
kin      a process and its fork children request reports alternately and together: each gets its own numbers, in plain and bounded logs
slabs    memory that pools took from malloc, as the program counted it, in live reports and in finished logs
cut      the live log is truncated after a query: the recorder ends with the program
deaf     SIGTERM is ignored, the follower is stopped, or standard descriptors are closed: the recorder ends with the program
"""

import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))

import harness  # noqa: E402
from harness import Failure  # noqa: E402
from live_answers import ALLOCATED, LIVE, ask, check_stacks, check_threads, expect, rows, run  # noqa: E402


# ---- a server ----

def timeless(table):
    """The rate of the clock is better known at the end: times differ by nanoseconds."""
    return sorted(tuple((name, str(value)) for name, value in row.items() if not name.endswith("_ns")) for row in table)


def check_moment(tools, place, database, when, first_number):
    names = ["threads", "stacks", "groups", "tags", "flows", "json"]
    reports = {name: (place / f"{when}.{name}").read_text() for name in names}
    marks = {name: ask(database, "SELECT at_ns FROM markers WHERE name = ?", f"mtrace report {first_number + i}")[0]["at_ns"]
             for i, name in enumerate(names)}
    live_by_thread, n_threads = check_threads(database, reports["threads"], marks["threads"])
    live_by_stack = check_stacks(database, reports["stacks"], marks["stacks"])
    commands = {"groups": "by-group", "tags": "by-tag", "flows": "flows"}
    for i, name in enumerate(names):
        if name not in commands:
            continue
        cut = place / f"{when}.{name}.db"
        run([tools.importer, "--slim", "--no-symbols", "--until-marker", f"mtrace report {first_number + i}", place / "run.dat", cut], place)
        wanted = run([tools.query, commands[name], "--csv", "--count", "0", cut], place).stdout
        expect(f"{when}: {name} of the cut", timeless(rows(reports[name])), timeless(rows(wanted)))
    live = {name: ask(database, f"SELECT total(size_bytes) AS n {ALLOCATED} AND {LIVE}", marks[name])[0]["n"] for name in names}
    expect(f"{when}: live bytes by thread", live_by_thread, live["threads"])
    expect(f"{when}: live bytes by stack", live_by_stack, live["stacks"])
    expect(f"{when}: live bytes by group", sum(row["leaked_bytes"] for row in rows(reports["groups"])), live["groups"])
    expect(f"{when}: JSON", len(json.loads(reports["json"])) > 0, True)
    print(f"{when}: {n_threads} threads, {int(live['groups'])} live bytes")


COLUMNS_OF_BOOKS = {"tag_allocated": "allocated_bytes", "tag_freed": "freed_bytes", "tag_leaked": "leaked_bytes"}


def check_books(place, books):
    """The server's counts of tenants, kinds and requests equal the reported tags at the end, and its cache."""
    tags = {f"{row['key']}={row['value']}": row for row in rows((place / "end.tags").read_text())}
    cache = next(row for row in rows((place / "end.groups").read_text()) if row["name"] == "cache")
    reported = {f"{kind}.{tag}": row[figure] for tag, row in tags.items() for kind, figure in COLUMNS_OF_BOOKS.items()}
    reported["group_leaked.cache"] = cache["leaked_bytes"]
    wanted = {name: value for name, value in books.items() if name in reported}
    expect("the server's books", {name: reported[name] for name in wanted}, wanted)
    expect("accounts", len(wanted), 5 * 3 + 2 * 3 + 5 * 2 + 1)


def server(tools, place):
    outcome = run([tools.record, "-q", "-o", place / "run.dat", "--", tools.workloads / "charging_server", place], place)
    check_books(place, harness.workload_output(outcome.stdout)[0])
    run([tools.importer, place / "run.dat", place / "run.db"], place)
    check_moment(tools, place, place / "run.db", "midst", 1)
    check_moment(tools, place, place / "run.db", "end", 7)


def samples(tools, place):
    """What a sample stands for is whole blocks, the same ones each time: it must not depend on when it is read."""
    run([tools.record, "-q", "--sample-bytes", "256", "-o", place / "run.dat", "--", tools.workloads / "charging_server", place], place)
    for i, (name, *words) in enumerate((("threads", "threads"), ("stacks", "groups", "--stacks"), ("groups", "by-group"), ("tags", "by-tag"), ("flows", "flows"))):
        cut = place / f"{name}.db"
        run([tools.importer, "--no-symbols", "--only", "--until-marker", f"mtrace report {7 + i}", place / "run.dat", cut], place)
        live = [row for row in rows((place / f"end.{name}").read_text())]
        numbers = [column for column in live[0] if column.endswith(("_blocks", "_bytes"))]
        wanted, of_rows = (rows(run([tools.query, *words, "--csv", "--count", "0", *filters, cut], place).stdout) for filters in ([], ["--size-min", "0"]))
        if len(live) < 2 or sum(row["allocated_blocks"] if "allocated_blocks" in row else row["blocks"] for row in live) < 1000:
            raise Failure(f"there is little to compare: {live}")
        for what, other in (("the cut", wanted), ("its rows", of_rows)):
            common = [column for column in numbers if column in other[0] and not (other is of_rows and column.startswith(("peak", "temporary")))]
            expect(f"{name} of {what}", sorted(tuple(row[c] for c in common) for row in live), sorted(tuple(row[c] for c in common) for row in other))


# ---- bad input ----

def said(outcome):
    return dict(line.split() for line in outcome.stdout.splitlines())


def bad(tools, place):
    asking = tools.workloads / "asking"

    def recorded(what, *options, status=0):
        return run([tools.record, "-q", "-f", *options, "-o", place / "bad.dat", "--", asking, what], place, status=status)

    outcome = recorded("senseless")
    expect("senseless queries", said(outcome), {
        "command": "EINVAL", "shell": "EINVAL", "substitution": "EINVAL", "nothing": "EINVAL", "null": "EINVAL", "endless": "E2BIG",
        "descriptor": "EBADF", "sensible": "0"})
    for word in ("unknown command 'nonsense'", "unexpected argument '|'", "unexpected argument '$(id)'", "not understood, it is empty\n", "not understood, it is NULL\n",
                 "a request has at most 1535 bytes\n"):
        if word not in outcome.stderr:
            raise Failure(f"not said: {word}\n{outcome.stderr}")
    expect("answers that nobody reads", said(recorded("unread")), {
        "unread": "EPIPE", "blocked": "EPIPE", "kept_away": "0", "with_own": "EPIPE", "own": "0", "too_long": "EFBIG"})
    expect("many threads", said(recorded("together")), {"together": "0"})
    expect("left behind", said(recorded("left_behind")), {"elsewhere": "0", "again": "0", "after_its_end": "0"})
    expect("a handler", said(recorded("in_handler")), {"requester": "0", "handler": "EDEADLK"})
    expect("a child", said(recorded("in_child")), {"child": "ENOTCONN", "parent": "0"})
    expect("a child that is followed", said(recorded("in_child", "--follow-children")), {"child": "0", "parent": "0"})
    expect("a child that outlives its parent", said(recorded("outlives", "--follow-children", "--wait")), {f"orphan{i}": "0" for i in range(3)})
    expect("no recorder", said(run([asking, "senseless"], place, {"LD_PRELOAD": tools.collector, "MTRACE_OUTPUT": str(place / "bare.dat")}))["sensible"],
           "ENOTCONN")
    expect("no collector", set(said(run([asking, "senseless"], place)).values()), {"ENOTCONN"})
    outcome = run(["sh", "-c", '"$@" | cat', "sh", tools.record, "-q", "-f", "-o", place / "bad.dat", "--", asking, "left_alone"], place, status=None)
    expect("a recorder that is gone", said(outcome), {"again": "ENOTCONN"})


def answer_with_descriptors(tools, place, n):
    """Of a recorder that may have so many of them; None where it cannot even record."""
    outcome = run(["sh", "-c", 'ulimit -n "$1"; shift; echo | "$@"', "sh", str(n), tools.record, "-q", "-f", "-o", place / "bad.dat", "--",
                   tools.workloads / "asking", "by_line"], place, status=None)
    return said(outcome).get("answer")


def scarce(tools, place):
    answers = [answer_with_descriptors(tools, place, n) for n in range(7, 31)]
    expect("answers", {answer for answer in answers if answer} - {"EIO"}, {"EMFILE", "0"})
    run([tools.importer, place / "bad.dat", place / "bad.db"], place)


def more(tools, place):
    outcome = run([tools.record, "-q", "-o", place / "run.dat", "--", tools.workloads / "asking", "more"], place)
    expect("codes", said(outcome), {"rule": "ERANGE", "no_rule": "0", "page": "0", "pools": "0", "views": "0", "stack": "EINVAL", "quote": "EINVAL", "blank": "EINVAL", "late": "ETIMEDOUT", "about": "EINVAL"})
    text = {path.name: path.read_text() for path in place.iterdir() if path.suffix in (".csv", ".html", ".txt")}
    expect("rows for which a rule holds", [row["leaked_blocks"] for row in rows(text["rule.csv"])], [1])
    expect("rows for which it does not", rows(text["no_rule.csv"]), [])
    pool = rows(text["pools.csv"])[0]
    expect("the pool", [pool[column] for column in ("live_bytes", "taken_blocks", "taken_bytes", "held_bytes", "spare_bytes")], [300, 1, 1_000_777, 1_000_777, 1_000_477])
    expect("a view of the file", rows(text["views.csv"]), [{"n": 1}])
    page = text["page.html"]
    if not page.startswith("<!DOCTYPE html>") or not page.endswith("</html>\n") or page.count("<svg") < 3 or "--slim" in page:
        raise Failure(f"not a whole page: {page[:300]} … {page[-300:]}")
    expect("no such stack", text["stack.txt"].splitlines()[-1], "mtrace-query: the recording has no stack 99999; mtrace-query groups lists them")
    expect("an open quote", text["quote.txt"].strip(), "not understood, the quote ' is not closed: leaks 'unclosed")
    for name, words in (("late", "took longer than the time limit allows"), ("about", "--about: this kind of query cannot name files")):
        if words not in text[f"{name}.txt"]:
            raise Failure(f"{name}: {text[f'{name}.txt']}")
    expect("no query", text["blank.txt"].strip(), "not understood, it is empty")


def turns(tools, place):
    """Each of four threads asks five times: seldom twice while another waits, as it would at all times if the last one were the first again."""
    expect("queries", said(run([tools.record, "-q", "-o", place / "run.dat", "--", tools.workloads / "asking", "in_turn"], place)), {"in_turn": "0"})
    run([tools.importer, place / "run.dat", place / "run.db"], place)
    order = [row["thread_id"] for row in ask(place / "run.db", "SELECT thread_id FROM markers WHERE name LIKE 'mtrace report %' ORDER BY at_ns")]
    n_again = sum(one == other for one, other in zip(order, order[1:]))
    print(order)
    expect("queries in the database", len(order), 20)
    if n_again > 6:
        raise Failure(f"{n_again} times the same thread again: {order}")


def quiet(tools, place):
    """Ten looks a second at whether there is a recorder, and a few sleeps of a query: a thread that looked each millisecond would sleep many times as often."""
    numbers = said(run([tools.record, "-q", "-o", place / "run.dat", "--", tools.workloads / "asking", "quietly"], place))
    print(numbers)
    expect("the answers", numbers["quietly"], "0")
    if int(numbers["sleeps"]) > 25 + int(numbers["ms"]) / 50:
        raise Failure(f"five queries, and too many sleeps while waiting: {numbers}")
    numbers = said(run([tools.record, "-q", "-f", "--sample-bytes", "512KiB", "-o", place / "run.dat", "--", tools.workloads / "asking", "quietly"], place))
    print(numbers)
    if not 0 < int(numbers["looks"]) < 100:
        raise Failure(f"a recorder that has been asked looks too often at a program that does nothing, for two seconds: {numbers}")


def crowd(tools, place):
    """As above, but for who is next: that one looks ten times as often whether who has the turn is still there."""
    numbers = said(run([tools.record, "-q", "-o", place / "run.dat", "--", tools.workloads / "asking", "crowd"], place))
    print(numbers)
    expect("the answers", numbers["crowd"], "0")
    if int(numbers["sleeps"]) > int(numbers["threads"]) * (25 + int(numbers["ms"]) / 50):
        raise Failure(f"too many sleeps: {numbers}")


def has_database(pid):
    """It answers without waiting for its database any longer."""
    try:
        return any(os.readlink(entry.path).endswith("/run.db") for entry in os.scandir(f"/proc/{pid}/fd"))
    except OSError:
        return False


def endless(tools, place):
    """Its limit is looked at, and it is ended as the kernel would when that is reached."""
    process = subprocess.Popen([tools.record, "-q", "-o", place / "run.dat", "--", tools.workloads / "asking", "without_end"], cwd=place,
                               env={**harness.environment(), "TMPDIR": "/nonexistent"}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        asked = []
        while not asked and process.poll() is None:
            asked = [pid for maker, _ in children_of(process.pid, "mtrace-record") for pid, words in children_of(maker, "mtrace-query")
                     if b"sql" in words and has_database(pid)]
            time.sleep(0.002)
        if not asked:
            raise Failure(f"nobody asked: {process.communicate()}")
        limit = re.search(r"^Max cpu time +(\S+)", Path(f"/proc/{asked[0]}/limits").read_text(), re.M)[1]
        os.kill(asked[0], signal.SIGXCPU)
        out, err = process.communicate(timeout=120)
    finally:
        process.kill()
    expect("limit", limit, "30")
    expect("codes", dict(line.split() for line in out.splitlines()), {"without_end": "ETIMEDOUT", "next": "0"})
    expect("said", err.splitlines()[-1:], ["not answered within 30 s of CPU time: request less, or query the log"])


# ---- what the recorder may and the program may not ----

def sealed(tools, place):
    secret = "a-secret-of-the-recorder"
    (place / "read").write_text(f"leak:{secret}\n{secret}\n")
    run([tools.record, "-q", "-o", place / "run.dat", "--", tools.workloads / "asking", "wait"], place)
    run([tools.importer, place / "run.dat", place / "other.db"], place)
    outcome = run([tools.record, "-q", "-f", "-o", place / "run.dat", "--", tools.workloads / "asking", "unprivileged"], place,
                  {"SECRET": secret})
    answers = said(outcome)
    expect("what was answered", {name for name, code in answers.items() if code != "EINVAL"}, {"harmless"})
    expect("files", sorted(p.name for p in place.iterdir() if not p.name.startswith("run.dat")), ["other.db", "read"])
    if secret in outcome.stderr or "words\n$SECRET" not in outcome.stderr:
        raise Failure(f"the environment of the recorder was put into words:\n{outcome.stderr}")


def full(tools, place):
    """The folder for databases of reports has no space: the program gets an error that names the folder."""
    small = place / "small"
    small.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", small], stderr=subprocess.DEVNULL).returncode:
        raise harness.Skip("mounting needs root")
    try:
        outcome = run([tools.record, "-q", "-o", place / "run.dat", "--", tools.workloads / "asking", "senseless"], place, {"TMPDIR": str(small)})
        expect("left there", list(small.iterdir()), [])
    finally:
        subprocess.run(["umount", small], check=True)
    expect("code", said(outcome)["sensible"], "ENOSPC")
    if f"not enough room for the database of a report in '{small}': free some, or set TMPDIR for mtrace-record\n" not in outcome.stderr:
        raise Failure(outcome.stderr)


# ---- without a word of the program ----

def wait_for(path):
    harness.wait_until(f"there is {path.name}", path.exists, patience=200)
    return path.read_text()


def is_rounded(text, number):
    """Whether a person's text for the number of blocks or bytes can be that one's."""
    digits, unit = (text.split() + [""])[:2]
    scale = 1024 ** ["", "B", "KiB", "MiB"].index(unit) // (1024 if unit else 1)
    return abs(float(digits) * scale - number) <= 0.5 * scale * 10 ** -len(digits.partition(".")[2])


def check_held(report, books):
    """What the program counted of its group, which nothing of ours has read, is what the report says."""
    table = [re.split(r" {2,}", line.strip()) for line in report.split("== by-group --wide\n")[1].split("\n\n")[0].splitlines()]
    held = [dict(zip(table[0], row)) for row in table[1:] if "held" in row]
    expect("rows of the group", len(held), 1)
    expect("what is in the books", len(books), 6)
    for name, number in books.items():
        said = held[0][name.replace("_bytes", "").replace("_", " ")]  # the heading of the column
        if not is_rounded(said, number):
            raise Failure(f"the report says {name} {said} of what is {number} in the program's books:\n{report}")


def every(tools, place):
    log = place / "run.dat"
    foreign = place / "foreign"
    foreign.write_text("not a report")
    (place / "run.dat.report.1.txt.part").symlink_to(foreign)
    os.link(foreign, place / "run.dat.report.2.txt.part")
    process = subprocess.Popen([tools.record, "-q", "--report-every", "2s", "--report-signal", "USR1", "-o", log, "--", tools.workloads / "asking", "wait"],
                               cwd=place, env=harness.environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        expect("the program", process.stdout.readline(), "ready 0\n")
        process.send_signal(signal.SIGUSR1)
        reports = [wait_for(place / f"run.dat.report.{n}.txt") for n in (1, 2)]
        process.stdin.close()
        books = harness.workload_output(process.stdout.read())[0]
        expect("exit status", process.wait(60), 0)
    finally:
        process.kill()
        process.stdout.close()
    expect("a file behind links where reports are made", foreign.read_text(), "not a report")
    expect("who may read a report", oct((place / "run.dat.report.1.txt").stat().st_mode & 0o777), "0o600")
    run([tools.importer, log, place / "run.db"], place)
    for report in reports:
        for command in ("summary", "threads --wide", "groups --wide", "by-group --wide"):
            if f"== {command}\n" not in report:
                raise Failure(f"no {command} in\n{report}")
        check_held(report, books)
        if "next: " in report:
            raise Failure(f"advice about a database that is gone in\n{report}")
        findings = report.split("== summary\n")[1].split("\nallocated ")[0]
        if "\nWhat to look at\n" not in findings or "mtrace-query" in findings or "never freed" in findings:
            raise Failure(f"findings of a running program in\n{report}")
        for word in ("121 KiB", "wait_for_end"):
            if word not in report:
                raise Failure(f"no {word} in\n{report}")
        expect("an idle program ran up to the instant", re.findall(r", ([\d.]+ \S+), still running", report),
               re.findall(r"^imported up to ([\d.]+ \S+) only", report, re.M))
        instant = re.match(r"as of (\d+) ns; of the log: mtrace-import --until \1ns\n\n== summary\n", report)
        if not instant:
            raise Failure(f"no instant on top of\n{report}")
        run([tools.importer, "-f", "--until", f"{instant[1]}ns", log, place / "cut.db"], place)
        for command in ("threads --wide", "by-group --wide"):
            wanted = run([tools.query, *command.split(), place / "cut.db"], place).stdout
            expect(f"{command} of the cut", re.sub(r"[\d.]+ (s|ms|us)\b", "", report.split(f"== {command}\n")[1].split("\n\n")[0].strip()),
                   re.sub(r"[\d.]+ (s|ms|us)\b", "", re.split(r"\n\n|\nnext: ", wanted)[0].strip()))
    for until, is_cut in (("1ms", True), ("1h", False)):
        run([tools.importer, "--until", until, log, place / f"{until}.db"], place)
        expect(f"a cut at {until} is one", "imported up to" in run([tools.query, "summary", place / f"{until}.db"], place).stdout, is_cut)
    left = [p.name for p in place.iterdir() if p.name.endswith((".part", ".live"))]
    expect("left behind", left, [])
    run([tools.record, "--report-every", "1ms", "true"], place, status=2)
    wrong = run([tools.record, "--report-every", "never", "true"], place, status=2)
    if "--report-every" not in wrong.stderr:
        raise Failure(wrong.stderr)
    run([tools.record, "--report-signal", "HUP", "true"], place, status=2)


def threads_in(report):
    """Names of all threads, of all processes, that have not ended."""
    table = report.split("== threads --wide\n")[1].split("\n\n")[0].splitlines()[1:]
    rows_of = (re.split(r" {2,}", line.strip()) for line in table)
    return sorted(words[3] for words in rows_of if words[5] == "-")


def start_recording(tools, place, script, *options, env=None):
    return subprocess.Popen([tools.record, "-f", "--report-signal", "USR1", *options, "-o", place / "run.dat", "--", "sh", "-c", script, "sh",
                             tools.workloads / "asking"], cwd=place, env=harness.environment(env), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)


def is_pending(pid, number):
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(("SigPnd:", "ShdPnd:")) and int(line.split()[1], 16) >> (number - 1) & 1:
            return True
    return False


def send_and_see_taken(process):
    process.send_signal(signal.SIGUSR1)
    while is_pending(process.pid, signal.SIGUSR1):
        time.sleep(0.002)


def stop(pid):
    """False: it had ended before."""
    os.kill(pid, signal.SIGSTOP)
    harness.wait_until("it is stopped, or has ended", lambda: harness.state_of(pid) in "TZX")
    return harness.state_of(pid) == "T"


def stop_a_report(process, place):
    """Requests reports until one is stopped while it is made. Returns its number and the process that makes it."""
    for n in range(1, 50):
        process.send_signal(signal.SIGUSR1)
        done = place / f"run.dat.report.{n}.txt"
        while not (makers := children_of(process.pid, "mtrace-record")) and not done.exists():
            time.sleep(0.002)
        for pid, words in makers:
            if stop(pid):
                return n, pid
    raise Failure("no report can be stopped")


def check_family(tools, place, script, n_programs, *options):
    process = start_recording(tools, place, script, *options)
    try:
        for _ in range(n_programs):
            expect("the program", process.stdout.readline(), "ready 0\n")
        n, maker = stop_a_report(process, place)
        send_and_see_taken(process)
        send_and_see_taken(process)
        os.kill(maker, signal.SIGCONT)
        first, remembered = (wait_for(place / f"run.dat.report.{n + i}.txt") for i in range(2))
        said = process.communicate(timeout=60)[1]
    finally:
        process.kill()
    for report in (first, remembered):
        expect("programs that run", [name for name in threads_in(report) if name == "asking"], ["asking"] * n_programs)
        expect("no name of a database that is gone", "run.db" in report, False)
        expect("still running", report.count(", still running"), n_programs)
    if "; 1 report omitted (the previous one was not ready); next: " not in said:
        raise Failure(f"not said that one of three signals was not answered:\n{said}")
    expect("reports", len(list(place.glob("run.dat.report.*"))), n + 1)


def family(tools, place):
    check_family(tools, place, 'exec "$1" wait', 1)
    (place / "run.dat.report.txt").write_text("the user's")
    (place / "other.dat.report.1.txt").write_text("of another log")
    run([tools.record, "-q", "-f", "-o", place / "run.dat", "--", "true"], place)
    expect("after the next run", sorted(p.name for p in place.iterdir()), ["other.dat.report.1.txt", "run.dat", "run.dat.report.txt"])
    (place / "run.dat.report.txt").unlink()
    check_family(tools, place, 'exec 3<&0; "$1" wait <&3 & exec "$1" wait', 2, "--follow-children", "--wait")


# ---- where no file can be ----

def ask_in_vain(tools, process, place, number, reason):
    asked = subprocess.run([tools.record, "--ctl", str(process.pid), "report"], env=harness.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    expect("status of --ctl", asked.returncode, 1)
    wanted = f"report {number} could not be made: {reason}\n"
    if not asked.stderr.endswith(wanted):
        raise Failure(f"--ctl said {asked.stdout}{asked.stderr}instead of {wanted}")


def ask_without_file(tools, process, place, number, reason):
    ask_in_vain(tools, process, place, number, f"its file cannot be written: {reason}")
    expect("left of it", sorted(p.name for p in place.glob(f"run.dat.report.{number}.txt*") if not p.is_dir()), [])


def check_unwritten(tools, place, reason, forbid, allow):
    process = start_recording(tools, place, 'exec "$1" wait')
    try:
        expect("the program", process.stdout.readline(), "ready 0\n")
        forbid(1), forbid(2)
        ask_without_file(tools, process, place, 1, reason)
        ask_without_file(tools, process, place, 2, reason)
        allow()
        process.send_signal(signal.SIGUSR1)
        wait_for(place / "run.dat.report.3.txt")
        said = process.communicate(timeout=60)[1]
    finally:
        process.kill()
    expect("complaints", said.count("could not be made: its file cannot be written"), 1)
    if "; 2 reports could not be made; next: " not in said:
        raise Failure(f"not said how many reports there are not:\n{said}")


def check_no_room(tools, place, small):
    """If the database of a report cannot be written, its file gives the reason, and so does the error of the request."""
    process = start_recording(tools, place, 'exec "$1" wait', env={"TMPDIR": str(small)})
    reason = f"not enough room for the database of a report in '{small}': free some, or set TMPDIR for mtrace-record"
    try:
        expect("the program", process.stdout.readline(), "ready 0\n")
        ask_in_vain(tools, process, place, 1, reason)
        expect("the last line of the report", wait_for(place / "run.dat.report.1.txt").splitlines()[-1], reason)
        said = process.communicate(timeout=60)[1]
    finally:
        process.kill()
    if "; 1 report could not be made; next: " not in said:
        raise Failure(f"not said that there is no report:\n{said}")


def unwritten(tools, place):
    """A report that cannot be written is removed: the requester gets the reason, and the last line counts it."""
    check_unwritten(tools, place, "Is a directory", lambda n: (place / f"run.dat.report.{n}.txt").mkdir(), lambda: None)
    disk = place / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=32m", "none", disk], stderr=subprocess.DEVNULL).returncode:
        raise harness.Skip("mounting needs root")
    try:
        check_unwritten(tools, disk, "No space left on device", lambda n: harness.fill_disk(disk), lambda: (disk / "filler").unlink())
        harness.fill_disk(disk)
        (place / "run.dat.report.1.txt").rmdir()
        check_no_room(tools, place, disk)
    finally:
        subprocess.run(["umount", disk], check=True)


# ---- killed, or overtaken by the end ----

def children_of(pid, name):
    """Those that are alive, with the words they were started with."""
    found = []
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        try:
            words = Path(f"/proc/{child}/cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if words[0].endswith(name.encode()):
            found.append((int(child), words))
    return found


def kill_when_there(pid, name, word, until=lambda: False):
    """False: what `until` asks for came first."""
    for _ in range(3000):
        for child, words in children_of(pid, name):
            if word is None or word in words:
                os.kill(child, signal.SIGKILL)
                harness.wait_until("it is dead", lambda pid=child: harness.state_of(pid) in "ZX")
                return True
        if until():
            return False
        time.sleep(0.002)
    raise Failure(f"there is no {name}")


def kill_a_report(process, place, number):
    """Kills the process that makes a report; if that was done already, the one of the next report. Returns its number."""
    for n in range(number, number + 50):
        done = place / f"run.dat.report.{n}.txt"
        process.send_signal(signal.SIGUSR1)
        kill_when_there(process.pid, "mtrace-record", None, done.exists)
        while not done.exists():
            if select.select([process.stderr], [], [], 0.01)[0]:
                expect("said", process.stderr.readline(), f"mtrace-record: report {n} could not be made: the process that makes it was killed\n")
                return n
    raise Failure("no report can be killed")


def ended(tools, place):
    (place / "tmp").mkdir()
    log = place / "run.dat"
    process = subprocess.Popen([tools.record, "-q", "--report-signal", "USR1", "-o", log, "--", tools.workloads / "asking", "wait"], cwd=place,
                               env={**harness.environment(), "TMPDIR": str(place / "tmp")}, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    try:
        expect("the program", process.stdout.readline(), "ready 0\n")
        process.send_signal(signal.SIGUSR1)
        wait_for(place / "run.dat.report.1.txt")
        kill_when_there(process.pid, "mtrace-import", b"--keep")
        process.send_signal(signal.SIGUSR1)
        if "wait_for_end" not in wait_for(place / "run.dat.report.2.txt"):
            raise Failure("without its follower the recorder reports nothing")
        killed = kill_a_report(process, place, 3)
        process.send_signal(signal.SIGUSR1)
        wait_for(place / f"run.dat.report.{killed + 1}.txt")
        process.send_signal(signal.SIGUSR1)
        time.sleep(0.05)
        process.stdin.close()
        expect("exit status", process.wait(60), 0)
    finally:
        process.kill()
        process.stdout.close()
        process.stderr.close()
    names = sorted(p.name for p in place.iterdir())
    reports = [f"run.dat.report.{n}.txt" for n in range(1, killed + 2) if n != killed]
    expect("files", [name for name in names if name != f"run.dat.report.{killed + 2}.txt"], sorted(["run.dat", *reports, "tmp"]))
    expect("temporary files", sorted(p.name for p in (place / "tmp").iterdir()), [])


def orphaned(tools, place):
    """The recorder is killed while a report is made: the report process removes the folder of its database."""
    folder = place / "tmp"
    folder.mkdir()
    process = subprocess.Popen([tools.record, "-q", "--report-signal", "USR1", "-o", place / "run.dat", "--", tools.workloads / "asking", "wait"], cwd=place,
                               env={**harness.environment(), "TMPDIR": str(folder)}, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        expect("the program", process.stdout.readline(), b"ready 0\n")
        process.send_signal(signal.SIGUSR1)
        while not any(folder.iterdir()):
            time.sleep(0.001)
        process.kill()
        process.wait()
        for _ in range(6000):
            if not any(folder.iterdir()):
                return
            time.sleep(0.01)
        raise Failure(f"left behind: {sorted(folder.rglob('*'))}")
    finally:
        process.kill()
        process.stdin.close()
        process.stdout.close()


# ---- cut ----

class ByLine:
    """A program that asks once for each line."""

    def __init__(self, tools, place, name, *options, record=None):
        self.log = place / f"{name}.dat"
        self.process = subprocess.Popen([record or tools.record, "-q", *options, "-o", self.log, "--", tools.workloads / "asking", "by_line"], cwd=place,
                                        env=harness.environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        expect("the program", self.process.stdout.readline(), "ready 0\n")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()

    def ask(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def answer(self):
        return self.process.stdout.readline()

    def end(self):
        self.process.stdin.close()
        return self.process.wait(100)


def cut(tools, place):
    with ByLine(tools, place, "run") as program:
        program.ask()
        expect("the answer", program.answer(), "answer 0\n")
        os.truncate(f"{program.log}.live", 0)
        program.process.stdin.close()
        try:
            program.process.wait(60)
        except subprocess.TimeoutExpired:
            raise Failure("the recorder does not end") from None


# ---- in surroundings that hinder ----

def report_once(tools, place, name, prepare, during_report):
    """A recording with one report, whose recorder is started after `prepare`; `during_report` gets the follower's pid."""
    log, until = place / f"{name}.dat", place / f"{name}.until"
    os.mkfifo(until)
    process = subprocess.Popen([tools.record, "-q", "--report-signal", "USR1", "-o", log, "--", "sh", "-c", 'exec "$1" wait <"$2" >"$2.out"', "sh",
                                tools.workloads / "asking", until], cwd=place, env={**harness.environment(), "TMPDIR": str(place / "tmp")},
                               preexec_fn=prepare)
    end = open(until, "w")  # the workload reads until this is closed
    try:
        while "ready" not in wait_for(Path(f"{until}.out")):
            time.sleep(0.01)
        process.send_signal(signal.SIGUSR1)
        report = wait_for(place / f"{name}.dat.report.1.txt")
        if "== by-group --wide\n" not in report or "sh" not in report:
            raise Failure(f"{name}: the report has nothing of the program:\n{report}")
        followers = [child for child, words in children_of(process.pid, "mtrace-import") if b"--keep" in words]
        expect(f"{name}: followers", len(followers), 1)
        during_report(followers[0])
        end.close()
        expect(f"{name}: exit status", process.wait(100), 0)
    finally:
        end.close()
        process.kill()
        process.wait()
    expect(f"{name}: who keeps up", Path(f"/proc/{followers[0]}").exists(), False)
    expect(f"{name}: temporary files", sorted(p.name for p in (place / "tmp").iterdir()), [])
    run([tools.importer, log, place / f"{name}.db"], place)


def check_descriptors(follower):
    """The follower and its recorder must not write their messages into files of theirs."""
    recorder = int(Path(f"/proc/{follower}/stat").read_text().rsplit(")", 1)[1].split()[1])
    for pid, first in ((recorder, 0), (follower, 1)):
        for fd in range(first, 3):
            expect(f"descriptor {fd}", os.readlink(f"/proc/{pid}/fd/{fd}"), "/dev/null")


def deaf(tools, place):
    (place / "tmp").mkdir()
    report_once(tools, place, "ignored", lambda: signal.signal(signal.SIGTERM, signal.SIG_IGN), lambda follower: None)
    report_once(tools, place, "stopped", lambda: None, lambda follower: os.kill(follower, signal.SIGSTOP))
    report_once(tools, place, "closed", lambda: os.closerange(0, 3), check_descriptors)


# ---- a process and its children ----

def books_of(path):
    return {int(group): tuple(numbers) for group, *numbers in (map(int, line.split()) for line in path.read_text().splitlines())}


def values_by(report, key, names):
    return {row[key]: tuple(row[name] or 0 for name in names) for row in report}


def check_member(place, who, n, names):
    """One process at one time: its report and its own counts."""
    reports = {name: rows((place / f"{who}.{n}.{name}").read_text()) for name in ("groups", "tags", "processes", "threads", "live", "rows")}
    books = books_of(place / f"{who}.{n}.books")
    what = f"{place.name}, {who}, {n}"
    sums = [sum(book[i] for book in books.values()) for i in range(4)]
    of_groups = values_by(reports["groups"], "group_id", ("allocated_blocks", "allocated_bytes", "leaked_blocks", "leaked_bytes"))
    expect(f"{what}: by group", {group: of_groups[group] for group in of_groups if group > 1}, books)
    expect(f"{what}: its names", {row["group_id"]: row["name"] for row in reports["groups"] if row["group_id"] > 1},
           {group: names[group] for group in books})
    expect(f"{what}: by tag", [(row["value"], row["allocated_blocks"], row["leaked_bytes"]) for row in reports["tags"]],
           [] if who == "parent" else [(who, sums[0], sums[3])])
    expect(f"{what}: its tables", [(row["leaked_blocks"], row["leaked_bytes"]) for row in reports["processes"]], [tuple(sums[2:])])
    expect(f"{what}: rows by group", values_by(reports["rows"], "group_id", ("blocks", "bytes")), {group: book[2:] for group, book in books.items()})
    expect(f"{what}: single blocks", (sum(row["blocks"] for row in reports["live"]), sum(row["bytes"] for row in reports["live"])), tuple(sums[2:]))
    expect(f"{what}: threads", [row["leaked_bytes"] for row in reports["threads"]], [sums[3]])


def kin(tools, place):
    cases = {"plain": ([], "40", {}), "bounded": (["--aggregate"], "40", {}), "saved": (["--aggregate"], "12000", {"MTRACE_RING_BYTES": "65536"})}
    for case, (options, n_blocks, environment) in cases.items():
        folder = place / case
        folder.mkdir()
        n_children = 2
        said = run([tools.record, "-q", "--follow-children", *options, "-o", folder / "run.dat", "--", tools.workloads / "asking_family", folder, str(n_children), n_blocks],
                   place, environment)
        expect(f"{case}: complaints", said.stderr, "")
        for n in (1, 2, 3):
            check_member(folder, "parent", n, {2: "common", 3: "parent"})
        for child in range(n_children):
            for n in (1, 2):
                check_member(folder, f"child{child}", n, {3: f"child{child}"})


# ---- pools ----

POOL_COLUMNS = ("allocated_blocks", "allocated_bytes", "live_blocks", "live_bytes", "taken_blocks", "taken_bytes", "held_bytes", "spare_bytes")


def check_pools(what, text, own):
    expect(what, values_by(rows(text), "name", POOL_COLUMNS), {name: (*numbers, numbers[6] - numbers[3]) for name, numbers in own.items()})


def slabs(tools, place):
    for case, options in (("plain", []), ("elided", ["--cull-temporary=10000"])):
        log = place / f"{case}.dat"
        said = run([tools.record, "-q", *options, "-o", log, "--", tools.workloads / "asking_pools", "2000"], place).stdout
        lines = said.splitlines(keepends=True)
        own = {line.split()[1]: tuple(map(int, line.split()[2:])) for line in lines if line.startswith("own ")}
        check_pools(f"{case}: while it runs", "".join(line for line in lines if not line.startswith("own ")), own)
        for name, slim in (("", []), (" slim", ["--slim"])):
            database = place / f"{case}{name}.db"
            run([tools.importer, "--no-symbols", *slim, log, database], place)
            check_pools(f"{case}{name}: later", run([tools.query, "by-pool", "--csv", database], place).stdout, own)


PARTS = {"kin": kin, "slabs": slabs, "server": server, "samples": samples, "more": more, "sealed": sealed, "bad": bad, "scarce": scarce, "turns": turns, "quiet": quiet, "crowd": crowd, "endless": endless, "every": every, "family": family, "unwritten": unwritten, "ended": ended, "orphaned": orphaned, "deaf": deaf, "cut": cut,
         "full": full}


harness.main_of_parts(PARTS, __doc__)
