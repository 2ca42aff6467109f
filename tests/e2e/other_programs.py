#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""other_programs.py CASE: the examples of docs/rest.md for other programs work, and these programs read a database unchanged.

examples      curl, Python and, where it is installed, R
sqlite-utils  every table and view has the rows that SQLite has
datasette     likewise, over its JSON
duckdb        likewise, by the extension that reads SQLite

The last three are installed from PyPI into the test's scratch directory; without that they are skipped.
"""

import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import serve
import harness

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "rest.md"
DOCUMENTED_ADDRESS = "http://127.0.0.1:8080/"


def documented(language, heading):
    """The blocks of a language below a heading."""
    section = DOCUMENT.read_text().split(f"\n## {heading}\n")[1].split("\n## ")[0]
    found = re.findall(rf"^```{language}\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    serve.expect(f"blocks of {language} below '{heading}'", len(found) > 0, True)
    return found


def say(argv, folder, env=None):
    """The output of a program, which must not be empty."""
    outcome = subprocess.run(argv, cwd=folder, env=env or harness.environment(), capture_output=True, text=True, timeout=400, stdin=subprocess.DEVNULL)
    if outcome.returncode != 0 or not outcome.stdout.strip():
        raise harness.Failure(f"{argv}: exit status {outcome.returncode}, '{outcome.stdout[:200]}'\n{outcome.stderr}")
    return outcome.stdout


def install(folder, *packages):
    """The folder of a virtual environment's programs."""
    place = folder / "venv"
    for argv in ([sys.executable, "-m", "venv", place], [place / "bin" / "python", "-m", "pip", "install", "--quiet", "--retries", "0", "--timeout", "20", *packages]):
        try:
            subprocess.run(argv, check=True, capture_output=True, text=True, timeout=400, stdin=subprocess.DEVNULL)
        except subprocess.TimeoutExpired as why:
            raise harness.Skip(f"{' '.join(packages)} cannot be installed: {why}") from None
        except subprocess.CalledProcessError as why:
            raise harness.Skip(f"{' '.join(packages)} cannot be installed: {(why.stderr or why.stdout).strip().splitlines()[-1:]}") from None
    return place / "bin"


def names_of(database):
    """Tables, and views that are meant for people."""
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
        names = [name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE '\\_%' ESCAPE '\\' ORDER BY name")]
    serve.expect(f"there are tables and views: {names}", {"allocations", "leaks", "meta"} <= set(names), True)
    return names


def rows_of(database, name):
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
        return connection.execute(f'SELECT * FROM "{name}"').fetchall()


def word(value):
    """Values as text; of fractions the ten digits that every program keeps."""
    if isinstance(value, bytes):
        return repr(value)
    text = "" if value is None else str(value)
    return f"{float(text):.10g}" if re.fullmatch(r"-?\d+\.\d+(e[-+]?\d+)?", text) else text


def same_rows(name, found, wanted):
    """In any order."""
    serve.expect(f"rows of {name}", sorted([word(value) for value in row] for row in found), sorted([word(value) for value in row] for row in wanted))


def examples(folder, database):
    with serve.Server([database], folder) as server:
        def here(text):
            return text.replace(DOCUMENTED_ADDRESS, server.address)
        for block in documented("sh", "From programs"):
            for line in block.splitlines():
                answer = say(["sh", "-euc", here(line)], folder)
                serve.expect(f"{line}: {answer[:200]}", "error" in answer, False)
        for block in documented("python", "From programs"):
            serve.expect("rows in Python", int(say([sys.executable, "-c", here(block) + "print(len(rows))"], folder)) > 0, True)
        if shutil.which("Rscript") and subprocess.run(["Rscript", "-e", "library(jsonlite)"], capture_output=True, check=False).returncode == 0:
            for block in documented("r", "From programs"):
                serve.expect("rows in R", "function" in say(["Rscript", "-e", here(block)], folder), True)
        else:
            print("R with jsonlite is not installed: its example did not run")


def ask(programs, program, folder, query):
    """The JSON that a program prints for one; programs of a virtual environment see what is installed there."""
    outcome = subprocess.run([programs / "python", "-c", program], cwd=folder, input=json.dumps(query), capture_output=True, text=True, timeout=400, check=False)
    if outcome.returncode != 0:
        raise harness.Failure(outcome.stderr)
    return json.loads(outcome.stdout)


SQLITE_UTILS = """
import json, sqlite3, sys, sqlite_utils
database = sqlite_utils.Database("run.db")
print(json.dumps({name: [list(row.values()) for row in database[name].rows] for name in json.load(sys.stdin)}, default=str))
"""


def sqlite_utils(folder, database):
    programs = install(folder, "sqlite-utils")
    path = {**harness.environment(), "PATH": f"{programs}:{os.environ['PATH']}"}
    for block in documented("sh", "Other programs"):
        for line in block.splitlines():
            if line.startswith("sqlite-utils"):
                serve.expect(line, "leaked_bytes" in say(["sh", "-euc", line], folder, path), True)
    names = names_of(database)
    for name, found in ask(programs, SQLITE_UTILS, folder, names).items():
        same_rows(name, found, rows_of(database, name))


DATASETTE = """
import asyncio, csv, io, json, sys
from datasette.app import Datasette
async def main(names):
    served, found = Datasette([], immutables=["run.db"]), {}
    for name in names:
        answer = await served.client.get(f"/run/{name}.csv?_stream=on")
        assert answer.status_code == 200, (name, answer.text[:400])
        header, *rows = [row for row in csv.reader(io.StringIO(answer.text)) if row]
        found[name] = [row[header[0] == "rowid":] for row in rows]  # which tables without a key are given
    return found
print(json.dumps(asyncio.run(main(json.load(sys.stdin)))))
"""


def datasette(folder, database):
    programs = install(folder, "datasette")
    for name, found in ask(programs, DATASETTE, folder, names_of(database)).items():
        same_rows(name, found, rows_of(database, name))


DUCKDB = """
import duckdb, json, sys
from pathlib import Path
import duckdb_extension_sqlite_scanner as package
(extension,) = Path(package.__file__).parent.rglob("*.duckdb_extension")
connection = duckdb.connect()
connection.execute(f"LOAD '{extension}'")
statements, names = json.load(sys.stdin)
for statement in statements:
    documented = connection.execute(statement).fetchall()
assert documented, statements
print(json.dumps({name: connection.execute(f"SELECT * FROM sqlite_query('run', 'SELECT * FROM \\"{name}\\"')").fetchall() for name in names},
                 default=str))
"""


def duckdb(folder, database):
    programs = install(folder, "duckdb", "duckdb-extension-sqlite-scanner")
    statements = [statement for block in documented("sql", "Other programs") for statement in block.split(";") if statement.strip()]
    for name, found in ask(programs, DUCKDB, folder, [statements, names_of(database)]).items():
        same_rows(name, found, rows_of(database, name))


CASES = {"examples": examples, "sqlite-utils": sqlite_utils, "datasette": datasette, "duckdb": duckdb}


def main(name):
    tools = harness.Tools.from_environment()
    with harness.scratch() as scratch:
        folder = Path(scratch)
        database = harness.record_database(tools, folder, "run", [tools.workloads / "threads"])
        before = database.read_bytes()
        CASES[name](folder, database)
        serve.expect("the database is as it was", database.read_bytes() == before, True)


harness.main(lambda: main(sys.argv[1]))
