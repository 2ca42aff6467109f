# SPDX-License-Identifier: MIT
"""Stems of .c files are unique, and no text names a path of the machine it was written on."""

import re
import sys
from pathlib import Path

import tree

MACHINE_PATH = re.compile(r"(?<![\w./<])/(?:work|root|home/(?!user\b|you\b))[\w/-]*/")


def duplicate_stems(root):
    seen = {}
    for path in tree.sources(root, {".c"}):
        if path.stem == "main":
            continue
        if path.stem in seen:
            yield f"{path}: the stem '{path.stem}' is taken by {seen[path.stem]}"
        seen.setdefault(path.stem, path)


def machine_paths(root, paths):
    for path in paths:
        try:
            lines = (Path(root) / path).read_text().splitlines()
        except UnicodeDecodeError:
            continue
        for number, line in enumerate(lines, 1):
            if MACHINE_PATH.search(line):
                yield f"{path}:{number}: a path of one machine: {MACHINE_PATH.search(line).group()}"


def main():
    root = sys.argv[1]
    paths = [p for p in tree.tracked(root) if p.parts[:2] != ("tests", "contract")]
    tree.finish("names", len(paths), list(duplicate_stems(root)) + list(machine_paths(root, paths)))


main()
