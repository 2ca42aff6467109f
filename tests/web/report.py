#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""report.py: the page that `mtrace-query report` makes, in a browser: its numbers are those of the database read by stock SQLite, its
flame graphs have the totals of their measures, its tables sort, and it makes no requests."""

import json
import sqlite3
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
import harness  # noqa: E402
from browser import Browser  # noqa: E402

MEASURES = {"live at the peak": "sum(peak_bytes)", "allocated": "sum(allocated_bytes)", "temporary": "sum(temporary_bytes)"}


def binary(value):
    units, i = ("B", "KiB", "MiB", "GiB"), 0
    while value >= 1024 and i + 1 < len(units):
        value, i = value / 1024, i + 1
    return f"{value} B" if i == 0 else f"{value:.1f} {units[i]}" if value < 100 else f"{value:.0f} {units[i]}"


def same(what, expected, found):
    if expected != found:
        raise harness.Failure(f"{what}: expected {expected!r}, the page has {found!r}")


def check_flames(browser, database):
    buttons = browser.run("return Array.from(document.querySelectorAll('#measures button')).map(b => b.textContent)")
    for number, title in enumerate(buttons):
        browser.run(f"document.querySelectorAll('#measures button')[{number}].click()")
        column = next((sql for name, sql in MEASURES.items() if title.startswith(name)), None)
        if title.startswith("leaked"):
            column = "sum(leaked_bytes) FILTER (WHERE backtrace_id NOT IN (SELECT backtrace_id FROM suppressed_stacks))"
        total = database.execute(f"SELECT {column} FROM backtrace_totals WHERE process_id = 1").fetchone()[0]
        same(title, f"{binary(total)}, 100 %", browser.text("#figures").splitlines()[1].split(";")[0])
    return len(buttons)


def check_folding(browser):
    """Collapsing recursive stacks leaves no function below itself."""
    height = lambda: browser.run("return document.getElementById('flames').clientHeight")  # noqa: E731
    before = height()
    browser.run("document.getElementById('least').value = 0; document.getElementById('least').dispatchEvent(new Event('input'))")
    browser.click("#folded")
    if not height() < before:
        raise harness.Failure(f"collapsing recursion left the picture {height()} pixels high, it had {before}")
    browser.click("#folded")


def check_tables(browser, database):
    rows = json.loads(browser.run("return document.getElementById('rows-hot').textContent"))
    stored = database.execute("SELECT call_site_id, allocated_blocks FROM hot WHERE process_id = 1 LIMIT 200").fetchall()
    same("rows of hot", stored, [(row["call_site_id"], row["allocated_blocks"]) for row in rows])
    first = "return document.querySelector('#part-hot tbody td').textContent"
    browser.click("#part-hot th")
    largest = browser.run(first)
    same("sorted down", f"{max(row['allocated_blocks'] for row in rows):,}", largest)
    browser.click("#part-hot th")
    same("sorted up", f"{min(row['allocated_blocks'] for row in rows):,}", browser.run(first))
    same("leaks have stacks", True, browser.run("return JSON.parse(document.getElementById('rows-leaks').textContent).every(row => row.stack.length > 0)"))


def check_findings(browser, query, database):
    """The page begins with the findings of the command line."""
    wanted = json.loads(subprocess.run([query, database, "--json"], capture_output=True, text=True, check=True, env=harness.environment()).stdout)[0]["findings"]
    same("there are findings", True, len(wanted) > 0)
    shown = browser.run("return Array.from(document.querySelectorAll('#findings li')).map(item => [item.className, item.querySelector('span').textContent, item.querySelector('code').textContent])")
    same("findings", [[one["severity"], one["sentence"], one["command"]] for one in wanted], shown)
    same("they come first", "findings", browser.run("return document.querySelector('section').id"))


def check_words(browser):
    """Ids are shown as ids, a command line as a command, and no table is wider than a page of 1200 pixels."""
    cells = "return Array.from(document.querySelectorAll('%s')).map(cell => cell.textContent)"
    threads = json.loads(browser.run("return document.getElementById('rows-threads').textContent"))
    same("thread ids", [str(row["tid"]) for row in threads], browser.run(cells % "#part-threads tbody td:first-child"))
    same("a command line", True, "/usr/bin/python3 -I -S script.py" in browser.run(cells % "#part-processes tbody td"))
    heads = [head for head in browser.run(cells % "th") if head.endswith(" ns")]
    same("heads with a unit that cells do not have", [], heads)
    browser.run("document.body.style.width = '1150px'")
    wide = browser.run("return Array.from(document.querySelectorAll('.scroll')).filter(box => box.scrollWidth > box.clientWidth)"
                       ".map(box => box.parentElement.id)")
    same("tables that are cut", [], wide)
    browser.run("document.body.style.width = ''")


def test():
    tools = harness.Tools.from_environment()
    with harness.scratch() as folder, Browser() as browser:
        script = "def deep(n):\n    return [0] * 99 if n == 0 else [deep(n - 1), n * 'x']\nkept = [deep(40) for _ in range(30)]\nimport os; os._exit(0)\n"
        Path(folder, "script.py").write_text(script)
        harness.run([tools.record, "-o", "run.dat", "--", "/usr/bin/python3", "-I", "-S", "script.py"], folder, {"PYTHONMALLOC": "malloc"})
        harness.import_log(tools, f"{folder}/run.dat", f"{folder}/run.db")
        page = Path(folder, "report.html")
        made = subprocess.run([tools.query, "report", f"{folder}/run.db", "-o", page], capture_output=True, text=True, env=harness.environment())
        same("status", (0, ""), (made.returncode, made.stderr))
        if page.stat().st_size > 2 << 20:
            raise harness.Failure(f"the page has {page.stat().st_size} bytes")
        database = sqlite3.connect(f"{folder}/run.db")
        browser.open(f"file://{page}")
        for name in ("allocated_bytes", "peak_bytes", "leaked_bytes"):
            value = database.execute("SELECT value FROM summary WHERE process_id = 1 AND name = ?", (name,)).fetchone()[0]
            same(name, binary(value), browser.text(f"dd[data-name={name}]"))
        if check_flames(browser, database) < 3:
            raise harness.Failure("measures are missing")
        check_folding(browser)
        check_tables(browser, database)
        check_words(browser)
        check_findings(browser, tools.query, f"{folder}/run.db")
        same("charts", True, browser.run("return document.querySelectorAll('#charts svg').length == 3"))
        for dark in (False, True):
            browser.dark(dark)
            paper = browser.run("return getComputedStyle(document.body).backgroundColor")
            same(f"dark {dark}", dark, int(paper.split("(")[1].split(",")[0]) < 100)
        same("notes of a whole recording", 0, browser.run("return document.querySelectorAll('.note').length"))
        harness.import_log(tools, f"{folder}/run.dat", f"{folder}/until.db", "--until", "1ms")
        subprocess.run([tools.query, "report", f"{folder}/until.db", "-o", f"{folder}/until.html"], check=True, env=harness.environment(), stderr=subprocess.DEVNULL)
        same("requests", [], browser.run("return performance.getEntriesByType('resource').map(entry => entry.name)"))
        same("complaints", [], list(browser.complaints()))
        browser.open(f"file://{folder}/until.html")
        same("what is missing is said", "imported up to 1.0 ms only: later events are in no number; blocks that were live then count as live, not leaked", browser.text(".note"))
        browser.open(f"file://{page}")
        if len(sys.argv) > 1:
            browser.run("document.getElementById('flame-section').scrollIntoView()")
            browser.screenshot(sys.argv[1])


harness.main(test)
