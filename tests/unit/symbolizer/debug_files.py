# SPDX-License-Identifier: MIT
"""Debug info in all possible places, made with objcopy, strip, gcc and (when installed) dwz.

usage: debug_files.py PRINT_POSITIONS FOLDER_OF_SOURCES
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

PROGRAM, SOURCES = sys.argv[1], Path(sys.argv[2])
FAILURES = []


def sh(*command):
    subprocess.run([str(word) for word in command], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def build(target, *flags):
    sh("gcc", "-O2", "-g", "-shared", "-fPIC", "-I", SOURCES.parents[2], SOURCES / "fixture_other_unit.c", "-o", target,
       "-Wl,--build-id=sha1", *flags)
    return target


def address_of(path, name):
    listing = subprocess.run(["nm", "-D", path], capture_output=True, text=True, check=True).stdout
    return re.search(rf"^([0-9a-f]+) T {name}$", listing, re.M).group(1)


def build_id(path):
    notes = subprocess.run(["readelf", "-n", path], capture_output=True, text=True, check=True).stdout
    return re.search(r"Build ID: ([0-9a-f]+)", notes).group(1)


def ask(path, address, *options):
    run = subprocess.run([PROGRAM, str(path), *map(str, options)], input=address + "\n", capture_output=True, text=True,
                         check=True, env={**os.environ, "DEBUGINFOD_URLS": ""})
    debug, note = re.fullmatch(r"debug: (.*)\nnote: (.*)\n", run.stderr).groups()
    _, function, place = run.stdout.splitlines()[:3]
    return function, place, debug, note


def expect(what, found, has_line, debug, note=r"none"):
    function, place, found_debug, found_note = found
    good = (function == "fixture_other_unit" and bool(re.search(r"fixture_other_unit\.c:\d+", place)) == has_line
            and (found_debug == str(debug)) and re.search(note, found_note))
    print(f"{'ok' if good else 'FAILED'}: {what}")
    if not good:
        print(f"    found {found}")
        FAILURES.append(what)


def split_debug(original, folder, link_name=None):
    """A stripped copy of the original in `folder`, and its debug file."""
    folder.mkdir(parents=True, exist_ok=True)
    stripped, debug = folder / "lib.so", folder / (link_name or "lib.so.dbg")
    sh("objcopy", "--only-keep-debug", original, debug)
    sh("objcopy", "--strip-debug", "--strip-unneeded", *([f"--add-gnu-debuglink={debug}"] if link_name else []),
       original, stripped)
    return stripped, debug


def test_places(scratch):
    original = build(scratch / "original.so")
    address = address_of(original, "fixture_other_unit")
    name = build_id(original)
    expect("the object itself", ask(original, address), True, original)

    stripped, debug = split_debug(original, scratch / "plain")
    expect("stripped, nothing elsewhere", ask(stripped, address), False, "none", r"no debug info.*-g.*--debug-dir")
    folder = scratch / "by_id"
    (folder / ".build-id" / name[:2]).mkdir(parents=True)
    placed = folder / ".build-id" / name[:2] / f"{name[2:]}.debug"
    shutil.copy(debug, placed)
    expect("--debug-dir, by build-id", ask(stripped, address, "--debug-dir", folder), True, placed)
    folder = scratch / "by_name"
    folder.mkdir()
    shutil.copy(debug, folder / "lib.so.debug")
    expect("--debug-dir, by name", ask(stripped, address, "--debug-dir", folder), True, folder / "lib.so.debug")

    stripped, debug = split_debug(original, scratch / "linked", "lib.link")
    expect(".gnu_debuglink beside the object", ask(stripped, address), True, debug)
    (scratch / "linked" / ".debug").mkdir()
    moved = scratch / "linked" / ".debug" / "lib.link"
    debug.rename(moved)
    expect(".gnu_debuglink in .debug", ask(stripped, address), True, moved)

    root = scratch / "root"
    (root / "opt").mkdir(parents=True)
    (root / "usr/lib/debug/opt").mkdir(parents=True)
    shutil.copy(stripped, root / "opt/lib.so")
    shutil.copy(moved, root / "usr/lib/debug/opt/lib.link")
    expect("--sysroot", ask("/opt/lib.so", address, "--sysroot", root), True, root / "usr/lib/debug/opt/lib.link")
    bare = scratch / "bare"
    (bare / str(original.parent).lstrip("/")).mkdir(parents=True)
    shutil.copy(stripped, bare / str(original).lstrip("/"))
    expect("a stripped copy below --sysroot, the build at its own path", ask(original, address, "--sysroot", bare, "--build-id", build_id(original)), True, original)
    (root / "usr/lib/debug/opt/lib.link").rename(root / "opt/elsewhere")
    (root / "usr/lib/debug/.build-id" / name[:2]).mkdir(parents=True)
    placed = root / "usr/lib/debug/.build-id" / name[:2] / f"{name[2:]}.debug"
    placed.symlink_to("/opt/elsewhere")
    for sysroot in (root, f"{root}/"):
        found = ask("/opt/lib.so", address, "--sysroot", sysroot)
        expect("an absolute link to a debug file below --sysroot", (*found[:2], os.path.normpath(found[2]), found[3]), True,
               placed)
    shutil.move(root / "opt/elsewhere", scratch / "beside")
    placed.unlink()
    placed.symlink_to(scratch / "beside")
    expect("a link that leads out of --sysroot", ask("/opt/lib.so", address, "--sysroot", root), True, placed)


def test_wrong_files(scratch):
    original = build(scratch / "one.so")
    address = address_of(original, "fixture_other_unit")
    other = build(scratch / "two.so", "-DUNUSED", "-Wl,--build-id=0x0102030405060708")
    folder = scratch / "wrong"
    folder.mkdir()
    stripped, _ = split_debug(original, scratch / "stripped")
    sh("objcopy", "--only-keep-debug", other, folder / "lib.so.debug")
    expect("a debug file of another build is not used", ask(stripped, address, "--debug-dir", folder), False, "none",
           "no debug info")
    found = ask(original, address, "--build-id", "00" * 20)
    good = found[0] == "??" and found[2] == "none" and re.search("replaced since the recording", found[3])
    print(f"{'ok' if good else 'FAILED'}: a replaced object is not used {'' if good else found}")
    if not good:
        FAILURES.append("replaced")
    folder = scratch / "recorded" / ".build-id" / build_id(original)[:2]
    folder.mkdir(parents=True)
    placed = folder / f"{build_id(original)[2:]}.debug"
    sh("objcopy", "--only-keep-debug", original, placed)
    expect("a replaced object, its old debug file by build-id",
           ask(other, address, "--build-id", build_id(original), "--debug-dir", scratch / "recorded"), True, placed)

    no_id = build(scratch / "no_id.so", "-Wl,--build-id=none")
    stripped, debug = split_debug(no_id, scratch / "checksum", "lib.link")
    expect("without build-ids the checksum decides", ask(stripped, address), True, debug)
    with debug.open("ab") as file:
        file.write(b"x")
    expect("a wrong checksum", ask(stripped, address), False, "none", "no debug info")


def test_formats(scratch):
    for flags in (["-gdwarf-4"], ["-gdwarf-5"], ["-gz"], ["-gdwarf-5", "-gsplit-dwarf"], ["-gdwarf-4", "-gsplit-dwarf"]):
        # A .dwo is written beside the output.
        target = build(scratch / ("".join(flags) + ".so"), *flags)
        expect(" ".join(flags), ask(target, address_of(target, "fixture_other_unit")), True, target)
    package = scratch / f"{target.name}.dwp"
    if shutil.which("dwp"):
        sh("dwp", "-e", target, "-o", package)
    for dwo in scratch.glob("*.dwo"):
        dwo.unlink()
    if package.exists():
        expect("a .dwp alone", ask(target, address_of(target, "fixture_other_unit")), True, target, r"\.dwp', which libdw cannot read")
        package.unlink()
    expect("a lost .dwo", ask(target, address_of(target, "fixture_other_unit")), True, target, r"\.dwo.*-gsplit-dwarf")


def expect_packed(what, target, packed):
    """libelf before 0.189 cannot unpack zstd: the note has a remedy, after which there are lines. Names are the symbol table's."""
    address = address_of(target, "fixture_other_unit")
    found = ask(target, address)
    if found[3] == "none":
        print(f"skipped: {what}: this libelf unpacks zstd")
        return
    cure = f"objcopy --decompress-debug-sections {packed}"
    expect(what, found, packed != target, target if packed != target else "none", re.escape(f"'{packed}' is compressed by zstd") + ".*" + re.escape(f"run '{cure}'"))
    sh(*cure.split())
    expect(f"{what}, unpacked", ask(target, address), True, target)


