# SPDX-License-Identifier: MIT
"""Code of this project, built with debug info of each version and form, and compared.

usage: formats.py PRINT_POSITIONS ROOT_OF_SOURCES

Each version of DWARF is compared with other tools (agreement.py). What only packs the same debug info in another way has to give
the same answers as before.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

PROGRAM, ROOT = sys.argv[1], Path(sys.argv[2])
AGREEMENT = Path(__file__).resolve().parent / "agreement.py"
SOURCES = [ROOT / "symbolizer" / name for name in ("inline_chain.c", "die_reader.c", "scope_names.c")]
N_POSITIONS = 400
# DWARF 2 has no lists of ranges: of a unit with code in several places it names one or none.
VERSIONS = {
    "dwarf2_strict": ["-gdwarf-2", "-gstrict-dwarf"],
    "dwarf2_strict_sections": ["-gdwarf-2", "-gstrict-dwarf", "-ffunction-sections"],
    "dwarf2_strict_unoptimized": ["-gdwarf-2", "-gstrict-dwarf", "-O0"],
    "dwarf2": ["-gdwarf-2"],
    "dwarf3_strict": ["-gdwarf-3", "-gstrict-dwarf"],
    "dwarf4_strict": ["-gdwarf-4", "-gstrict-dwarf"],
    "dwarf5_strict": ["-gdwarf-5", "-gstrict-dwarf"],
    "g1": ["-g1"],
    "types": ["-g", "-fdebug-types-section"],
}
# How the debug info of `plain` is built or changed.
PACKED = {
    "gz": (["-gz"], None),
    "zlib_gnu": ([], ["objcopy", "--compress-debug-sections=zlib-gnu"]),
    "split": (["-gsplit-dwarf"], None),
    "dwz": ([], ["dwz"]),
}


def build(folder, flags):
    folder.mkdir()
    target = folder / "code.so"
    subprocess.run(["gcc", "-O2", "-shared", "-fPIC", "-g", "-D_GNU_SOURCE", "-I", ROOT, *flags, *SOURCES, "-o", target], cwd=folder, check=True)
    return target


def addresses(path):
    listing = subprocess.run(["objdump", "-d", "--no-show-raw-insn", path], capture_output=True, text=True, check=True).stdout
    return re.findall(r"^\s+([0-9a-f]+):\s", listing, re.M)


def answers(path, asked):
    return subprocess.run([PROGRAM, path], input="\n".join(asked) + "\n", capture_output=True, text=True, check=True).stdout


def check_version(folder, flags):
    target = build(folder, flags)
    run = subprocess.run([sys.executable, AGREEMENT, PROGRAM, str(N_POSITIONS), target], capture_output=True, text=True)
    return run.returncode == 0, run.stdout


def check_packed(folder, plain, flags, change):
    if change and not shutil.which(change[0]):
        return True, f"skipped: {change[0]} is not installed"
    target = build(folder, flags)
    if change:
        subprocess.run([*change, target], check=True)
    asked = addresses(plain)
    expected, found = answers(plain, asked), answers(target, asked)
    differing = [pair for pair in zip(expected.splitlines(), found.splitlines()) if pair[0] != pair[1]]
    return expected == found and "inline_chain.c" in found, f"{len(asked)} positions, differing: {differing[:3]}"


def main():
    missing = [tool for tool in ("gcc", "objdump", "objcopy", "addr2line", "eu-addr2line") if not shutil.which(tool)]
    if missing:
        print("skipped: not installed: " + ", ".join(missing))
        sys.exit(77)
    has_failed = False
    with tempfile.TemporaryDirectory(prefix="formats.") as scratch:
        place = Path(scratch)
        plain = build(place / "plain", [])
        checks = [(name, check_version, (place / name, flags)) for name, flags in VERSIONS.items()]
        checks += [(name, check_packed, (place / name, plain, *how)) for name, how in PACKED.items()]
        for name, check, arguments in checks:
            is_good, text = check(*arguments)
            has_failed |= not is_good
            print(f"{'ok' if is_good else 'FAILED'}: {name}" + ("" if is_good and "skipped" not in text else f": {text[:2000]}"))
    sys.exit(has_failed)


main()
