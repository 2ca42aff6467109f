#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""help.py ROOT PROGRAM…: every long option of --help is in the man page, and the other way round; so is every command; bash
completes them, and so do zsh and fish if they are installed.

The options of mtrace-query are in "help options" and "help filters", whose options its --help may only repeat. Its man page refers
to the help for the filters.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

OPTION = re.compile(r"(?<![\w-])--([a-z][a-z0-9-]+)")


def help_text(program, *words):
    run = subprocess.run([program, *words], capture_output=True, text=True, timeout=400,
                         env={**os.environ, "COLUMNS": "200"}, stdin=subprocess.DEVNULL)
    if run.returncode != 0:
        sys.exit(f"{program} {' '.join(words)} ends with {run.returncode}: {run.stderr}")
    return run.stdout


def in_help(program):
    topics = [["help", "options"], ["help", "filters"]] if Path(program).name == "mtrace-query" else [["--help"]]
    return {option for words in topics for option in OPTION.findall(help_text(program, *words))} - {"usage"}


def in_page(path):
    return set(OPTION.findall(re.sub(r"\\f[BIRP]", " ", path.read_text()).replace("\\-", "-")))


def missing_commands(program, page):
    """Commands of --help that the page does not name in bold."""
    text = help_text(program, "help", "commands") if Path(program).name == "mtrace-query" else ""
    commands = re.findall(r"^  ([a-z][a-z-]*)", text, re.M)
    bold = " ".join(line for line in page.read_text().replace("\\-", "-").splitlines() if line.startswith(".B"))
    return [command for command in commands if not re.search(rf"(?<![\w-]){command}(?![\w-])", bold)]


def completed(root, program):
    """The completions of bash after the program's name and two dashes."""
    name = Path(program).name
    script = f"""source "$0/completions/{name}"; COMP_WORDS=({name} --); COMP_CWORD=1; _{name.replace("-", "_")} "$1"
                 printf '%s\\n' "${{COMPREPLY[@]}}" """
    run = subprocess.run(["bash", "-c", script, root, program], capture_output=True, text=True, timeout=400,
                         stdin=subprocess.DEVNULL)
    return set(OPTION.findall(run.stdout)) - {"usage"}


ZSH = """compadd() { print -l -- "$@" }; _files() { }; words=("$1" --); CURRENT=2 PREFIX=--; source "$0/completions/zsh/_mtrace" """
FISH = """source $argv[1]/completions/fish/mtrace.fish; complete -C "$argv[2] --" """


def completed_elsewhere(root, program):
    """The same of zsh and fish, each if it is installed."""
    path = {**os.environ, "PATH": os.pathsep.join([str(Path(program).parent), os.environ["PATH"]])}
    words = {"zsh": ["-fc", ZSH, root, program], "fish": ["--no-config", "-c", FISH, root, Path(program).name]}
    for shell in filter(shutil.which, words):
        run = subprocess.run([shell, *words[shell]], capture_output=True, text=True, timeout=400, stdin=subprocess.DEVNULL, env=path)
        yield shell, set(OPTION.findall(run.stdout)) - {"usage"}


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
            + [f"{name}: {shell} completes --{o} or the help has it, not both" for shell, found in completed_elsewhere(root, program)
               for o in sorted(found ^ options)]
            + [f"{name}: --{o} is on the first screen, but no option" for o in sorted(set(OPTION.findall(help_text(program, "--help"))) - options - {"usage"})]
            + [f"{name}: the command {c} is missing in the man page" for c in commands]
            + [f"{name}: --{o} is completed, but not in --help" for o in sorted(completion - options)])


def main():
    root, *programs = sys.argv[1:]
    broken = [line for program in programs for line in check(root, program)]
    print("\n".join(broken))
    print(f"options of {len(programs)} programs, {len(broken)} differences")
    sys.exit(1 if broken or not programs else 0)


main()
