# SPDX-License-Identifier: MIT
"""The layout of a log is the same for every processor: its offsets hold and nothing is padded (LF-10).

i386 is asked by this machine's own compiler, where it is x86-64; the others by whichever cross compiler is installed.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import tree

FLAGS = ["-std=c17", "-ffreestanding", "-Wall", "-Wextra", "-Wpadded", "-Werror", "-Wno-psabi", "-fsyntax-only", "-x", "c", "-"]


def cross_tools(root):
    """Names of the cross compilers in cmake/toolchains."""
    for path in sorted((Path(root) / "cmake/toolchains").glob("*.cmake")):
        settings = dict(re.findall(r"^set\((MTRACE_TRIPLET|MTRACE_TOOLS) ([\w-]+)\)", path.read_text(), re.MULTILINE))
        if settings:
            yield settings.get("MTRACE_TOOLS", settings.get("MTRACE_TRIPLET"))


def check(root, compiler):
    text = '#include "lib/abi/log_format.h"\n'
    run = subprocess.run([*compiler, "-I.", *FLAGS], input=text, text=True, capture_output=True, cwd=root)
    return [] if run.returncode == 0 else [f"{' '.join(compiler)}: the layout differs", run.stderr.strip()]


def main():
    root, own = sys.argv[1:3]
    target = subprocess.run([own, "-dumpmachine"], text=True, capture_output=True, check=True).stdout
    compilers = [[own]] + ([[own, "-m32"]] if target.startswith("x86_64") else [])
    compilers += [[f"{name}-gcc"] for name in cross_tools(root) if shutil.which(f"{name}-gcc")]
    tree.finish("log layouts", len(compilers), [line for compiler in compilers for line in check(root, compiler)])


main()
