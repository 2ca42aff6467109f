#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""kept_symbols.py PART: names of modules whose files were removed or replaced before the import.

copies, copies_without_id   20 copies of one plugin under 20 names, which are removed: one call site
reload, reload_without_id   two builds under one name, one after the other: two functions
before_call                 files that are removed before their code allocates
in_memory                   the same where /proc/self/map_files may not be read: names of the dynamic symbol table
limit                       --keep-symbols=0, and a limit in between
damaged                     garbage under the name of a plugin at the end
folder                      --debug-dir with a copy of any name, with a separate debug file, and with another build
children                    fork children and --aggregate
killed                      program and recorder
upgraded, ..._without_id    an executable and a library that it starts with, replaced by another build while it runs
upgraded_attached           the same, attached to
upgraded_child              a child that replaces them and ends before its parent
upgraded_self               an executable that removes itself and ends immediately
upgraded_limit              --keep-symbols=0, and a limit below one file
"""

import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))

import harness  # noqa: E402
from harness import Failure, Skip  # noqa: E402

N_COPIES = 20
OWN = "size_bytes % 1000 = 777"


def plugin(tools, place, name, strip=True):
    """A copy of a plugin of the build, by default without debug info."""
    target = place / f"{name}.so"
    shutil.copy(tools.workloads / f"{name}.so", target)
    if strip:
        subprocess.run(["strip", "--strip-debug", target], check=True)
    return target


def record(tools, place, steps, options=(), before=()):
    log = place / "run.dat"
    outcome = harness.run([*before, tools.record, "-f", "-q", *options, "-o", log, "--", tools.workloads / "plugin_steps", *steps], place)
    if outcome.status != 0:
        raise Failure(f"the recording ended with {outcome.status}: {outcome.stderr.decode()}")
    return log


def load(tools, log, *options):
    return harness.import_log(tools, log, log.parent / "run.db", "-f", *options)


def site_names(database):
    """Functions of the call sites of the plugins' blocks, and how many blocks they have."""
    return database.rows(f"""SELECT f.name, count(DISTINCT b.call_site_id), count(*) FROM allocations AS a JOIN backtraces AS b USING (backtrace_id)
                             JOIN call_sites AS c USING (call_site_id) LEFT JOIN functions AS f USING (function_id)
                             WHERE a.{OWN} GROUP BY f.name ORDER BY f.name""")


def wants(found, expected, what):
    if found != expected:
        raise Failure(f"{what}: {found}, expected {expected}")


def wants_same_as_nm(database, original):
    """Each named position of the plugin lies in the symbol of nm."""
    symbols = []
    for line in subprocess.run(["nm", "-S", "--defined-only", original], capture_output=True, text=True, check=True).stdout.splitlines():
        words = line.split()
        if len(words) == 4 and words[2] in "tT":
            symbols.append((int(words[0], 16), int(words[1], 16), words[3]))
    frames = database.rows("""SELECT r.object_offset, f.name FROM frames AS r JOIN objects AS o USING (object_id) JOIN frame_lines AS l USING (frame_id)
                              LEFT JOIN functions AS f USING (function_id) WHERE o.path LIKE '%.tmp'""")
    if not frames:
        raise Failure("no position in a plugin")
    for offset, name in frames:
        wants(name, next(n for start, size, n in symbols if start <= offset - 1 < start + size), f"name at {offset:#x}")


def copies(original, n=N_COPIES, is_removed_first=False):
    steps = []
    for i in range(n):
        name = f"copy{i}.tmp"
        ends = [["remove", name], ["call", i]]
        steps += ["copy", original, name, "open", i, f"./{name}"]
        steps += [word for step in (ends if is_removed_first else ends[::-1]) for word in step]
        steps += ["close", i] if i % 2 else []
    return steps


