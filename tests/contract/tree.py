# SPDX-License-Identifier: MIT
"""Shared by the contract tests: the sources of the tree, and how a broken rule is reported."""

import subprocess
import sys
from pathlib import Path

FOLDERS = ("lib", "collector", "symbolizer", "importer", "queries", "remote", "recorder", "server")


def sources(root, suffixes, folders=FOLDERS):
    """Paths below the given folders with one of the suffixes, relative to root, sorted."""
    found = []
    for folder in folders:
        for path in sorted((Path(root) / folder).rglob("*")):
            if path.suffix in suffixes and path.is_file():
                found.append(path.relative_to(root))
    return found


def tracked(root):
    """Every file git knows, or every file when the tree is no checkout (a source package)."""
    try:
        names = subprocess.run(["git", "-C", root, "-c", f"safe.directory={root}", "ls-files", "-z"],
                               check=True, capture_output=True).stdout.decode()
        return [Path(name) for name in names.split("\0") if name and (Path(root) / name).is_file()]
    except (OSError, subprocess.CalledProcessError):
        return [p.relative_to(root) for p in sorted(Path(root).rglob("*"))
                if p.is_file() and "build" not in p.relative_to(root).parts]


def finish(what, n_checked, broken):
    """Prints the verdict; exits 1 when a rule is broken or nothing was there to be checked."""
    for line in broken:
        print(line)
    print(f"{what}: {n_checked} checked, {len(broken)} broken")
    sys.exit(1 if broken or n_checked == 0 else 0)
