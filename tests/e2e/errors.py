#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""errors.py: `mtrace-query errors` reports the bad frees that valgrind reports, with the same stacks: of a program, and of one that glibc
ends for a double free. A slim import has no blocks that would tell the kinds apart."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
import harness  # noqa: E402
from harness import expect  # noqa: E402



def in_valgrind(argv):
    """(kind, offset, functions of the call) of each bad free."""
    text = subprocess.run(["valgrind", *argv], capture_output=True, text=True, timeout=60, check=False).stderr
    found = []
    for part in re.split(r"^==\d+== \n", text, flags=re.MULTILINE):
        if "Invalid free()" not in part:
            continue
        call = part.split(" Address ")[0]
        block = re.search(r"is (\d+) bytes inside a block of size \d+ (alloc|free)'d", part)
        kind = "double_free" if block and block[2] == "free" else "invalid_free"
        found.append((kind, int(block[1]) if block else None, re.findall(r"by 0x\w+: (\w+) ", call)))
    return found


def by_us(tools, place, name, argv, of_import=()):
    log = place / f"{name}.dat"
    subprocess.run([tools.record, "-o", log, "--", *argv], capture_output=True, timeout=60, check=False)
    subprocess.run([tools.importer, *of_import, log, place / f"{name}.db"], capture_output=True, timeout=60, check=True)
    answer = subprocess.run([tools.query, "errors", place / f"{name}.db", "--json"], capture_output=True, text=True, timeout=60, check=True)
    return [(row["kind"], row["offset_bytes"], [position.split()[0] for position in row["stack"].split(" < ")])
            for row in json.loads(answer.stdout)]


def own(errors):
    """Without the frames outside of main."""
    return [(kind, offset, functions[:functions.index("main") + 1]) for kind, offset, functions in errors]


def main():
    if not shutil.which("valgrind"):
        raise harness.Skip("valgrind is not installed")
    tools = harness.Tools.from_environment()
    program = tools.workloads / "bad_frees"
    with harness.scratch() as scratch:
        place = Path(scratch)
        for name, argv, n_errors in (("unnoticed", [program], 5), ("noticed", [program, "noticed"], 1)):
            ours = own(by_us(tools, place, name, argv))
            expect(name, ours, own(in_valgrind(argv)))
            expect(f"number of {name} errors", len(ours), n_errors)
        followed = own(by_us(tools, place, "followed", [program], of_import=["--follow"]))
        expect("number of followed errors", len(followed), 5)
        slim = by_us(tools, place, "slim", [program], of_import=["--slim"])
        expect("kinds of a slim import", [kind for kind, _, _ in slim], 5 * ["unknown"])
    print("the same 6 bad frees as in valgrind")


harness.main(main)
