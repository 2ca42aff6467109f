#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""deepbind.py PART: libraries that call the C library directly.

opened      a library opened with RTLD_DEEPBIND is recorded from the first call of its function on, bound lazily and not
constructed the same for blocks of its constructor, and calls through pointers that this stored
nested      the same for one that a constructor opens, of an opened library, or before main
crowd       threads that open, use and close such libraries, while others allocate: each call of each library is recorded
late        a library that was opened before recording began is recorded from then on, and a message says what is missing
own         a library with its own allocator, or one that depends on one, keeps it
spaces      a library of another linker namespace keeps its C library, and is counted; one of ours by dlmopen is recorded
caller      dlopen, dlmopen, dlsym and dlvsym find their caller: DT_RUNPATH, RTLD_NEXT and the namespace are as without mtrace
plain       a program without RTLD_DEEPBIND keeps its slots: one that ld.so has not resolved stays so
attached    a library that is opened after --attach is recorded from the first call of its function on
missed      a free by a pointer that dlsym took is missed: each report says so once the address is used again
"""

import json
import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))

import harness  # noqa: E402
from harness import Failure, Skip, expect  # noqa: E402

PLUGIN = r"""
#include <stdlib.h>
static void *kept[3];
#ifdef CONSTRUCTS
static void (*drop)(void *);
__attribute__((constructor)) static void construct(void)
{
    for (int i = 0; i < 3; i++)
        kept[i] = malloc(8880);
    drop = free;
}
void end(void)
{
    for (int i = 0; i < 2; i++)
        free(kept[i]);
    drop(kept[2]);
}
#endif
void *make(void) { return malloc(7770); }
void give(void *block) { free(block); }
"""

# Nothing of the program itself allocates between dlopen and the calls.
OPENER = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    char go;
    if (argc > 4 && read(0, &go, 1) != 1)
        return 3;
    int flags = atoi(argv[2]);
    void *handle = argv[3][0] == 'b' ? dlmopen(LM_ID_BASE, argv[1], flags)
        : argv[3][0] == 'n' ? dlmopen(LM_ID_NEWLM, argv[1], flags) : dlopen(argv[1], flags);
    if (!handle)
        return 2;
    void *(*make)(void) = (void *(*)(void))dlsym(handle, "make");
    void (*give)(void *) = (void (*)(void *))dlsym(handle, "give");
    void (*end)(void) = (void (*)(void))dlsym(handle, "end");
    for (int i = 0; i < 100; i++) {
        void *block = make();
        if (i % 2)
            give(block);
    }
    if (end)
        end();
    return argc > 4 && read(0, &go, 1) != 1;
}
"""

ARENA = r"""
#include <stddef.h>
static char arena[1 << 20];
static size_t used;
static int n_given;
void *malloc(size_t size) { used += (size + 15) & ~(size_t)15; return arena + used - size; }
void free(void *block) { n_given += block != NULL; }
"""

