#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""large_text.py COMPILER: the recorder looks through an executable with an allocator inside once, not for each of its processes.

Two programs that differ only in 64 MiB of code that never runs are recorded with their children. The recorder may take little more time
for the larger one.
"""

import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))

import harness  # noqa: E402
from harness import Failure  # noqa: E402

N_CHILDREN = 40
SETTLED_SECONDS = 0.1  # the recorder remembers no file that changed later than that before (allocator.c)
MORE_SECONDS = 0.6     # one scan takes less than a tenth of that, 40 scans byte by byte take 2 s
SOURCE = """
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
__asm__(".text\\n.fill " BYTES ", 1, 0x90\\n");
char pool[100000];
size_t n_used;
void *mi_malloc(size_t n)
{
    n_used += (n + 15) / 16 * 16;
    return n_used <= sizeof(pool) ? pool + n_used - n : NULL;
}
void mi_free(void *block)
{
    if (block == pool + n_used - 16)
        n_used -= 16;
}
int main(void)
{
    void *volatile own = mi_malloc(16);
    void *volatile block = malloc(777);
    for (int i = 0; i < N_CHILDREN; i++) {
        pid_t child = fork();
        if (child == 0)
            _exit(0);
        (void)waitpid(child, NULL, 0);
    }
    mi_free(own);
    free(block);
    return 0;
}
"""


def compile_program(compiler, place, name, text_bytes):
    (place / "large.c").write_text(SOURCE)
    run = harness.run([compiler, "-O1", "-rdynamic", f'-DBYTES="{text_bytes}"', f"-DN_CHILDREN={N_CHILDREN}", place / "large.c", "-o", place / name], place / "empty")
    if run.status != 0:
        raise Failure(f"{name}: {run.stderr.decode()}")
    while time.time() <= (place / name).stat().st_ctime + SETTLED_SECONDS:
        time.sleep(SETTLED_SECONDS / 10)


def record_seconds(tools, place, name):
    """Time in the recorder's and the program's code, and what the recorder said."""
    before = os.times().children_user
    run = harness.run([tools.record, "--follow-children", "-o", place / f"{name}.dat", "--", place / name], place / "empty")
    said = run.stderr.decode()
    if run.status != 0 or f"{N_CHILDREN} logs of child processes" not in said or "mimalloc" not in said:
        raise Failure(f"{name} ended with {run.status}: {said}")
    return os.times().children_user - before


def main():
    tools = harness.Tools.from_environment()
    with harness.scratch() as scratch:
        place = Path(scratch)
        (place / "empty").mkdir()
        compile_program(sys.argv[1], place, "small", 64)
        compile_program(sys.argv[1], place, "large", 64 << 20)
        small = record_seconds(tools, place, "small")
        large = record_seconds(tools, place, "large")
        print(f"{small:.2f} s for the small program, {large:.2f} s for the large one")
        if large > small + MORE_SECONDS:
            raise Failure("the recorder looks through the large program's code more than once")


harness.main(main)
