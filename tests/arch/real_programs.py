#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""real_programs PROGRAM --emulator=QEMU --collector=LIBRARY --native=BUILD --packages=FOLDER --debian=NAME --triplet=TRIPLET: Debian's
sqlite3 or python3 of another processor does under qemu-user what Debian's native one of the same version does. Every allocation of the
one is one of the other; where a size differs it is known why. Each stack is compared with libunwind's of that processor, and names and
lines with binutils'. Where Debian has none for the processor, or none with usable stacks (--debian is left out), sqlite3 is built for
both from its source package, by the same compiler with the same options. Where its words have 32 bits no size is the same: each stack has as
many allocations as natively, but for what is known to differ."""

import os
import subprocess
import sys
import tempfile
from collections import Counter, namedtuple
from pathlib import Path
from urllib.parse import unquote

from foreign import skip, parse_options
from recording import imported, rows

HERE = Path(__file__).parent / "real"
ROOT = Path(__file__).parents[2]
NATIVE = "amd64", "x86_64-linux-gnu"
CHARACTER_BYTES = 4  # TRIPLET is longer than x86_64-linux-gnu, and so are names of files: some are made of wchar_t
PYMALLOC_MAX = 512  # a name that is longer there than this takes a block that is none of malloc's natively

ELF_CLASS, ELF_CLASS_32 = 4, 1

# Allocations that sqlite3 makes less often with words of 32 bits, and their stacks: docs/porting.md has the reasons.
FEWER = {"growOpArray": 3, "sqlite3VdbeMakeReady": 2, "memjrnlWrite": 1}

Program = namedtuple("Program", "packages symbols path argv input larger")
PROGRAMS = {
    "sqlite3": Program(
        "sqlite3 libsqlite3-0 libreadline8 libtinfo6 zlib1g", None, "usr/bin/sqlite3", "-batch -init /dev/null :memory:", "tree.sql",
        {8}),  # a sqlite3_mutex: pthread_mutex_t has 48 bytes, not 40
    "python3": Program(
        "python3.11-minimal libpython3.11-minimal libpython3.11-stdlib libexpat1 zlib1g", "python3.11-dbg", "usr/bin/python3.11",
        f"-S -B {HERE / 'tree.py'}", None,
        {41, 439}),  # a struct link_map of ld.so, and one character of its name
}


def versions_in(root):
    """NAME_VERSION_ARCHITECTURE.deb, of what was unpacked there."""
    lines = (line.split("_") for mark in (root / ".unpacked").iterdir() for line in mark.read_text(encoding="utf-8").splitlines())
    return {name: unquote(version) for name, version, _ in lines}


def is_known(architecture):
    """Whether apt has packages of this processor (scripts/setup)."""
    output = [subprocess.run(["dpkg", f"--print-{which}"], check=True, capture_output=True, text=True).stdout.split()
            for which in ("architecture", "foreign-architectures")]
    return architecture in sum(output, [])


def unpack(folder, names, architecture, *only, versions=None):
    """Debian's packages cannot be installed for two processors where they have programs. What is there is not fetched again."""
    root = folder / architecture.ljust(len("mips64el"), "_")  # names of files are as long for each, but for the triplet
    wanted = [f"{name}:{architecture}" + (f"={versions[name]}" if versions else "") for name in names]
    mark = root / ".unpacked" / "+".join(names)
    if mark.exists():
        return root
    mark.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as fetched:
        argv = ["apt-get", "-q", "download"] if is_known(architecture) else [ROOT / "scripts/debian-packages", architecture, fetched]
        done = subprocess.run([*argv, *wanted], cwd=fetched, capture_output=True, text=True)
        if done.returncode:
            skip(f"cannot fetch {' '.join(wanted)}: {done.stderr.strip()}")
        for package in Path(fetched).glob("*.deb"):
            content = subprocess.run(["dpkg-deb", "--fsys-tarfile", package], check=True, capture_output=True).stdout
            subprocess.run(["tar", "-x", "-C", root, *only], input=content, check=True)
        mark.write_text("".join(sorted(package.name + "\n" for package in Path(fetched).glob("*.deb"))))
    return root