def check_copies(tools, place, name):
    original = plugin(tools, place, name)
    log = record(tools, place, copies(original))
    database = load(tools, log)
    wants(site_names(database), [("leak_in_first", 1, N_COPIES)], "call sites of the copies")
    wants_same_as_nm(database, original)
    wants(database.rows("SELECT count(*), count(DISTINCT object_id), count(DISTINCT mapped_path) FROM modules WHERE mapped_path LIKE '%.tmp'"),
          [(N_COPIES, 1, N_COPIES)], "mappings")
    leaks = subprocess.run([tools.query, "leaks", "--csv", log.parent / "run.db"], capture_output=True, text=True, check=True).stdout
    wants(leaks.count("leak_in_first"), 1, f"rows of leaks\n{leaks}\n")
    for path in ("copy0.tmp", f"copy{N_COPIES - 1}.tmp"):
        leaks = subprocess.run([tools.query, "leaks", "--csv", f"--library-regex={path}", log.parent / "run.db"], capture_output=True, text=True, check=True)
        wants(leaks.stdout.count("leak_in_first"), 1, f"leaks of {path}")
    functions = database.rows("SELECT count(*) FROM functions WHERE name = 'leak_in_first'")
    wants(functions, [(1,)], "rows of functions")
    subprocess.run([tools.importer, "--resymbolize", log.parent / "run.db"], check=True, capture_output=True, env=harness.environment())
    wants(site_names(database), [("leak_in_first", 1, N_COPIES)], "call sites after --resymbolize")


def reload(first, second):
    return ["copy", first, "live.tmp", "open", 1, "./live.tmp", "call", 1, "close", 1,
            "copy", second, "new.tmp", "move", "new.tmp", "live.tmp", "open", 2, "./live.tmp", "call", 2]


def check_reload(tools, place, suffix):
    first, second = (plugin(tools, place, f"step_{name}{suffix}") for name in ("first", "second"))
    log = record(tools, place, reload(first, second))
    expected = [("leak_in_first", 1, 1), ("leak_in_second", 1, 1)]
    wants(site_names(load(tools, log)), expected, "call sites with the second build in place")
    shutil.copy(first, place / "live.tmp")
    wants(site_names(load(tools, log)), expected, "call sites with the first build in place")
    (place / "live.tmp").unlink()
    wants(site_names(load(tools, log)), expected, "call sites without the file")


def unprivileged():
    """Prefix that runs a command without capabilities."""
    if shutil.which("setpriv") is None:
        raise Skip("no setpriv here (package util-linux)")
    words = ["setpriv", "--bounding-set", "-all", "--inh-caps", "-all", "--"]
    if subprocess.run([*words, "true"], capture_output=True).returncode != 0:
        return []
    return words


def check_before_call(tools, place):
    original = plugin(tools, place, "step_first")
    try:
        next(Path("/proc/self/map_files").iterdir()).open("rb").close()
    except OSError:
        raise Skip("/proc/self/map_files cannot be read without CAP_CHECKPOINT_RESTORE") from None
    log = record(tools, place, copies(original, is_removed_first=True))
    database = load(tools, log)
    wants(site_names(database), [("leak_in_first", 1, N_COPIES)], "call sites")
    wants_same_as_nm(database, original)


def check_in_memory(tools, place):
    for name in ("step_first", "step_first_without_id"):
        log = record(tools, place, copies(plugin(tools, place, name), is_removed_first=True), before=unprivileged())
        database = load(tools, log)
        wants(site_names(database), [(None, 1, N_COPIES)], "call sites, of which only the caller has a dynamic symbol")
        named = database.rows("SELECT count(*) FROM frame_lines JOIN functions USING (function_id) WHERE name = 'plugin_leak'")
        wants(named, [(1,)], "positions in plugin_leak")


