# SPDX-License-Identifier: MIT
"""Includes obey the arrows of docs/architecture.md, and are written from the root of the tree."""

import re
import sys
from pathlib import Path

import tree

MAY_INCLUDE = {
    "common": set(),
    "collector": {"common"},
    "support": {"common"},
    "symbolizer": {"common", "support"},
    "importer": {"common", "support", "symbolizer"},
    "queries": {"common", "support"},
    "recorder": {"common", "support"},
}
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')


def check(root, path):
    folder = path.parts[0]
    for number, line in enumerate((Path(root) / path).read_text().splitlines(), 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        target = match.group(1)
        if not (Path(root) / target).is_file():
            yield f"{path}:{number}: \"{target}\" is not a path from the root of the tree"
        elif target.split("/")[0] not in MAY_INCLUDE[folder] | {folder}:
            yield f"{path}:{number}: {folder}/ may not include {target}"


def main():
    root = sys.argv[1]
    paths = tree.sources(root, {".c", ".h"})
    tree.finish("includes", len(paths), [line for path in paths for line in check(root, path)])


main()
