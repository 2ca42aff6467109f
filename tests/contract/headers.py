# SPDX-License-Identifier: MIT
"""Every header compiles alone and may be included twice; those of processors (arch_NAME.h) by their own compilers, where those are."""

import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import tree

FLAGS = ["-std=c17", "-D_GNU_SOURCE", "-DMTRACE_CHECK_LEVEL=2", "-DMTRACE_VERSION=\"0\"", "-Wall", "-Wextra",
         "-Werror", "-Wno-unused-function", "-fsyntax-only", "-x", "c", "-"]


COMPILERS = {"i386": "i686-linux-gnu", "arm": "arm-linux-gnueabihf"}  # where a compiler calls the processor otherwise


def check(root, compiler, path):
    text = f'#include "{path}"\n#include "{path}"\nextern int headers_compile_alone;\n'
    run = subprocess.run([compiler, "-I", root, *FLAGS], input=text, text=True, capture_output=True)
    return [] if run.returncode == 0 else [f"{path}: does not compile alone", run.stderr.strip()]


def main():
    root, compiler = sys.argv[1:3]
    machine = subprocess.run([compiler, "-dumpmachine"], text=True, capture_output=True, check=True).stdout.split("-")[0]
    paths = {}
    for path in tree.sources(root, {".h"}):
        found = re.search(r"/arch_(\w+)\.h$", str(path))
        own = compiler if not found or found[1] == machine else shutil.which(f"{COMPILERS.get(found[1], f'{found[1]}-linux-gnu')}-gcc")
        if own:
            paths[path] = own
        else:
            print(f"{path}: no compiler of {found[1]}, not looked at")
    with ThreadPoolExecutor(2) as pool:
        results = pool.map(lambda path: check(root, paths[path], path), paths)
    tree.finish("headers", len(paths), [line for result in results for line in result])


main()
