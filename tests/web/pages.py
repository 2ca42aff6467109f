#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""pages.py CASE: the pages of mtrace-serve in a real browser, used as a person would.

Each case ends with a look at the browser's console: no error of the page, and no violation of its policy.
"""

import contextlib
import csv
import gzip
import io
import json
import os
import sqlite3
import subprocess
import sys
import time
import urllib.parse
from pathlib import Path

import browser
import harness
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "e2e"))
import serve  # noqa: E402

MAX_WEIGHT = 500 * 1024
KEYS = {"Enter": "\ue007", "Down": "\ue015", "Right": "\ue014", "Escape": "\ue00c", "Tab": "\ue004", "Control": "\ue009"}
AT_REST = """return document.querySelector('main h1') && !document.querySelector('main [aria-busy=true]')
             && ![...document.querySelectorAll('main [role=status]')].some(e => e.innerText === 'asking…')"""


def expect(what, holds):
    if not holds:
        raise harness.Failure(what)


def parameters(page):
    return urllib.parse.parse_qs(urllib.parse.urlsplit(page.address()).query)


def view(page):
    return urllib.parse.urlsplit(page.address()).path.rsplit("/", 1)[1]


def drawn(page):
    """Waits until the result of the last input is on the screen and its requests are sent: a page reacts to a click some frames later."""
    page.run_async("const done = arguments[0], frame = next => requestAnimationFrame(() => setTimeout(next)); frame(() => frame(() => frame(done)))")


def rest(page):
    """Waits until no request is open: one answer may lead to the next request."""
    for _ in range(2):
        drawn(page)
        page.wait("an answer", AT_REST)


def follow(page, text, within="body"):
    """Clicks the link with that text."""
    page.wait(f"a link '{text}'", """const link = [...document.querySelector(arguments[1]).querySelectorAll('a')].find(a => a.innerText.trim().startsWith(arguments[0]));
                                     if (link) link.click(); return link !== undefined""", text, within)


def replace_text(page, selector, text):
    page.wait(f"a field {selector}", "const field = document.querySelector(arguments[0]); if (field) field.select(); return field !== null", selector)
    page.type(selector, text)


def count(page, selector):
    return page.run("return document.querySelectorAll(arguments[0]).length", selector)


def choose_range(page, server):
    """Dragging over a curve restricts every view; back removes the restriction; the link alone contains it."""
    page.open(server.address)
    page.wait("the charts", "return document.querySelectorAll('.u-over').length >= 4")
    rest(page)
    median, duration = json.loads(post(server, """SELECT (SELECT alloc_ns FROM allocations ORDER BY alloc_ns LIMIT 1 OFFSET (SELECT count(*) / 2 FROM allocations)) AS median,
        duration_ns FROM processes"""))[0].values()
    page.drag(".u-over", median / duration, 0.99)
    page.wait("a range in the address", "return location.search.includes('from=') && location.search.includes('to=')")
    chosen = parameters(page)
    page.wait_for_text("from=", ".badges")
    follow(page, "hot", ".views")
    page.wait("another view", "return location.pathname.endsWith('/hot')")
    expect("the range went along", parameters(page) == chosen)
    wanted = json.loads(server.rows("/api/v1/last/hot", count="50", **{name: values[0] for name, values in chosen.items()}))
    page.wait(f"the {len(wanted)} rows of the range", "return document.querySelectorAll('main tbody tr').length === arguments[0] && !document.querySelector('main .stale')", len(wanted))
    everything = json.loads(server.rows("/api/v1/last/hot", count="0"))
    expect("the range is a part of the run", sum(row["allocated_blocks"] for row in wanted) < sum(row["allocated_blocks"] for row in everything))
    link = page.address()
    page.back()
    page.wait("the overview again", "return document.querySelectorAll('.u-over').length >= 4")
    page.back()
    page.wait("no range", "return !location.search.includes('from=')")
    page.open(link)
    page.wait("the same rows by link", "return document.querySelectorAll('main tbody tr').length === arguments[0]", len(wanted))


def finer_curves(page, server):
    """A range has its own number of steps, and filters apply: the curve ends at the sum of the rows of allocations."""
    start, end = json.loads(post(server, "SELECT min(alloc_ns) AS a, max(alloc_ns) AS b FROM allocations"))[0].values()
    begin, until = (start + end) // 2, (start + end) // 2 + (end - start) // 50
    for filters, condition in ({}, "1"), ({"size_min": "3"}, "size_bytes >= 3"):
        page.open(f"{server.address}view/last/overview?" + urllib.parse.urlencode({"from": f"{begin / 1e9:.9f}", "to": f"{until / 1e9:.9f}", **filters}))
        page.wait("the charts", "return document.querySelectorAll('.u-over').length >= 4")
        rest(page)
        live = json.loads(post(server, f"SELECT count(*) AS n FROM allocations WHERE alloc_ns <= {until} AND ifnull(free_ns > {until}, 1) AND {condition}"))[0]["n"]
        page.wait(f"{live} blocks at the end", "return document.querySelectorAll('.chart [role=application]')[1].getAttribute('aria-label').includes(arguments[0])",
                  f"blocks at the end: {live:,};".replace(";", "."))
    page.run("document.querySelector('.chart [role=application]').focus()")
    seen = []
    for _ in range(3):  # a two hundredth of the picture each
        page.press(KEYS["Right"])
        drawn(page)
        seen.append(page.text(".u-legend .u-value"))
    expect(f"times beside each other are told apart: {seen}", len(set(seen)) == 3)


def post(server, statement, recording="last"):
    status, _, body = server.ask(f"/api/v1/{recording}/sql", "POST", statement)
    expect(f"{statement}: {body}", status == 200)
    return body


def times(page, server):
    """A right click opens the view of a time; so does the keyboard; two times are compared."""
    page.open(server.address)
    page.wait("the charts", "return document.querySelectorAll('.u-over').length >= 4")
    rest(page)
    page.drag(".u-over", 0.5, 0.5, button=2)
    page.wait_for_text("alive here", "[role=menu]")
    follow(page, "compare this instant", "[role=menu]")
    page.wait_for_text("Now choose the instant", "main")
    page.run("document.querySelector('.chart [role=application]').focus()")
    page.type(".chart [role=application]", KEYS["Right"] * 8 + KEYS["Enter"])
    page.wait("the menu has the focus", "return document.activeElement.getAttribute('role') === 'menuitem'")
    follow(page, "compare with", "[role=menu]")
    page.wait("the comparison", "return location.pathname.endsWith('/diff') && location.search.includes('before=') && location.search.includes('then=')")
    rest(page)
    follow(page, "as a flame graph", "main")
    page.wait("the difference as a flame graph", "return location.pathname.endsWith('/flamegraph')")
    rest(page)
    expect("both times are requested", {"before", "then"} <= set(parameters(page)))


def filter_and_unfold(page, server):
    """A filter is typed as on the command line, with completion; an invalid one gets a message in place; rows unfold; cells are filters."""
    page.open(server.address + "view/last/groups")
    page.wait("rows", "return document.querySelectorAll('main tbody tr').length > 1")
    page.wait("sparklines", "return document.querySelectorAll('main tbody .sparkline').length > 0")
    page.type(".filter-bar input", "sise_min=4" + KEYS["Enter"])
    page.wait_for_text("sise_min", ".complaint")
    replace_text(page, ".filter-bar input", "size_mi")
    page.wait_for_text("size_min=SIZE", "#completions")
    page.type(".filter-bar input", KEYS["Down"] + KEYS["Enter"])
    page.wait("a completed name", "return document.querySelector('.filter-bar input').value === 'size_min='")
    page.type(".filter-bar input", "64" + KEYS["Enter"])
    page.wait_for_text("size_min=64", ".badges")
    wanted = json.loads(server.rows("/api/v1/last/groups", size_min="64", count="50"))
    page.wait("the rows of the filter", "return document.querySelectorAll('main tbody tr').length === arguments[0]", len(wanted))
    page.click("main tbody .fold button")
    stack = json.loads(server.rows("/api/v1/last/stack", argument=str(wanted[0]["backtrace_id"])))
    page.wait("the stack's frames", "return document.querySelectorAll('.stack li').length === arguments[0]", len(stack))
    page.wait("where its blocks are freed", "return document.querySelector('.freed') || document.querySelector('.one-stack > .hint')")
    page.click(".badge button")
    page.wait("no filter", "return !location.search.includes('size_min')")
    page.type(".filter-bar input", "kind=mall")
    page.wait_for_text("malloc", "#completions")
    page.type(".filter-bar input", KEYS["Escape"])
    page.wait("no completions", "return document.querySelector('#completions').hidden")
    page.click("main th button")
    page.wait("a sorted column", "return location.search.includes('sort_by=')")
    rest(page)
    page.run("[...document.querySelectorAll('main .cell')].find(cell => cell.querySelector('.place')).click()")
    page.wait_for_text("without stacks with this function", "[role=menu]")
    follow(page, "only this call site", "[role=menu]")
    page.wait("a filter from a cell", "return location.search.includes('site=')")
    rest(page)
    page.run("document.querySelector('.sources').open = true")
    page.wait_for_text("mtrace-query groups", ".sources")
    page.wait_for_text("SELECT", ".sources")
    page.open(server.address + "view/last/leaks?size_min=nonsense")
    page.wait_for_text("nonsense", "main [role=alert]")


def share_of(tree, searched):
    """In percent of the root: bytes below nodes with this text in their name or module; of nested ones the outermost counts."""
    below, amount = set(), 0
    for node in tree:
        if node["parent_node_id"] in below:
            below.add(node["node_id"])
        elif searched in (node["function"] or "").lower() or searched in (node["module"] or "").lower():
            below.add(node["node_id"])
            amount += node["bytes"]
    return 100 * amount / tree[0]["bytes"]


def flame_graph(page, server):
    """The flame graph is drawn, searched and zoomed by keys; a function leads to its callers; the tree has the same numbers."""
    page.open(server.address + "view/last/flamegraph?measure=allocated")
    page.wait("a picture", "const c = document.querySelector('.flame canvas'); return c && c.height > 50")
    page.wait("boxes", """const c = document.querySelector('.flame canvas'); const d = c.getContext('2d').getImageData(5, 5, 1, 1).data; return d[3] === 255""")
    page.type("input[type=search]", "main")
    page.wait_for_text("matched", ".flame-line")
    page.wait("the search in the address", "return location.search.includes('search=main')")
    tree = json.loads(server.rows("/api/v1/last/tree", measure="allocated", count="0"))
    for searched in ("main", "work", "own_", "no such name"):
        replace_text(page, "input[type=search]", searched)
        wanted = share_of(tree, searched)
        page.wait(f"{wanted} % below {searched}", "return Math.abs(parseFloat(document.querySelector('.flame-line .matched').innerText.match(/[0-9.]+/)[0]) - arguments[0]) <= 0.5", wanted)
    page.type(".flame canvas", KEYS["Down"] * 2)
    page.wait("a zoom", "return [...document.querySelectorAll('.flame button')].some(b => b.innerText === 'show all')")
    drawn(page)
    zoomed = page.text(".flame-line strong")
    page.type(".flame canvas", KEYS["Enter"])
    follow(page, "callers and callees", "[role=menu]")
    page.wait("callers", "return location.pathname.endsWith('/callers')")
    expect("of the zoomed function", parameters(page)["argument"] == [zoomed])
    page.wait("two tables or words", "return document.querySelectorAll('.two-columns section').length === 2")
    page.open(server.address + "view/last/tree?measure=allocated")
    rest(page)
    root = json.loads(server.rows("/api/v1/last/tree", measure="allocated"))[0]
    page.wait_for_text(f"{root['blocks']:,}", ".call-tree tbody tr")
    rest(page)
    before = count(page, ".call-tree tbody tr")
    page.click(".call-tree .twisty[aria-expanded=true]")
    page.wait("folded lines", "return document.querySelectorAll('.call-tree tbody tr').length < arguments[0]", before)
    page.click(".call-tree .twisty[aria-expanded=false]")
    page.wait("unfolded lines", "return document.querySelectorAll('.call-tree tbody tr').length === arguments[0]", before)


def ask_sql(page, server):
    """SQL is completed, run, kept, refused in place when it is wrong, and shown in four ways."""
    page.open(server.address + "view/last/sql")
    page.wait("tables", "return document.querySelectorAll('.schema li').length > 10")
    replace_text(page, "textarea", "SELECT count(*) AS answer FROM alloca")
    page.wait_for_text("allocations", "#sql-words")
    page.type("textarea", KEYS["Tab"])
    page.wait("a completed table", "return document.querySelector('textarea').value.endsWith('FROM allocations')")
    page.type("textarea", " WHERE usable_by")
    page.wait_for_text("size of the block that malloc returned", "#sql-words")
    replace_text(page, "textarea", "SELECT 6 * 7 AS answer" + KEYS["Control"] + KEYS["Enter"])
    page.wait_for_text("42", "table")
    link = page.address()
    replace_text(page, "textarea", "SELECT 1 FROM nowhere" + KEYS["Control"] + KEYS["Enter"])
    page.wait_for_text("nowhere", "main [role=alert]")
    page.open(link)
    page.wait_for_text("42", "table")
    for shape, wanted, statement in (("curve", ".u-over", "SELECT start_ns, live_bytes FROM timeline"), ("bars", ".bars tr", "SELECT function, allocated_bytes FROM hot"),
                                     ("flame graph", ".flame canvas", "SELECT 'main;work' AS stack, 5 AS blocks")):
        page.open(f"{server.address}view/last/sql?" + urllib.parse.urlencode({"show": shape, "statement": statement}))
        page.wait(f"the answer as {shape}", "return document.querySelector(arguments[0]) !== null", wanted)


def csv_and_history(page, server):
    """An answer is saved as the CSV of the server; previous queries are kept, the last first, and can be repeated."""
    statements = ["SELECT 1 AS one", """SELECT 'a,b' AS "with, comma", 'say "hi"' AS y, NULL AS z, char(10) AS line UNION ALL SELECT 1.5, -7, '', 'plain'""", "SELECT 3 AS three"]
    page.open(server.address + "view/last/sql")
    for statement in statements:
        replace_text(page, "textarea", statement + KEYS["Escape"] + KEYS["Control"] + KEYS["Enter"])
        page.wait(f"the answer to {statement}", "return document.querySelector('main table') && location.search.includes(encodeURIComponent(arguments[0].slice(-5)).replaceAll('%20', '+').replaceAll(\"'\", '%27'))", statement)
        rest(page)
    page.open(server.address + "view/last/sql")
    kept = page.wait("the history", "const s = [...document.querySelectorAll('main select')].at(-1); return s && s.options.length > 1 && [...s.options].slice(1).map(o => o.value)")
    expect(f"the history is {kept}", kept == statements[::-1])
    page.run("const s = [...document.querySelectorAll('main select')].at(-1); s.value = arguments[0]; s.dispatchEvent(new Event('change', {bubbles: true}))", statements[1])
    page.wait("the statement from the history", "return document.querySelector('textarea').value === arguments[0]", statements[1])
    page.run("window.saved = []; const make = URL.createObjectURL; URL.createObjectURL = blob => { blob.text().then(text => saved.push(text)); return make.call(URL, blob); }")
    page.type("textarea", KEYS["Control"] + KEYS["Enter"])
    page.wait_for_text("say", "main table")
    page.run("[...document.querySelectorAll('main button')].find(b => b.innerText === 'CSV').click()")
    page.wait("a saved file", "return saved.length === 1")
    saved = list(csv.reader(io.StringIO(page.run("return saved[0]"), newline="")))
    expect(f"saved: {saved}", saved == [["with, comma", "y", "z", "line"], ["a,b", 'say "hi"', "", "\n"], ["1.5", "-7", "", "plain"]])
    status, _, body = server.ask("/api/v1/last/sql?format=csv", "POST", statements[1])
    expect("as the server's own", status == 200 and list(csv.reader(io.StringIO(body.decode(), newline=""))) == saved)


def one_block(page, server):
    """From the rows to the history of a block, its realloc chain, and other blocks at its address."""
    chain = json.loads(server.rows("/api/v1/last/realloc-chains", count="1"))[0]
    page.open(f"{server.address}view/last/allocation?argument={chain['last_allocation_id']}")
    page.wait_for_text("Its realloc chain")
    page.wait("its links", """const section = [...document.querySelectorAll('section')].find(s => s.querySelector('h2')?.innerText === 'Its realloc chain');
                              return section.querySelectorAll('tbody tr').length === arguments[0]""", chain["length"])
    page.wait("its stack", "return document.querySelectorAll('.stack li').length > 0")
    page.open(server.address + "view/last/allocations")
    page.wait("rows", "return document.querySelectorAll('main tbody tr').length > 1")
    page.run("[...document.querySelectorAll('main tbody tr:first-child .cell')].find(cell => cell.innerText === '1').click()")
    follow(page, "the life of this block", "[role=menu]")
    page.wait("the block", "return location.pathname.endsWith('/allocation') && location.search.includes('argument=1')")
    blocks = json.loads(post(server, "SELECT allocation_id, address, max(1, coalesce(usable_bytes, size_bytes)) AS bytes FROM allocations"))
    for inside in (0, 7):  # of a block's own address, and of one within it
        covering = {block["address"] + inside: [] for block in blocks if block["bytes"] > inside}
        for address, ids in covering.items():
            ids += [block["allocation_id"] for block in blocks if block["address"] <= address < block["address"] + block["bytes"]]
        address, ids = max(((address, ids) for address, ids in covering.items() if len(ids) < 50), key=lambda pair: len(pair[1]))
        expect("an address that several blocks had", len(ids) > 1)
        page.open(f"{server.address}view/last/block?argument={address:#x}")
        rest(page)
        found = [row["allocation_id"] for row in json.loads(server.rows("/api/v1/last/block", argument=f"{address:#x}", count="50"))]
        expect(f"at {address:#x} were {ids}, the server says {found}", sorted(found) == sorted(ids))
        page.wait(f"a row for each of {ids}", "return document.querySelectorAll('main tbody tr').length === arguments[0]", len(ids))


PAGE_BYTES = 4096


def heap_titles(server, recording="last"):
    """The expected text of the pages of each heap, block by block."""
    (process,) = json.loads(post(server, "SELECT start_ns, duration_ns, peak_ns FROM processes", recording))
    live = json.loads(post(server, f"""SELECT a.heap_id, a.address, coalesce(a.usable_bytes, a.size_bytes) AS bytes, b.call_site_id AS site FROM allocations AS a JOIN backtraces AS b USING (backtrace_id)
        WHERE a.heap_id IS NOT NULL AND alloc_ns <= {process['peak_ns']} AND ifnull(free_ns > {process['peak_ns']}, 1)""", recording))
    titles = []
    for heap in json.loads(post(server, "SELECT heap_id, start_address FROM heaps ORDER BY heap_id", recording)):
        pages = {}
        for block in (block for block in live if block["heap_id"] == heap["heap_id"]):
            for at in range(block["address"], block["address"] + max(1, block["bytes"])):
                bytes_and_sites = pages.setdefault(at // PAGE_BYTES, [0, set()])
                bytes_and_sites[0] += 1
                bytes_and_sites[1].add(block["site"])
        if pages:
            free = max(pages) - heap["start_address"] // PAGE_BYTES + 1 - len(pages)
            pinned = sum(len(sites) == 1 and n < PAGE_BYTES / 2 for n, sites in pages.values())
            titles.append(f"{free} free pages below the topmost block, {pinned} pinned")
    return titles


def heap_map(page, server):
    """Every page of every heap, with its blocks, at any time."""
    page.open(server.address + "view/last/heap-map")
    page.wait("a heap", "return document.querySelector('.heap canvas')?.height > 0")
    rest(page)
    wanted = heap_titles(server)
    expect("there are heaps with blocks", len(wanted) > 0)
    for title in wanted:
        page.wait_for_text(title, "main")
    page.type(".heap canvas", KEYS["Enter"])
    page.wait_for_text("stacks of", "[role=menu]")
    page.type("[role=menu] a", KEYS["Escape"])
    page.wait("no menu", "return !document.querySelector('[role=menu]') && document.activeElement.tagName === 'CANVAS'")
    page.type(".heap canvas", KEYS["Right"])
    page.wait_for_text("of heap", ".flame-line")
    page.type("input[type=range]", KEYS["Right"] * 3)
    page.wait("another instant", "return location.search.includes('alive_at=')")
    rest(page)


def heap_map_of_totals(page, server):
    """Without rows of blocks the pages of the peak are the same; other pages have the message of the command line about missing rows."""
    full, slim, elided = (next(one["id"] for one in json.loads(server.rows("/api/v1"))["recordings"] if one["name"] == f"{name}.db") for name in ("full", "slim", "elided"))
    wanted = [title.split(",")[0] for title in heap_titles(server, full)]
    expect("there are heaps with blocks", len(wanted) > 0)
    page.open(f"{server.address}view/{slim}/heap-map")
    for title in wanted:
        page.wait_for_text(title, "main")
    page.open(f"{server.address}view/{elided}/overview")
    page.wait_for_text("all of them freed soon: in all totals, without rows", ".facts")
    page.open(f"{server.address}view/{elided}/live")
    output = subprocess.run([os.environ["MTRACE_TEST_QUERY"], "live", server.folder / "elided.db", "--at=peak"], capture_output=True, text=True, check=True).stderr.splitlines()
    output = [line.removeprefix("mtrace-query: note: ") for line in output]
    expect(f"something is missing: {output}", any("were elided" in line for line in output))
    page.wait("the words of the command line", "return [...document.querySelectorAll('.notes li')].map(li => li.innerText).join('\\n') === arguments[0]", "\n".join(output))
    rest(page)


def compared_times(page, server):
    """Two times are compared from the start; a link in the form of the command line fills the form, and the badges apply."""
    def shown(before, after):
        rest(page)
        page.wait(f"{before} and {after} in the form", "return [...document.querySelectorAll('main form input')].map(i => i.value).join() === arguments[0]", f"{before},{after}")
        status, _, body = server.ask(f"/api/v1/last/diff?alive_at={urllib.parse.quote(before)}&alive_at={urllib.parse.quote(after)}&count=0")
        expect(f"the server compares {before} and {after}: {body}", status == 200)
        page.wait(f"what changed from {before} to {after}", "return document.querySelectorAll('main tbody tr').length === arguments[0]", len(json.loads(body)))
        expect("there is something to see", len(json.loads(body)) > 0)

    page.open(server.address + "view/last/diff")
    shown("10%", "95%")
    page.open(server.address + "view/last/diff?at=30%25&at=90%25")
    shown("30%", "90%")
    expect("the link has the names of the filters", parameters(page) == {"alive_at": ["30%", "90%"]})
    replace_text(page, "main form input[name=before]", "0%")
    page.click("main form button")
    page.wait("the choice in the address", "return location.search.includes('before=')")
    expect("instead of the link's", parameters(page) == {"before": ["0%"], "then": ["90%"]})
    shown("0%", "90%")


def processes(page, server):
    """For several processes the largest is shown where only one can be, with a note, and another one can be chosen for every view."""
    rows = sorted(json.loads(server.rows("/api/v1/last/processes", count="0")), key=lambda row: -row["peak_bytes"])
    largest, other = rows[0], rows[-1]
    expect(f"the largest did not begin first: {rows}", largest["process_id"] != min(row["process_id"] for row in rows) and largest["peak_bytes"] > other["peak_bytes"])
    chosen = "select[aria-label=process]"
    for view_name in ("overview", "heap-map", "mmaps"):
        page.open(f"{server.address}view/last/{view_name}")
        page.wait_for_text(f"One of {len(rows)} processes is shown", ".shown-process")
        rest(page)
        page.wait_for_text(f"pid {largest['pid']}", ".shown-process strong")
        page.wait_for_text(f"largest of {len(rows)} processes", f"{chosen} option:checked")
    page.open(server.address)
    page.wait_for_text(f"(pid {largest['pid']})", ".facts")
    begun = json.loads(post(server, f"SELECT strftime('%Y-%m-%d %H:%M:%S', start_unix_ns / 1000000000, 'unixepoch') AS begun FROM processes WHERE process_id = {largest['process_id']}"))[0]["begun"]
    page.wait_for_text(f"begun {begun} UTC", ".facts")
    page.wait("findings about it alone", "return [...document.querySelectorAll('.findings a')].every(a => new URL(a.href).searchParams.get('process') === arguments[0])", str(largest["process_id"]))
    page.run("const s = document.querySelector(arguments[0]); s.value = arguments[1]; s.dispatchEvent(new Event('change', {bubbles: true}))", chosen, str(other["process_id"]))
    page.wait_for_text(f"(pid {other['pid']})", ".facts")
    expect("it is in the address", parameters(page) == {"process": [str(other["process_id"])]})
    follow(page, "hot", ".views")
    page.wait("another view", "return location.pathname.endsWith('/hot')")
    expect("the choice went along", parameters(page) == {"process": [str(other["process_id"])]})
    page.wait_for_text(f"pid {other['pid']}", f"{chosen} option:checked")
    wanted = json.loads(server.rows("/api/v1/last/hot", count="50", process=str(other["process_id"])))
    page.wait("its rows alone", "return document.querySelectorAll('main tbody tr').length === arguments[0]", len(wanted))


def navigation_by_content(page, server):
    """Groups, their tags, phases, pools and object walks have a link if the recording contains such, and only then."""
    tables = {"by-group": "allocation_groups", "by-tag": "allocation_group_tags", "by-pool": "by_pool", "phases": "phases", "objects": "object_tree",
              "unclaimed": "unclaimed", "claimed-twice": "claimed_twice", "spare-capacity": "spare_capacity", "object-growth": "object_growth"}
    seen = set()
    for recording in json.loads(server.rows("/api/v1"))["recordings"]:
        page.open(f"{server.address}view/{recording['id']}/overview")
        rest(page)
        has = {name: json.loads(post(server, f"SELECT EXISTS (SELECT 1 FROM {table}) AS has", recording["id"]))[0]["has"] == 1 for name, table in tables.items()}
        seen |= set(has.items())
        page.wait(f"links of {recording['name']}: {has}", """const views = [...document.querySelectorAll('.views a')].map(a => a.pathname.split('/').at(-1));
                  return Object.entries(arguments[0]).every(([name, has]) => views.includes(name) === has)""", has)
        for name in [name for name, is_there in has.items() if is_there]:
            page.click(f".views a[href$='/{name}']")
            page.wait(f"rows of {name}", "return location.pathname.endsWith('/' + arguments[0]) && document.querySelectorAll('main tbody tr').length > 0", name)
    expect(f"each was there once and missing once: {seen}", len(seen) == 2 * len(tables))


def partial_recording(page, server):
    """The note about data missing from all numbers stands above them, in the words of the command line."""
    for recording in json.loads(server.rows("/api/v1"))["recordings"]:
        output = subprocess.run([os.environ["MTRACE_TEST_QUERY"], "summary", server.folder / recording["name"]], capture_output=True, text=True, check=True).stdout.splitlines()
        page.open(f"{server.address}view/{recording['id']}/overview")
        rest(page)
        wanted = {"part.db": "recorded late, or not all the time", "until.db": "imported up to 1.0 ms only", "cut.db": "log damaged: "}.get(recording["name"])
        if wanted is None:
            expect(f"nothing is missing from {recording['name']}", count(page, ".facts") == 1 and count(page, ".notes") == 0)
            continue
        page.wait_for_text(wanted, ".notes")
        expect(f"{page.text('.notes')} is what the command line says: {output}", output[1] == page.text(".notes li"))


def resident_memory(page, server):
    """Resident memory is constant between two samples; its highest sample is used if the kernel's number is not known."""
    process = json.loads(server.rows("/api/v1/last/processes"))[0]
    page.open(server.address)
    page.wait_for_text("RSS at most 40.0 MiB at ", ".facts")
    page.wait_for_text("the highest of 3 samples", ".facts")
    page.wait("the chart", "return document.querySelectorAll('.u-over').length >= 5")
    rest(page)
    # How far down the areas begin, at a fraction of the time; lines of the grid are thin.
    tops = page.run("""const chart = [...document.querySelectorAll('.chart')].find(c => c.innerText.includes('Resident memory'));
        const canvas = chart.querySelector('canvas'), over = chart.querySelector('.u-over').getBoundingClientRect(), box = canvas.getBoundingClientRect();
        const ratio = canvas.width / box.width, top = Math.round((over.top - box.top) * ratio), height = Math.round(over.height * ratio);
        const begin = x => {
            const column = canvas.getContext('2d').getImageData(x, top, 1, height).data;
            for (let y = 0; y + 4 < height; y++) if ([0, 1, 2, 3, 4].every(more => column[4 * (y + more) + 3] > 0)) return y / height;
            return 1;
        };
        return [0.2, 0.33, 0.47, 0.53, 0.7].map(share => Math.round((over.left - box.left + share * over.width) * ratio)).map(x => Math.max(begin(x), begin(x + 3)))""")
    low, high = tops[:3], tops[3:]
    expect(f"level between two samples: {tops} of {process}", max(low) - min(low) < 0.03 and max(high) - min(high) < 0.03)
    expect(f"higher behind the second: {tops}", min(low) - max(high) > 0.4)


