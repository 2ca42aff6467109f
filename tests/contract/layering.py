#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""layering.py ROOT [--write]: includes follow docs/architecture.md, and its pictures show the includes.

The table of folders there says which folder may include which. A folder with rooms has a table of them, in order: a room
may include itself and the rooms below it, no others. Each picture is drawn from the includes; --write draws them again.
Files do not include each other in a circle, a source and its header taken as one.

Public headers of a room, or of a folder without rooms, are those that another one includes, and what these show by
including it. Where a room has any, tests/ and bench/ include no others, but for the tests of that room: tests/ROOM,
tests/unit/ROOM, or fuzz_STEM of what begins with STEM.
"""

import re
import sys
from pathlib import Path

import tree

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
FOLDER_ROW = re.compile(r"^\| `(\w+)/` \| [^|]+ \| ([^|]+) \| [^|]+ \|$", re.MULTILINE)
ROOMS = re.compile(r"^### `(\w+)/`\n(.*?)(?=^##|\Z)", re.MULTILINE | re.DOTALL)
ROOM_ROW = re.compile(r"^\| `([\w/]+)/` \| [^|]+ \|$", re.MULTILINE)
PICTURE = re.compile(r"(?<=^```mermaid\n)(.*?)(?=^```$)", re.MULTILINE | re.DOTALL)


def folder_of(path):
    return path.split("/")[0]


def room_of(path):
    """The folder of a file below its top folder: "log" of importer/log/log_file.c, "" where there is none."""
    return "/".join(path.split("/")[1:-1])


def includes_of(root, paths):
    """(file, line, included path) of every include that is written from the root of the tree."""
    for path in paths:
        text = (Path(root) / path).read_text()
        for match in INCLUDE.finditer(text):
            yield str(path), text.count("\n", 0, match.start()) + 1, match.group(1)


def picture(rooms, arrows):
    """A drawing of rooms, the uppermost first; an arrow that others imply is left out."""
    reach = {}
    for room in reversed(rooms):
        direct = {to for start, to in arrows if start == room}
        reach[room] = direct.union(*(reach.get(to, set()) for to in direct))
    lines = ["flowchart TD\n"]
    for start in rooms:
        direct = [to for to in rooms if (start, to) in arrows]
        for to in direct:
            if not any(to in reach.get(other, set()) for other in direct if other != to):
                lines.append(f"    {start.replace('/', '_')}[{start}/] --> {to.replace('/', '_')}[{to}/]\n")
    return "".join(lines)


def check_rooms(folder, section, includes):
    rooms = ROOM_ROW.findall(section)
    arrows = set()
    for path, line, target in includes:
        if folder_of(path) != folder or folder_of(target) != folder:
            continue
        start, to = room_of(path), room_of(target)
        if start not in rooms or to not in rooms:
            yield f"{path}:{line}: {start if start not in rooms else to}/ has no row in docs/architecture.md"
        elif start != to:
            if rooms.index(to) < rooms.index(start):
                yield f"{path}:{line}: {folder}/{start}/ may not include {target}"
            arrows.add((start, to))
    drawn = PICTURE.search(section)
    if drawn is None or drawn.group(1) != picture(rooms, arrows):
        yield f"docs/architecture.md: the picture of {folder}/ is not what the includes say: run tests/contract/layering.py . --write"
    used = {room_of(path) for start, _, target in includes for path in (start, target) if folder_of(path) == folder}
    yield from (f"docs/architecture.md: {folder}/{room}/ has no file" for room in rooms if room not in used)


def redraw(text, includes):
    def section(match):
        folder, body = match.groups()
        rooms = ROOM_ROW.findall(body)
        arrows = {(room_of(path), room_of(target)) for path, _, target in includes
                  if folder_of(path) == folder == folder_of(target) and room_of(path) != room_of(target)}
        return f"### `{folder}/`\n" + PICTURE.sub(lambda _: picture(rooms, arrows), body)
    return ROOMS.sub(section, text)


def circles(includes):
    """Sets of files that can reach each other, each without its suffix."""
    direct = {}
    for path, _, target in includes:
        start, to = path.rsplit(".", 1)[0], target.rsplit(".", 1)[0]
        if start != to:
            direct.setdefault(start, set()).add(to)
    reach = {}
    for start in direct:
        reach[start], todo = set(), [start]
        while todo:
            for to in direct.get(todo.pop(), set()) - reach[start]:
                reach[start].add(to)
                todo.append(to)
    return {frozenset(to for to in reach[start] if start in reach.get(to, ())) for start in reach if start in reach[start]}


def check_circles(includes):
    for circle in circles(includes):
        yield f"{', '.join(sorted(circle))}: these include each other in a circle"


def public_headers(includes):
    """The headers that a file outside their room includes, and those that such a header includes of its own room."""
    shown = {target for path, _, target in includes if Path(path).parent != Path(target).parent}
    todo = list(shown)
    while todo:
        header = todo.pop()
        more = {to for path, _, to in includes if path == header and Path(to).parent == Path(header).parent}
        todo += more - shown
        shown |= more
    return shown


def is_test_of(path, target):
    room, place = Path(target).parent, Path(path).parent.parts
    return (place in {("tests", room.name), ("tests", "unit", *room.parts)}
            or (place == ("tests", "fuzz") and Path(target).stem.startswith(Path(path).stem.removeprefix("fuzz_"))))


def check_clients(includes, clients):
    public = public_headers(includes)
    rooms = {Path(header).parent for header in public}
    for path, line, target in clients:
        if Path(target).parent in rooms and target not in public and not is_test_of(path, target):
            yield f"{path}:{line}: {target} is not public: nothing outside {Path(target).parent}/ includes it"


def check_folders(root, allowed, includes):
    for path, line, target in includes:
        if not (Path(root) / target).is_file():
            yield f'{path}:{line}: "{target}" is not a path from the root of the tree'
        elif not target.startswith(tuple(f"{folder}/" for folder in [folder_of(path), *allowed[folder_of(path)]])):
            yield f"{path}:{line}: {folder_of(path)}/ may not include {target}"


def main():
    root = sys.argv[1]
    page = Path(root) / "docs" / "architecture.md"
    text = page.read_text()
    allowed = {folder: re.findall(r"[\w/]+", names) for folder, names in FOLDER_ROW.findall(text)}
    includes = [found for found in includes_of(root, tree.sources(root, {".c", ".h"})) if not found[2].endswith(".pb-c.h")]
    clients = list(includes_of(root, tree.sources(root, {".c", ".h", ".cc"}, ("tests", "bench"))))
    if sys.argv[2:] == ["--write"]:
        page.write_text(redraw(text, includes))
        text = page.read_text()
    broken = list(check_folders(root, allowed, includes)) + list(check_circles(includes)) + list(check_clients(includes, clients))
    for folder, section in ROOMS.findall(text):
        broken += check_rooms(folder, section, includes)
    tree.finish("includes", len(includes) + len(clients), broken)


main()
