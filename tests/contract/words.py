# SPDX-License-Identifier: MIT
"""words.py ROOT: identifiers, comments, messages, documentation and tests use the terms of docs/glossary.md, none of the words that they replaced."""

import ast
import re
import sys
from pathlib import Path

import tree

DENIED = set("""anew asker bell birth births born culled deaths fate fates figures keeper lean newborns nobody nudge
obey orders remark remarks seat seats somebody tell tellers told untold whoever""".split())
# Prose may use words of these that have an ordinary sense: the process is born, two cases are told apart.
DENIED_IN_PROSE = re.compile(
    r"\b(anew|askers?|fates|keepers?|newborns?|nudge[ds]?|obeys?|obeyed|tellers?|told(?!\s+apart|\s+to\b)|untold|whoever)\b", re.IGNORECASE)
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
STRING = re.compile(r'"(?:\\.|[^"\\\n])*"')
NOT_CODE = re.compile(r'/\*.*?\*/|"(?:\\.|[^"\\\n])*"|^\s*#\s*include[^\n]*', re.DOTALL | re.MULTILINE)
NOT_PROSE = re.compile(r"^```.*?^```|^    [^\n]*|`[^`\n]+`", re.DOTALL | re.MULTILINE)
IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
# SQL: comments and texts in quotes. TypeScript: comments, and texts in quotes; the rest of a page's text looks like code.
NOT_SQL_CODE = re.compile(r"--[^\n]*|'(?:''|[^'])*'")
NOT_SCRIPT_CODE = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', re.DOTALL)
# The names that a shell script or a CMake list defines; its other words may be options, users or text.
DEFINED = re.compile(r"^\s*(?:local |export )*(\w+)=|^(\w+)\(\) *\{|\b(?:for|read) (\w+)|(?:set|foreach|function|macro)\((\w+)", re.MULTILINE)
# The expected output of a test is the product's.
GOLDEN = re.compile(r"^(?:#|--)\|[^\n]*", re.MULTILINE)


def blank(found):
    return "\n" * found[0].count("\n")


def check_name(path, number, name):
    denied = DENIED.intersection(word.lower() for word in WORD.findall(name))
    if denied:
        yield f"{path}:{number}: {name}: docs/glossary.md has a standard term for '{denied.pop()}'"


def check_identifiers(path, text, not_code=NOT_CODE):
    for number, line in enumerate(not_code.sub(blank, text).splitlines(), 1):
        for name in IDENTIFIER.findall(line):
            yield from check_name(path, number, name)


def check_python_names(path, text):
    for node in ast.walk(ast.parse(text)):
        for name in (getattr(node, field, None) for field in ("id", "name", "arg", "attr")):
            if isinstance(name, str):
                yield from check_name(path, getattr(node, "lineno", 1), name)


def check_prose(path, text, start=1):
    for found in DENIED_IN_PROSE.finditer(text):
        yield f"{path}:{start + text.count(chr(10), 0, found.start())}: '{found[0]}': docs/style.md says how to write instead"


def check_comments(path, text):
    for comment in COMMENT.finditer(text):
        yield from check_prose(path, comment[0], 1 + text.count("\n", 0, comment.start()))


def check_messages(path, text):
    for string in STRING.finditer(re.sub(r"^\s*#\s*include[^\n]*", "", COMMENT.sub(blank, text), flags=re.MULTILINE)):
        yield from check_prose(path, string[0], 1 + text.count("\n", 0, string.start()))


def kind_of(root, path):
    """The suffix of a script of tests or bench, which its first line says if its name has none; "" for other files."""
    if path.suffix in (".py", ".sh", ".sql") or path.name == "CMakeLists.txt":
        return path.suffix
    if path.suffix or "corpus" in path.parts:
        return ""
    first = (Path(root) / path).read_text().partition("\n")[0]
    return ".py" if "python" in first else ".sh" if first.startswith("#!") else ""


def check_script(path, kind, text):
    text = GOLDEN.sub("", text)
    yield from check_prose(path, text)
    if kind == ".py":
        yield from check_python_names(path, text)
    elif kind == ".sql":
        yield from check_identifiers(path, text, NOT_SQL_CODE)
    else:
        for found in DEFINED.finditer(text):
            yield from check_name(path, 1 + text.count("\n", 0, found.start(found.lastindex)), found[found.lastindex])


def main():
    root = sys.argv[1]
    code = list(tree.sources(root, {".c", ".h", ".cc", ".cpp"}, tree.FOLDERS + ("tests", "bench")))
    headers = list(tree.sources(root, {".h", ".hpp"}, ("include",)))
    scripts = list(tree.sources(root, {".sql"})) + list(tree.sources(root, {".ts", ".tsx"}, ("web/src",)))
    pages = [path for path in tree.tracked(root) if path.suffix == ".md" or path.parent == Path("docs/man")]
    broken = []
    for path in code + headers:
        text = (Path(root) / path).read_text()
        broken += check_comments(path, text)
        if path in code:
            broken += check_identifiers(path, text)
            broken += check_messages(path, text)
    for path in scripts:
        text = (Path(root) / path).read_text()
        broken += check_prose(path, text)
        broken += check_identifiers(path, text, NOT_SQL_CODE if path.suffix == ".sql" else NOT_SCRIPT_CODE)
    for path in pages:
        text = (Path(root) / path).read_text()
        broken += check_prose(path, NOT_PROSE.sub(blank, text) if path.suffix == ".md" else text)
    tests = [(path, kind_of(root, path)) for path in tree.tracked(root) if path.parts[0] in ("tests", "bench") and path.name != "words.py"]
    tests = [(path, kind) for path, kind in tests if kind]
    for path, kind in tests:
        broken += check_script(path, kind, (Path(root) / path).read_text())
    tree.finish("words", len(code + headers + scripts + pages + tests), broken)


main()