def run_in(folder, *argv):
    done = subprocess.run(list(map(str, argv)), cwd=folder, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{argv[0]}: status {done.returncode}\n{done.stderr[-2000:]}")


def fetch_amalgamation(folder):
    if not (folder / "source").exists():
        done = subprocess.run([ROOT / "scripts/debian-source", "sqlite3", folder / "source"], capture_output=True, text=True)
        if done.returncode:
            skip(f"cannot fetch the source of sqlite3: {done.stderr.strip()}")
    made = folder / "amalgamation"
    made.mkdir(exist_ok=True)
    if not (made / "shell.c").exists():
        run_in(made, "../source/configure", "--disable-readline")
        run_in(made, "make", "sqlite3.c", "shell.c")
    return made


def build(folder, tools, level):
    """sqlite3 with all in one file; what is there is not built again."""
    program = folder / tools / PROGRAMS["sqlite3"].path
    if not program.exists():
        program.parent.mkdir(parents=True, exist_ok=True)
        unfinished = program.with_suffix(".new")
        # Tables are not gcc's custom on RISC-V before 13, nor for C on ARM.
        run_in(fetch_amalgamation(folder), f"{tools}-gcc", level, "-g", "-fasynchronous-unwind-tables", "shell.c", "sqlite3.c", "-lm", "-o", unfinished)
        unfinished.rename(program)
    return folder / tools


def recorded(options, root, triplet, log, **more):
    is_native = triplet == NATIVE[1]
    is_emulated = options.emulator and not is_native
    libraries = options.native / "lib/mtrace" if is_native else options.collector.parent
    program = PROGRAMS[options.case]
    settings = {"LD_LIBRARY_PATH": f"{root}/lib/{triplet}:{root}/usr/lib/{triplet}", "LD_PRELOAD": libraries / "libmtrace.so",
                "MTRACE_OUTPUT": log, "PYTHONHASHSEED": 0, "PYTHONPYCACHEPREFIX": "/nonexistent", **more}
    settings = {key: str(value) for key, value in settings.items()}
    argv = [root / program.path, *program.argv.split()]
    if is_emulated:  # not in the environment, which the program would have
        prefix = ["-L", os.environ["QEMU_LD_PREFIX"]] if os.environ.get("QEMU_LD_PREFIX") else []
        argv = [options.emulator, *prefix, *(word for key, value in settings.items() for word in ("-E", f"{key}={value}")), *argv]
    with open(HERE / program.input if program.input else os.devnull, encoding="utf-8") as given:
        done = subprocess.run(list(map(str, argv)), env={} if is_emulated else settings, stdin=given, capture_output=True, text=True)
    if done.returncode or not done.stdout:
        sys.exit(f"{root.name}: status {done.returncode}\n{done.stderr}")
    return done.stdout, log


def compare_sizes(program, triplet, here, there, least):
    """Both in ascending order, those without a twin."""
    longer = CHARACTER_BYTES * (len(triplet) - len(NATIVE[1]))
    sql = "SELECT kind, size_bytes, free_ns IS NULL FROM allocations"
    here, there = Counter(rows(here, sql)), Counter(rows(there, sql))
    lone_here, lone_there = sorted((here - there).elements()), sorted((there - here).elements())
    print(f"{sum(there.values())} allocations there, {sum(here.values())} natively; without a twin: {lone_there} there, {lone_here} natively")
    while len(lone_there) > len(lone_here) and (large := [row for row in lone_there if PYMALLOC_MAX < row[1] <= PYMALLOC_MAX + longer]):
        lone_there.remove(large[0])
    if len(lone_there) != len(lone_here) or sum(here.values()) < least:
        sys.exit("not the same number")
    for (*what_here, size_here, held_here), (*what_there, size_there, held_there) in zip(lone_here, lone_there):
        larger = size_there - size_here
        if (what_here, held_here) != (what_there, held_there) or not (0 <= larger <= longer or larger in program.larger):
            sys.exit(f"{size_there} bytes there, {size_here} natively: for an unknown reason")


def is_narrow(path):
    """A program with words of 32 bits."""
    with open(path, "rb") as file:
        return file.read(ELF_CLASS + 1)[ELF_CLASS] == ELF_CLASS_32


def own_stacks(database, path):
    """How many allocations each stack of functions of the program has, of those that it calls for itself."""
    return Counter(dict(rows(database, f"""SELECT functions, sum(n) FROM (
        SELECT n, (SELECT group_concat(function, ' ') FROM (SELECT function FROM stack_frames WHERE backtrace_id = a.backtrace_id
                     AND module = '{path}' ORDER BY frame, inline_level)) functions
        FROM (SELECT backtrace_id, count(*) n FROM allocations GROUP BY 1) a
        WHERE EXISTS (SELECT 1 FROM stack_frames WHERE backtrace_id = a.backtrace_id AND frame = 0 AND module = '{path}')) GROUP BY 1""")))


def compare_counts(here, there, native_path, path, least):
    n_here, n_there = (rows(database, "SELECT count(*) FROM allocations")[0][0] for database in (here, there))
    stacks_here, stacks_there = own_stacks(here, native_path), own_stacks(there, path)
    print(f"{n_there} allocations there, {n_here} natively; {len(stacks_there)} stacks there, {len(stacks_here)} natively")
    fewer = Counter()
    for stack in stacks_here | stacks_there:
        difference = stacks_here[stack] - stacks_there[stack]
        names = [name for name in FEWER if name in stack.split()]
        if difference and not names:
            sys.exit(f"{stacks_there[stack]} times there, {stacks_here[stack]} natively, for an unknown reason: {stack}")
        for name in names:
            fewer[name] += difference
    if fewer != FEWER or n_here - n_there != sum(FEWER.values()) or n_here < least:
        sys.exit(f"{n_here - n_there} fewer, of these {dict(fewer)}: not what is known")


def as_binutils_print(ours, theirs):
    """Functions that link time optimization merged from several files are called <artificial>."""
    if theirs.partition("<artificial>")[1]:
        place, line = theirs.rsplit(":", 1)
        return ours.split()[0] == place.split()[0] and ours.rsplit(":", 1)[1] == line
    return ours == theirs


def file_of_symbols(path, folder):
    if not folder:
        return path
    note = subprocess.run(["readelf", "-n", path], check=True, capture_output=True, text=True).stdout
    build_id = note.split("Build ID:")[1].split()[0]
    return folder / ".build-id" / build_id[:2] / f"{build_id[2:]}.debug"


def compare_names(options, database, root, symbols):
    """The frames with most allocations, of the program itself; innermost of what was inlined first."""
    program = PROGRAMS[options.case]
    found = rows(database, f"""SELECT f.object_offset, group_concat(f.function || ' ' || f.source || ':' || f.line, '\n') FROM
        (SELECT * FROM stack_frames WHERE frame_id IN (SELECT frame_id FROM stack_frames s JOIN allocations USING (backtrace_id)
           WHERE module = '{root / program.path}' AND source IS NOT NULL GROUP BY 1 ORDER BY count(*) DESC LIMIT 200)
         GROUP BY object_offset, inline_level ORDER BY object_offset, inline_level) f GROUP BY 1""")
    argv = [f"{options.tools}-addr2line", "-fia", "-e", file_of_symbols(root / program.path, symbols)]
    # Asked for the call, not for what it returns to.
    output = subprocess.run([*argv, *(hex(offset - 1) for offset, _ in found)], check=True, capture_output=True, text=True).stdout
    wrong = 0
    for (offset, ours), theirs in zip(found, output.split("0x")[1:], strict=True):
        _, *theirs = theirs.splitlines()
        theirs = [f"{name} {os.path.normpath(place.split(' (')[0])}" for name, place in zip(theirs[::2], theirs[1::2])]
        ours = ours.splitlines()
        if len(ours) != len(theirs) or not all(map(as_binutils_print, ours, theirs)):
            wrong += 1
            print(f"{offset:#x}: {ours}, binutils print {theirs}")
    print(f"{len(found)} frames named, {wrong} otherwise than binutils do")
    if wrong or len(found) < 100:
        sys.exit(1)


def check_stacks(options, root, folder, least):
    method = {"UNW_ARM_UNWIND_METHOD": 4} if options.triplet.startswith("arm") else {}  # no .debug_frame (recording.py)
    _, log = recorded(options, root, options.triplet, folder / "checked.dat", MTRACE_UNWINDER="check", **method)
    meta = dict(rows(imported(options, log, folder), "SELECT key, value FROM meta"))
    print(f"{meta['unwinder.checked']} stacks compared with libunwind's, {meta['unwinder.mismatches']} differ")
    if int(meta["unwinder.checked"]) < least or int(meta["unwinder.mismatches"]) != 0:
        sys.exit("\n".join(value for key, value in meta.items() if key.startswith("message")))


def main():
    # --level of optimization, of what is built
    options = parse_options(PROGRAMS, names=["debian", "triplet", "tools", "level"], paths=["collector", "native", "packages"], level="-O1")
    program, packages = PROGRAMS[options.case], options.packages / options.case
    names, symbols, more = program.packages.split(), None, []
    packages.mkdir(parents=True, exist_ok=True)
    if not options.debian:
        # Which functions are inlined depends on the processor.
        native_root, root = (build(packages, tools, options.level) for tools in (NATIVE[1], options.tools))
        least = 3000
    else:
        least = 10000
        root = unpack(packages, names, options.debian)
        native_root = unpack(packages, names, NATIVE[0], versions=versions_in(root))
    if options.debian and program.symbols:
        symbols = unpack(packages / "symbols", [program.symbols], options.debian, "./usr/lib/debug") / "usr/lib/debug"
        more = ["--debug-dir", symbols]
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        printed_here, log_here = recorded(options, native_root, NATIVE[1], folder / "here.dat")
        printed_there, log_there = recorded(options, root, options.triplet, folder / "there.dat")
        if printed_here != printed_there:
            sys.exit(f"the programs do not say the same:\n{printed_there}\n{printed_here}")
        here, there = imported(options, log_here, folder), imported(options, log_there, folder, *more)
        if symbols or not options.debian:
            compare_names(options, there, root, symbols)
        if is_narrow(root / program.path):
            compare_counts(here, there, native_root / program.path, root / program.path, least)
        else:
            compare_sizes(program, options.triplet, here, there, least)
        check_stacks(options, root, folder, least)


if __name__ == "__main__":
    main()
