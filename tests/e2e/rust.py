#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""rust.py PART FOLDER: the crate bindings/rust.

table    its table of functions has the members of struct mtrace_api, in their order; no cargo is needed
calls    its own tests, alone and recorded; its examples, recorded, charge the right groups
tracing  the crate within it: spans are groups; needs the registry of crates, or crates that cargo has already

FOLDER keeps what cargo builds.
"""

import csv
import io
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
import harness  # noqa: E402
from harness import Failure, Skip, expect  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
CRATE = ROOT / "bindings/rust"


def members(path, pattern, name):
    """The names that the pattern finds in the one structure that begins with `name`."""
    body = re.search(re.escape(name) + r" \{\n(.*?)\n\}", path.read_text(), re.DOTALL)[1]
    return re.findall(pattern, body, re.MULTILINE)


def check_table():
    c_pattern = r"^    (?:[^(\n]*\(\*(\w+)\)\(.*|[^(\n]*?(\w+);.*)$"
    theirs = [a or b for a, b in members(ROOT / "include/mtrace.h", c_pattern, "struct mtrace_api")]
    ours = members(CRATE / "src/table.rs", r"^    pub (?:r#)?(\w+):", "struct Table")
    if ours != theirs or len(ours) < 27:
        raise Failure(f"struct mtrace_api has {theirs}\nthe crate has {ours}")
    for mine, c in (("struct Counters", "struct mtrace_counts"), ("struct Event", "struct mtrace_event")):
        path = CRATE / ("src/table.rs" if "Counters" in mine else "src/trackers.rs")
        theirs = re.sub(r"/\*.*?\*/", "", members(ROOT / "include/mtrace.h", r"(?s)^.*", c)[0])
        theirs = re.findall(r"(\w+)\s*[,;]", theirs)
        ours = members(path, r"^    (?:pub )?(\w+):", mine)
        if ours != theirs or not ours:
            raise Failure(f"{c} has {theirs}\nthe crate has {ours}")


class Cargo:
    def __init__(self, crate, folder):
        self.crate = crate
        self.path = shutil.which("cargo") or shutil.which("cargo", path=str(Path.home() / ".cargo/bin"))
        if not self.path:
            raise Skip("cargo is not installed")
        self.env = {name: value for name, value in os.environ.items() if not name.startswith(("MTRACE_", "RUST_", "LD_"))}
        self.env |= {"CARGO_TARGET_DIR": str(folder), "CARGO_TERM_COLOR": "never"}

    def run(self, *words):
        return subprocess.run([self.path, *words], cwd=self.crate, env=self.env, capture_output=True, text=True, errors="replace", timeout=900,
                              stdin=subprocess.DEVNULL)

    def must(self, *words):
        outcome = self.run(*words)
        if outcome.returncode != 0:
            raise Failure(f"cargo {' '.join(words)}: {outcome.stdout}{outcome.stderr}")
        return outcome


def recorded(tools, place, program):
    """The program's output alone, its output when recorded, and the recording."""
    alone = harness.run([program], place)
    log = place / f"{program.name}.dat"
    outcome = harness.run([tools.record, "-q", "-o", log, "--", program], place)
    if alone.status or outcome.status:
        raise Failure(f"{program.name} ended with {alone.status}, recorded with {outcome.status}\n{outcome.stdout}{outcome.stderr}")
    return alone.stdout.decode(), outcome.stdout.decode(), log


def ask(tools, log, *words):
    """The answer of mtrace-query, a list of dictionaries."""
    return list(csv.DictReader(io.StringIO(harness.ask(tools, *words, log, "--csv", "-n", "0"))))


def bytes_by(rows, *keys, of="allocated_bytes"):
    sums = {}
    for row in rows:
        key = " ".join(row[key] for key in keys)
        sums[key] = sums.get(key, 0) + int(row[of])
    return sums