def shares(page, server):
    """Only the whole is shown as 100 %, as on the command line."""
    rows = json.loads(server.rows("/api/v1/last/tree", measure="allocated", count="0"))
    cases = [row["bytes"] / rows[0]["bytes"] for row in rows if 0.99 < row["bytes"] / rows[0]["bytes"] < 1]
    expect("a line of the tree has almost all", cases)
    page.open(server.address + "view/last/tree?measure=allocated")
    rest(page)
    wanted = "99.9 %" if cases[0] >= 0.9995 else f"{100 * cases[0]:.1f} %"
    page.wait(f"{wanted} in the tree", "return [...document.querySelectorAll('.call-tree td.number')].some(cell => cell.innerText === arguments[0])", wanted)


def margins(page, server):
    """Estimates have their margins beside them, in narrow tables, too; requests that samples cannot answer are not offered."""
    row = json.loads(server.rows("/api/v1/last/leaks", count="1"))[0]
    expect("an estimate", row["leaked_blocks_margin"] > 1)
    page.open(server.address + "view/last/leaks")
    rest(page)
    page.wait("margins in the table", "return [...document.querySelectorAll('td')].some(cell => cell.innerText === arguments[0])", f"± {round(row['leaked_blocks_margin']):,}")
    page.wait("no view in the menu that refuses", "return [...document.querySelectorAll('nav.views a')].map(link => link.innerText).filter(name => ['temporary', 'heap map', 'hot'].includes(name)).join() === 'hot'")


