# SPDX-License-Identifier: MIT
"""words.py ROOT: identifiers use the terms of docs/glossary.md, none of the words that they replaced."""

import re
import sys
from pathlib import Path

import tree

DENIED = set("""anew asker bell birth births born culled deaths fate fates figures keeper lean newborns nobody nudge
obey orders remark remarks seat seats somebody tell tellers told untold whoever""".split())
NOT_CODE = re.compile(r'/\*.*?\*/|"(?:\\.|[^"\\\n])*"|^\s*#\s*include[^\n]*', re.DOTALL | re.MULTILINE)
IDENTIFIER = re.compile(r"[A-Za-z_]\w*")


def check(root, path):
    code = NOT_CODE.sub(lambda found: "\n" * found[0].count("\n"), (Path(root) / path).read_text())
    for number, line in enumerate(code.splitlines(), 1):
        for name in IDENTIFIER.findall(line):
            denied = DENIED.intersection(name.lower().split("_"))
            if denied:
                yield f"{path}:{number}: {name}: docs/glossary.md has a standard term for '{denied.pop()}'"


def main():
    root = sys.argv[1]
    paths = list(tree.sources(root, {".c", ".h"}))
    tree.finish("words", len(paths), [line for path in paths for line in check(root, path)])


main()
