# SPDX-License-Identifier: MIT
"""Positions of real ELF files: mtrace's levels against addr2line, eu-addr2line and llvm-symbolizer.

usage: agreement.py PRINT_POSITIONS N_POSITIONS OBJECT...

Instructions are drawn at random (the same ones each time), half of them asked for as return addresses. A position
is confirmed when a tool says the same levels, files and lines, and each level's function is what one such tool says;
the rest are printed, and more than 2 in 1000 of them fail the test. (A tool alone is no judge of names: addr2line
takes the symbol's name for an inlined function that has no linkage name, llvm-symbolizer demangles in its own way.
The outermost function may also be what nm says of the symbol that holds the address. Where a function has no linkage
name the tools print its plain one, and we put the scopes around it in front.) Function names are compared without clone suffixes (".cold",
".part.0") and without spaces; a file agrees when it is the same path after folding "." and "..", or the end of it
(addr2line and eu-addr2line join a relative directory twice).
"""

import collections
import posixpath
import random
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

ALLOWED_UNCONFIRMED = 0.002
CLONE = re.compile(r" \[clone [^\]]*\]|(\.(cold|isra|part|constprop|lto_priv)(\.\d+)*)+$")
RUST_HASH = re.compile(r"::h[0-9a-f]{16}$")
START = re.compile(r"\+0x[0-9a-f]+$")
PADDING = re.compile(r"\bnop|xchg\s+%ax,%ax|int3|\(bad\)|data16|^\.byte")


def instructions(path):
    listing = subprocess.run(["objdump", "-d", "--no-show-raw-insn", path], capture_output=True, text=True, check=True)
    for line in listing.stdout.splitlines():
        match = re.match(r"\s+([0-9a-f]+):\s+(.*)", line)
        if match and not PADDING.search(match.group(2)):
            yield int(match.group(1), 16)


def draw(path, count):
    everything = list(instructions(path))
    return sorted(random.Random(1).sample(everything, min(count, len(everything))))


def parse_place(text):
    match = re.match(r"(.*?):(\d+|\?)(:\d+)?( \(discriminator \d+\))?$", text)
    file, line = match.group(1), match.group(2)
    return (file if file == "??" else posixpath.normpath(file)), int(line) if line.isdigit() else 0


def parse(text):
    """Blocks of an address and pairs of lines, function and place, as all the tools print them."""
    levels, found, lines = None, {}, [line for line in text.splitlines() if line]
    i = 0
    while i < len(lines):
        if re.fullmatch(r"0x[0-9a-f]+", lines[i]):
            levels = found.setdefault(int(lines[i], 16), [])
            i += 1
            continue
        name = re.sub(r" inlined at .*", "", lines[i])
        name = RUST_HASH.sub("", CLONE.sub("", name)).replace(" ", "")
        levels.append((name, *parse_place(lines[i + 1])))
        i += 2
    return found


def run(command, addresses):
    asked = "\n".join(f"0x{address:x}" for address in addresses)
    return parse(subprocess.run(command, input=asked, capture_output=True, text=True, check=True).stdout)


def run_ours(program, path, addresses):
    exact, returns = addresses[::2], addresses[1::2]
    found = run([program, path], exact)
    asked = "\n".join(f"-{address + 1:x}" for address in returns)
    output = subprocess.run([program, path], input=asked, capture_output=True, text=True, check=True).stdout
    found.update({address - 1: levels for address, levels in parse(output).items()})
    # A function without a symbol, which other tools do not name: starts.py examines these names.
    return {address: [("??" if START.search(name) else name, *place) for name, *place in levels] for address, levels in found.items()}


TOOLS = {
    "addr2line": lambda path: ["addr2line", "-a", "-f", "-i", "-C", "-e", path],
    "eu-addr2line": lambda path: ["eu-addr2line", "-a", "-f", "-i", "-C", "-e", path],
    "llvm-symbolizer": lambda path: ["llvm-symbolizer", "--addresses", "--inlines", "--output-style=GNU",
                                     f"--obj={path}"],
}