def test_zstd(scratch):
    target = build(scratch / "lib.so", "-gdwarf-4")
    split = build(scratch / "split.so", "-gsplit-dwarf")
    dwo = next(scratch.glob("*.dwo"))
    if subprocess.run(["objcopy", "--compress-debug-sections=zstd", target], capture_output=True).returncode != 0:
        print("skipped: objcopy cannot compress by zstd")
        return
    expect_packed("zstd", target, target)
    sh("objcopy", "--compress-debug-sections=zstd", dwo)
    expect_packed("zstd in a .dwo file", split, dwo)


def test_minidebuginfo(scratch):
    original = build(scratch / "lib.so")
    inner = scratch / "symbols"
    sh("objcopy", "--only-keep-debug", original, inner)
    sh("strip", "-g", inner)
    sh("xz", "-f", inner)
    stripped = scratch / "stripped.so"
    sh("strip", "-o", stripped, original)
    plain = ask(stripped, symbol_of(original, "complain"))
    sh("objcopy", "--add-section", f".gnu_debugdata={inner}.xz", stripped)
    found = ask(stripped, symbol_of(original, "complain"))
    good = plain[0] != "complain" and found[0] == "complain"
    print(f"{'ok' if good else 'FAILED'}: .gnu_debugdata {'' if good else (plain, found)}")
    if not good:
        FAILURES.append("minidebuginfo")


