#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""pages.py CASE [--pictures FOLDER]: the pages of mtrace-serve in a real browser, asked as a person would.

Each case ends with a look at the browser's console: no error of the page's, nothing that its policy forbade.
"""

import json
import sys
import urllib.parse
from pathlib import Path

import browser
import harness
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "e2e"))
import serve  # noqa: E402


def expect(what, holds):
    if not holds:
        raise harness.Failure(what)


def parameters(page):
    return urllib.parse.parse_qs(urllib.parse.urlsplit(page.address()).query)


def view(page):
    return urllib.parse.urlsplit(page.address()).path.rsplit("/", 1)[1]


def follow(page, text, within="body"):
    """Clicks the link that says so."""
    page.wait(f"a link '{text}'", """const link = [...document.querySelector(arguments[1]).querySelectorAll('a')].find(a => a.innerText.trim() === arguments[0]);
                                     if (link) link.click(); return link !== undefined""", text, within)


def choose_range(page, server):
    """Dragging over a curve restricts every view; back takes it off again; the link alone says it all."""
    page.open(server.address)
    page.wait("three charts", "return document.querySelectorAll('.u-over').length === 3")
    page.drag(".u-over", 0.05, 0.95)
    page.wait("a range in the address", "return location.search.includes('from=') && location.search.includes('to=')")
    chosen = parameters(page)
    page.wait_for_text("from=", ".badges")
    follow(page, "hot", ".views")
    page.wait("rows", "return document.querySelectorAll('main tbody tr').length > 0 && !document.querySelector('main .stale')")
    expect("the range went along", view(page) == "hot" and parameters(page) == chosen)
    wanted = json.loads(server.rows("/api/v1/last/hot", count="50", **{name: values[0] for name, values in chosen.items()}))
    expect(f"the table has the {len(wanted)} rows of the range", page.run("return document.querySelectorAll('main tbody tr').length") == len(wanted))
    everything = json.loads(server.rows("/api/v1/last/hot", count="0"))
    expect("the range is a part of the run", sum(row["allocated_blocks"] for row in wanted) < sum(row["allocated_blocks"] for row in everything))
    link = page.address()
    page.back()
    page.wait("the overview again", "return document.querySelectorAll('.u-over').length === 3")
    page.back()
    page.wait("no range", "return !location.search.includes('from=')")
    page.open(link)
    page.wait("the same rows by link", "return document.querySelectorAll('main tbody tr').length === arguments[0]", len(wanted))


def filter_and_unfold(page, server):
    """A filter is typed as on the command line; a wrong one is complained of in place; a row unfolds into stacks."""
    page.open(server.address + "view/last/groups")
    page.wait("rows", "return document.querySelectorAll('main tbody tr').length > 1")
    page.type(".filter-bar input", "sise_min=4\ue007")
    page.wait_for_text("sise_min", ".complaint")
    page.run("document.querySelector('.filter-bar input').select()")
    page.type(".filter-bar input", "size_min=64\ue007")
    page.wait_for_text("size_min=64", ".badges")
    wanted = json.loads(server.rows("/api/v1/last/groups", size_min="64", count="50"))
    page.wait("the rows of the filter", "return document.querySelectorAll('main tbody tr').length === arguments[0]", len(wanted))
    page.click("main tbody .fold button")
    page.wait("a stack", "return document.querySelectorAll('.stack li').length > 0")
    stack = json.loads(server.rows("/api/v1/last/stack", argument=str(wanted[0]["backtrace_id"])))
    expect("the stack's frames", page.run("return document.querySelectorAll('.stack li').length") == len(stack))
    page.click(".badge button")
    page.wait("no filter", "return !location.search.includes('size_min')")
    page.click("main th button")
    page.wait("a sorted column", "return location.search.includes('sort_by=')")
    page.open(server.address + "view/last/leaks?size_min=nonsense")
    page.wait_for_text("nonsense", "main [role=alert]")


def flame_graph(page, server):
    """Drawn, searched, zoomed by keys; a function leads to its callers."""
    page.open(server.address + "view/last/flamegraph?measure=allocated")
    page.wait("a picture", "const c = document.querySelector('.flame canvas'); return c && c.height > 50")
    page.wait("boxes", """const c = document.querySelector('.flame canvas'); const d = c.getContext('2d').getImageData(5, 5, 1, 1).data; return d[3] === 255""")
    page.type("input[type=search]", "main")
    page.wait_for_text("matched", ".flame-line")
    page.type(".flame canvas", "\ue015\ue015")
    page.wait("a zoom", "return [...document.querySelectorAll('.flame button')].some(b => b.innerText === 'show all')")
    page.type(".flame canvas", "\ue007")
    page.wait("callers", "return location.pathname.endsWith('/callers')")
    page.wait("two tables or words", "return document.querySelectorAll('.two-columns section').length === 2")


def ask_sql(page, server):
    """A statement is run, kept, refused in place when it is wrong."""
    page.open(server.address + "view/last/sql")
    page.wait("tables", "return document.querySelectorAll('.schema li').length > 10")
    page.run("document.querySelector('textarea').select()")
    page.type("textarea", "SELECT 6 * 7 AS answer\ue009\ue007")
    page.wait_for_text("42", "table")
    link = page.address()
    page.run("document.querySelector('textarea').select()")
    page.type("textarea", "SELECT 1 FROM nowhere\ue009\ue007")
    page.wait_for_text("nowhere", "main [role=alert]")
    page.open(link)
    page.wait_for_text("42", "table")


def every_view(page, server):
    """Each view of the navigation answers without a complaint, dark and light, wide and narrow."""
    page.open(server.address)
    page.wait("the navigation", "return document.querySelectorAll('.views a').length > 20")
    for name in page.run("return [...document.querySelectorAll('.views a')].map(a => a.innerText)"):
        page.open(f"{server.address}view/last/{name}")
        page.wait(f"an answer of {name}", """return document.querySelector('main h1') && !document.querySelector('main [aria-busy=true]')
                                             && ![...document.querySelectorAll('main [role=status]')].some(e => e.innerText === 'asking…')""")
        wrong = page.run("return [...document.querySelectorAll('main [role=alert]')].map(e => e.innerText)")
        expect(f"{name} complains: {wrong}", not wrong)
        expect(f"{name} is as wide as the window", page.run("return document.documentElement.scrollWidth <= innerWidth"))


CASES = {"choose_range": choose_range, "filter_and_unfold": filter_and_unfold, "flame_graph": flame_graph, "ask_sql": ask_sql, "every_view": every_view}


def main(name):
    tools = harness.Tools.from_environment()
    with harness.scratch() as scratch, browser.Browser() as page:
        folder = Path(scratch)
        argv, env = harness.record_argv(tools, "record", folder / "run.dat", [tools.workloads / "threads"])
        harness.run(argv, folder, env)
        harness.import_log(tools, folder / "run.dat", folder / "run.db")
        with serve.Server([folder / "run.db"], folder) as server:
            CASES[name](page, server)
            complaints = [text for text in page.complaints() if "status of 400" not in text and "status of 404" not in text]
            expect(f"the console says {complaints}", not complaints)


if __name__ == "__main__":
    harness.main(lambda: main(sys.argv[1]))
