#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""invariants.py ROOT [--write PAGE]: numbers of the invariants in headers are unique, and references name one that exists.

A number is unique within its folder. With --write, lists all invariants in PAGE instead; the build makes docs/invariants.md by it.
"""

import re
import sys
from pathlib import Path

import tree

NUMBER = re.compile(r"(?<![\w-])[A-Z]{1,3}-\d+(?![\w-])")
BEGINNING = re.compile(r"\*\s+([A-Z]{1,3}-\d+)\s+(.*)")

HEAD = """# Invariants

Each is stated in the header named here, asserted by that module's `_check` where it can be, and tested in
`tests/unit/<folder>/test_<stem>.c`. The build makes this list from the headers.
"""


def of_header(text):
    """(number, sentences) of each invariant in the opening comment: a paragraph that begins with its number."""
    found = []
    for line in re.split(r"^#", text, maxsplit=1, flags=re.MULTILINE)[0].splitlines():
        line = line.strip()
        beginning = BEGINNING.match(line)
        if beginning:
            found.append([*beginning.groups()])
            is_inside = True
        elif line in ("*", "*/") or not line.startswith("*"):
            is_inside = False
        elif found and is_inside:
            found[-1][1] += " " + line.removeprefix("*").strip()
    return [(number, " ".join(output.split())) for number, output in found]


def collect(root):
    """{path: invariants} of every header that states one, and the broken rules."""
    stated, owners, broken = {}, {}, []
    for path in tree.sources(root, {".h"}):
        found = of_header((Path(root) / path).read_text())
        if found:
            stated[path] = found
        for number, _ in found:
            owner = owners.setdefault((path.parent, number), path)
            if owner != path or [n for n, _ in found].count(number) > 1:
                broken.append(f"{path}: {number} is stated in {owner}, too")
    return stated, broken


def dangling(root, stated):
    """References to a number that no header states; words that only look like one (UTF-8) begin as no invariant does."""
    numbers = {number for found in stated.values() for number, _ in found}
    kinds = {number.split("-")[0] for number in numbers}
    for path in tree.tracked(root):
        if path.suffix not in {".c", ".h", ".md", ".sql"}:
            continue
        for at, line in enumerate((Path(root) / path).read_text(errors="replace").splitlines(), 1):
            for number in NUMBER.findall(line):
                if number not in numbers and number.split("-")[0] in kinds:
                    yield f"{path}:{at}: no header states {number}"


def page(stated):
    sections = ["\n".join([f"## {path}\n", *(f"* **{number}** {output}" for number, output in found), ""])
                for path, found in stated.items()]
    return "\n".join([HEAD, *sections])


def main():
    root = sys.argv[1]
    stated, broken = collect(root)
    if sys.argv[2:3] == ["--write"]:
        Path(sys.argv[3]).write_text(page(stated))
        return
    tree.finish("invariants", sum(map(len, stated.values())), [*broken, *dangling(root, stated)])


main()