def suppressed(page, server):
    """Suppressed leaks are listed beside the leaks, rule by rule, as on the command line; with a user's filter they are not."""
    rules = json.loads(post(server, "SELECT r.rule, sum(l.leaked_blocks) AS blocks FROM site_leaks AS l JOIN suppressions AS r USING (rule_id) GROUP BY r.rule_id"))
    expect("some are", rules)
    for name in "leaks", "leaks-by-stack":
        page.open(f"{server.address}view/last/{name}")
        rest(page)
        for row in rules:
            page.wait_for_text(f"in {row['blocks']} block{'' if row['blocks'] == 1 else 's'} by {row['rule']}", "[aria-label=suppressed]")
    page.open(f"{server.address}view/last/leaks?size_min=1GiB")
    page.wait_for_text("no rows under these filters", "main")
    expect("nothing more is said", count(page, "[aria-label=suppressed]") == 0)


def findings(page, server):
    """The overview shows the findings of the command line, each with a link to its view and to its SQL, which have rows."""
    wanted = json.loads(server.rows("/api/v1/last/summary", count="1"))[0]["findings"]
    expect(f"findings of each severity's shape: {wanted}", 0 < len(wanted) <= 5 and all(list(one) == ["severity", "sentence", "bytes", "blocks", "command", "page", "sql"] for one in wanted))
    page.open(f"{server.address}view/last/overview")
    rest(page)
    shown = page.run("return [...document.querySelectorAll('.findings li')].map(item => [item.className, item.querySelector('span').innerText])")
    expect(f"the same: {shown}", shown == [[one["severity"], one["sentence"]] for one in wanted])
    for one in wanted:
        expect(f"rows of {one['sql']}", json.loads(post(server, one["sql"])))
        page.open(f"{server.address}view/last/{one['page']}")
        rest(page)
        page.wait(f"rows of {one['page']}", "return document.querySelectorAll('main tbody tr').length > 0")
    page.open(f"{server.address}view/last/overview")
    rest(page)
    follow(page, "SQL →", ".findings")
    page.wait("the statement", "return document.querySelector('textarea')?.value === arguments[0]", wanted[0]["sql"])


