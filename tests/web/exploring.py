#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""exploring.py [--pictures FOLDER]: three real programs and that of README.md are recorded, and the test finds the problem of each in the browser, by
following the links of the overview only, as docs/exploring.md describes. With FOLDER it takes the pictures.
"""

import argparse
import shutil
import subprocess
from pathlib import Path

import browser
import harness
import pages
from pages import expect, follow, rest, serve

PROGRAMS = Path(__file__).resolve().parent / "programs"
RECORDED = {"leak": ["perl", "leak.pl"], "growth": ["bash", "growth.sh"], "fragmentation": ["python3", "fragmentation.py"]}
SIZE = (1100, 760)


class Guide:
    """A person at the browser, who may take pictures."""

    def __init__(self, page, server, pictures):
        self.page, self.server, self.pictures = page, server, pictures

    def begin(self, name):
        recording = next(one for one in pages.json.loads(self.server.rows("/api/v1"))["recordings"] if one["name"] == f"{name}.db")
        self.view = f"{self.server.address}view/{recording['id']}"
        self.page.open(f"{self.view}/overview")
        self.page.wait("findings", "return document.querySelectorAll('.findings li').length > 0")
        rest(self.page)

    def take(self, name):
        """Waits until no request is open, and looks."""
        rest(self.page)
        if self.pictures:
            self.page.wait("the charts", "return !document.querySelector('.overview') || document.querySelectorAll('.u-over').length >= 5")
            self.page.screenshot(self.pictures / f"{name}.png")

    def go(self, finding, *links):
        """Follows one of these links of the first finding with that text."""
        found = self.page.run("""const item = [...document.querySelectorAll('.findings li')].find(i => i.innerText.includes(arguments[0]));
                                 const link = item && [...item.querySelectorAll('a')].find(a => arguments[1].some(link => a.innerText.startsWith(link)));
                                 if (link) link.click(); return link ? item.innerText : null""", finding, links)
        expect(f"a finding '{finding}' with a link of {links}: {self.page.text('.findings')}", found)
        rest(self.page)
        return found

    def visit(self, address):
        self.page.open(f"{self.view}/{address}")
        rest(self.page)

    def unfold(self):
        self.page.wait("rows", "return document.querySelectorAll('main tbody .fold button').length > 0")
        self.page.click("main tbody .fold button")
        self.page.wait("a stack", "return document.querySelectorAll('.stack li').length > 0")
        rest(self.page)
        return self.page.text(".stack")


def find_leak(guide):
    guide.begin("leak")
    guide.take("leak-overview")
    text = guide.go("never freed", "leaks by stack")
    expect(f"it goes on: {text}", "throughout the run" in text)
    stack = guide.unfold()
    expect(f"the stack leads to the constructor of hashes or lists: {stack}", any(name in stack for name in ("Perl_pp_anonhash", "Perl_pp_anonlist", "Perl_pp_padsv", "Perl_newRV", "Perl_newSV", "Perl_runops")))
    guide.take("leak-stacks")
    guide.visit("flamegraph?measure=leaked")
    guide.page.type("input[type=search]", "anonhash")
    guide.page.wait_for_text("matched", ".flame-line")
    guide.take("leak-flame-graph")


def find_growth(guide):
    guide.begin("growth")
    guide.go("array_create_element", "leaks by stack")
    follow(guide.page, "growth", ".views")
    guide.page.wait_for_text("array_create_element", "main tbody")
    rest(guide.page)
    guide.page.wait("its curve", "return document.querySelectorAll('main tbody .sparkline').length > 0")
    stack = guide.unfold()
    expect(f"who appends: {stack}", "assign_array_var_from_string" in stack or "array" in stack)
    guide.take("growth-stacks")
    guide.visit("diff?before=20%25&then=95%25")
    guide.page.wait_for_text("array_create_element", "main tbody")
    guide.take("growth-compared")


def find_fragmentation(guide):
    guide.begin("fragmentation")
    guide.take("fragmentation-overview")
    # Without a memory sample near the end the finding is about pinned pages, not about memory that stays resident.
    text = guide.go("were free", "fragmentation", "pinning")
    expect(f"who pins pages: {text}", "PyByteArray_Resize" in text)
    guide.visit("pinning?alive_at=end")
    guide.page.wait_for_text("PyByteArray_Resize", "main tbody")
    stack = guide.unfold()
    expect(f"who makes the blocks: {stack}", "PyByteArray_Resize" in stack)
    guide.take("fragmentation-pinning")
    follow(guide.page, "heap map", ".views")
    guide.page.wait("a heap", "return document.querySelector('.heap canvas')?.height > 0")
    guide.page.run("const c = document.querySelector('.heap canvas'); c.focus({preventScroll: true}); scrollTo(0, 0)")
    guide.page.type(".heap canvas", pages.KEYS["Down"] * 10)  # below the interpreter's own
    guide.page.wait("a page that is pinned", """if (document.querySelector('.flame-line').innerText.includes('PyByteArray_Resize, which alone keeps this page')) return true;
                                                document.querySelector('.heap canvas').dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowRight', bubbles: true}))""")
    guide.take("fragmentation-map")


def show_shop(guide):
    """The picture of README.md."""
    guide.begin("shop")
    expect("the leak has its function and line", "serve (shop.c:7)" in guide.page.text(".findings"))
    guide.page.size(SIZE[0], 640)
    guide.take("overview")
    guide.page.size(*SIZE)


def look_around(guide):
    """The pages that are not part of these three examples."""
    guide.begin("growth")
    follow(guide.page, "call tree", ".views")
    guide.take("call-tree")
    guide.begin("leak")
    follow(guide.page, "SQL", ".views")
    guide.page.run("document.querySelector('textarea').select()")
    guide.page.type("textarea", "SELECT start_ns, live_bytes, allocated_bytes\nFROM timeline" + pages.KEYS["Control"] + pages.KEYS["Enter"])
    guide.page.wait("an answer", "return document.querySelectorAll('main tbody tr').length > 0")
    guide.page.run("const s = [...document.querySelectorAll('main select')].find(s => [...s.options].some(o => o.text === 'curve')); s.value = 'curve'; s.dispatchEvent(new Event('change', {bubbles: true}))")
    guide.page.wait("a curve", "return document.querySelectorAll('.u-over').length === 1")
    guide.take("sql")


def record(tools, folder):
    for name, (program, script) in RECORDED.items():
        path = shutil.which(program, path="/usr/bin:/bin")
        if not path:
            raise harness.Skip(f"{program} is not installed")
        harness.record_database(tools, folder, name, [path, PROGRAMS / script], env={"PYTHONMALLOC": "malloc"})
    shop = folder / "shop"
    subprocess.run(["gcc", "-g", "-o", shop, Path(__file__).resolve().parents[2] / "examples" / "shop.c"], check=True)
    harness.record_database(tools, folder, "shop", [shop])
    return [folder / f"{name}.db" for name in (*RECORDED, "shop")]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--pictures", type=Path)
    pictures = parser.parse_args().pictures
    pages.need_pages()
    tools = harness.Tools.from_environment()
    with harness.scratch() as scratch, browser.Browser() as page:
        page.size(*SIZE)
        folder = Path(scratch)
        with serve.Server(record(tools, folder), folder) as server:
            guide = Guide(page, server, pictures)
            for story in (find_leak, find_growth, find_fragmentation, look_around, show_shop):
                story(guide)
            pages.expect_no_complaints(page)


if __name__ == "__main__":
    harness.main(main)
