# SPDX-License-Identifier: MIT
"""Logs of other processors: code is named as the processor's own binutils name it.

usage: foreign.py IMPORT FOREIGN_LOG FIXTURE

For each cross compiler that is installed (i386 is this machine's own): an object, a log that names every return address of every call in it, and
the functions and lines that the processor's own addr2line gives for the instruction of the call. Then what is not the
recorded object: a file of this machine at the same path.
"""

import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

IMPORT, FOREIGN_LOG, FIXTURE = sys.argv[1:4]
RECORDED_PATH = "/opt/lib/fixture.so"
FAILURES = []

# name, architecture of the database, ELF's number, bytes of a word, compiler, prefix of binutils, bit of a return address
MACHINES = [
    ("aarch64", "aarch64", 183, 8, ["aarch64-linux-gnu-gcc"], "aarch64-linux-gnu-", 0),
    ("riscv64", "riscv64", 243, 8, ["riscv64-linux-gnu-gcc"], "riscv64-linux-gnu-", 0),
    ("arm", "arm", 40, 4, ["arm-linux-gnueabihf-gcc", "-marm"], "arm-linux-gnueabihf-", 0),
    ("thumb", "arm", 40, 4, ["arm-linux-gnueabihf-gcc", "-mthumb"], "arm-linux-gnueabihf-", 1),
    ("mips64el", "mips64el", 8, 8, ["mips64el-linux-gnuabi64-gcc"], "mips64el-linux-gnuabi64-", 0),
    ("i386", "i386", 3, 4, ["gcc", "-m32"], "", 0),
    ("x86_64", "x86_64", 62, 8, ["gcc"], "", 0),
]
CALLS = {"bl", "blx", "blr", "bal", "jal", "jalr", "call", "c.jalr"}


def run(*command, stdin=None, check=True):
    return subprocess.run([str(word) for word in command], input=stdin, capture_output=True, text=True, check=check)


def check(what, good, details=""):
    print(f"{'ok' if good else 'FAILED'}: {what}")
    if not good:
        print(f"    {details}")
        FAILURES.append(what)


def instructions(prefix, path):
    """(address, mnemonic) of all code."""
    listing = run(f"{prefix}objdump", "-d", "--no-show-raw-insn", "-j", ".text", path).stdout
    return [(int(address, 16), mnemonic) for address, mnemonic in re.findall(r"^ +([0-9a-f]+):\t(\S+)", listing, re.M)]


def calls(name, code):
    """(address of a call, its return address)."""
    found = []
    for (address, mnemonic), following in zip(code, code[1:] + [None]):
        if mnemonic not in CALLS:
            continue
        if name == "mips64el":
            found.append((address, address + 8))
        elif following:
            found.append((address, following[0]))
    return found


def place_of(text):
    """File name and line of FOLDER/FILE:LINE (discriminator N); no file is ?? or nothing."""
    path, line = text.split(" ")[0].rsplit(":", 1)
    return (Path(path).name or "??"), line


def addr2line(prefix, path, addresses):
    """For each address its levels: (function, file name, line)."""
    lines = run(f"{prefix}addr2line", "-a", "-f", "-i", "-e", path, *[hex(a) for a in addresses]).stdout.splitlines()
    found = []
    for line in lines:
        if line.startswith("0x"):
            found.append([])
        else:
            found[-1].append(line)
    return [[(function, *place_of(text)) for function, text in zip(levels[::2], levels[1::2])] for levels in found]


def import_log(scratch, arch, word_bytes, path, build_id, positions, *options):
    load = "56550000" if word_bytes == 4 else "5555550000"
    run(FOREIGN_LOG, scratch / "log", arch, word_bytes, path, build_id, load, stdin="\n".join(positions) + "\n")
    target = scratch / "db"
    target.unlink(missing_ok=True)
    run(IMPORT, scratch / "log", "-o", target, *options)
    return sqlite3.connect(target)


def levels_of(database):
    """By offset and is_exact, as addr2line."""
    found = {}
    for offset, is_exact, function, source, line in database.execute(
            "SELECT f.object_offset, f.is_exact, fn.raw_name, s.path, l.line FROM frames f JOIN frame_lines l USING (frame_id)"
            " LEFT JOIN functions fn USING (function_id) LEFT JOIN sources s USING (source_id)"
            " WHERE f.object_id IS NOT NULL ORDER BY f.frame_id, l.inline_level"):
        found.setdefault((offset, is_exact), []).append((function, Path(source or "??").name, str(line or "?")))
    return found


def build(scratch, compiler):
    path = scratch / ("root" + RECORDED_PATH)
    path.parent.mkdir(parents=True)
    run(*compiler, "-O1", "-g", "-shared", "-nostdlib", "-fPIC", "-Wl,--build-id=sha1", FIXTURE, "-o", path)
    return path