def two_recordings(page, server):
    """Two recordings side by side: what grew and what shrank."""
    page.open(server.address + "view/last/diff")
    page.wait("a choice", "return document.querySelectorAll('main select option').length === 2")
    page.run("const s = document.querySelector('main select'); s.value = s.options[1].value; s.dispatchEvent(new Event('change', {bubbles: true}))")
    page.wait("the other recording in the address", "return location.search.includes('with=')")
    page.wait("changes", "return document.querySelectorAll('main tbody tr').length > 0")
    for side in ("before", "after"):
        page.wait(f"a link to the recording {side}", "return [...document.querySelectorAll('main a')].some(a => a.innerText.startsWith(arguments[0]))", f"{side}:")
    after, before = [page.run(f"return new URL([...document.querySelectorAll('main a')].find(a => a.innerText.startsWith('{side}:')).href).pathname.split('/')[2]") for side in ("after", "before")]
    def changed(**parameters):
        return json.loads(server.rows(f"/api/v1/{before}/diff", argument=after, count="200", **parameters))
    sizes = [str(2 ** n) for n in range(4, 24)]
    size = next((size for size in sizes if 0 < len(changed(measure="allocated", by="blocks", size_min=size)) < len(changed(measure="allocated", by="blocks"))), None)
    expect("a size that leaves some changes and takes some", size is not None)
    page.type(".filter-bar input", f"size_min={size}" + KEYS["Enter"])
    page.wait_for_text(f"size_min={size}", ".badges")
    for measure, unit in (("leaked", "bytes"), ("allocated", "blocks")):
        for name, value in (("measure", measure), ("by", unit)):
            page.run("""const s = [...document.querySelectorAll('main label')].find(l => l.innerText.startsWith(arguments[0])).querySelector('select');
                        s.value = arguments[1]; s.dispatchEvent(new Event('change', {bubbles: true}))""", name, value)
        rest(page)
        wanted = changed(measure=measure, by=unit, size_min=size)
        page.wait(f"{len(wanted)} changes of {measure} {unit} from {before} to {after}", "return document.querySelectorAll('main tbody tr').length === arguments[0]", len(wanted))


