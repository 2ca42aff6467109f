#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""starts.py PRINT_POSITIONS PROGRAM: functions of a stripped copy of PROGRAM are named by their starts, which are those that nm
shows for PROGRAM itself. Positions in a function have one name."""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path


def main():
    program, path = sys.argv[1:]
    missing = [tool for tool in ("strip", "nm") if not shutil.which(tool)]
    if missing:
        print("skipped: not installed: " + ", ".join(missing))
        sys.exit(77)
    listing = subprocess.run(["nm", "-S", "--defined-only", path], capture_output=True, text=True, check=True).stdout
    # A linker folds no functions here; aliases have the same start and size.
    functions = {(int(match[1], 16), int(match[2], 16)) for match in re.finditer(r"^([0-9a-f]+) ([0-9a-f]+) [tT] (?!_init|_fini|_start)", listing, re.M)}
    asked = {start + part * (size - 1) // 2: start for start, size in functions if size > 1 for part in (0, 1, 2)}
    with tempfile.TemporaryDirectory() as folder:
        stripped = Path(folder, "stripped")
        subprocess.run(["strip", "-o", stripped, path], check=True)
        text = subprocess.run([program, stripped], input="\n".join(f"0x{address:x}" for address in sorted(asked)), capture_output=True, text=True,
                              check=True).stdout
    names = dict(zip(re.findall(r"^0x([0-9a-f]+)$", text, re.M), re.findall(r"^0x[0-9a-f]+\n(.*)$", text, re.M)))
    exported = {name for name in names.values() if not re.search(r"\+0x[0-9a-f]+$", name)}
    wrong = [f"0x{address:x}: {names.get(f'{address:x}')} instead of stripped+0x{start:x}" for address, start in sorted(asked.items())
             if names.get(f"{address:x}") not in {f"stripped+0x{start:x}", *exported}]
    print(f"{len(asked)} positions in {len(functions)} functions, {len(wrong)} wrong", *wrong[:5], sep="\n")
    sys.exit(not functions or len(wrong) > 0 or len(exported) > len(functions) // 10)


main()