def check_limit(tools, place):
    first, second = (plugin(tools, place, f"step_{name}") for name in ("first", "second"))
    steps = [word for n, original in ((1, first), (2, second))
             for word in ("copy", original, f"{n}.tmp", "open", n, f"./{n}.tmp", "call", n, "remove", f"{n}.tmp")]
    log = record(tools, place, steps, ["--keep-symbols=0"])
    wants(site_names(load(tools, log)), [(None, 2, 2)], "call sites with --keep-symbols=0")
    output = subprocess.run([tools.importer, "-f", log, place / "run.db"], capture_output=True, text=True, env=harness.environment()).stderr
    if "has no names" not in output or "1.tmp" not in output:
        raise Failure(f"the import does not name the module without a file: {output}")
    wants(load(tools, log).rows("SELECT count(*) FROM object_parts"), [(0,)], "kept parts")
    # The program itself comes first, unless it was built long ago; then the first plugin, of less than 8 KiB.
    log = record(tools, place, steps, [f"--keep-symbols={kept_bytes(tools, place, steps) - 1}"])
    wants(site_names(load(tools, log)), [(None, 1, 1), ("leak_in_first", 1, 1)], "call sites at the limit")


def kept_bytes(tools, place, steps):
    """Size of the kept symbols of all modules, as the collector counts it: each part has a header of 16 bytes and is rounded up to 8."""
    log = record(tools, place, steps)
    harness.import_log(tools, log, place / "all.db", "-f", "--no-symbols")
    sizes = harness.Database(place / "all.db").rows("SELECT length(bytes) FROM object_parts")
    return sum((16 + size + 7) & ~7 for (size,) in sizes)


def check_damaged(tools, place):
    for name in ("step_first", "step_first_without_id"):
        original = plugin(tools, place, name)
        for text in ("", "garbage", "\x7fELF", "\x7fELF\x02\x01\x01" + "\x7f" * 200):
            steps = ["copy", original, "live.tmp", "open", 1, "./live.tmp", "call", 1, "close", 1, "write", "new.tmp", text, "move", "new.tmp", "live.tmp"]
            wants(site_names(load(tools, record(tools, place, steps))), [("leak_in_first", 1, 1)], f"call sites with {text!r} in place")


def check_folder(tools, place):
    whole = plugin(tools, place, "step_first", strip=False)
    stripped = place / "stripped.so"
    subprocess.run(["strip", "-o", stripped, whole], check=True)
    log = record(tools, place, copies(stripped, 2), ["--keep-symbols=0"])
    wants(site_names(load(tools, log)), [(None, 1, 2)], "call sites without a folder")
    for name in ("copy", "debug", "wrong"):
        (place / name / "below").mkdir(parents=True)
    shutil.copy(whole, place / "copy" / "below" / "any.name")
    (place / "copy" / "below" / "again").symlink_to("..")
    (place / "copy" / "garbage").write_bytes(b"\x7fELF" + bytes(100))
    subprocess.run(["objcopy", "--only-keep-debug", whole, place / "debug" / "below" / "1"], check=True)
    shutil.copy(plugin(tools, place, "step_second", strip=False), place / "wrong" / "copy0.tmp")
    for name, function in (("copy", "leak_in_first"), ("debug", "leak_in_first"), ("wrong", None)):
        database = load(tools, log, f"--debug-dir={place / name}")
        wants(site_names(database), [(function, 1, 2)], f"call sites with --debug-dir {name}")
        lines = database.rows("SELECT count(*) > 0 FROM call_sites JOIN sources USING (source_id) WHERE path LIKE '%step_plugin.c'")
        wants(lines, [(1 if function else 0,)], f"lines with --debug-dir {name}")


def check_children(tools, place):
    original = plugin(tools, place, "step_first")
    steps = ["copy", original, "1.tmp", "open", 1, "./1.tmp", "fork", "call", 1, "remove", "1.tmp"]
    for options in (["--follow-children"], ["--follow-children", "--aggregate"], ["--aggregate"]):
        database = load(tools, record(tools, place, steps if "--follow-children" in options else [s for s in steps if s != "fork"], options))
        named = database.rows("SELECT count(*) FROM frame_lines JOIN functions USING (function_id) WHERE name = 'leak_in_first'")
        wants(named, [(1,)], f"positions in leak_in_first with {options}")


