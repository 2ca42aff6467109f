#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""invariants.py ROOT [--write]: docs/invariants.md lists every numbered invariant of the headers; --write makes it anew."""

import re
import sys
from pathlib import Path

import tree

ENTRY = re.compile(r"(?<![\w-])([A-Z]{1,3}-\d+)\s+([A-Z`a-z(].*?)(?=(?<![\w-])[A-Z]{1,3}-\d+\s+[A-Z`a-z(]|$)", re.DOTALL)
BEGINNING = re.compile(r"^ \*   ?([A-Z]{1,3}-\d+) ", re.MULTILINE)
SECTION = re.compile(r"Invariants?\b:?(.*?)(?:\n \*\s*\n \*\s*[A-Z]\w+:|\n \* ?(?:Threads|Signals|Failure|Model|Words|Cost|Memory|Ownership)\b|\*/)",
                     re.DOTALL)

HEAD = """# Invariants

Each is stated in the header named here, asserted by that module's `_check` where it can be, and tested in
`tests/unit/<folder>/test_<stem>.c`. This list is made by `tests/contract/invariants.py . --write`; a test keeps it current.
"""


def of_header(text):
    """(number, sentence) of each invariant in the header's opening comment."""
    opening = re.search(r"/\*\n.*?\*/", text, re.DOTALL)
    section = SECTION.search(opening.group()) if opening else None
    if section is None:
        return []
    plain = " ".join(line.strip().removeprefix("*").strip() for line in section.group(1).splitlines())
    plain = re.split(r"(?<!-\d)(?<!-\d\d) (?:Threads|Signals|Failure|Memory|Cost|Model): ", plain)[0]  # an invariant may begin with such a word
    return [(number, " ".join(said.split()).rstrip(".;*/ ")) for number, said in ENTRY.findall(plain)]


def make(root):
    lines, seen, broken = [HEAD], {}, []
    for path in tree.sources(root, {".h"}):
        text = (Path(root) / path).read_text()
        found = of_header(text)
        if found:
            missing = set(BEGINNING.findall(text[:text.index("#ifndef")])) - {number for number, _ in found}
            broken += [f"{path}: {number} is not listed" for number in missing]
            lines.append(f"## {path}\n")
            lines += [f"* **{number}** {said}." for number, said in found]
            lines.append("")
        for number, _ in found:
            if seen.get(number, path).parts[0] == path.parts[0] and number in seen:
                broken.append(f"{path}: {number} is taken by {seen[number]}")
            seen.setdefault(number, path)
    return "\n".join(lines), len(seen), broken


def main():
    root = sys.argv[1]
    page = Path(root) / "docs" / "invariants.md"
    text, n_found, broken = make(root)
    if sys.argv[2:] == ["--write"]:
        page.write_text(text)
    elif not page.exists() or page.read_text() != text:
        broken.append("docs/invariants.md is not current: run tests/contract/invariants.py . --write")
    tree.finish("invariants", n_found, broken)


main()