def check_charge(tools, place, program):
    alone, output, log = recorded(tools, place, program)
    expect("what it says", output, alone)
    groups = ask(tools, log, "by-group")
    expect("requests", bytes_by(groups, "name", "tags")["request tenant=acme"], 66 * 1000 + 6 * 500)
    expect("requests", bytes_by(groups, "name", "tags")["request tenant=other"], 34 * 1000 + 4 * 500)
    expect("the cache", bytes_by(groups, "name", of="leaked_bytes")["cache"], 10 * 500)
    expect("the import", bytes_by(groups, "name", of="leaked_bytes")["import"], 123456)
    expect("the pool", bytes_by(ask(tools, log, "by-pool"), "name", of="live_bytes"), {"names": 1000})
    expect("the phase", [row["name"] for row in ask(tools, log, "phases")], ["serving"])
    expect("the marker", [row["name"] for row in ask(tools, log, "sql", "SELECT name FROM markers")], ["served"])


def check_requests(tools, place, program):
    alone, output, log = recorded(tools, place, program)
    expect("alone", alone.splitlines(), ["0 bytes live in the cache", "charged to nobody", "not recorded"])
    first, second, *report = output.splitlines()
    live = list(csv.DictReader(report))
    expect("recorded", second, "charged to the cache")
    expect("counted by itself", first, f"{bytes_by(live, 'name', of='leaked_bytes')['cache']} bytes live in the cache")
    expect("the component", bytes_by(live, "tags")["component=index"], bytes_by(ask(tools, log, "by-group"), "tags")["component=index"])


def check_calls(tools, place, cargo):
    cargo.must("test", "--locked", "--offline")
    built = cargo.must("test", "--locked", "--offline", "--test", "calls", "--no-run").stderr
    program = Path(re.search(r"tests/calls\.rs \((.*)\)", built)[1])
    program = program if program.is_absolute() else CRATE / program
    _, output, _ = recorded(tools, place, program)
    if not re.search(r"test result: ok\. [6-9] passed; 0 failed", output):
        raise Failure(f"recorded: {output}")
    cargo.must("build", "--locked", "--offline", "--example", "charge", "--example", "asks")
    examples = Path(cargo.env["CARGO_TARGET_DIR"]) / "debug/examples"
    check_charge(tools, place, examples / "charge")
    check_requests(tools, place, examples / "asks")


def check_tracing(tools, place, cargo):
    fetched = cargo.run("fetch", "--locked")
    if fetched.returncode != 0 and "lock file" in fetched.stderr:
        raise Failure(fetched.stderr)
    build = ["build", "--locked", "--offline", "--example", "spans"]
    built = cargo.run(*build)
    if built.returncode != 0 and fetched.returncode != 0:
        raise Skip("the crate tracing is not here, and the registry of crates is out of reach")
    if built.returncode != 0:
        raise Failure(built.stderr)
    alone, output, log = recorded(tools, place, Path(cargo.env["CARGO_TARGET_DIR"]) / "debug/examples/spans")
    expect("what it says", (alone, output), ("105000 bytes\n",) * 2)
    found = bytes_by(ask(tools, log, "by-group"), "name", "tags", of="leaked_bytes")
    wanted = {f"{name} {before}tenant={tenant}{after}": n * size for name, before, after, size in (("request", "", "", 5000), ("query", "rows=30, ", ", user=7", 30000))
              for tenant, n in (("acme", 2), ("other", 1))}
    expect("spans", {key: value for key, value in found.items() if key in wanted}, wanted)


def main(part, folder):
    if part == "table":
        check_table()
        return
    tools = harness.Tools.from_environment()
    cargo = Cargo(CRATE if part == "calls" else CRATE / part, folder)
    with harness.scratch() as scratch:
        {"calls": check_calls, "tracing": check_tracing}[part](tools, Path(scratch), cargo)


harness.main(lambda: main(sys.argv[1], Path(sys.argv[2])))
