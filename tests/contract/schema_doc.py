#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""schema_doc.py ROOT [--write PAGE]: the comments of the SQL files describe every column of every public table and view.

With --write, lists all tables, views and columns in PAGE instead; the build makes docs/schema.md by it.
"""

import re
import sys
from pathlib import Path

import tree

HEAD = """# Schema

The build makes this page from the comments of `importer/schema/*.sql` and `queries/views/*.sql`. `mtrace-query describe NAME` prints
the same for one name. docs/glossary.md explains the terms.

Names without a suffix are public: their columns, units and NULLs are a promise. `*_ns` are nanoseconds since the start of the
first process, `*_bytes` requested bytes unless named usable or slack, NULL is unknown or did not happen.
"""
CREATE = re.compile(r"^CREATE (TABLE|VIEW) (\w+)", re.MULTILINE)
CONSTRAINT = re.compile(r"^(PRIMARY KEY|UNIQUE|FOREIGN KEY|CHECK)\b", re.IGNORECASE)


def split_line(line):
    """Code and comment of a line; no string in our SQL files has two dashes in it."""
    code, _, comment = line.partition("--")
    return code.rstrip(), comment.strip()


def columns_of(code):
    """Names of the columns that a piece of a column list defines."""
    pieces, depth, current = [], 0, ""
    for char in code:
        depth += (char == "(") - (char == ")")
        if char == "," and depth == 0:
            pieces.append(current)
            current = ""
        elif depth >= 0:
            current += char
    pieces = [piece.strip() for piece in [*pieces, current]]
    return [piece.split()[0] for piece in pieces if piece and not CONSTRAINT.match(piece) and re.match(r"\w+$", piece.split()[0])]


def body_rows(lines):
    """(names, meaning) for each line of a column list; a line of comment alone continues the one before."""
    rows = []
    for line in lines:
        code, comment = split_line(line)
        names = columns_of(code)
        if names:
            rows.append([names, comment])
        elif comment and rows and not code.strip():
            rows[-1][1] = f"{rows[-1][1]} {comment}".strip()
    return rows


def object_text(text, match):
    """The statement from its CREATE to the parenthesis that closes its column list, and the rest of that line."""
    rest = text[match.end():]
    opening = re.match(r"\s*\(", rest)
    if not opening:
        return "", rest.split("\n", 1)[0]
    depth, in_comment = 0, False
    for at, char in enumerate(rest):
        if char == "\n":
            in_comment = False
        elif rest.startswith("--", at):
            in_comment = True
        if in_comment:
            continue
        depth += (char == "(") - (char == ")")
        if depth == 0 and char == ")":
            return rest[opening.end():at], rest[at:].split("\n", 1)[0]
    raise ValueError(f"no end of {match.group()}")


def describe(text, match):
    kind, name = match.groups()
    body, tail = object_text(text, match)
    lines = body.split("\n")
    about = [split_line(tail)[1]] if tail else []
    if lines and not columns_of(split_line(lines[0])[0]):
        about.insert(0, split_line(lines[0])[1])
        lines = lines[1:]
    above = text[:match.start()].rstrip("\n").split("\n")
    comment = []
    while kind == "VIEW" and above and above[-1].startswith("--"):
        comment.insert(0, above.pop()[2:].strip())
    comment = [line.removeprefix(f"{name}: ") for line in comment if not line.startswith("SPDX")]
    output = "\n".join([" ".join(filter(None, about)), *comment]).strip()
    rows = [f"| {', '.join(f'`{n}`' for n in names)} | {meaning.replace('|', chr(92) + '|')} |" for names, meaning in body_rows(lines)]
    table = ["", "| column | |", "|---|---|", *rows] if rows else []
    return "\n".join([f"### {name}", "", output, *table, ""])


def make(root):
    parts, n_objects = [HEAD], 0
    for title, folder in (("Tables", "importer/schema"), ("Reports", "queries/views")):
        parts.append(f"## {title}\n")
        for path in sorted((Path(root) / folder).glob("*.sql")):
            text = path.read_text()
            for match in CREATE.finditer(text):
                if match.group(2).startswith("_"):
                    continue
                parts.append(describe(text, match))
                n_objects += 1
    return re.sub(r"\n{3,}", "\n\n", "\n".join(parts)), n_objects


def main():
    root = sys.argv[1]
    text, n_objects = make(root)
    if sys.argv[2:3] == ["--write"]:
        Path(sys.argv[3]).write_text(text)
        return
    broken, name = [], ""
    for line in text.split("\n"):
        name = line[4:] if line.startswith("### ") else name
        if re.match(r"\| `.*` \|  \|$", line):
            broken.append(f"{name}: no comment for {line[2:-5]}")
    tree.finish("tables and views", n_objects, broken)


main()