def is_same_function(ours, theirs):
    is_plain = theirs.endswith("operator()") or not re.search(r"\)(const)?&*$", theirs)
    return ours == theirs or (is_plain and ours.endswith("::" + theirs))


def classify(ours, theirs):
    if len(ours) != len(theirs):
        return "levels"
    if any(o[2] != t[2] for o, t in zip(ours, theirs)):
        return "line"
    # Without a line the tools differ in whether they name the file of the unit.
    if any(o[1] != t[1] and o[2] and not t[1].endswith("/" + o[1]) for o, t in zip(ours, theirs)):
        return "file"
    return "equal" if all(is_same_function(o[0], t[0]) for o, t in zip(ours, theirs)) else "function"


def symbols_by_page(path):
    """Name and extent of every function symbol, by the 4 KiB pages it touches."""
    pages = collections.defaultdict(list)
    for table in ([], ["-D"]):
        listing = subprocess.run(["nm", "-S", "-C", "--defined-only", *table, path], capture_output=True, text=True)
        for match in re.finditer(r"^([0-9a-f]+) ([0-9a-f]+) [tTwWi] (.*)$", listing.stdout, re.M):
            start, size, name = int(match[1], 16), int(match[2], 16), CLONE.sub("", match[3].split("@")[0])
            for page in range(start >> 12, (start + size >> 12) + 1):
                pages[page].append((start, start + size, name.replace(" ", "")))
    return pages


def judge(address, ours, theirs, pages):
    """Whether the tools that were asked for the position confirm it together."""
    ours = ours[address]
    judges = [found[address] for found in theirs.values() if address in found and classify(ours, found[address]) in ("equal", "function")]
    symbols = {name for start, end, name in pages[address >> 12] if start <= address < end}
    return bool(judges) and all(any(is_same_function(level[0], answer[i][0]) for answer in judges)
                                or (i == len(ours) - 1 and level[0] in symbols) for i, level in enumerate(ours))


def compare(program, path, count):
    """eu-addr2line takes some ms for each position: it is asked only for what the others do not confirm."""
    addresses = draw(path, count)
    ours = run_ours(program, path, addresses)
    commands = {name: command(path) for name, command in TOOLS.items() if shutil.which(name)}
    last = commands.pop("eu-addr2line")
    with ThreadPoolExecutor() as pool:
        theirs = dict(zip(commands, pool.map(lambda command: run(command, addresses), commands.values())))
    pages = symbols_by_page(path)
    unconfirmed = [address for address in addresses if not judge(address, ours, theirs, pages)]
    if unconfirmed:
        theirs["eu-addr2line"] = run(last, unconfirmed)
        unconfirmed = [address for address in unconfirmed if not judge(address, ours, theirs, pages)]
    print(f"{path}: {len(addresses)} positions, {len(unconfirmed)} not confirmed")
    for name, found in theirs.items():
        kinds = collections.Counter(classify(ours[address], found[address]) for address in addresses if address in found)
        print(f"    {name}: " + ", ".join(f"{kind} {kinds[kind]}" for kind in sorted(kinds)))
    for address in unconfirmed[:5]:
        print(f"    0x{address:x}: ours {ours[address]}")
        for name, found in theirs.items():
            print(f"        {name}: {found.get(address, [])}")
    return len(addresses), len(unconfirmed)


def main():
    program, count, paths = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
    missing = [tool for tool in ("objdump", "addr2line", "eu-addr2line") if not shutil.which(tool)]
    if missing:
        print("skipped: not installed: " + ", ".join(missing))
        sys.exit(77)
    results = [compare(program, path, count) for path in paths]
    total = sum(result[0] for result in results)
    unconfirmed = sum(result[1] for result in results)
    print(f"{total} positions, {unconfirmed} not confirmed")
    sys.exit(total == 0 or unconfirmed > ALLOWED_UNCONFIRMED * total)


main()
