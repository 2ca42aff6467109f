# SPDX-License-Identifier: MIT
"""links.py ROOT: links between pages lead to a file and heading that exist, and pages that code or man pages name exist."""

import re
import sys
from pathlib import Path

import tree

CODE_BLOCK = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)#?([^)\s]*)\)")
PAGE = re.compile(r"\bdocs/[\w-]+\.md\b")
GENERATED = {"docs/invariants.md", "docs/schema.md"}


def anchors(text):
    """The names that a browser gives to the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", CODE_BLOCK.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def check_links(root, path, text):
    for target, anchor in LINK.findall(CODE_BLOCK.sub("", text)):
        page = root / path.parent / target if target else root / path
        if not page.exists():
            yield f"{path}: there is no {target}"
        elif anchor and page.suffix == ".md" and anchor not in anchors(page.read_text()):
            yield f"{path}: {target or path} has no heading #{anchor}"


def check_names(root, path, text):
    for name in sorted(set(PAGE.findall(text)) - GENERATED):
        if not (root / name).exists():
            yield f"{path}: there is no {name}"


def main():
    root = Path(sys.argv[1])
    broken = []
    paths = [path for path in tree.tracked(sys.argv[1]) if path.suffix in {".c", ".h", ".py", ".txt", ".cmake", ".sh", ".ts", ".md", ".1"}]
    for path in paths:
        text = (root / path).read_text()
        broken += check_names(root, path, text)
        if path.suffix == ".md":
            broken += check_links(root, path, text)
    tree.finish("links", len(paths), broken)


main()