def test_machine(scratch, name, architecture, number, word_bytes, compiler, prefix, mode_bit):
    path = build(scratch, compiler)
    notes = run(f"{prefix}readelf", "-n", path).stdout
    build_id = re.search(r"Build ID: ([0-9a-f]+)", notes).group(1)
    code = instructions(prefix, path)
    found = calls(name, code)
    check(f"{name}: the fixture has calls", len(found) >= 10, found)
    exact = [address for address, _ in code]
    positions = [f"{after | mode_bit:x}" for _, after in found] + [f"={address:x}" for address in exact]
    database = import_log(scratch, number, word_bytes, RECORDED_PATH, build_id, positions, "--sysroot", scratch / "root")
    levels = levels_of(database)

    wrong = [(hex(call), levels.get((after | mode_bit, 0)), expected)
             for (call, after), expected in zip(found, addr2line(prefix, path, [call for call, _ in found]))
             if levels.get((after | mode_bit, 0)) != expected]
    check(f"{name}: {len(found)} calls have addr2line's functions and lines", not wrong, wrong[:3])
    # Between functions addr2line names the one before; mtrace names none.
    wrong = [(hex(address), levels.get((address, 1)), expected)
             for address, expected in zip(exact, addr2line(prefix, path, exact))
             if levels.get((address, 1)) not in (expected, [(None, "??", "?")] if expected[0][2] == "?" else expected)]
    check(f"{name}: and so have {len(exact)} interrupted positions", not wrong, wrong[:3])

    n = len(positions)
    rows = database.execute("SELECT count(*), sum(size_bytes), max(address) < 1 << 32 FROM allocations").fetchone()
    check(f"{name}: all blocks are there", rows == (n, n * (n + 1) // 2, 1), rows)
    output = database.execute("SELECT p.architecture, o.architecture, o.debug_note FROM processes p, objects o").fetchall()
    shown = run(Path(IMPORT).with_name("mtrace-query"), "summary", scratch / "db").stdout.splitlines()[0]
    check(f"{name}: the summary says so where it is another machine's",
          ("x86_64" if name == "x86_64" else f"(pid 1000, {architecture})") in shown.replace("(pid 1000)", "x86_64"), shown)
    check(f"{name}: the database says {architecture}", output == [(architecture, architecture, None)], output)


def test_stripped(scratch, name, number, word_bytes, compiler, prefix, mode_bit):
    """Names from the symbol table alone: Thumb functions begin at odd addresses there, $t is none."""
    path = build(scratch, compiler)
    run(f"{prefix}strip", "--strip-debug", path)
    symbols = re.findall(r"^([0-9a-f]+) [Tt] (fixture_\w+|hidden)$", run(f"{prefix}nm", path).stdout, re.M)
    positions = [f"={int(address, 16) & ~mode_bit:x}" for address, _ in symbols]
    build_id = re.search(r"Build ID: ([0-9a-f]+)", run(f"{prefix}readelf", "-n", path).stdout).group(1)
    levels = levels_of(import_log(scratch, number, word_bytes, RECORDED_PATH, build_id, positions, "--sysroot",
                                  scratch / "root"))
    wrong = [(symbol, levels.get((int(address, 16) & ~mode_bit, 1))) for address, symbol in symbols
             if levels.get((int(address, 16) & ~mode_bit, 1)) != [(symbol, "??", "?")]]
    check(f"{name}: {len(symbols)} functions are named by symbols", len(symbols) >= 6 and not wrong, wrong)


def test_by_build_id(scratch, compiler):
    """Without a sysroot the object is found in a folder of build-ids, and through links of its own root."""
    path = build(scratch, compiler)
    build_id = re.search(r"Build ID: ([0-9a-f]+)", run("readelf", "-n", path).stdout).group(1)
    folder = scratch / "ids"
    (folder / ".build-id" / build_id[:2]).mkdir(parents=True)
    shutil.copy(path, folder / ".build-id" / build_id[:2] / build_id[2:])
    address = run("nm", path).stdout
    address = re.search(r"^([0-9a-f]+) T fixture_leaf$", address, re.M).group(1)
    ask = lambda *options: [levels[0][0] for levels in levels_of(
        import_log(scratch, 62, 8, RECORDED_PATH, build_id, ["=" + address], *options)).values()]
    check("nothing is found without a folder", ask() in ([], [None]), ask())
    check("--debug-dir: by build-id", ask("--debug-dir", folder) == ["fixture_leaf"], ask("--debug-dir", folder))
    (scratch / "linked" / "store").mkdir(parents=True)
    shutil.copy(path, scratch / "linked" / "store" / "fixture.so")
    (scratch / "linked" / "opt").symlink_to("/links")
    (scratch / "linked" / "links").mkdir()
    (scratch / "linked" / "links" / "lib").symlink_to("/store")
    found = ask("--sysroot", scratch / "linked")
    check("--sysroot: absolute links lead to its own files", found == ["fixture_leaf"], found)


def test_other(scratch):
    """Without a build ID this machine's file of the same path is not used for a foreign program."""
    own = str(Path(sys.executable).resolve())
    database = import_log(scratch, 183, 8, own, "", ["=1000"])
    note, = database.execute("SELECT debug_note FROM objects").fetchone()
    check("a file of another architecture is not used", "another architecture" in (note or ""), note)
    named = database.execute("SELECT count(*) FROM frame_lines WHERE function_id IS NOT NULL").fetchone()[0]
    check("and gives no names", named <= len(database.execute("SELECT 1 FROM frames WHERE object_id IS NULL").fetchall()),
          named)


def main():
    missing = []
    with tempfile.TemporaryDirectory() as folder:
        for name, architecture, number, word_bytes, compiler, prefix, mode_bit in MACHINES:
            if not shutil.which(compiler[0]):
                missing.append(compiler[0])
                continue
            scratch = Path(folder) / name
            test_machine(scratch, name, architecture, number, word_bytes, compiler, prefix, mode_bit)
            test_stripped(scratch / "stripped", name, number, word_bytes, compiler, prefix, mode_bit)
        test_by_build_id(Path(folder) / "by_id", ["gcc"])
        (Path(folder) / "other").mkdir()
        test_other(Path(folder) / "other")
    if missing:
        print(f"not installed, so not tried: {', '.join(missing)}")
    sys.exit(1 if FAILURES else 0)


main()
