# SPDX-License-Identifier: MIT
"""Options for tests of another processor, and how its programs are run: by qemu-user, or directly (--emulator is empty)."""

import argparse
import sys
from pathlib import Path

SKIPPED = 77


def skip(why):
    print(why)
    sys.exit(SKIPPED)


def parse_options(cases, names=(), paths=(), **defaults):
    """The options: a case, and each name and path as --NAME."""
    parser = argparse.ArgumentParser()
    parser.add_argument("case", choices=list(cases))
    for name in names:
        parser.add_argument(f"--{name}", default=defaults.get(name))
    for name in "emulator", *paths:
        parser.add_argument(f"--{name}", type=lambda path: Path(path) if path else None)
    options = parser.parse_args()
    if options.emulator and not options.emulator.is_file():
        skip("no qemu-user: nothing was tested")
    return options
