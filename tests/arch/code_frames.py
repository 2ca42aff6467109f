#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""code_frames python3|libc|sqlite3 --reader=PROGRAM --arch=NAME, and the options of real_programs.py: what the collector reads of code
without CFI (code_frames.c), at each address that a call of the program returns to, is judged by .debug_frame as readelf reads it. Debian's
python3 and libc have that in their packages for debugging; sqlite3 is built with -g. Then python3 and sqlite3 are recorded: the stacks that
are guessed go by such addresses alone, and by frame pointers or tables."""

import re
import subprocess
import sys
import tempfile
from bisect import bisect_right
from collections import Counter
from pathlib import Path

from foreign import skip, parse_options
from real_programs import PROGRAMS, file_of_symbols, fetch_amalgamation, recorded, run_in, unpack
from recording import imported, rows

FDE = re.compile(r"FDE .*pc=([0-9a-f]+)\.\.([0-9a-f]+)")
RETURN_ADDRESS = {"mips64el": 31, "arm": 14}
CALLEE_SAVED = {"mips64el": {*range(16, 24), 28, 30, 31}, "arm": {*range(4, 12), 14}}
CALL = re.compile(r"\s*([0-9a-f]+):\t([0-9a-f ]+?)\s*\tblx?(?:[a-z]{2})?(?:\.w)?\t")
BUILT_WITH = {"mips64el": ["-Os"], "arm": ["-O2", "-mtune=cortex-a15"]}  # which saves registers otherwise
LEAST = 10000  # addresses, and frames of stacks
MAX_SILENT = {"mips64el": 0.01, "arm": 0.04}


def read_tables(path, arch):
    """[(first address, address behind it, [(address, CFA, {register: place as seen from the CFA})])], by address; of .eh_frame, too."""
    # It fails where .eh_frame is empty, as it is in a file that is for debugging alone.
    shown = subprocess.run(["readelf", "--debug-dump=frames-interp", path], capture_output=True, text=True).stdout
    tables, rows, columns = [], [], []
    for line in shown.splitlines():
        words = line.split()
        if found := FDE.search(line):
            first, behind = (int(word, 16) for word in found.groups())
            rows = [(first, initial, {})]
            tables.append((first, behind, rows))
        elif " CIE " in line:
            rows = None
        elif words[:2] == ["LOC", "CFA"]:
            columns = [RETURN_ADDRESS[arch] if word == "ra" else int(word[1:]) for word in words[2:]]
        elif len(words) == 2 + len(columns) and re.fullmatch("[0-9a-f]{8,16}", words[0]):
            if rows is None:
                initial = words[1]
                continue
            saved = {register: int(word[1:]) for register, word in zip(columns, words[2:]) if word.startswith("c")}
            if rows[-1][0] == int(words[0], 16):
                rows.pop()
            rows.append((int(words[0], 16), words[1], saved))
    return tables


class Judge:
    def __init__(self, paths, arch):
        self.arch = arch
        self.tables = sorted((table for path in paths for table in read_tables(path, arch)), key=lambda table: table[:2])
        self.starts = [table[0] for table in self.tables]

    def row(self, address):
        at = bisect_right(self.starts, address) - 1
        if at < 0 or address >= self.tables[at][1]:
            return None
        rows = self.tables[at][2]
        return rows[bisect_right([row[0] for row in rows], address) - 1][1:]

    def verdict(self, pc, frame):
        """frame: (CFA, {register: place}) or None. Judged by the row of the call before pc."""
        row = self.row(pc - 1)
        if row is None:
            return "unknown"
        if frame is None:
            return "silent"
        cfa, saved = row
        saved = {register: place for register, place in saved.items() if register in CALLEE_SAVED[self.arch]}
        return "same" if (cfa, saved) == frame else "other"


def frames_of(lines):
    for line in lines:
        words = line.split()
        numbers = [int(word) for word in words[1:]]
        frame = (f"r{numbers[0]}{numbers[1]:+}", dict(zip(numbers[2::2], numbers[3::2]))) if numbers else None
        yield int(words[0], 16), frame


def calls(options, path, *tables):
    """Return addresses, as objdump finds them. Constants in Thumb code, or parts of two instructions, may look like a call."""
    with tempfile.TemporaryDirectory() as folder:
        whole = Path(folder) / "whole"
        if tables:
            subprocess.run(["eu-unstrip", path, *tables, "-o", whole], check=True)
        argv = [f"{options.tools}-objdump", "-d", whole if tables else path]
        output = subprocess.run(argv, check=True, capture_output=True, text=True).stdout
    found = filter(None, map(CALL.match, output.splitlines()))
    return {int(call[1], 16) + len(call[2].replace(" ", "")) // 2 for call in found}


def judged(options, path, *tables):
    """{address: verdict}, of all addresses in a file that a call may return to; its tables are in these files."""
    judge, verdicts = Judge([path, *tables], options.arch), {}
    output = subprocess.run([*options.run, options.reader, path], check=True, capture_output=True, text=True).stdout
    frames = dict(frames_of(output.splitlines()))
    for pc in calls(options, path, *tables) & frames.keys() if options.arch == "arm" else frames:
        frame = frames[pc]
        verdicts[pc] = judge.verdict(pc, frame)
        if verdicts[pc] == "other":
            print(f"{pc:#x}: {frame}, .debug_frame says {judge.row(pc - 1)}")
    found = Counter(verdicts.values())
    print(f"{path.name}: of {found.total() - found['unknown']} addresses behind calls the frames of {found['same']} are as .debug_frame says,"
          f" {found['other']} are not, {found['silent']} are not found")
    if found["other"] or found["same"] < LEAST or found["silent"] > found["same"] * MAX_SILENT[options.arch]:
        sys.exit(1)
    return verdicts


def judge_stacks(options, root, verdicts):
    """All frames of the program on stacks that are marked as guessed, but for the outermost ones, beyond which no caller is looked for."""
    path = root / PROGRAMS[options.case].path
    with tempfile.TemporaryDirectory() as folder:
        _, log = recorded(options, root, options.triplet, Path(folder) / "recorded.dat")
        found = rows(imported(options, log, Path(folder)), f"""SELECT f.object_offset, count(*) FROM allocations JOIN stack_texts t USING (backtrace_id)
            JOIN stack_frames f USING (backtrace_id) WHERE t.status = 'guessed' AND f.module = '{path}' AND f.inline_level = 0
              AND f.frame < (SELECT max(frame) FROM stack_frames o WHERE o.backtrace_id = f.backtrace_id) GROUP BY 1""")
    counts = Counter()
    for address, n in found:
        counts[verdicts.get(address, "unknown")] += n
    print(f"{counts.total()} frames of guessed stacks, {len(found)} of them different: {dict(counts)}")
    if counts["same"] < LEAST or counts["same"] < counts.total():
        sys.exit(1)


def debian(options, name, packages, symbols):
    root = unpack(options.packages / name, packages.split(), options.debian)
    debug = unpack(options.packages / "symbols", [symbols], options.debian, "./usr/lib/debug") / "usr/lib/debug"
    return root, debug


def sqlite3(options):
    """Compiled with other options than Debian's programs."""
    root = options.packages / "code_frames"
    program = root / PROGRAMS["sqlite3"].path
    if not program.exists():
        program.parent.mkdir(parents=True, exist_ok=True)
        source = fetch_amalgamation(options.packages / "sqlite3")
        unfinished = program.with_suffix(".new")
        run_in(source, f"{options.triplet}-gcc", *BUILT_WITH[options.arch], "-g", "-fno-asynchronous-unwind-tables", "-fno-unwind-tables", "shell.c", "sqlite3.c", "-lm", "-o", unfinished)
        unfinished.rename(program)
    judge_stacks(options, root, judged(options, program))


def python3(options):
    program = PROGRAMS["python3"]
    root, debug = debian(options, "python3", program.packages, program.symbols)
    path = root / program.path
    judge_stacks(options, root, judged(options, path, file_of_symbols(path, debug)))


def libc(options):
    root, debug = debian(options, "libc", "libc6", "libc6-dbg")
    path = root / "lib" / options.triplet / "libc.so.6"
    tables = file_of_symbols(path, debug)
    if not tables.exists():
        skip(f"{tables} is not there: libc6-dbg is of another version")
    judged(options, path, tables)


CASES = {"python3": python3, "libc": libc, "sqlite3": sqlite3}


def main():
    options = parse_options(CASES, names=["arch", "debian", "triplet", "tools"], paths=["reader", "collector", "native", "packages"])
    options.run = [options.emulator] if options.emulator else []
    for name in options.case, "sqlite3":
        (options.packages / name).mkdir(parents=True, exist_ok=True)
    CASES[options.case](options)


if __name__ == "__main__":
    main()