def symbol_of(path, name):
    listing = subprocess.run(["nm", path], capture_output=True, text=True, check=True).stdout
    return re.search(rf"^([0-9a-f]+) t {name}(\.\w+)?$", listing, re.M).group(1)


def test_dwz(scratch):
    if not shutil.which("dwz"):
        print("skipped: dwz is not installed")
        return
    one, two = build(scratch / "one.so"), build(scratch / "two.so", "-Wl,-soname,two")
    address = address_of(one, "fixture_other_unit")
    common = scratch / "common.debug"
    sh("dwz", "-m", common, one, two)
    expect("dwz: common parts in another file", ask(one, address), True, one)
    common.unlink()
    function, _, debug, note = ask(one, address)
    good = function == "fixture_other_unit" and debug == str(one) and "common.debug" in note
    print(f"{'ok' if good else 'FAILED'}: the other file is lost {'' if good else (function, note)}")
    if not good:
        FAILURES.append("dwz lost")


def main():
    missing = [tool for tool in ("gcc", "objcopy", "strip", "nm", "readelf", "xz") if not shutil.which(tool)]
    if missing:
        print("skipped: not installed: " + ", ".join(missing))
        sys.exit(77)
    for test in (test_places, test_wrong_files, test_formats, test_zstd, test_minidebuginfo, test_dwz):
        with tempfile.TemporaryDirectory(prefix="debug_files.") as scratch:
            test(Path(scratch))
    sys.exit(bool(FAILURES))


main()
