# SPDX-License-Identifier: MIT
"""api.py ROOT [--write]: the structures that programs and libmtrace.so share keep their meaning within a version.

api.golden has the members of each, under the number of MTRACE_API_VERSION, which is part of the table's symbol. Within a version
members are added at the ends of structures only, of those that are passed by value or in arrays none. --write takes up what may be
changed; for all else the version is raised first, with the symbol.
"""

import re
import sys
from pathlib import Path

import tree

HEADERS = ("include/mtrace.h", "include/mtrace_objects.h")
STRUCTURE = re.compile(r"^struct (\w+) \{\n(.*?)^\};", re.MULTILINE | re.DOTALL)
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
AS_THEY_ARE = {"mtrace_tag", "mtrace_scope", "mtrace_context", "mtrace_root"}


def structures(text):
    """{structure: its members, a line each}"""
    found = STRUCTURE.findall(COMMENT.sub("", text))
    return {name: [" ".join(member.split()) for member in body.split(";") if member.strip()] for name, body in found}


def written(version, members):
    blocks = [f"version {version}"] + ["\n".join([f"struct {name}", *(f"    {line}" for line in lines)]) for name, lines in sorted(members.items())]
    return "\n\n".join(blocks) + "\n"


def read(golden):
    first, *blocks = golden.rstrip("\n").split("\n\n")
    lines = [block.split("\n") for block in blocks]
    return int(first.split()[1]), {head.split()[1]: [line.strip() for line in rest] for head, *rest in lines}


def broken(before, now):
    """Differences that a program built with `before` would misread."""
    for name, members in before.items():
        mine = now.get(name, [])
        if mine[:len(members)] != members:
            yield f"struct {name} has other members than programs know: raise MTRACE_API_VERSION, and the number in mtrace_api_N"
        elif name in AS_THEY_ARE and mine != members:
            yield f"struct {name} has no size beside it, and cannot grow: raise MTRACE_API_VERSION, and the number in mtrace_api_N"


def main():
    root = Path(sys.argv[1])
    path = root / "tests/contract/api.golden"
    text = "\n".join((root / header).read_text() for header in HEADERS)
    version = int(re.search(r"MTRACE_API_VERSION = (\d+)", text)[1])
    now = structures(text)
    known, before = read(path.read_text()) if path.exists() else (0, {})
    problems = list(broken(before, now)) if version == known else []
    problems += [f"{symbol} is not of version {version}" for symbol in sorted(set(re.findall(r"\bmtrace_api_\d+\b", text)))
                 if symbol != f"mtrace_api_{version}"]
    if "--write" in sys.argv and not problems:
        path.write_text(written(version, now))
    elif not problems and (version, now) != (known, before):
        problems.append("structures of the api have more members, or another version: tests/contract/api.py . --write")
    tree.finish("api", len(now), problems)


main()