CROWD = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
static char **paths;
static int n_paths;
static void *open_and_close(void *number)
{
    unsigned seed = (unsigned)(long)number;
    for (int i = 0; i < 100; i++) {
        void *handle = dlopen(paths[1 + rand_r(&seed) % n_paths], (i % 2 ? RTLD_NOW : RTLD_LAZY) | RTLD_DEEPBIND);
        void *(*make)(void) = (void *(*)(void))dlsym(handle, "make");
        void (*give)(void *) = (void (*)(void *))dlsym(handle, "give");
        for (int k = 0; k < 20; k++)
            give(make());
        dlclose(handle);
    }
    return NULL;
}
static void *allocate(void *unused)
{
    for (int i = 0; i < 20000; i++)
        free(malloc(100));
    return unused;
}
int main(int argc, char **argv)
{
    pthread_t threads[6];
    paths = argv;
    n_paths = argc - 1;
    for (long i = 0; i < 6; i++)
        pthread_create(&threads[i], NULL, i < 4 ? open_and_close : allocate, (void *)i);
    for (int i = 0; i < 6; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
"""

OUTER = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
static void *plugin;
void *make(void) { return ((void *(*)(void))dlsym(plugin, "make"))(); }
void give(void *block) { ((void (*)(void *))dlsym(plugin, "give"))(block); }
__attribute__((constructor)) static void construct(void)
{
    plugin = dlopen(PLUGIN, RTLD_NOW | RTLD_DEEPBIND);
    for (int i = 0; i < 7; i++)
        make();
}
"""

# The caller of dlopen is a library with its own DT_RUNPATH; that of dlsym one that precedes another with the same name.
CALLER = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
int which(void) { return 1; }
int check(void);
int check(void)
{
    Lmid_t space = -1;
    void *beside = dlopen("libbeside.so", RTLD_NOW | FLAGS);
    void *base = dlmopen(LM_ID_BASE, "libbeside.so", RTLD_NOW | FLAGS);
    int (*next)(void) = (int (*)(void))dlsym(RTLD_NEXT, "which");
    int (*first)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "which");
    if (!beside || base != beside || dlinfo(beside, RTLD_DI_LMID, &space) != 0)
        return 1;
    if (!next || next() != 2 || !first || first() != 1)
        return 2;
    if (!dlvsym(RTLD_NEXT, "strlen", VERSION) || dlvsym(RTLD_NEXT, "strlen", "NONE_1.0") || dlsym(RTLD_NEXT, "check"))
        return 3;
    return dlsym(beside, "nobody") || dlerror() == NULL ? 4 : 0;
}
"""
CALLING = r"""
#include <stdio.h>
int check(void);
int check(void);
int main(void) { int how = check(); printf("%d\n", how); return how; }
"""

LAZY = r"""
#include <stdint.h>
#include <stdlib.h>
extern uintptr_t slots[] __asm__("_GLOBAL_OFFSET_TABLE_") __attribute__((visibility("hidden")));
static void *never(void) { return malloc(1); }
void *(*volatile kept)(void) = never;
uintptr_t slot(void) { return slots[3]; }
"""
LAZY_OPENER = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(int argc, char **argv)
{
    void *volatile block;
    Dl_info info = {0};
    void *handle = dlopen(argv[argc - 1], RTLD_LAZY);
    uintptr_t (*slot)(void) = (uintptr_t (*)(void))dlsym(handle, "slot");
    for (int i = 0; i < 100; i++)
        free(block = malloc(10));
    dladdr((void *)slot(), &info);
    puts(strrchr(info.dli_fname, '/'));
    return 0;
}
"""

MISSED = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
int main(void)
{
    void (*drop)(void *) = (void (*)(void *))dlsym(dlopen("libc.so.6", RTLD_NOW), "free");
    void *volatile block = malloc(7770);
    drop(block);
    block = malloc(7770);
    return block == NULL;
}
"""

FLAGS = {"lazy": os.RTLD_LAZY | os.RTLD_DEEPBIND, "now": os.RTLD_NOW | os.RTLD_DEEPBIND}
COUNTED = "SELECT count(*), total(NOT is_leaked) FROM allocations WHERE size_bytes = 7770"


def compiled(place, name, source, *options):
    (place / f"{name}.c").write_text(source)
    subprocess.run([os.environ.get("CC", "cc"), "-w", "-O1", "-fno-builtin", "-o", place / name, place / f"{name}.c", *options], check=True)
    return str(place / name)


def shared(place, name, source, *options):
    return compiled(place, name, source, "-shared", "-fPIC", *options)


def printed_past_us(text):
    return "1 module opened with RTLD_DEEPBIND" in text


def recorded(tools, place, argv, options=()):
    """The database of a program that ends as it does unrecorded, and the messages of mtrace-import."""
    alone = harness.run(argv, place)
    outcome = harness.run([tools.record, "-f", "-o", place / "run.dat", *options, "--", *argv], place)
    if (alone.status, alone.stdout, 0) != (outcome.status, outcome.stdout, outcome.status):
        raise Failure(f"{argv}: alone {alone.status} {alone.stdout}, recorded {outcome.status} {outcome.stdout} {outcome.stderr}")
    done = harness.run([tools.importer, "-f", place / "run.dat", place / "run.db"], place)
    return harness.Database(place / "run.db"), done.stderr.decode()


def test_opened(tools, place):
    opener = compiled(place, "opener", OPENER)
    for how, flags in FLAGS.items():
        for binding in ("lazy", "now"):
            plugin = shared(place, f"{how}_{binding}.so", PLUGIN, f"-Wl,-z,{binding},-z,relro")
            for call in ("open", "base"):
                database, output = recorded(tools, place, [opener, plugin, str(flags), call])
                expect(f"{how} {binding} {call}: blocks", database.rows(COUNTED), [(100, 50)])
                expect(f"{how} {binding} {call}: note", printed_past_us(output), False)
    plugin = shared(place, "plain.so", PLUGIN)
    database, output = recorded(tools, place, [opener, plugin, str(os.RTLD_NOW), "open"])
    expect("plain", (database.rows(COUNTED), printed_past_us(output)), ([(100, 50)], False))


def test_constructed(tools, place):
    opener = compiled(place, "opener", OPENER)
    plugin = shared(place, "plugin.so", PLUGIN, "-DCONSTRUCTS")
    for options in ((), ("--sample-bytes=1",)):
        database, output = recorded(tools, place, [opener, plugin, str(FLAGS["now"]), "open"], options)
        expect("blocks", database.rows(COUNTED), [(100, 50)])
        expect("of the constructor", database.rows(COUNTED.replace("7770", "8880")), [(3, 3)])
        expect("anomalies", database.rows("SELECT key FROM meta WHERE key GLOB 'anomaly.*' AND value > 0"), [])
        expect("said", printed_past_us(output), False)


def test_nested(tools, place):
    plugin = shared(place, "plugin.so", PLUGIN, "-DCONSTRUCTS")
    outer = shared(place, "outer.so", OUTER, f'-DPLUGIN="{plugin}"')
    opener = compiled(place, "opener", OPENER)
    for flags in (os.RTLD_NOW, FLAGS["now"]):
        database, _ = recorded(tools, place, [opener, outer, str(flags), "open"])
        expect("blocks", database.rows(COUNTED), [(107, 50)])
    linked = compiled(place, "linked", OPENER, "-Wl,--no-as-needed", outer)
    database, _ = recorded(tools, place, [linked, outer, str(FLAGS["now"]), "open"])
    expect("blocks of a constructor before main", database.rows(COUNTED), [(107, 50)])


def test_crowd(tools, place):
    program = compiled(place, "crowd", CROWD, "-pthread")
    plugins = [shared(place, f"plugin{i}.so", PLUGIN, "-DCONSTRUCTS") for i in range(5)]
    database, _ = recorded(tools, place, [program, *plugins])
    expect("blocks", database.rows(COUNTED), [(4 * 100 * 20, 4 * 100 * 20)])
    missed = "SELECT key FROM meta WHERE key IN ('anomaly.double_allocation', 'anomaly.unknown_realloc') AND value > 0"
    expect("anomalies", database.rows(missed), [])


def test_late(tools, place):
    opener = compiled(place, "opener", OPENER.replace("    for (int i", "    raise(SIGUSR1);\n    for (int i").replace("<stdlib.h>", "<stdlib.h>\n#include <signal.h>"))
    plugin = shared(place, "plugin.so", PLUGIN, "-DCONSTRUCTS")
    environment = {"LD_PRELOAD": tools.collector, "MTRACE_OUTPUT": str(place / "run.dat"), "MTRACE_DISABLE_BY_DEFAULT": "1",
                   "MTRACE_SIGNAL_TOGGLE": "SIGUSR1"}
    outcome = harness.run([opener, plugin, str(FLAGS["now"]), "open"], place, environment)
    done = harness.run([tools.importer, "-f", place / "run.dat", place / "run.db"], place)
    expect("status", (outcome.status, done.status), (0, 0))
    database = harness.Database(place / "run.db")
    expect("blocks", database.rows(COUNTED), [(100, 50)])
    expect("untracked", database.value("SELECT value FROM meta WHERE key = 'frees.untracked'"), 2)
    expect("anomalies", database.rows("SELECT key FROM meta WHERE key GLOB 'anomaly.*' AND value > 0"), [])
    answer = harness.run([tools.query, "leaks", place / "run.db"], place).stdout.decode()
    expect("said", (printed_past_us(done.stderr.decode()), printed_past_us(answer)), (True, True))


def test_own(tools, place):
    opener = compiled(place, "opener", OPENER)
    own = shared(place, "own.so", ARENA + PLUGIN.replace("#include <stdlib.h>", ""), "-Wl,-z,lazy")
    arena = shared(place, "libarena.so", ARENA)
    depending = shared(place, "depending.so", PLUGIN, arena, "-Wl,-z,lazy", f"-Wl,-rpath,{place}")
    for plugin in (own, depending):
        for flags in FLAGS.values():
            database, output = recorded(tools, place, [opener, plugin, str(flags), "open"])
            expect(f"{plugin}: blocks", database.rows(COUNTED)[0][0], 0)
            if flags & os.RTLD_NOW:
                expect("said", "1 module opened with RTLD_DEEPBIND, with another allocator" in output, True)


def test_spaces(tools, place):
    opener = compiled(place, "opener", OPENER)
    plugin = shared(place, "plugin.so", PLUGIN, "-DCONSTRUCTS")
    database, output = recorded(tools, place, [opener, plugin, str(os.RTLD_NOW), "new"])
    expect("blocks", database.rows(COUNTED), [(0, 0)])
    expect("modules", database.value("SELECT value FROM meta WHERE key = 'unreached.elsewhere.1'"), 2)
    expect("said", "2 modules in other linker namespaces" in output, True)


def test_caller(tools, place):
    version = {"x86_64": "GLIBC_2.2.5", "aarch64": "GLIBC_2.17"}.get(os.uname().machine)
    if version is None:
        raise Skip("strlen has another version here")
    (place / "sub").mkdir()
    (place / "other").mkdir()
    shared(place, "sub/libbeside.so", "int beside(void) { return 1; }")
    behind = shared(place, "libbehind.so", "int which(void) { return 2; }")
    for flags in ("0", "RTLD_DEEPBIND"):
        caller = shared(place, "libcaller.so", CALLER, f"-DFLAGS={flags}", f'-DVERSION="{version}"', "-Wl,--enable-new-dtags,-rpath,$ORIGIN/sub")
        recorded(tools, place, [compiled(place, "calling", CALLING, "-Wl,--no-as-needed", caller, behind)])


def test_plain(tools, place):
    if os.uname().machine != "x86_64":
        raise Skip("slots are elsewhere on this processor")
    opener = compiled(place, "opener", LAZY_OPENER)
    plugin = shared(place, "lazy.so", LAZY, "-Wl,-z,lazy")
    _, output = recorded(tools, place, [opener, plugin])
    expect("slot", harness.run([tools.record, "-f", "-o", place / "run.dat", "--", opener, plugin], place).stdout, b"/lazy.so\n")
    expect("said", "some calls" in output, False)


def test_attached(tools, place):
    opener = compiled(place, "opener", OPENER)
    plugin = shared(place, "plugin.so", PLUGIN)
    program = subprocess.Popen([opener, plugin, str(FLAGS["now"]), "open", "wait"], stdin=subprocess.PIPE)
    try:
        harness.wait_until("libc", lambda: "libc.so" in Path(f"/proc/{program.pid}/maps").read_text())
        recorder = subprocess.Popen([tools.record, "--attach", str(program.pid), "-o", place / "run.dat"], stderr=subprocess.PIPE, text=True)
        first = recorder.stderr.readline()
        if "attached to" not in first:
            raise Failure(first)
        program.communicate(b"gone", timeout=60)
        recorder.communicate(timeout=60)
    finally:
        program.kill()
    database = harness.import_log(tools, place / "run.dat", place / "run.db")
    expect("blocks", database.rows(COUNTED), [(100, 50)])
    expect("said", database.rows("SELECT 1 FROM meta WHERE key GLOB 'unreached.*'"), [])


def test_missed(tools, place):
    program = compiled(place, "missed", MISSED)
    database, output = recorded(tools, place, [program])
    expect("counted", database.value("SELECT value FROM meta WHERE key = 'anomaly.double_allocation'"), 1)
    expect("import", ("1 free was missed" in output, "1 pointer to the allocator" in output), (True, True))
    for command in ("leaks", "summary", "peak", "threads"):
        table = harness.run([tools.query, command, place / "run.db"], place)
        rows = harness.run([tools.query, command, place / "run.db", "--json"], place)
        json.loads(rows.stdout)
        expect(command, [b"1 free was missed" in text for text in (table.stdout + table.stderr, rows.stderr)], [True, True])


PARTS = {name.removeprefix("test_"): part for name, part in list(globals().items()) if name.startswith("test_")}
harness.main_of_parts(PARTS, __doc__)
