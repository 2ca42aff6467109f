#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""blame.py: --blame-past answers what the views say of a database whose call sites were computed again with the same functions
among its rules, read by stock SQLite: every report by call site, function and module, without filters and with them."""

import csv
import io
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
import harness  # noqa: E402

SCRIPT = "import json\nkept = [json.loads('[{\"a\": [1, 2.5, \"x\"]}]' * 1) for _ in range(300)]\nkept += [str(i) * 9 for i in range(2000)]\n"
REPORTS = {"leaks": "suppressed_by IS NULL", "peak": "1", "hot": "1", "temporary": "1", "growth": "1", "groups": "1", "reallocs": "1",
           "by_function": "1", "by_module": "1"}
# New rules find new ids, and ties are put in their order.
IGNORED = {"call_site_id", "weight"}


def asked(tools, database, report, *options):
    rows = list(csv.DictReader(io.StringIO(harness.ask(tools, report.replace("_", "-"), database, "--csv", *options))))
    return sorted(tuple(row[name] for name in row if name not in IGNORED) for row in rows)


def stored(connection, report):
    cursor = connection.execute(f"SELECT * FROM {report} WHERE {REPORTS[report]}")
    names = [column[0] for column in cursor.description]
    texts = io.StringIO()
    csv.writer(texts).writerows([["" if cell is None else cell for name, cell in zip(names, row) if name not in IGNORED] for row in cursor])
    return sorted(tuple(row) for row in csv.reader(io.StringIO(texts.getvalue())))


def rounded(rows):
    """SQLite's two ways to print a real differ in the last digits."""
    def cell(text):
        try:
            return f"{float(text):.9g}" if "." in text or "e" in text else text
        except ValueError:
            return text
    return [tuple(cell(text) for text in row) for row in rows]


def twin_of(tools, database, functions, folder):
    """The same recording with these functions among the rules."""
    twin = f"{folder}/twin.db"
    shutil.copyfile(database, twin)
    connection = sqlite3.connect(twin)
    connection.executemany("INSERT INTO call_site_rules(target, pattern) VALUES ('function', ?)", [(name,) for name in functions])
    connection.commit()
    connection.close()
    run = subprocess.run([tools.importer, "--resymbolize", twin], capture_output=True, text=True, env=harness.environment(), timeout=300)
    if run.returncode:
        raise harness.Failure(f"--resymbolize: {run.stderr}")
    return twin


def compare(tools, database, functions, folder):
    pattern = f"^({'|'.join(functions)})$"
    twin = twin_of(tools, database, functions, folder)
    connection = sqlite3.connect(twin)
    moved = 0
    for report in REPORTS:
        mine = rounded(asked(tools, database, report, "--blame-past", pattern))
        if mine != rounded(stored(connection, report)):
            theirs = rounded(stored(connection, report))
            raise harness.Failure(f"{report} past {pattern}:\nonly asked {sorted(set(mine) - set(theirs))[:3]}\n"
                                  f"only stored {sorted(set(theirs) - set(mine))[:3]}")
        moved += mine != rounded(asked(tools, database, report))
    if not moved:
        raise harness.Failure(f"{pattern} moved no call site")
    for report, *filters in (("hot", "size_min=40"), ("leaks", "--at", "50%"), ("live", "--at", "peak"), ("growth", "--from", "10%")):
        if asked(tools, database, report, "--blame-past", pattern, *filters) != asked(tools, twin, report, *filters):
            raise harness.Failure(f"{report} {filters} past {pattern} differs from the twin")
    blamed = connection.execute("SELECT count(*) FROM sites WHERE function IN (SELECT value FROM json_each(?))",
                                (str(functions).replace("'", '"'),)).fetchone()[0]
    if blamed:
        raise harness.Failure(f"{blamed} call sites of the twin are in {functions}")


def test():
    tools = harness.Tools.from_environment()
    with harness.scratch() as folder:
        Path(folder, "script.py").write_text(SCRIPT)
        harness.run([tools.record, "-o", "run.dat", "--", "/usr/bin/python3", "-I", "-S", "script.py"], folder, {"PYTHONMALLOC": "malloc"})
        harness.import_log(tools, f"{folder}/run.dat", f"{folder}/run.db")
        names = [name for (name,) in sqlite3.connect(f"{folder}/run.db").execute(
            "SELECT function FROM hot WHERE function NOT GLOB '*[^A-Za-z0-9_]*' LIMIT 6")]
        if len(names) < 4:
            raise harness.Skip(f"python3 has only {len(names)} named functions that allocate")
        for functions in (names[:1], names[1:3], names):
            compare(tools, f"{folder}/run.db", functions, folder)


harness.main(test)
