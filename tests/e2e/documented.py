#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""documented.py FILE.md [QUERIES]: runs every ```sh block of a document in one scratch directory, beside a folder `mtrace` of the sources,
from top to bottom, and every ```sql block by mtrace-query and by the sqlite3 of Python. Each must print something and complain about
nothing. Blocks that call cargo are left out, and named, where it is not installed."""

import os
import re
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
import harness  # noqa: E402


def blocks(text):
    """(line number, language, code) of each fenced block."""
    for match in re.finditer(r"^```(\w+)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        yield text.count("\n", 0, match.start()) + 1, match[1], match[2]


def run(argv, folder, env, where):
    outcome = subprocess.run(argv, cwd=folder, env=env, capture_output=True, text=True, errors="replace", timeout=400,
                             stdin=subprocess.DEVNULL)
    if outcome.returncode != 0:
        raise harness.Failure(f"{where}: exit status {outcome.returncode}\n{outcome.stdout}{outcome.stderr}")
    return outcome


def check_sql(query, code, folder, env, where):
    outcome = run([query, "sql", code, "run.db", "--format", "csv"], folder, env, where)
    lines = outcome.stdout.splitlines()
    connection = sqlite3.connect(f"file:{folder}/run.db?mode=ro", uri=True)
    rows = connection.execute(code).fetchall()
    connection.close()
    if outcome.stderr or not rows or len(lines) < 1 + len(rows):
        raise harness.Failure(f"{where}: {len(rows)} rows, mtrace-query printed {len(lines)} lines\n{outcome.stderr}")


def check_shell(code, folder, env, where):
    """Command by command, so that none hides behind another."""
    if "<<" in code:
        run(["sh", "-eu", "-c", code], folder, env, where)
        return
    state = ""
    for line in code.splitlines():
        outcome = run(["sh", "-eu", "-c", state + line], folder, env, f"{where}: {line}")
        if "=$(" in line:
            state += line + "\n"
        elif not outcome.stdout.strip() and " -o " not in line and "--fail-if" not in line:
            raise harness.Failure(f"{where}: '{line}' says nothing\n{outcome.stderr}")


def main(path, least_queries=0):
    tools = harness.Tools.from_environment()
    env = harness.environment({"NO_COLOR": "1", "COLUMNS": "120"})
    env["CPATH"] = str(Path(__file__).resolve().parents[2] / "include")
    env["PATH"] = os.pathsep.join([str(Path(tools.query).parent), env["PATH"]])
    if not Path("/usr/bin/python3").exists():
        raise harness.Skip("/usr/bin/python3 is not installed")
    n = 0
    cargo = shutil.which("cargo")
    if cargo:  # which finds its compiler and its cache in the home directory of the test's user
        env |= {"PATH": os.pathsep.join([env["PATH"], str(Path(cargo).parent)]), "HOME": str(Path.home())}
        env |= {name: os.environ[name] for name in ("CARGO_HOME", "RUSTUP_HOME") if name in os.environ}
    with harness.scratch() as folder:
        (Path(folder) / "mtrace").symlink_to(Path(__file__).resolve().parents[2])
        for line, language, code in blocks(path.read_text()):
            where = f"{path.name}:{line}"
            if language == "sh" and not cargo and re.search(r"^cargo ", code, re.MULTILINE):
                print(f"{where}: left out, cargo is not installed")
            elif language == "sh":
                check_shell(code, folder, env, where)
            elif language == "sql":
                check_sql(tools.query, code, folder, env, where)
            n += 1
    queries = len(re.findall(r"^\*\*\d+\. ", path.read_text(), re.MULTILINE))
    if n < max(queries, 1) or queries < least_queries:
        raise harness.Failure(f"{queries} queries and {n} blocks")


harness.main(lambda: main(Path(sys.argv[1]), *map(int, sys.argv[2:])))
