# SPDX-License-Identifier: MIT
"""The layout of a log is the same for every processor: its offsets hold and nothing is padded (LF-10).

i386 is asked by this machine's own compiler, where it is x86-64; the others by whichever cross compiler is installed.
"""

import shutil
import subprocess
import sys

import tree

CROSS = ["i686-linux-gnu", "aarch64-linux-gnu", "riscv64-linux-gnu", "arm-linux-gnueabihf", "mips64el-linux-gnuabi64"]
FLAGS = ["-std=c17", "-ffreestanding", "-Wall", "-Wextra", "-Wpadded", "-Werror", "-Wno-psabi", "-fsyntax-only", "-x", "c", "-"]


def check(root, compiler):
    text = '#include "lib/abi/log_format.h"\n'
    run = subprocess.run([*compiler, "-I.", *FLAGS], input=text, text=True, capture_output=True, cwd=root)
    return [] if run.returncode == 0 else [f"{' '.join(compiler)}: the layout differs", run.stderr.strip()]


def main():
    root, own = sys.argv[1:3]
    target = subprocess.run([own, "-dumpmachine"], text=True, capture_output=True, check=True).stdout
    compilers = [[own]] + ([[own, "-m32"]] if target.startswith("x86_64") else [])
    compilers += [[f"{name}-gcc"] for name in CROSS if shutil.which(f"{name}-gcc")]
    tree.finish("log layouts", len(compilers), [line for compiler in compilers for line in check(root, compiler)])


main()