def check_killed(tools, place):
    original = plugin(tools, place, "step_first")
    log = place / "run.dat"
    argv, env = harness.record_argv(tools, "preload", log, [tools.workloads / "plugin_steps", *map(str, copies(original, 2)), "kill"])
    harness.run(argv, place, env)
    wants(site_names(load(tools, log)), [("leak_in_first", 1, 2)], "call sites of a raw log")
    subprocess.run([tools.record, "--pack", log], check=True, capture_output=True, timeout=60)
    wants(site_names(load(tools, log)), [("leak_in_first", 1, 2)], "call sites of a log that was packed later")


LIBRARY = """
#include <stdlib.h>
#ifdef OTHER
void *in_other_library(void) { return malloc(5777); }
#endif
static void __attribute__((noinline)) in_library(void) { *(void *volatile *)&(void *){0} = malloc(4777); }
void library_leak(void) { in_library(); }
"""

# Each pair of arguments: a path, and the file that replaces it as soon as the recorder has it open.
PROGRAM = """
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef OTHER
void *in_other_program(void) { return malloc(6777); }
#endif
void library_leak(void);
static void __attribute__((noinline)) in_program(void) { *(void *volatile *)&(void *){0} = malloc(3777); }
static int has_open(const char *recorder, const char *path)
{
    char folder[64], found[PATH_MAX];
    const struct dirent *entry;
    int is_open = 0;
    snprintf(folder, sizeof(folder), "/proc/%s/fd", recorder);
    DIR *list = opendir(folder);
    while (!is_open && (entry = readdir(list)) != NULL) {
        ssize_t n = readlinkat(dirfd(list), entry->d_name, found, sizeof(found) - 1);
        found[n > 0 ? n : 0] = 0;
        is_open = strcmp(found, path) == 0;
    }
    closedir(list);
    return is_open;
}
int main(int argc, char **argv)
{
    char recorder[16];
    snprintf(recorder, sizeof(recorder), "%d", (int)getppid());
    if (!strcmp(argv[1], "attached"))
        if (scanf("%15s", recorder) != 1)
            return 3;
    if (!strcmp(argv[1], "child")) {
        int status = 0;
        if (fork() > 0)
            return wait(&status) < 0 || status;
    }
    in_program();
    library_leak();
    if (!strcmp(argv[1], "self"))
        return unlink(argv[0]);
    for (int i = 2; i + 1 < argc; i += 2) {
        for (int n = 0; !has_open(recorder, argv[i]); n++, usleep(1000))
            if (n == 20000)
                return 4;
        if (rename(argv[i + 1], argv[i]) != 0)
            return 5;
    }
    return 0;
}
"""


def upgraded(place, id_flag="-Wl,--build-id"):
    """A program with its library, and the arguments with which it replaces both."""
    built = []
    for flags, folder in (([], place / "old"), (["-DOTHER"], place / "new")):
        folder.mkdir()
        (folder / "library.c").write_text(LIBRARY)
        (folder / "program.c").write_text(PROGRAM)
        common = ["cc", "-g", "-O1", id_flag, *flags, "-o"]
        subprocess.run([*common, folder / "lib.so", "-shared", "-fPIC", folder / "library.c"], check=True)
        subprocess.run([*common, folder / "program", folder / "program.c", folder / "lib.so", f"-Wl,-rpath,{place / 'old'}"], check=True)
        built.append([folder / "program", folder / "lib.so"])
    (old, new) = built
    return old[0], [str(path) for pair in zip(old, new) for path in pair]


def upgraded_names(tools, log):
    database = load(tools, log)
    lines = database.rows(f"""SELECT f.name, count(s.path), count(*) FROM allocations AS a JOIN backtraces AS b USING (backtrace_id)
                              JOIN call_sites AS c USING (call_site_id) LEFT JOIN functions AS f USING (function_id)
                              LEFT JOIN sources AS s USING (source_id) WHERE a.{OWN} GROUP BY f.name ORDER BY f.name""")
    return lines


