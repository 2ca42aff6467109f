# SPDX-License-Identifier: MIT
"""C sources have /* */ comments only, of at most 100 columns, no leftovers in them, and an SPDX line on top."""

import re
import sys
from pathlib import Path

import tree

# A token that can hide "//": a comment, a string or a character.
TOKEN = re.compile(r'/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|//[^\n]*', re.DOTALL)
LEFTOVER = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")
COLUMNS = 100
SPDX = "SPDX-License-Identifier: MIT"


def check(root, path):
    text = (Path(root) / path).read_text()
    if SPDX not in "\n".join(text.splitlines()[:2]):
        yield f"{path}:1: no '{SPDX}' on top"
    for match in TOKEN.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        if match.group().startswith("//"):
            yield f"{path}:{line}: // comment"
        elif match.group().startswith("/*"):
            yield from check_comment(path, line, match, text)


def check_comment(path, line, match, text):
    comment = match.group()
    if LEFTOVER.search(comment):
        yield f"{path}:{line}: {LEFTOVER.search(comment).group()} left in a comment"
    before = text[:match.start()].rpartition("\n")[2]
    for n, part in enumerate((before + comment).split("\n")):
        if len(part) > COLUMNS and '"' not in before:
            yield f"{path}:{line + n}: a comment line of {len(part)} columns; at most {COLUMNS}"


def main():
    root = sys.argv[1]
    paths = tree.sources(root, {".c", ".h"}, tree.FOLDERS + ("tests", "bench"))
    tree.finish("comments", len(paths), [line for path in paths for line in check(root, path)])


main()
