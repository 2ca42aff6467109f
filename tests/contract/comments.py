# SPDX-License-Identifier: MIT
"""C sources have /* */ comments only, no leftovers in them, and an SPDX line on top."""

import re
import sys
from pathlib import Path

import tree

# A token that can hide "//": a comment, a string or a character.
TOKEN = re.compile(r'/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|//[^\n]*', re.DOTALL)
LEFTOVER = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")
SPDX = "SPDX-License-Identifier: MIT"


def check(root, path):
    text = (Path(root) / path).read_text()
    if SPDX not in "\n".join(text.splitlines()[:2]):
        yield f"{path}:1: no '{SPDX}' on top"
    for match in TOKEN.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        if match.group().startswith("//"):
            yield f"{path}:{line}: // comment"
        elif match.group().startswith("/*") and LEFTOVER.search(match.group()):
            yield f"{path}:{line}: {LEFTOVER.search(match.group()).group()} left in a comment"


def main():
    root = sys.argv[1]
    paths = tree.sources(root, {".c", ".h"}, tree.FOLDERS + ("tests", "bench"))
    tree.finish("comments", len(paths), [line for path in paths for line in check(root, path)])


main()