NAMED = [("in_library", 1, 1), ("in_program", 1, 1)]


def record_upgraded(tools, place, argv, options=(), output=""):
    log = place / "run.dat"
    outcome = harness.run([tools.record, "-f", *options, "-o", log, "--", *argv], place)
    wants((outcome.status, output in outcome.stderr.decode()), (0, True), outcome.stderr.decode())
    return log


def check_upgraded(tools, place, id_flag):
    program, pairs = upgraded(place, id_flag)
    wants(upgraded_names(tools, record_upgraded(tools, place, [program, "now", *pairs])), NAMED, "call sites and their lines")


def check_upgraded_child(tools, place):
    program, pairs = upgraded(place)
    log = record_upgraded(tools, place, [program, "child", *pairs], ["--follow-children"])
    wants(upgraded_names(tools, log), NAMED, "call sites and their lines")


def check_upgraded_self(tools, place):
    program, _ = upgraded(place)
    names = upgraded_names(tools, record_upgraded(tools, place, [program, "self"]))
    wants(NAMED[1] in names, True, f"call sites and their lines: {names}")


def check_upgraded_limit(tools, place):
    program, pairs = upgraded(place)
    # Without the option nothing is held, so the program must not wait.
    shell = f"{program} now; cp {pairs[1]} {pairs[0]}.new; mv {pairs[0]}.new {pairs[0]}; mv {pairs[3]} {pairs[2]}"
    for size, output in (("0", ""), ("100", "the limit of --keep-symbols is reached; no symbols are kept of ")):
        for path in (place / "old", place / "new"):
            shutil.rmtree(path)
        program, pairs = upgraded(place)
        log = record_upgraded(tools, place, ["sh", "-c", shell], ["--follow-children", f"--keep-symbols={size}"], output)
        wants(upgraded_names(tools, log), [(None, 0, 2)], f"call sites with --keep-symbols={size}")


def check_upgraded_attached(tools, place):
    program, pairs = upgraded(place)
    log = place / "run.dat"
    process = subprocess.Popen([program, "attached", *pairs], stdin=subprocess.PIPE)
    recorder = subprocess.Popen([tools.record, "-f", "-q", "-o", log, "--attach", str(process.pid)])
    try:
        harness.wait_until("the program is recorded", lambda: "libmtrace" in Path(f"/proc/{process.pid}/maps").read_text() and Path(f"{log}.live").exists())
        harness.wait_until("it waits", lambda: harness.state_of(process.pid) == "S")
        process.communicate(f"{recorder.pid}\n".encode(), timeout=60)
        wants((process.returncode, recorder.wait(60)), (0, 0), "exit statuses")
    finally:
        process.kill()
        recorder.kill()
    wants(upgraded_names(tools, log), NAMED, "call sites and their lines")


harness.main_of_parts({
    "copies": lambda tools, place: check_copies(tools, place, "step_first"),
    "copies_without_id": lambda tools, place: check_copies(tools, place, "step_first_without_id"),
    "reload": lambda tools, place: check_reload(tools, place, ""),
    "reload_without_id": lambda tools, place: check_reload(tools, place, "_without_id"),
    "before_call": check_before_call,
    "in_memory": check_in_memory,
    "limit": check_limit,
    "damaged": check_damaged,
    "folder": check_folder,
    "children": check_children,
    "killed": check_killed,
    "upgraded": lambda tools, place: check_upgraded(tools, place, "-Wl,--build-id"),
    "upgraded_without_id": lambda tools, place: check_upgraded(tools, place, "-Wl,--build-id=none"),
    "upgraded_attached": check_upgraded_attached,
    "upgraded_child": check_upgraded_child,
    "upgraded_self": check_upgraded_self,
    "upgraded_limit": check_upgraded_limit,
}, __doc__)