def source_file(page, server):
    """From a frame of a stack to the source file, with the allocations of its lines, at the line."""
    page.open(server.address + "view/last/lines?argument=threads.c&measure=allocated")
    path = json.loads(post(server, "SELECT path FROM sources WHERE path LIKE '%/threads.c'"))[0]["path"]
    if not Path(path).exists():
        raise harness.Skip(f"the workload was compiled where '{path}' was, as a compiler cache may have it")
    text = Path(path).read_text().splitlines()
    page.wait("as many lines as the file has", "return document.querySelectorAll('.source tbody tr').length === arguments[0]", len(text))
    expect("of a file that has some", len(text) > 20)
    heaviest = max(json.loads(server.rows("/api/v1/last/lines", argument=path, measure="allocated")), key=lambda row: row["own_bytes"])
    page.wait_for_text(text[heaviest["line"] - 1].strip(), f".source tbody tr:nth-child({heaviest['line']})")
    expect("numbers beside it", page.text(f".source tbody tr:nth-child({heaviest['line']}) td").strip() != "")


def pages_of_blocks(page, server):
    """More blocks are loaded after the last one shown, none left out, none twice."""
    page.open(server.address + "view/last/allocations")
    page.wait("rows", "return document.querySelectorAll('main tbody tr').length === 50")
    follow(page, "next", ".paging")
    page.wait("the next page", "return document.querySelector('.paging').innerText.includes('blocks 51 to 100')")
    page.back()
    page.wait("the first page", "return document.querySelector('.paging').innerText.includes('blocks 1 to 50')")


