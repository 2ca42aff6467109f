#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""help.py ROOT PROGRAM…: every long option of --help is in the man page, and the other way round; so is every command; the
shell completes them.

The filters of mtrace-query are options, too, but its page refers to --help for them.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

OPTION = re.compile(r"(?<![\w-])--([a-z][a-z0-9-]+)")


def in_help(program):
    run = subprocess.run([program, "--help"], capture_output=True, text=True, timeout=400,
                         env={**os.environ, "COLUMNS": "200"}, stdin=subprocess.DEVNULL)
    if run.returncode != 0:
        sys.exit(f"{program} --help ends with {run.returncode}: {run.stderr}")
    return set(OPTION.findall(run.stdout)) - {"usage"}


def in_page(path):
    return set(OPTION.findall(re.sub(r"\\f[BIRP]", " ", path.read_text()).replace("\\-", "-")))


def missing_commands(program, page):
    """Commands of --help that the page does not name in bold."""
    run = subprocess.run([program, "--help"], capture_output=True, text=True, timeout=400, stdin=subprocess.DEVNULL)
    commands = re.findall(r"^  ([a-z-]+) .*", run.stdout.partition("Commands:\n")[2], re.M)
    bold = " ".join(line for line in page.read_text().replace("\\-", "-").splitlines() if line.startswith(".B"))
    return [command for command in commands if not re.search(rf"(?<![\w-]){command}(?![\w-])", bold)]


def completed(root, program):
    """What bash offers after the program's name and two dashes."""
    name = Path(program).name
    script = f"""source "$0/completions/{name}"; COMP_WORDS=({name} --); COMP_CWORD=1; _{name.replace("-", "_")} "$1"
                 printf '%s\\n' "${{COMPREPLY[@]}}" """
    run = subprocess.run(["bash", "-c", script, root, program], capture_output=True, text=True, timeout=400,
                         stdin=subprocess.DEVNULL)
    return set(OPTION.findall(run.stdout)) - {"usage"}


def check(root, program):
    name = Path(program).name
    options = in_help(program)
    page = in_page(Path(root) / "docs" / "man" / f"{name}.1")
    completion = completed(root, program)
    filters = options - page if name == "mtrace-query" else set()
    commands = missing_commands(program, Path(root) / "docs" / "man" / f"{name}.1")
    page_gaps = sorted(options - page - filters)
    return ([f"{name}: --{o} is missing in the man page" for o in page_gaps]
            + [f"{name}: the man page has --{o}, --help has not" for o in sorted(page - options)]
            + [f"{name}: --{o} is not completed" for o in sorted(options - completion)]
            + [f"{name}: the command {c} is missing in the man page" for c in commands]
            + [f"{name}: --{o} is completed, but not in --help" for o in sorted(completion - options)])


def main():
    root, *programs = sys.argv[1:]
    broken = [line for program in programs for line in check(root, program)]
    print("\n".join(broken))
    print(f"options of {len(programs)} programs, {len(broken)} differences")
    sys.exit(1 if broken or not programs else 0)


main()
