#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""linking.py COMPILER: programs that include mtrace.h find the collector however they are linked, and run alone without it.

Each is compiled with COMPILER, run alone, where it must find the collector absent, and recorded, where its groups must be in the
database: position-independent and not, optimized and not, with the header in several files, in C++, in a library that is linked and
in one that is opened. Static ones can never be recorded, and must find it absent.
"""

import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))

import harness  # noqa: E402
from harness import Failure, Skip  # noqa: E402

API = str(Path(__file__).resolve().parents[2] / "include")
BODY = """
#include <mtrace.h>
#include <stdlib.h>
#ifdef __cplusplus
extern "C"
#endif
void *charge_part(int bytes);
void *charge_part(int bytes)
{
    struct mtrace_scope scope = mtrace_enter(mtrace_group_intern("part", NULL, 0));
    void *volatile block = malloc((size_t)bytes);
    mtrace_exit(scope);
    return block;
}
"""
MAIN = """
#include <mtrace.h>
#include <stdio.h>
#include <stdlib.h>
#ifdef __cplusplus
extern "C"
#endif
void *charge_part(int bytes);
void *volatile early;
__attribute__((constructor)) static void before_main(void)
{
    struct mtrace_scope scope = mtrace_enter(mtrace_group_intern("part", NULL, 0));
    early = malloc(1000);
    mtrace_exit(scope);
}
int main(void)
{
    void *volatile block = charge_part(2000);
    printf("%d %u %s\\n", mtrace_present(), mtrace_api_version(), early && block ? "ok" : "no memory");
    return 0;
}
"""
OPENER = """
#include <dlfcn.h>
#include <mtrace.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    void *library = dlopen(argv[argc - 1], RTLD_NOW | RTLD_LOCAL);
    void *(*charge)(int) = library ? (void *(*)(int))dlsym(library, "charge_part") : NULL;
    if (!charge || !charge(3000))
        return 1;
    printf("%d %u ok\\n", mtrace_present(), mtrace_api_version());
    return 0;
}
"""
# Programs that the loader can bind find the collector without an allocation: the program's own first block is the first.
UNTOUCHED = """
#include <malloc.h>
#include <mtrace.h>
#include <stdio.h>
static size_t heap;
__attribute__((constructor(102))) static void behind_the_header(void)
{
    heap = mallinfo2().arena;
}
int main(void)
{
    printf("%d %zu\\n", mtrace_present(), heap);
    return 0;
}
"""
STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror"]
SHAPES = {
    "pie": (["-O2", "-fPIE"], ["-pie"]),
    "pie_unoptimized": (["-O0", "-fPIE"], ["-pie"]),
    "no_pie": (["-O2", "-fno-pie"], ["-no-pie"]),
    "no_pie_code_in_pic": (["-O1", "-fPIC"], ["-no-pie"]),
    "lto": (["-O2", "-flto", "-fPIE"], ["-flto", "-O2", "-pie"]),
    "static": (["-O2", "-fno-pie"], ["-static"]),
    "static_pie": (["-O2", "-fPIE"], ["-static-pie"]),
}


class Bench:
    def __init__(self, compiler, place):
        self.compiler, self.place = compiler, place
        self.tools = harness.Tools.from_environment()
        self.quiet = place / "empty"
        self.quiet.mkdir()

    def compile(self, name, *argv):
        run = harness.run([self.compiler, "-I", API, *argv, "-o", self.place / name], self.quiet)
        if run.status != 0:
            raise Failure(f"{name}: {run.stderr.decode()}")
        return self.place / name

    def write(self, name, text):
        (self.place / name).write_text(text)
        return self.place / name

    def record(self, argv):
        """The program's output when it is recorded, and the bytes charged to its group; None: no log."""
        log, database = self.place / "run.dat", self.place / "run.db"
        run = harness.run([self.tools.record, "-o", log, "--", *argv], self.quiet)
        if not log.exists():
            return run.stdout, None
        done = harness.run([self.tools.importer, "-f", log, database], self.quiet)
        log.unlink()
        if done.status != 0:
            raise Failure(done.stderr.decode())
        return run.stdout, harness.Database(database).value("SELECT sum(allocated_bytes) FROM by_group WHERE name = 'part'")

    def check(self, argv, is_recordable, bytes_charged):
        """Unrecorded it finds no collector, recorded it does, unless it is static."""
        alone = harness.run(argv, self.quiet)
        if alone.stdout != b"0 0 ok\n" or alone.status != 0:
            raise Failure(f"{argv[0].name}: alone it prints {alone.stdout} and ends with {alone.status}")
        output, charged = self.record(argv)
        if output != (b"1 2 ok\n" if is_recordable else b"0 0 ok\n") or charged != (bytes_charged if is_recordable else None):
            raise Failure(f"{argv[0].name}: recorded it prints {output}, and is charged {charged}")
        print(argv[0].name, "ok")


def check_shapes(bench, suffix, language):
    main_file, body = bench.write(f"main.{suffix}", MAIN), bench.write(f"body.{suffix}", BODY)
    for shape, (compile_flags, link_flags) in SHAPES.items():
        program = bench.compile(shape, *STRICT, *language, *compile_flags, main_file, body, *link_flags)
        bench.check([program], "static" not in shape, 3000)
    bench.compile("libbody.so", *language, "-O2", "-fPIC", "-shared", body)
    linked = bench.compile("linked_library", *language, "-O2", main_file, "-L", bench.place, "-lbody", f"-Wl,-rpath,{bench.place}")
    bench.check([linked], True, 3000)
    if suffix == "c": # libstdc++ allocates itself
        untouched = bench.compile("untouched", "-O2", "-fPIE", bench.write("untouched.c", UNTOUCHED), "-pie")
        output = harness.run([untouched], bench.quiet).stdout
        if output != b"0 0\n":
            raise Failure(f"the header alone has made a heap: {output}")
    opener = bench.compile("opened_library", *language, "-O2", bench.write(f"opener.{suffix}", OPENER), "-ldl")
    bench.check([opener, bench.place / "libbody.so"], True, 3000)


def main():
    compiler = sys.argv[1]
    if shutil.which(compiler) is None:
        raise Skip(f"{compiler} is not installed")
    with harness.scratch() as scratch:
        check_shapes(Bench(compiler, Path(scratch)), *(("cc", ["-std=c++11"]) if "++" in compiler else ("c", ["-std=c11"])))


harness.main(main)
