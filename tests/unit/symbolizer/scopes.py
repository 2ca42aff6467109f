# SPDX-License-Identifier: MIT
"""Functions without a linkage name have names with their scopes: lambdas, members of local classes, templates over them.

usage: scopes.py PRINT_POSITIONS OBJECT...   the objects of fixture.cc

The numbers of lambdas are compared with those that the compiler put into symbols.
"""

import re
import subprocess
import sys

WANTED = {
    "main::{lambda#1}::operator()",
    "main::{lambda#1}::operator()::{lambda#1}::operator()",
    "(anonymous namespace)::hidden::call<main(int, char**)::<lambda(int)>::<lambda(int)> >",
}
GENERIC = r"main::\{lambda#(\d+)\}::operator\(\)<std::shared_ptr<shapes::base>, std::shared_ptr<shapes::base> >"


def names(program, path):
    listing = subprocess.run(["objdump", "-d", "--no-show-raw-insn", path], capture_output=True, text=True, check=True).stdout
    asked = "\n".join(re.findall(r"^\s+([0-9a-f]+):\s", listing, re.M))
    found = subprocess.run([program, path], input=asked, capture_output=True, text=True, check=True).stdout
    return set(found.splitlines())


def main():
    program, paths = sys.argv[1], sys.argv[2:]
    failures = 0
    for path in paths:
        found = names(program, path)
        missing = [name for name in WANTED if name not in found]
        bare = sorted(name for name in found if re.match(r"(operator\(\)|_M_manager|__sort|call<)", name))
        symbols = subprocess.run(["nm", "-C", path], capture_output=True, text=True, check=True).stdout
        generic = {match[1] for name in found if (match := re.fullmatch(GENERIC, name))}
        numbered = set(re.findall(r"main::\{lambda\(auto:1&, auto:2&\)#(\d+)\}", symbols))
        if missing or bare or generic != numbered or not generic:
            print(f"{path}: missing {missing}, without scopes {bare}, numbers {generic} but symbols say {numbered}")
            failures += 1
    sys.exit(bool(failures))


main()
