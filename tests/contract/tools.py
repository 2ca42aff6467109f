#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tools.py ROOT format|shell: sources are as clang-format writes them, scripts as shellcheck wants them. 77 without the tool."""

import shutil
import subprocess
import sys
from pathlib import Path

import tree

# Versions of a formatter differ: one version is required.
FORMATTERS = ("clang-format-14",)


def is_script(root, path):
    return path.parts[0] in ("scripts", ".ci", "recorder") and (Path(root) / path).read_bytes().startswith(b"#!/bin/")


def main():
    root, what = sys.argv[1:3]
    if what == "format":
        tool = next(filter(None, map(shutil.which, FORMATTERS)), None)
        files = [path for path in tree.tracked(root) if path.suffix in (".c", ".h")]
        options = ["--dry-run", "--Werror"]
    else:
        tool = shutil.which("shellcheck")
        files = [path for path in tree.tracked(root) if is_script(root, path)]
        options = []
    if tool is None:
        print(f"{'clang-format 14' if what == 'format' else 'shellcheck'} is not installed; scripts/setup --tests installs it")
        sys.exit(77)
    run = subprocess.run([tool, *options, *map(str, files)], cwd=root, capture_output=True, text=True)
    lines = (run.stdout + run.stderr).splitlines()
    broken = [line for line in lines if "error:" in line] if what == "format" else lines
    tree.finish(what, len(files), broken + ([f"{tool} ended with {run.returncode}"] if run.returncode and not broken else []))


main()
