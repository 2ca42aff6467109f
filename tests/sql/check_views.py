#!/usr/bin/env python3
"""check_views.py SOURCE_DIR: what must hold for every view, read from the .sql files and from SQLite's own plans."""
import pathlib
import re
import sqlite3
import sys

source = pathlib.Path(sys.argv[1])
problems = []
READS_ROWS = ("errors", "retained")  # but only if there is an error, or a heap image
names = re.search(r"set\(views\s+(.*?)\)", (source / "queries/CMakeLists.txt").read_text(), re.S).group(1).split()
files = {path.stem for path in (source / "queries/views").glob("*.sql")}
if files != set(names):
    problems.append(f"queries/CMakeLists.txt and queries/views differ in {sorted(files ^ set(names))}")

database = sqlite3.connect(":memory:")
for path in sorted((source / "importer/schema").glob("*.sql")):
    database.executescript(path.read_text())
for name in names:
    text = (source / f"queries/views/{name}.sql").read_text()
    database.executescript(text)
    if not text.startswith(f"-- SPDX-License-Identifier: MIT\n-- {name}: one row"):
        problems.append(f"{name}.sql does not begin by saying what one row is")
    if text.count("CREATE VIEW") != 1 or f"CREATE VIEW {name}(" not in text:
        problems.append(f"{name}.sql does not make the view {name} with a list of columns, and nothing else")
    for (column,) in database.execute("SELECT name FROM pragma_table_info(?)", (name,)):
        if not re.search(rf"^  {column},? +-- \S", text, re.M):
            problems.append(f"{name}.{column} has no comment")
    if name.startswith("_"):
        continue
    if not (source / f"tests/sql/views/{name}.sql").exists():
        problems.append(f"tests/sql/views/{name}.sql is missing")
    columns = [row[0] for row in database.execute("SELECT name FROM pragma_table_info(?)", (name,))]
    if name not in ("suppressions", "sites") and columns[0] != "process_id":
        problems.append(f"{name} does not begin with process_id")
    roots = {root for (root,) in database.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'packed_allocation_rows'")}
    opened = {row[3] for row in database.execute(f"EXPLAIN SELECT * FROM {name}") if row[1] == "OpenRead" and row[4] == 0}
    if roots & opened and name not in READS_ROWS:
        problems.append(f"{name} opens packed_allocation_rows")
    if not re.search(r"ORDER BY", text):
        problems.append(f"{name} has no order")

# The floor under every query about rows: columns that are not asked for cost nothing.
plan = [row[3] for row in database.execute("EXPLAIN QUERY PLAN SELECT count(*), sum(size_bytes) FROM allocations WHERE is_leaked")]
if len(plan) != 1:
    problems.append(f"allocations reads more than its rows for columns that are in them: {plan}")

print("\n".join(problems), file=sys.stderr)
sys.exit(1 if problems else 0)