LIVE_PROGRAM = """
import pathlib, sys, time
keep = []
while not pathlib.Path(sys.argv[1]).exists():
    keep.append([str(i) * 3 for i in range(200)])
    time.sleep(0.01)
"""


def live(tools, page, folder):
    """While the program runs the numbers change; at its end the blocks are there."""
    stop = folder / "stop"
    argv, env = harness.record_argv(tools, "record", folder / "live.dat", ["/usr/bin/python3", "-c", LIVE_PROGRAM, stop])
    program = subprocess.Popen([str(arg) for arg in argv], cwd=folder, env=harness.environment({**env, "PYTHONMALLOC": "malloc"}), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while not (folder / "live.dat").exists():
            time.sleep(0.05)
        with serve.Server(["--follow", "live.dat"], folder) as server:
            page.open(server.address + "view/last/hot")
            page.wait_for_text("recording", "header .growing")
            page.wait("rows", "return document.querySelectorAll('main tbody tr').length > 0")
            before = page.text("main tbody")
            refused = page.run("return performance.getEntriesByType('resource').filter(one => one.responseStatus >= 400).length")
            page.open(server.address + "view/last/overview")
            page.wait_for_text("still running", ".facts")
            facts = page.text(".facts").lower()
            expect(f"blocks of a running program are live, and no event was dropped: {facts}", "live" in facts and "leaked" not in facts and "dropped" not in facts)
            page.wait("curves", "return document.querySelectorAll('.curves figure').length > 2")
            expect("no advice to import again while it grows", "--slim" not in page.text("main"))
            expect("no curve of what only its end can tell", "Leaked so far" not in page.text("main"))
            refused += page.run("return performance.getEntriesByType('resource').filter(one => one.responseStatus >= 400).length")
            expect("no request that was refused", refused == 0)
            page.open(server.address + "view/last/hot")
            page.wait("other numbers", "const text = document.querySelector('main tbody')?.innerText; return text && text !== arguments[0]", before)
            stop.touch()
            page.wait("the end", "return !document.querySelector('header .growing')")
            page.open(server.address + "view/last/overview")
            page.wait_for_text("Leaked so far", ".curves")
            page.open(server.address + "view/last/allocations")
            page.wait("blocks", "return document.querySelectorAll('main tbody tr').length === 50")
            page.open("about:blank")  # open requests of the page, as columns to type, would be cut off with the server
    finally:
        stop.touch()
        program.wait(timeout=400)


def views_of(page, server):
    page.open(server.address)
    page.wait("the navigation", "return document.querySelectorAll('.views a').length > 20")
    return page.run("return [...document.querySelectorAll('.views a')].map(a => new URL(a.href).pathname.split('/').at(-1))")


def go_to(page, name, query=""):
    """Follows a link as within the pages: the page stays loaded."""
    is_another, title = view(page) != name, page.run("return document.title")
    page.run("history.pushState(null, '', `${arguments[0]}?${arguments[1]}`); dispatchEvent(new PopStateEvent('popstate'))", name, query)
    page.wait(f"{name} instead of {title}", "return !arguments[0] || document.title !== arguments[1]", is_another, title)
    rest(page)


def every_view(page, server):
    """Each view of the navigation is shown without an error, and fits the window, wide and narrow."""
    for name in views_of(page, server):
        page.size(1300, 900)
        page.open(f"{server.address}view/last/{name}?{ARGUMENTS.get(name, '')}")
        rest(page)
        wrong = page.run("return [...document.querySelectorAll('main [role=alert]')].map(e => e.innerText)")
        expect(f"{name} complains: {wrong}", not wrong)
        for width in (1300, 400):
            page.size(width, 900)
            page.wait(f"a window of {width}", "return innerWidth === arguments[0]", width)
            page.wait(f"{name} no wider than a window of {width}", "return document.documentElement.scrollWidth <= innerWidth")  # pictures are drawn again some frames later
    expect("the views open by a button", page.run("return getComputedStyle(document.querySelector('.views section')).display") == "none")
    page.click(".views-button")
    page.wait("the views", "return getComputedStyle(document.querySelector('.views section')).display !== 'none'")


ARGUMENTS = {"callers": "argument=main", "block": "argument=0x1000", "allocation": "argument=1", "diff": "before=10%25&then=90%25", "lines": "argument=threads.c"}


def accessible(page, server):
    """axe finds nothing serious, dark or light, in any view."""
    axe = Path(os.environ["MTRACE_TEST_WEB"]) / "node_modules" / "axe-core" / "axe.min.js"
    if not axe.exists():
        raise harness.Skip("axe-core is not installed in the build tree")
    found = []
    for name in [*views_of(page, server), "allocation"]:
        go_to(page, name, ARGUMENTS.get(name, ""))
        if not page.run("return 'axe' in window"):
            page.run(axe.read_text())
        for theme, rules in (("light", None), ("dark", ["color-contrast"])):  # nothing else differs
            page.wait(f"the {theme} theme", """if (document.documentElement.dataset.theme === arguments[0]) return true;
                      [...document.querySelectorAll('header button')].find(button => button.innerText.startsWith('colours:')).click()""", theme)
            rest(page)
            answer = page.run_async("""const [rules, done] = arguments;
                axe.run(document, {resultTypes: ['violations'], ...(rules ? {runOnly: rules} : {})}).then(r => done(r.violations), e => done([{id: String(e), impact: 'serious', nodes: []}]))""", rules)
            for one in answer:
                if one["impact"] in ("serious", "critical"):
                    found.append(f"{name}, {theme}: {one['id']}: " + "; ".join(node["html"][:160] for node in one["nodes"][:3]))
    expect("axe finds:\n" + "\n".join(found), not found)


CAN_HAVE_FOCUS = "a[href], button, input, select, textarea, summary, [tabindex]"


def keyboard(page, server):
    """The tab key reaches all controls, and the focus is visible."""
    page.size(1300, 900)
    for name in ("overview", "leaks", "flamegraph", "tree", "heap-map", "allocations", "sql", "diff", "mmaps"):
        page.open(f"{server.address}view/last/{name}")
        rest(page)
        page.run("""window.reached = new Set(); window.unseen = [];
            document.addEventListener('focusin', ({target}) => {
                const style = getComputedStyle(target);
                if (style.outlineStyle === 'none' || parseFloat(style.outlineWidth) === 0) unseen.push(target.outerHTML.slice(0, 120));
                reached.add(target); });""")
        wanted = """[...document.querySelectorAll(arguments[0])].filter(e => e.tabIndex >= 0 && !e.disabled && e.checkVisibility() && e.getClientRects().length > 0)"""
        n = page.run(f"return {wanted}.length", CAN_HAVE_FOCUS)
        expect(f"{name} has {n} places for the focus", n > 10)
        page.press(KEYS["Tab"], n + 5)
        left, unseen = page.run(f"return [{wanted}.filter(e => !reached.has(e)).map(e => e.outerHTML.slice(0, 120)), unseen]", CAN_HAVE_FOCUS)
        expect(f"{name}: the tab key leaves out {left}", not left)
        expect(f"{name}: without a sign of the focus: {unseen}", not unseen)


def clocks(page, server):
    """Times since the start, in UTC, and in local time; the choice is kept."""
    page.open(server.address + "view/last/allocations")
    page.wait("rows", "return document.querySelectorAll('main tbody tr').length > 1")
    start, first = (json.loads(server.rows("/api/v1"))["recordings"][0]["start_unix_ns"], json.loads(server.rows("/api/v1/last/allocations", count="1"))[0]["alloc_ns"])
    page.run("[...document.querySelectorAll('header button')].find(b => b.innerText === 'since start').click()")
    wanted = page.run("return new Date(arguments[0]).toISOString().slice(11, 19)", (start + first) / 1e6)
    page.wait_for_text(wanted, "main tbody tr")
    page.open(server.address + "view/last/allocations")
    page.wait_for_text(wanted, "main tbody tr")


# Answers are held back until all open requests are answered; `release` gives them to the page, and returns their names.
ROUNDS = """const ask = window.fetch; let held = [], open = 0;
    window.fetch = async (address, init) => {
        open++;
        try {
            const answer = await ask(address, init), body = await answer.arrayBuffer();
            await new Promise(go => held.push([(init?.method === 'POST' ? init.body : String(address)), go]));
            return new Response(body, {status: answer.status, headers: answer.headers});
        } finally { open--; }
    };
    window.release = () => { const now = held; held = []; now.forEach(([, go]) => go()); return now.map(([what]) => what); };
    window.areAllHeld = () => held.length > 0 && held.length === open;
    window.isNothingAsked = () => open === 0;"""


def rounds(page, address):
    """Requests of a page in rounds: those of one round wait only for the round before."""
    page.open(address)
    found = []
    for _ in range(10):
        for _ in range(10):
            drawn(page)
        if page.run("return window.isNothingAsked()"):
            break
        page.wait("the answers of a round", "return window.areAllHeld()")
        found.append(page.run("return window.release()"))
    return found


def requests_wait_for_none(page, server):
    """The overview requests what exists, beside the script, and then everything together; also for a chosen process."""
    page.devtools("Page.addScriptToEvaluateOnNewDocument", source=ROUNDS)
    processes = [row["process_id"] for row in json.loads(post(server, "SELECT process_id FROM processes ORDER BY peak_bytes DESC, process_id"))]
    expect("there are several processes", len(processes) > 1)
    for chosen in ("", f"?process={processes[-1]}"):
        found = rounds(page, f"{server.address}view/last/overview{chosen}")
        expect(f"rounds: {found}", len(found) == 2 and found[0] == ["/api/v1"] and len(found[1]) >= 5)
        asked = page.run("return performance.getEntriesByType('resource').filter(e => new URL(e.name).pathname === '/api/v1').map(e => e.initiatorType)")
        expect(f"what there is was asked for once, by the page itself: {asked}", asked == ["link"])
        of = processes[-1] if chosen else processes[0]
        expect(f"all are of process {of}: {found[1]}", not [one for one in found[1] if "process=" in one and f"process={of}" not in one])
        rest(page)
        expect("findings and curves", count(page, ".findings li") > 0 and count(page, ".u-over") >= 4)
    meta = json.loads(server.rows("/api/v1"))["recordings"][0]["largest_process"]
    row = json.loads(post(server, f"SELECT {', '.join(meta)} FROM processes WHERE process_id = {processes[0]}"))[0]
    expect(f"the process that is largest: {meta}, {row}", meta == row)


def second_visit(page, server):
    """Files with a hash in their name are not requested again, the page itself costs no bytes, and answers to GET none either."""
    page.devtools("Network.enable")
    page.open(server.address)
    rest(page)
    address = page.address()
    for again in (address, "about:blank", address):
        page.open(again)
        if again == address:
            rest(page)
    sizes = page.run("""return [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')].map(e => [new URL(e.name).pathname, e.transferSize, e.encodedBodySize])""")
    for path, sent, body in sizes:
        kept = path.endswith((".js", ".css"))
        again = "/api/" in path and path not in ("/api/v1",) and not path.endswith("/sql")
        expect(f"{path}: {sent} bytes were sent of {body}", sent == 0 if kept else sent < 600 if again or "/view/" in path else True)
    expect(f"there are files and answers among {sizes}", len([path for path, *_ in sizes if path.endswith((".js", ".css"))]) == 2 and len(sizes) > 8)
    script = next(path for path, *_ in sizes if path.endswith(".js"))
    expect("a script is kept", "immutable" in server.ask(script)[1]["Cache-Control"])
    expect("the page is asked for again", server.ask("/")[1]["Cache-Control"] == "no-cache")


def weight(page, server):
    """The compressed bytes of a first visit."""
    page.open(server.address)
    rest(page)
    files = page.run("return [location.pathname, ...performance.getEntriesByType('resource').map(e => e.name).filter(n => /\\.(js|css)$/.test(n)).map(n => new URL(n).pathname)]")
    expect(f"script and style are among {files}", len(files) == 3)
    total = 0
    for path in files:
        status, headers, body = server.ask(path, headers={"Accept-Encoding": "gzip"})
        expect(f"{path}: packed", status == 200 and headers["Content-Encoding"] == "gzip" and gzip.decompress(body))
        total += len(body)
    print(f"the pages are {total:,} bytes compressed, of {MAX_WEIGHT:,} allowed")
    expect("the pages are light", total <= MAX_WEIGHT)


# The recorded programs of each case; without: threads.
THREADS = ["threads"]
PROGRAMS = {"one_block": [["realloc_edges"]], "two_recordings": [THREADS, ["leak_c"]], "navigation_by_content": [["groups", "tags"], ["groups", "phases"], ["pools", "arena"], ["objects", "twice"], ["objects", "growth"], THREADS],
            "shares": [["leak_c"]], "suppressed": [["leak_c"]], "compared_instants": [["shapes_over_time"]]}  # the last grows all the time
CASES = {case.__name__: case for case in (choose_range, finer_curves, times, filter_and_unfold, flame_graph, ask_sql, one_block, heap_map, heap_map_of_totals, compared_times, processes, navigation_by_content, partial_recording,
                                          resident_memory, shares, margins, suppressed, findings, two_recordings, source_file, pages_of_blocks, csv_and_history, keyboard, every_view, accessible, clocks, requests_wait_for_none, second_visit, weight)}


def give_samples(path):
    """Three samples of resident memory, with the kernel's own number not known: a recording may have any of these."""
    with contextlib.closing(sqlite3.connect(path)) as database, database:
        (ns,) = database.execute("SELECT start_ns + duration_ns FROM processes").fetchone()
        database.execute("UPDATE processes SET max_rss_bytes = NULL")
        database.execute("DELETE FROM memory_samples")
        database.executemany("INSERT INTO memory_samples (process_id, at_ns, rss_bytes, anonymous_bytes, file_bytes) VALUES (1, ?, ?, ?, 0)", [(int(ns * share), mib << 20, mib << 20) for share, mib in ((0.1, 10), (0.5, 40), (0.9, 40))])


def record_in_part(tools, folder):
    """The whole, begun late, imported up to an instant, and with its log cut."""
    whole = harness.record_database(tools, folder, "whole", [tools.workloads / "threads", *THREADS[1:]])
    harness.record_database(tools, folder, "part", ["/bin/sh", "-c", "kill -USR1 $$; cat /dev/null; true"], ["--start-disabled"])
    harness.import_log(tools, folder / "whole.dat", folder / "until.db", "--until", "1ms")
    log = (folder / "whole.dat").read_bytes()
    (folder / "cut.dat").write_bytes(log[:len(log) * 2 // 3])
    harness.import_log(tools, folder / "cut.dat", folder / "cut.db")
    return [whole, *(folder / f"{name}.db" for name in ("part", "until", "cut"))]


def record_totals(tools, folder):
    """Databases with rows of all blocks, without rows, and with rows of some."""
    full = harness.record_database(tools, folder, "full", [tools.workloads / "threads", *THREADS[1:]])
    harness.import_log(tools, folder / "full.dat", folder / "slim.db", "--slim")
    elided = harness.record_database(tools, folder, "elided", [tools.workloads / "crossed_frees"], ["--cull-temporary=1000"])
    return [full, folder / "slim.db", elided]


def databases_of(tools, folder, name):
    if name == "heap_map_of_totals":
        return record_totals(tools, folder)
    if name == "partial_recording":
        return record_in_part(tools, folder)
    if name == "margins":
        return [harness.record_database(tools, folder, "run", [tools.workloads / "samples"], ["--sample-bytes=16384"])]
    if name in ("processes", "requests_wait_for_none"):
        return [harness.record_database(tools, folder, "run", ["/bin/sh", "-c", f"{tools.workloads / 'threads'}; true"], ["--follow-children"])]
    made = [harness.record_database(tools, folder, f"run{number}", [tools.workloads / program[0], *program[1:]]) for number, program in enumerate(PROGRAMS.get(name, [THREADS]))]
    if name == "resident_memory":
        give_samples(made[0])
    return made


def expect_no_complaints(page):
    complaints = [text for text in page.complaints() if "status of 400" not in text and "status of 404" not in text]
    expect(f"the console says {complaints}", not complaints)


def need_pages():
    if not (Path(os.environ["MTRACE_TEST_WEB"]) / "node_modules" / "installed.json").exists():
        raise harness.Skip("mtrace-serve was built without its pages: npm could not install what they need")


def main(name):
    need_pages()
    tools = harness.Tools.from_environment()
    with harness.scratch() as scratch, browser.Browser() as page:
        folder = Path(scratch)
        if name == "live":
            live(tools, page, folder)
            expect_no_complaints(page)
            return
        with serve.Server(databases_of(tools, folder, name), folder) as server:
            CASES[name](page, server)
            expect_no_complaints(page)


if __name__ == "__main__":
    harness.main(lambda: main(sys.argv[1]))
