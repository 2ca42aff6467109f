#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""attach.py PART: mtrace-record --attach and --detach of processes that count what they allocate.

totals    what is allocated while attached is recorded, and nothing else; frees of blocks from before are counted; twice
threads   rounds on a python3 with threads, each with a log; afterwards nothing leads to us
killed    the recorder is killed: --detach leads the process back, and names the log that is left, also that of what it executed; attaching again works
silent    a recorder that does not answer: --detach leaves its recording alone; a recorder that got no request ends by itself
middle    recorders are killed at random instants of attaching, and at each step: the process goes on, can be attached to, and then has no code of theirs
ended     a program that ends during --attach is reported as ended
waits     waits of a thread that was attached by, or only looked at, end neither early nor by EINTR
awkward   pages that ld.so protects were made writable; the first thread is in vfork; modules are unloaded, seen and unseen; the program has its own allocator, or is at its end
redis     rounds on a redis-server under redis-benchmark: all requests are answered
parked    a thread that waits in libc's syscall() again and again, as Rust's do, does not keep --detach waiting
patient   a thread that is nearly always in its own allocator: --detach waits for it, reports that, and uses little CPU
slow      the recorder, or the process that requests a detach, is not scheduled between its steps
scheduled attaching changes the scheduling of no thread, and mtrace-record does not raise its own
users     root attaches to a process of another user; two mtrace-record at once; another user is refused
loading   a program that loads and unloads libraries all the time, also half of them in vain, goes on, and what is left leads back
options   each attach has its own, whatever the one before had
exec      what the process executes is recorded, too, until it ends, or is left
left      a followed process that works, sleeps or was executed writes nothing after --detach
shell     what a followed shell executes after --detach has no log, but for one of a recording begun below
spaces    a recorder in another PID namespace does not count as dead, for --attach and --pack; followed children in another one are detached, too
mounts    a file with the name of a log in another mount namespace is not taken for it
named     a log is known by what its process has mapped, also where its name is the kernel's own words, or has a line break
kept      an attach that fails has not ended the log of a process whose recorder is gone
replaced  with --force, too, an attach that fails or is killed has changed no file; what a process still writes is not replaced
again     what was left after an exec, or whose recorder is gone, can be recorded again
between   a process that executes one program after another is attached to, whichever instant is met
stub      a thread that ld.so is about to bind a call for is not used; what ld.so then stores does not keep later calls from us
cloned    children by a bare clone, of libc's syscall or of no library at all, are recorded like those of fork
together  windows, reports and the other options of recordings go with it, or are refused
answers   a second attach is refused with a message
storage   the library takes the documented part of glibc's reserve for thread-local storage, once; without that much left it is refused
later     calls of a library that is loaded while attached are recorded, and lead back
operators new and delete of an allocator's library, which call no malloc by name, are recorded, too, and lead back
gaps      an executable with gaps between its segments is recorded; one without references to the allocator is reported
hooked    pages of the program that it made writable are so afterwards, and --detach answers
signals   a program that is stopped by SIGSTOP during a remote call keeps its signals; if other signals always come first this is reported
limited   a process that may map no more memory: --attach and --detach say so, and work after the limit is raised
refused   --attach says why a process cannot be attached to, and the process continues
kinds     the same for programs that are static, of musl, of 32 bits, or cannot see the files of mtrace
own_names functions of the program have names of libc's that the collector calls
crowd     a program of 150 threads is attached to
"""

import ctypes
import os
import random
import re
import resource
import shutil
import signal
import sqlite3
import struct
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))

import harness  # noqa: E402
from harness import Failure, Skip, wait_until  # noqa: E402

SERVER = r"""
import ctypes, os, sys
# its references, not the pointers of ctypes, lead to the library
strdup = ctypes.CDLL(None).strdup
strdup.restype = ctypes.c_void_p
strdup.argtypes = [ctypes.c_char_p]
blocks = {}
for line in sys.stdin:
    verb, size, n = line.split()
    kept = blocks.setdefault(size, [])
    for _ in range(int(n) if n.isdigit() else 1):
        if verb == "load":
            keep = ctypes.CDLL(n).keep
            break
        elif verb == "keep":
            keep(int(size))
        elif verb == "exec":
            print(line, end="", flush=True)
            os.execv(sys.executable, [sys.executable, "-c", *sys.orig_argv[2:]])
        elif verb == "show":
            line = f"{os.environ.get(size)}\n"
        elif verb == "alloc":
            kept.append(strdup(b"x" * (int(size) - 1)))
        else:
            bytearray(int(size) - 1)
    print(line, end="", flush=True)
"""

THREADS = r"""
import json, threading, time
def work():
    while True:
        json.loads(json.dumps({str(i): "x" * i for i in range(100)}))
        bytearray(200000)
        time.sleep(0.001)
for _ in range(4):
    threading.Thread(target=work, daemon=True).start()
time.sleep(1000)
"""

# Loads and unloads copies of one library; every other one needs a function that does not exist, and so is unmapped before it is a module.
LOADING = r"""
import ctypes, sys, threading, time
libc = ctypes.CDLL(None)
libc.dlopen.restype = ctypes.c_void_p
libc.dlopen.argtypes = [ctypes.c_char_p, ctypes.c_int]
libc.dlclose.argtypes = [ctypes.c_void_p]
RTLD_NOW = 2
paths = [path.encode() for path in sys.argv[1:]]
def load():
    while True:
        for handle in [libc.dlopen(path, RTLD_NOW) for path in paths]:
            if handle:
                libc.dlclose(handle)
def allocate():
    while True:
        bytearray(5000)
        time.sleep(0.0001)
for work in (load, allocate, allocate):
    threading.Thread(target=work, daemon=True).start()
time.sleep(1000)
"""

LIBRARY = """
#include <stdlib.h>
#include <stdio.h>
#ifdef IN_VAIN
extern int nobody(void);
int ask(void) { return nobody(); }
#endif
void *keep(int size) { return getenv("x") ? realloc(malloc(1), 3) : calloc(1, (size_t)size); }
void drop(void *block) { free(block); puts("dropped"); }
"""

HOOKED = r"""
#include <link.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static void **word;

/* As one who hooks functions does. */
static int open_all(struct dl_phdr_info *info, size_t size, void *context)
{
    unsigned long page = 4096;

    (void)size, (void)context;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        unsigned long start = (info->dlpi_addr + header->p_vaddr) & ~(page - 1);
        unsigned long end = (info->dlpi_addr + header->p_vaddr + header->p_memsz) & ~(page - 1);
        if (header->p_type != PT_GNU_RELRO || start >= end)
            continue;
        mprotect((void *)start, end - start, PROT_READ | PROT_WRITE);
        word = (void **)(end - sizeof(void *));
    }
    return 1;
}

int main(void)
{
    char line[32];

    dl_iterate_phdr(open_all, NULL);
    for (long n; (n = read(0, line, sizeof(line))) > 0;) {
        void *volatile block = malloc(7770);
        free(block);
        if (word)
            *(void *volatile *)word = *(void *volatile *)word;
        if (write(1, line, (unsigned long)n) != n)
            return 4;
    }
    return word ? 0 : 3;
}
"""

# Executes itself until so many milliseconds are over, and then waits for lines.
AGAIN = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static long now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

int main(int argc, char **argv)
{
    char line[32], until[32];

    (void)argc;
    snprintf(until, sizeof(until), "%ld", argc > 2 ? atol(argv[1]) : now() + atol(argv[1]));
    if (now() < atol(until))
        return execl("/proc/self/exe", argv[0], until, "again", (char *)NULL);
    for (long n; (n = read(0, line, sizeof(line))) > 0;) {
        for (int i = 0; i < 9; i++)
            *(void *volatile *)malloc(7770) = NULL;
        if (write(1, line, (unsigned long)n) != n)
            return 4;
    }
    return 0;
}
"""

# The first call of execl, or in another thread of malloc, and then calls that are counted.
STUBS = r"""
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char line[32];
static int ends[2];

/* The code that the first call runs before it is in ld.so. */
static unsigned long stub_of(const char *name)
{
    const char *strings = NULL;
    const ElfW(Sym) *symbols = NULL;
    const ElfW(Rela) *slot = NULL;

    for (const ElfW(Dyn) *at = _DYNAMIC; at->d_tag != DT_NULL; at++) {
        strings = at->d_tag == DT_STRTAB ? (const char *)at->d_un.d_ptr : strings;
        symbols = at->d_tag == DT_SYMTAB ? (const ElfW(Sym) *)at->d_un.d_ptr : symbols;
        slot = at->d_tag == DT_JMPREL ? (const ElfW(Rela) *)at->d_un.d_ptr : slot;
    }
    while (strcmp(strings + symbols[ELF64_R_SYM(slot->r_info)].st_name, name) != 0)
        slot++;
    return *(unsigned long *)slot->r_offset;
}

static void *call(void *unused)
{
    read(0, line, sizeof(line));
    *(void *volatile *)malloc(8) = NULL;
    write(ends[1], line, 1);
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t thread;

    if (argc > 1)
        dprintf(1, "%lx\n", stub_of(argv[1]));
    if (argc > 1 && strcmp(argv[1], "malloc") == 0) {
        pipe(ends);
        pthread_create(&thread, NULL, call, NULL);
        read(ends[0], line, 1);
        dprintf(1, "done\n");
    } else if (argc > 1) {
        read(0, line, sizeof(line));
        execl("/proc/self/exe", argv[0], (char *)NULL);
    }
    for (long n; (n = read(0, line, sizeof(line))) > 0;) {
        for (int i = 0; i < 20; i++) {
            void *volatile block = malloc(7770);
            free(block);
        }
        write(1, line, (unsigned long)n);
    }
    return 0;
}
"""

# A child of each, which loads a library and calls it, and then its parent.
CLONING = r"""
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static long bare_clone(void)
{
    register long fourth __asm__("r10") = 0;
    long result;

    __asm__ volatile("syscall" : "=a"(result)
                     : "a"((long)SYS_clone), "D"((long)SIGCHLD), "S"(0L), "d"(0L), "r"(fourth)
                     : "rcx", "r11", "memory");
    return result;
}

static int load(const char *path, int n)
{
    void *library = dlopen(path, RTLD_NOW);
    void *(*keep)(int) = library ? (void *(*)(int))dlsym(library, "keep") : NULL;

    for (int i = 0; i < 3000; i++) /* looks are rare */
        free(memset(malloc(80), 1, 80));
    for (int i = 0; keep && i < n; i++)
        if (!keep(7770))
            return 2;
    return keep ? 0 : 3;
}

int main(int argc, char **argv)
{
    char line[32];
    int status;

    (void)argc;
    for (long n; (n = read(0, line, sizeof(line))) > 0;) {
        int number = *line == 'f' ? 11 : *line == 's' ? 12 : 13;
        long pid = *line == 'f' ? fork() : *line == 's' ? syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) : bare_clone();
        if (pid == 0)
            exit(load(argv[1], number));
        if (waitpid((pid_t)pid, &status, 0) != pid || status != 0)
            return 5;
        for (int i = 0; i < 10; i++)
            *(void *volatile *)malloc(7770) = NULL;
        if (write(1, line, (unsigned long)n) != n)
            return 4;
    }
    return 0;
}
"""

# At each line a child, which works or sleeps from then on.
FORKING = r"""
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(void)
{
    char line[64] = "";
#ifdef SPACE
    if (unshare(CLONE_NEWPID) != 0)
        return 2;
#endif
    while (read(0, line, sizeof(line) - 1) > 0) { /* not by stdio, whose locks an attach waits for */
        int ready[2];
        char byte;
        if (pipe(ready) == 0 && fork() == 0) {
            void *volatile block = malloc(10);
            if (write(ready[1], "", 1) != 1)
                _exit(1);
            if (line[0] == 's')
                sleep(60);
            for (int n = 0; n < 60000; n++, usleep(1000)) {
                free(block);
                block = malloc(100);
            }
            _exit(0);
        }
        if (read(ready[0], &byte, 1) != 1 || write(1, line, strlen(line)) < 0)
            return 1;
        memset(line, 0, sizeof(line));
    }
    return 0;
}
"""

THREADS_AFTER_EXEC = f"import os, sys; sys.stdin.readline(); os.execv(sys.executable, [sys.executable, '-c', 'print(flush=True)' + {THREADS!r}])"

# malloc and the operators of one library, none of which calls another by name.
ALLOCATOR = r"""
#include <cstddef>
#include <new>
extern "C" void *__libc_malloc(size_t);
extern "C" void *__libc_calloc(size_t, size_t);
extern "C" void *__libc_realloc(void *, size_t);
extern "C" void __libc_free(void *);
extern "C" void *malloc(size_t size) { return __libc_malloc(size); }
extern "C" void *calloc(size_t n, size_t size) { return __libc_calloc(n, size); }
extern "C" void *realloc(void *block, size_t size) { return __libc_realloc(block, size); }
extern "C" void free(void *block) { __libc_free(block); }
void *operator new(size_t size) { return __libc_malloc(size); }
void *operator new[](size_t size) { return __libc_malloc(size); }
void *operator new(size_t size, const std::nothrow_t &) noexcept { return __libc_malloc(size); }
void *operator new[](size_t size, const std::nothrow_t &) noexcept { return __libc_malloc(size); }
void operator delete(void *block) noexcept { __libc_free(block); }
void operator delete[](void *block) noexcept { __libc_free(block); }
void operator delete(void *block, size_t) noexcept { __libc_free(block); }
void operator delete[](void *block, size_t) noexcept { __libc_free(block); }
"""

# Per line: 100 blocks of the size, half of them by new[]; half of the last line's, and of these, are freed.
NEWS = r"""
#include <cstdlib>
#include <cstring>
#include <unistd.h>
int main(int, char **arguments)
{
    static char *kept[50];
    char line[64] = "";
    for (; read(0, line, sizeof(line) - 1) > 0; memset(line, 0, sizeof(line))) {
        size_t size = strtoul(line, nullptr, 10);
        if (line[0] == 'e')
            execv(arguments[0], arguments);
        for (int i = 0; i < 50; i++)
            delete[] kept[i];
        for (int i = 0; i < 50; i++) {
            kept[i] = new char[size];
            void *volatile other = operator new(size);
            operator delete(other);
        }
        if (write(1, line, strlen(line)) < 0)
            return 1;
    }
    return 0;
}
"""

STARTED = []
PTRACE_SEIZE, PTRACE_INTERRUPT, PTRACE_DETACH = 0x4206, 0x4207, 17
TRACE = ctypes.CDLL(None, use_errno=True).ptrace
POOL_BYTES = 8 << 20  # what a log takes, and would be left of each round


def compiled(folder, name, source, *options, suffix="c"):
    (folder / f"{name}.{suffix}").write_text(source)
    compiler = os.environ.get("CC", "cc") if suffix == "c" else os.environ.get("CXX", "c++")
    subprocess.run([compiler, "-O1", "-o", folder / name, folder / f"{name}.{suffix}", *options], check=True)
    return str(folder / name)


def start(*argv):
    process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, text=True)
    STARTED.append(process)
    wait_until("the program begins", lambda: "libc.so" in Path(f"/proc/{process.pid}/maps").read_text())
    return process


def say(process, line):
    process.stdin.write(line + "\n")
    process.stdin.flush()
    answer = process.stdout.readline()
    if answer != line + "\n":
        raise Failure(f"the program answered {answer!r}")


def end(process):
    """Its input ends."""
    process.stdin.close()
    if process.wait(30) != 0:
        raise Failure(f"the program ended with {process.returncode}")


def kill(process):
    process.kill()
    process.wait()


def record(*words):
    """What mtrace-record does and prints."""
    return subprocess.run([TOOLS.record, *map(str, words)], capture_output=True, text=True, timeout=60)


def is_refused(why, *words):
    """mtrace-record ends with a message that has `why`, and has made no log."""
    done = record(*words)
    if done.returncode == 0 or why not in done.stderr:
        raise Failure(f"{words}, expected {why!r}: {done.returncode}, {done.stderr}")
    if "no.dat" in str(words[-1]) and Path(words[-1]).exists():
        raise Failure(f"{words}: refused, but there is a log")


def attach(pid, log, *options):
    recorder = subprocess.Popen([TOOLS.record, "--attach", str(pid), "-f", "-o", str(log), *options], stderr=subprocess.PIPE, text=True)
    STARTED.append(recorder)
    first = recorder.stderr.readline()
    if "attached to process" not in first:
        lives = os.path.exists(f"/proc/{pid}/exe")
        raise Failure(f"not attached, the process {'lives' if lives else 'has ended'}: {first}{recorder.communicate()[1]}")
    return recorder


def detach(pid, recorder=None):
    done = record("--detach", pid)
    if done.returncode != 0:
        raise Failure(f"--detach: {done.stderr}")
    if recorder and (recorder.wait(60) != 0):
        raise Failure(f"mtrace-record ended with {recorder.returncode}: {recorder.stderr.read()}")
    return done.stdout


def ask(log, query):
    database = log.with_suffix(".db")
    subprocess.run([TOOLS.importer, "-f", str(log), str(database)], check=True, capture_output=True)
    with sqlite3.connect(database) as connection:
        return connection.execute(query).fetchall()


def library_range(pid):
    ranges = [line.split()[0].split("-") for line in Path(f"/proc/{pid}/maps").read_text().splitlines()
              if line.endswith("/libmtrace-attach.so")]
    return (min(int(a, 16) for a, _ in ranges), max(int(b, 16) for _, b in ranges)) if ranges else (0, 0)


def words_to_us(pid):
    """Words in the data of modules that point into our library; ld.so's own data has what it knows of each module."""
    low, high = library_range(pid)
    n = 0
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
            fields = line.split()
            if len(fields) < 6 or "x" in fields[1] or "ld-linux" in fields[5] or "libmtrace" in fields[5] or fields[5][0] != "/":
                continue
            start, end = (int(word, 16) for word in fields[0].split("-"))
            memory.seek(start)
            try:
                data = memory.read(end - start)
            except OSError:  # unmapped since
                continue
            n += sum(low <= word < high for word in memoryview(data[:len(data) // 8 * 8]).cast("Q"))
    return n


def changed_code(pid):
    """Of ld.so: where what is in memory is not what its file has."""
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
            fields = line.split()
            if len(fields) < 6 or "x" not in fields[1] or "ld-linux" not in fields[5]:
                continue
            start, end = (int(word, 16) for word in fields[0].split("-"))
            memory.seek(start)
            found = memory.read(end - start)
            expected = Path(fields[5]).read_bytes()[int(fields[2], 16):][:end - start]
            return [] if found == expected else [start + i for i, byte in enumerate(expected) if found[i] != byte]
    raise Failure("the process has no ld.so")


# A thread in a remote call of a killed recorder may still be in the code: then the code stays.
def is_as_before(process, may_keep_code=False):
    changed = [] if may_keep_code else changed_code(process.pid)
    if changed:
        raise Failure(f"{len(changed)} bytes of ld.so are changed, from {changed[0]:x} on")
    if words_to_us(process.pid):
        raise Failure(f"{words_to_us(process.pid)} words still lead to the library")
    status = Path(f"/proc/{process.pid}/status").read_text()
    if "TracerPid:\t0" not in status or process.poll() is not None:
        raise Failure(f"the process is not as it was:\n{status}")


def size_of(pid):
    return int(Path(f"/proc/{pid}/statm").read_text().split()[0]) * 4096


def test_totals(folder):
    process = start(sys.executable, "-c", SERVER)
    say(process, "alloc 7000 5")
    for part in ("first", "second"):
        log = folder / f"{part}.dat"
        recorder = attach(process.pid, log)
        if not words_to_us(process.pid):
            raise Failure("nothing leads to the library: the look at it sees nothing")
        say(process, "alloc 7770 30")
        say(process, "pass 7780 20")
        detach(process.pid, recorder)
        is_as_before(process)
        say(process, "alloc 7790 40")
        rows = dict(ask(log, "SELECT size_bytes, count(*) FROM allocations WHERE size_bytes BETWEEN 7000 AND 7790 GROUP BY size_bytes"))
        if rows.get(7770) != 30 or rows.get(7780) != 20 or 7790 in rows or 7000 in rows:
            raise Failure(f"{part}: recorded by size: {rows}")
        (kind, frees), = ask(log, "SELECT end_kind, inherited_frees FROM processes")
        if kind != "detached":
            raise Failure(f"{part}: the process ended by {kind}")
        heaps = dict(ask(log, "SELECT unseen_blocks, count(*) FROM heaps GROUP BY 1"))
        if not heaps or list(heaps) != ["inherited"]:
            raise Failure(f"{part}: where blocks from before lie, heaps are said to have unseen ones of {heaps}")
        if ask(log, "SELECT value FROM meta WHERE key = 'processes.partial'") != [(1,)]:
            raise Failure(f"{part}: nothing says that blocks from before are in no figure")
        said = subprocess.run([TOOLS.query, "growth", str(log.with_suffix(".db"))], capture_output=True, text=True).stderr
        if "blocks of other times are not included in any number, and blocks that replace them count as new" not in said:
            raise Failure(f"{part}: growth of an attached process says: {said}")
    end(process)


def test_threads(folder):
    process = start(sys.executable, "-c", THREADS)
    sizes = []
    for _ in range(15):
        recorder = attach(process.pid, folder / "run.dat")
        time.sleep(0.1)
        detach(process.pid, recorder)
        is_as_before(process)
        sizes.append(size_of(process.pid))
    if sizes[-1] - sizes[2] > 6 * POOL_BYTES:
        raise Failure(f"the process grows with each round: {sizes}")
    (n,), = ask(folder / "run.dat", "SELECT count(*) FROM allocations")
    if n < 100:
        raise Failure(f"{n} allocations in a log of four busy threads")
    process.send_signal(signal.SIGTERM)
    if process.wait(30) != -signal.SIGTERM:
        raise Failure(f"the program ended with {process.returncode}")


def test_killed(folder):
    process = start(sys.executable, "-c", SERVER)
    recorder = attach(process.pid, folder / "run.dat")
    other = attach(start(sys.executable, "-c", SERVER).pid, folder / "other.dat")
    other.send_signal(signal.SIGSTOP)  # it has nothing to say about the first one
    hung = attach(start(sys.executable, "-c", SERVER).pid, folder / "hung.dat")
    hold(hung.pid)  # nor has this one
    say(process, "alloc 7770 30")
    kill(recorder)
    say(process, "alloc 7790 30")
    began = time.monotonic()
    said = detach(process.pid)
    if time.monotonic() - began > 30:
        raise Failure(f"--detach waited {time.monotonic() - began:.0f} s for who has nothing to do with it")
    if f"mtrace-record --pack {folder}/run.dat.live" not in said:
        raise Failure(f"the log that is left is not named: {said}")
    other.send_signal(signal.SIGCONT)
    TRACE(PTRACE_DETACH, hung.pid, None, None)
    is_as_before(process)
    record("--pack", folder / "run.dat.live")
    if ask(folder / "run.dat", "SELECT count(*) FROM allocations WHERE size_bytes = 7770") != [(30,)]:
        raise Failure("what is left of the log is not what was recorded")
    again = attach(process.pid, folder / "again.dat")
    say(process, "alloc 7780 10")
    end(process)
    if again.wait(60) != 0:
        raise Failure(again.stderr.read())
    rows = dict(ask(folder / "again.dat", "SELECT size_bytes, count(*) FROM allocations WHERE size_bytes BETWEEN 7000 AND 7790 GROUP BY size_bytes"))
    if rows != {7780: 10}:
        raise Failure(f"recorded by size: {rows}")
    kill_of_executed(folder / "executed.dat")


def kill_of_executed(log):
    """The executed program keeps the collector and records no more: --detach names its log, which the process that killed the recorder cannot know."""
    process = start(sys.executable, "-c", SERVER)
    recorder = attach(process.pid, log)
    say(process, "exec 0 1")
    say(process, "alloc 7770 20")
    kill(recorder)
    done = record("--detach", process.pid)
    left = f"{log}.{process.pid}.0.live"
    if done.returncode != 0 or f"mtrace-record --pack {left}'" not in done.stdout or not Path(left).exists():
        raise Failure(f"--detach of what was executed: {done.returncode}, {done.stdout}{done.stderr}")
    end(process)
    for name in (f"{log}.live", left):
        record("--pack", name)
    if [n for _, n in images(log)] != [0, 20]:
        raise Failure(f"of what is left of the logs there is {images(log)}")


def test_silent(folder):
    """A recorder that does not answer is not dead, whatever its log is called."""
    place = folder / "every.live.log"
    place.mkdir()
    process = start(sys.executable, "-c", SERVER)
    recorder = attach(process.pid, place / "run.dat")
    recorder.send_signal(signal.SIGSTOP)
    os.waitpid(recorder.pid, os.WUNTRACED)  # who is about to stop may still be asked
    done = record("--detach", process.pid)
    if done.returncode == 0 or f"mtrace-record {recorder.pid} does not answer" not in done.stderr:
        raise Failure(f"--detach: {done.returncode}, {done.stderr}")
    recorder.send_signal(signal.SIGCONT)
    detach(process.pid, recorder)
    is_as_before(process)
    leave_from_elsewhere(process, place / "elsewhere.dat")


def leave_from_elsewhere(process, log):
    """No recorder can be asked there: it ends as soon as it finds the process detached."""
    nowhere = ("unshare", "--net")
    if subprocess.run([*nowhere, "true"], capture_output=True).returncode != 0:
        print("skipped: leaving from elsewhere, as no network may be unshared here")
        return
    recorder = attach(process.pid, log)
    say(process, "alloc 7770 30")
    done = subprocess.run([*nowhere, TOOLS.record, "--detach", str(process.pid)], capture_output=True, text=True, timeout=60)
    if done.returncode != 0:
        raise Failure(f"--detach from elsewhere: {done.returncode}, {done.stdout}{done.stderr}")
    said = recorder.communicate(timeout=60)[1]
    if recorder.returncode != 0 or "another mtrace-record detached process" not in said:
        raise Failure(f"who was not asked ended with {recorder.returncode}: {said}")
    is_as_before(process)
    if images(log) != [("detached", 30)]:
        raise Failure(f"recorded: {images(log)}")


def hold(pid, is_seized=False):
    """It stops as for a debugger."""
    if not is_seized and TRACE(PTRACE_SEIZE, pid, None, None) != 0:
        raise harness.Skip("children may not be traced here")
    TRACE(PTRACE_INTERRUPT, pid, None, None)
    os.waitpid(pid, 0x40000000)


def begin_attaching(pid, folder, **more):
    recorder = subprocess.Popen([TOOLS.record, "--attach", str(pid), "-f", "-o", str(folder / "run.dat")], stderr=subprocess.PIPE, text=True, **more)
    STARTED.append(recorder)
    return recorder


def has_points():
    return b"MTRACE_RECORD_FAULT" in Path(TOOLS.record).read_bytes()


def fault(name, number=signal.SIGKILL):
    return dict(os.environ, MTRACE_RECORD_FAULT=f"{name}:1:{number:d}")


def end_attaching(recorder, pid, folder, what):
    """Its killer comes next. Returns whether it was attached."""
    kill(recorder)
    done = record("--detach", pid)
    if done.returncode != 0 and "is not attached to" not in done.stderr:
        raise Failure(f"{what}: --detach: {done.stderr}")
    if not Path(f"/proc/{pid}/maps").read_text():
        raise Failure(f"{what}: the program has ended")
    return done.returncode == 0


def kill_at_points(pid, folder):
    """How many left code."""
    n_code = 0
    if not has_points():
        raise harness.Skip("a build without points where the recorder stops")
    for point in ("led", "asked", "loading", "heard", "back"):
        recorder = begin_attaching(pid, folder, env=fault(point))
        recorder.wait(60)
        n_code += bool(changed_code(pid))
        end_attaching(recorder, pid, folder, point)
    return n_code


def test_middle(folder):
    rounds = int(os.environ.get("MTRACE_TEST_ROUNDS", "10"))
    program = Workload(folder, "attached", "registers")
    for process in (program.process, start(sys.executable, "-c", THREADS)):
        pid = process.pid
        began = time.monotonic()
        recorder = attach(pid, folder / "first.dat")
        took = time.monotonic() - began
        detach(pid, recorder)
        n_attached = 0
        for i in range(rounds):
            recorder = begin_attaching(pid, folder)
            time.sleep(random.uniform(0, took))
            n_attached += end_attaching(recorder, pid, folder, f"round {i}")
        n_code = kill_at_points(pid, folder)
        time.sleep(1.5)  # for as long as a thread waits in the code
        recorder = attach(pid, folder / "last.dat")
        detach(pid, recorder)
        is_as_before(process)
        print(f"of {rounds} recorders {n_attached} were killed after they had attached; {n_code} of 5 left code in ld.so")
        if n_code < 3:
            raise Failure("nobody left code in ld.so: nothing was to be mended")
    program.check("killed recorders")


def test_ended(folder):
    if not has_points():
        raise harness.Skip("a build without points where the recorder stops")
    for _ in range(3):
        process = start("sleep", "1000")
        recorder = begin_attaching(process.pid, folder, env=fault("looked", signal.SIGSTOP))
        wait_until("the recorder stops itself", lambda: harness.state_of(recorder.pid) == "T")
        kill(process)
        recorder.send_signal(signal.SIGCONT)
        said = recorder.communicate(timeout=60)[1]
        if f"process {process.pid} has ended" not in said or said.count("\n") != 1 or recorder.returncode == 0:
            raise Failure(f"of a program that ended meanwhile it says: {said}")
        if list(folder.iterdir()):
            raise Failure(f"files are left: {list(folder.iterdir())}")


PARKED = """#include <linux/futex.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
static int word;
int main(void)
{
    for (;;) {
        struct timespec time = {0, 100 * 1000 * 1000};
        syscall(SYS_futex, &word, FUTEX_WAIT, 0, &time, NULL, 0);
        free(malloc(100));
    }
}
"""


def test_parked(folder):
    process = start(compiled(folder, "parked", PARKED))
    recorder = attach(process.pid, folder / "run.dat")
    ended_by_detach = detach(process.pid, recorder)
    if process.poll() is not None:
        raise Failure(f"the program ended with {process.returncode}, {ended_by_detach}")
    is_as_before(process)


class Workload:
    """A program of tests/workloads that says what is wrong."""

    def __init__(self, folder, name, *arguments, before=()):
        self.said = folder / f"{name}.{arguments[0] if arguments else ''}.said"
        with open(self.said, "wb") as out:
            self.process = subprocess.Popen([*before, os.path.join(TOOLS.workloads, name), *arguments], stdin=subprocess.PIPE, stdout=out)
        STARTED.append(self.process)
        wait_until("the program begins", lambda: self.said.stat().st_size)

    def check(self, what):
        if self.process.poll() is not None:
            raise Failure(f"{what}: the program ended with {self.process.returncode}")
        wrong = [line for line in self.said.read_text().splitlines() if "wrong" in line]
        if wrong:
            raise Failure(f"{what}: {wrong}")

    def goes_on(self):
        """Until it has said more."""
        n = self.said.stat().st_size
        wait_until("the program goes on", lambda: self.said.stat().st_size != n)


def test_waits(folder):
    for how in ("epoll", "poll", "nanosleep"):
        program = Workload(folder, "attached", how)
        for i in range(3):
            recorder = attach(program.process.pid, folder / "run.dat")
            time.sleep(0.3 * i)
            detach(program.process.pid, recorder)
            time.sleep(1.2)
        program.check(how)
    program = Workload(folder, "attached", "alarmed")
    for _ in range(12):
        recorder = attach(program.process.pid, folder / "run.dat")
        detach(program.process.pid, recorder)
    time.sleep(2.2)
    program.check("alarmed")


def wait_for_last_words(pid):
    """It writes them, which does not end."""
    wait_until("the program comes to its end",
               lambda: Path(f"/proc/{pid}/syscall").read_text().split()[:4:3] == ["1", hex(len("the last words"))])


def test_awkward(folder):
    plugins = sorted(str(path) for path in Path(TOOLS.workloads).rglob("*.so"))
    # a first attach looks at more of ld.so than those behind it
    for case, programs, rounds, arguments in (("writable", 1, 2, ()), ("unload", 20, 3, plugins), ("unload_by_pointer", 1, 3, plugins), ("vfork", 1, 2, ())):
        for _ in range(programs):
            program = Workload(folder, "attached", case, *arguments)
            for _ in range(rounds):
                recorder = attach(program.process.pid, folder / "run.dat")
                time.sleep(0.3 / programs)
                detach(program.process.pid, recorder)
                is_as_before(program.process)
                program.check(case)
            traced = [tid for tid in Path(f"/proc/{program.process.pid}/task").iterdir() if "TracerPid:\t0" not in (tid / "status").read_text()]
            if traced:
                raise Failure("a thread is left traced")
            kill(program.process)
    program = Workload(folder, "attached_allocator")
    is_refused("in the allocator", "--attach", program.process.pid, "-o", folder / "no.dat")
    program.goes_on()
    program = Workload(folder, "attached", "ends")
    wait_for_last_words(program.process.pid)
    is_refused("last in __libc_start_main", "--attach", program.process.pid, "-o", folder / "no.dat")
    program.check("a program at its end")


def wait_for_rest(program, n):
    wait_until("the program rests", lambda: program.said.read_text().count("r") >= n)


def attach_at_rest(program, log):
    wait_for_rest(program, program.said.read_text().count("r") + 1)
    recorder = attach(program.process.pid, log)
    warned = recorder.stderr.readline()
    if "no call by" not in warned:
        raise Failure(f"not said that the executable's own allocator is not recorded: {warned}")
    while program.said.read_text()[-1:] == "r":
        time.sleep(0.01)
    return recorder


# At a line all of its threads come where libc has a lock, and stay there.
NEVER_SAFE = r"""
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static volatile int stays;

static int stay(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)info, (void)size, (void)context;
    while (stays)
        usleep(100000);
    return 0;
}

static void *work(void *context)
{
    for (;; usleep(1000)) {
        if (stays)
            dl_iterate_phdr(stay, NULL);
        free(malloc(100));
    }
    return context;
}

int main(void)
{
    pthread_t thread;
    char line[16];

    for (int i = 0; i < 32; i++)
        if (pthread_create(&thread, NULL, work, NULL) != 0)
            return 2;
    if (read(0, line, sizeof(line)) <= 0)
        return 3;
    stays = 1;
    work(NULL);
}
"""


def processor_seconds(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def search_in_vain(folder):
    """A search for a safe point in a program that has none takes a small part of the time."""
    process = start(compiled(folder, "never_safe", NEVER_SAFE, "-D_GNU_SOURCE", "-pthread"))
    recorder = attach(process.pid, folder / "run.dat")
    process.stdin.write("stay\n")
    process.stdin.flush()
    time.sleep(0.5)
    recorder.send_signal(signal.SIGINT)
    if "still recording, and trying to detach" not in (said := recorder.stderr.readline()):
        raise Failure(f"of a program that is never at a safe place it is said: {said}")
    before = processor_seconds(recorder.pid)
    time.sleep(3)
    if (used := processor_seconds(recorder.pid) - before) > 0.75:
        raise Failure(f"a search in vain takes {used:.2f} s of 3")


def test_patient(folder):
    program = Workload(folder, "attached_allocator", "rests")
    recorder = attach_at_rest(program, folder / "run.dat")
    recorder.send_signal(signal.SIGINT)
    said = recorder.stderr.readline()
    if "in the allocator; still recording, and trying to detach" not in said:
        raise Failure(f"said meanwhile: {said}")
    if recorder.wait(60) != 0:
        raise Failure(f"mtrace-record ended with {recorder.returncode}: {recorder.stderr.read()}")
    recorder = attach_at_rest(program, folder / "run.dat")
    recorder.send_signal(signal.SIGINT)
    recorder.stderr.readline()
    recorder.send_signal(signal.SIGINT)
    said = recorder.stderr.readline()
    if "is still recorded" not in said:
        raise Failure(f"the process that gave up printed {said}")
    kill(recorder)
    done = record("--detach", program.process.pid)
    if done.returncode != 0 or "still trying" not in done.stderr:
        raise Failure(f"--detach: {done.returncode}, {done.stderr}")
    is_as_before(program.process)
    program.goes_on()
    search_in_vain(folder)


def test_redis(folder):
    if not shutil.which("redis-server") or not shutil.which("redis-benchmark"):
        raise harness.Skip("no redis-server")
    site = str(folder / "redis.sock")
    with open(folder / "said", "wb") as said:
        server = subprocess.Popen(["redis-server", "--port", "0", "--unixsocket", site, "--save", "", "--dir", str(folder)], stdout=said)
    STARTED.append(server)
    while not os.path.exists(site) and server.poll() is None:
        time.sleep(0.02)
    n_requests = 60000
    load = subprocess.Popen(["redis-benchmark", "-s", site, "-c", "8", "-n", str(n_requests), "-d", "200", "--csv", "-t", "set,lpush"],
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    STARTED.append(load)
    rounds, largest = 0, 0
    while load.poll() is None:
        recorder = attach(server.pid, folder / "round.dat")
        time.sleep(0.05)
        detach(server.pid, recorder)
        rounds += 1
        if (folder / "round.dat").stat().st_size > largest:  # the last one may be behind the load
            largest = (folder / "round.dat").stat().st_size
            shutil.copy(folder / "round.dat", folder / "run.dat")
    if words_to_us(server.pid) or server.poll() is not None:
        raise Failure("redis-server is not as it was")
    calls = subprocess.run(["redis-cli", "-s", site, "info", "commandstats"], capture_output=True, text=True).stdout
    counted = {line.split(":")[0]: int(line.split("calls=")[1].split(",")[0]) for line in calls.splitlines() if "calls=" in line}
    if load.returncode != 0 or counted.get("cmdstat_set") != n_requests or counted.get("cmdstat_lpush") != n_requests:
        raise Failure(f"the load ended with {load.returncode}, the server counted {counted}")
    if rounds < 3 or ask(folder / "run.dat", "SELECT count(*) FROM allocations")[0][0] < 100:
        raise Failure(f"{rounds} rounds, and hardly any allocation")
    print(f"{rounds} rounds; max latency by command: {[line.split(',')[::7] for line in load.stdout.read().splitlines()]}")


def test_slow(folder):
    if not shutil.which("strace"):
        raise harness.Skip("no strace")
    program = Workload(folder, "attached", "registers")
    for _ in range(3):
        for words in (("--attach", "-f", "-q", "-o", str(folder / "run.dat")), ("--detach",)):
            traced = subprocess.Popen(["strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=ptrace", "-e", "inject=ptrace:delay_enter=4000",
                                       TOOLS.record, words[0], str(program.process.pid), *words[1:]], stderr=subprocess.PIPE, text=True)
            STARTED.append(traced)
            if words[0] == "--detach" and traced.wait(60) != 0:
                raise Failure(f"--detach: {traced.stderr.read()}")
            if words[0] == "--attach":
                wait_until("attached", lambda: words_to_us(program.process.pid))
            time.sleep(0.3)
            program.check("a slow recorder")
    is_as_before(program.process, may_keep_code=True)
    ask_late(program.process.pid, folder / "late.dat")
    program.check("who asks late")


def ask_late(pid, log):
    """A client that requests a detach and is not scheduled for a second after it connected is disconnected, but its request is handled."""
    recorder = attach(pid, log)
    done = subprocess.run(["strace", "-qq", "-o", "/dev/null", "-e", "trace=sendto", "-e", "inject=sendto:delay_enter=1500000:when=1",
                           TOOLS.record, "--detach", str(pid)], capture_output=True, text=True, timeout=60)
    if done.returncode != 0 or f"detached; the log is '{log}'" not in done.stdout:
        raise Failure(f"--detach: {done.returncode}, {done.stdout}{done.stderr}")
    if recorder.wait(60) != 0:
        raise Failure(f"mtrace-record ended with {recorder.returncode}: {recorder.stderr.read()}")


RINGING = r"""
import signal, time
signal.signal(signal.SIGALRM, lambda number, frame: None)
signal.setitimer(signal.ITIMER_REAL, 0.003, 0.003)
print("rings", flush=True)
while True:
    time.sleep(1000)
"""


def begin_slowly(pid, log, call, delay_us):
    """A recorder that is late at each such call."""
    traced = subprocess.Popen(["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={call}", "-e", f"inject={call}:delay_enter={delay_us}",
                               TOOLS.record, "--attach", str(pid), "-f", "-o", str(log)], stderr=subprocess.PIPE, text=True)
    STARTED.append(traced)
    return traced


def status_of(pid, name):
    return next(line.split(":")[1].strip() for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith(f"{name}:"))


def stop_while_led(folder, n):
    """Immediately after the thread has blocked its signals, which the recorder does not know yet."""
    program = Workload(folder, "attached", "registers")
    pid = program.process.pid
    before = status_of(pid, "SigBlk")
    traced = begin_slowly(pid, folder / f"{n}.dat", "wait4", 400000)
    while status_of(pid, "SigBlk") == before:  # without a pause: the recorder must not learn it before
        if traced.poll() is not None:
            raise Failure("no thread was led")
    os.kill(pid, signal.SIGSTOP)
    time.sleep(0.6)
    os.kill(pid, signal.SIGCONT)
    said = traced.stderr.readline()  # at the latest when it gives up
    if "attached to process" in said:
        detach(pid)
    elif "did not load the collector in time" not in said:
        raise Failure(f"of a program that was stopped it says: {said}")
    traced.wait(60)
    if status_of(pid, "SigBlk") != before:
        raise Failure(f"blocked signals: {status_of(pid, 'SigBlk')}, before {before}")
    is_as_before(program.process, may_keep_code=True)
    program.check("a stopped program")
    program.process.terminate()
    if program.process.wait(30) != -signal.SIGTERM:
        raise Failure(f"the program ended with {program.process.returncode}")
    return "attached to process" in said


def test_signals(folder):
    if not shutil.which("strace"):
        raise harness.Skip("no strace")
    print(f"attached though stopped: {[stop_while_led(folder, n) for n in range(3)]}")
    process = start(sys.executable, "-c", RINGING)
    process.stdout.readline()
    for n in range(5):
        said = begin_slowly(process.pid, folder / "ringing.dat", "ptrace", 4000).communicate(timeout=60)[1]
        if "last in a signal" in said:
            return
        if "last in (" in said or "safely" not in said:
            break
    raise Failure(f"of a program that signals interrupt it says: {said}")


def policies(pid):
    """Of its threads."""
    return [(os.sched_getscheduler(tid), os.sched_getparam(tid).sched_priority, os.getpriority(os.PRIO_PROCESS, tid),
             int(Path(f"/proc/{tid}/timerslack_ns").read_text())) for tid in map(int, os.listdir(f"/proc/{pid}/task"))]


def test_scheduled(folder):
    process = start(sys.executable, "-c", f"import os; os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0)); os.nice(5)\n{THREADS}")
    wait_until("threads are there", lambda: [policy[:2] for policy in policies(process.pid)] == [(os.SCHED_BATCH, 0)] * 5)
    before = policies(process.pid)
    if has_points():
        recorder = begin_attaching(process.pid, folder, env=fault("loading", signal.SIGSTOP))
        wait_until("the recorder stops itself", lambda: harness.state_of(recorder.pid) == "T")
        if policies(process.pid) != before or any(policy[1] or policy[2] < 0 for policy in policies(recorder.pid)):
            raise Failure(f"while a thread loads the library: {policies(process.pid)}, recorder {policies(recorder.pid)}, before {before}")
        end_attaching(recorder, process.pid, folder, "stopped")
    detach(process.pid, attach(process.pid, folder / "run.dat"))
    if policies(process.pid) != before:
        raise Failure(f"scheduled as {policies(process.pid)}, before {before}")


def test_users(folder):
    if os.geteuid() != 0:
        raise harness.Skip("only root has several users")
    folder.chmod(0o777)
    unprivileged = ("setpriv", "--reuid", "65534", "--clear-groups")
    if subprocess.run([*unprivileged, "test", "-r", os.environ["MTRACE_TEST_COLLECTOR"]]).returncode != 0:
        raise harness.Skip("another user cannot read the collector where it was built")
    program = Workload(folder, "attached", "poll", before=unprivileged)
    pid = program.process.pid
    recorders = [subprocess.Popen([TOOLS.record, "--attach", str(pid), "-o", str(folder / f"{i}.dat")], stderr=subprocess.PIPE, text=True) for i in (1, 2)]
    STARTED.extend(recorders)
    said = [recorder.stderr.readline() for recorder in recorders]
    if sorted("attached to process" in line for line in said) != [False, True]:
        raise Failure(f"two at once: {said}")
    if "attached to already" not in "".join(said):
        raise Failure(f"the second printed {said}")
    time.sleep(1.5)
    detach(pid)
    program.check("of another user")
    logs = [path for path in folder.glob("?.dat")]
    if len(logs) != 1 or ask(logs[0], "SELECT count(*) FROM allocations")[0][0] < 1:
        raise Failure(f"recorded: {logs}")
    program = Workload(folder, "attached", "poll")
    done = subprocess.run([*unprivileged, TOOLS.record, "--attach", str(program.process.pid), "-o", str(folder / "no.dat")], capture_output=True, text=True)
    if done.returncode == 0 or "belongs to another user" not in done.stderr and "may not be looked at" not in done.stderr:
        raise Failure(f"another user: {done.stderr}")
    program.check("another user")
    less = ("setpriv", "--bounding-set=-sys_ptrace", "--inh-caps=-sys_ptrace")
    program = Workload(folder, "attached", "poll", before=unprivileged)
    done = subprocess.run([*less, TOOLS.record, "--attach", str(program.process.pid), "-o", str(folder / "no.dat")], capture_output=True, text=True)
    if done.returncode == 0 or "without the capability CAP_SYS_PTRACE" not in done.stderr or "attach as root" in done.stderr:
        raise Failure(f"root without the capability: {done.stderr}")
    program.check("root without the capability")


def test_loading(folder):
    good = compiled(folder, "good.so", LIBRARY, "-shared", "-fPIC", "-Wl,-z,relro,-z,now")
    bad = compiled(folder, "bad.so", LIBRARY, "-shared", "-fPIC", "-Wl,-z,relro,-z,now", "-DIN_VAIN")
    paths = []
    for i in range(20):
        paths.append(str(folder / f"{i}.so"))
        shutil.copy(good if i % 2 else bad, paths[-1])
    process = start(sys.executable, "-c", LOADING, *paths)
    for _ in range(5):
        recorder = attach(process.pid, folder / "run.dat")
        time.sleep(0.5)
        detach(process.pid, recorder)
        is_as_before(process)
    process.terminate()
    if process.wait(30) != -signal.SIGTERM:
        raise Failure(f"the program ended with {process.returncode}")


def test_options(folder):
    process = start(sys.executable, "-c", SERVER)
    for i, options in enumerate(((), ("--sample-bytes", "64KiB"), (), ("--no-free-backtraces",), (), ("--start-disabled",), ())):
        log = folder / f"{i}.dat"
        recorder = attach(process.pid, log, *options)
        say(process, "alloc 7770 30")
        say(process, "pass 7780 300")
        detach(process.pid, recorder)
        (n, with_end), = ask(log, "SELECT count(*) FILTER (WHERE size_bytes = 7770), count(free_backtrace_id) FILTER (WHERE size_bytes = 7780) FROM allocations")
        (sample_bytes, frees), = ask(log, "SELECT sample_bytes, inherited_frees FROM processes")
        if not options and (n != 30 or not with_end or sample_bytes is not None):
            raise Failure(f"{i}: {n} of 30 blocks, {with_end} with the stack of their end, sample_bytes {sample_bytes}")
        if "--sample-bytes" in options and sample_bytes != 65536 or "--no-free-backtraces" in options and with_end:
            raise Failure(f"{options}: sample_bytes {sample_bytes}, {with_end} blocks with the stack of their end")
        if "--start-disabled" in options and (n or frees):
            raise Failure(f"{options}: {n} blocks, {frees} frees outside of windows")


def images(log):
    """Of each: how it ended, and how many blocks of 7770 bytes it had."""
    return ask(log, "SELECT end_kind, (SELECT count(*) FROM allocations AS a WHERE a.process_id = p.process_id AND size_bytes = 7770)"
                    " FROM processes AS p ORDER BY start_ns")


def test_exec(folder):
    for part in ("ends", "left"):
        process = start(sys.executable, "-c", SERVER)
        log = folder / f"{part}.dat"
        recorder = attach(process.pid, log)
        for n in (30, 20, 10):
            say(process, f"alloc 7770 {n}")
            if n > 10:
                say(process, "exec 0 1")
        process.stdin.write("show LD_PRELOAD 1\nshow MTRACE_RECORDER 1\n")
        process.stdin.flush()
        shown = [process.stdout.readline() for _ in range(2)]
        if shown != ["None\n", "None\n"]:
            raise Failure(f"the program sees {shown}")
        if part == "left":
            time.sleep(0.3)
            recorder.send_signal(signal.SIGINT)
        else:
            end(process)
        said = recorder.communicate(timeout=60)[1]
        if recorder.returncode != 0 or "not recorded" in said or "recorded only" in said or ("records nothing more" in said) != (part == "left"):
            raise Failure(f"{part}: mtrace-record ended with {recorder.returncode}: {said}")
        if part == "left":
            say(process, "alloc 7770 40")
            say(process, "exec 0 1")
            say(process, "alloc 7770 50")
            end(process)
        found = images(log)
        if [n for _, n in found][:3] != [30, 20, 10] or [kind for kind, _ in found][:2] != ["exec", "exec"] or sum(n for _, n in found) != 60:
            raise Failure(f"{part}: recorded of each image: {found}; said: {said}")


def sizes_of(folder):
    return {path.name: path.stat().st_blocks for path in folder.iterdir() if path.suffix != ".db"}


def stays(folder):
    """Nothing is written any more, and no log is left to be packed."""
    before = sizes_of(folder)
    time.sleep(1)
    if sizes_of(folder) != before or any(name.endswith(".live") for name in before):
        raise Failure(f"after --detach, and a second later: {before}, {sizes_of(folder)}")


# Executes what its input names when it has a copy of its input, as shells do.
SHELL = "read go; bash -c 'echo go; while read line; do $line; echo \"$line\"; done'; :"


def test_shell(folder):
    """What a followed shell executes afterwards is not recorded, unless it is another recording."""
    process = start("bash", "-c", SHELL)
    recorder = attach(process.pid, folder / "run.dat", "--follow-children")
    say(process, "go")
    say(process, "/bin/true")
    detach(process.pid, recorder)
    before = sorted(path.name for path in folder.iterdir())
    say(process, "/bin/true")
    if sorted(path.name for path in folder.iterdir()) != before:
        raise Failure(f"what a shell executes has a log: {list(folder.iterdir())}")
    say(process, f"{TOOLS.record} -q -o {folder}/inner.dat -- {sys.executable} -c print(end='')")
    if ask(folder / "inner.dat", "SELECT count(*) > 100 FROM allocations") != [(1,)]:
        raise Failure("a recording below has nothing")
    process.stdin.close()


def test_left(folder):
    process = start(compiled(folder.parent, f"{folder.name}.forking", FORKING))
    recorder = attach(process.pid, folder / "run.dat", "--follow-children")
    for way in ("sleep", "work"):
        say(process, way)
    time.sleep(0.3)
    detach(process.pid, recorder)
    if "still running" in recorder.stderr.read():
        raise Failure("children go on writing")
    stays(folder)
    say(process, "work")
    stays(folder)
    found = ask(folder / "run.dat", "SELECT end_kind, count(*) FROM processes GROUP BY 1")
    if found != [("detached", 3)]:
        raise Failure(f"how processes ended: {found}")
    process.stdin.close()
    for path in folder.iterdir():
        path.unlink()
    for is_busy in (False, True):
        process = start(sys.executable, "-c", THREADS_AFTER_EXEC if is_busy else SERVER)
        recorder = attach(process.pid, folder / "run.dat")
        if is_busy:
            process.stdin.write("\n")
            process.stdin.flush()
            process.stdout.readline()
            time.sleep(0.3)
        else:
            say(process, "exec 0 1")
            say(process, "alloc 7770 20")
        detach(process.pid, recorder)
        stays(folder)
        kill(process)


def in_space(*options):
    """What puts a program into namespaces of its own."""
    command = ["unshare", *options]
    if os.geteuid() != 0 or subprocess.run([*command, "true"], capture_output=True).returncode != 0:
        raise harness.Skip(f"{' '.join(command)} is not possible here")
    return command


def record_in_space(space, log, command=SERVER):
    """The recorder and the program, both of which are in it, and the pid that the program has here."""
    recorder = subprocess.Popen([*space, TOOLS.record, "-o", str(log), "--", sys.executable, "-c", command],
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    STARTED.append(recorder)
    say(recorder, "alloc 7770 5")
    pid = recorder.pid
    while True:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        if not children:
            return recorder, pid
        pid = int(children[0])


def test_spaces(folder):
    log = folder / "run.dat"
    recorder, pid = record_in_space(in_space("--pid", "--fork", "--mount-proc", "--kill-child"), log)
    is_refused("is already recorded", "--attach", pid, "-o", folder / "no.dat")
    for options in ((), ("-f",)):
        is_refused("is being packed", "--pack", log, *options)
    say(recorder, "alloc 7770 10")
    said = recorder.communicate(timeout=60)[1]
    if recorder.returncode != 0 or images(log) != [("exit", 15)]:
        raise Failure(f"the recorder in another pid namespace ended with {recorder.returncode}, {said}: {images(log)}")
    leave_children_of_space(folder / "children")


def leave_children_of_space(folder):
    """They are of a pid namespace of their own, where one that does nothing cannot be found: the next allocation ends its log, and this is said."""
    folder.mkdir()
    process = start(compiled(folder.parent, "forking_space", FORKING, "-DSPACE", "-D_GNU_SOURCE"))
    recorder = attach(process.pid, folder / "run.dat", "--follow-children")
    for way in ("sleep", "work"):
        say(process, way)
    time.sleep(0.5)
    detach(process.pid, recorder)
    said = recorder.stderr.read()
    if "still running" not in said or "with its next allocation" not in said:
        raise Failure(f"of children of another pid namespace it is said: {said}")


def test_mounts(folder):
    """A process in a mount namespace of its own has lost its recorder; its log has the name of one that is written here."""
    place = folder / "place"
    place.mkdir()
    space = [*in_space("--mount"), "sh", "-c", f"mount -t tmpfs none '{place}' && exec \"$@\"", "sh"]
    lost, pid = record_in_space(space, place / "run.dat")
    here = subprocess.Popen([TOOLS.record, "-o", str(place / "run.dat"), "--", sys.executable, "-c", SERVER],
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    STARTED.append(here)
    say(here, "alloc 7770 5")
    kill(lost)
    done = record("--detach", pid)
    if done.returncode != 0 or "of its mount namespace" not in done.stdout:
        raise Failure(f"--detach of who is in another mount namespace: {done.returncode}, {done.stdout}{done.stderr}")
    say(here, "alloc 7770 10")
    if here.poll() is not None:
        raise Failure(f"leaving another process ended a recording: {done.stdout}{done.stderr}{here.stderr.read()}")
    if "run.dat.live" in Path(f"/proc/{pid}/maps").read_text():
        raise Failure("after --detach the process goes on writing")
    said = here.communicate(timeout=60)[1]
    if here.returncode != 0 or images(place / "run.dat") != [("exit", 15)]:
        raise Failure(f"the recording of another process ended with {here.returncode}, {said}: {images(place / 'run.dat')}")
    os.kill(pid, signal.SIGKILL)


def left_behind(folder):
    """A recorder into started.dat that was killed, and not waited for yet, and the pid of its program, of which there are seven blocks."""
    recorder = subprocess.Popen([TOOLS.record, "-o", str(folder / "started.dat"), "--", sys.executable, "-c", SERVER],
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    STARTED.append(recorder)
    say(recorder, "alloc 7770 7")
    pid = child_of(recorder.pid)
    recorder.kill()
    wait_until("the recorder is dead", lambda: harness.state_of(recorder.pid) == "Z")
    return recorder, pid


def test_named(folder):
    for n, name in enumerate(("run (deleted)", "a b\\012", "line\nbreak/run.dat", "line\nbreak/back\\slash\\012")):
        log = folder / str(n) / name
        log.parent.mkdir(parents=True)
        process = start("env", "-C", str(log.parent), f"LD_PRELOAD={TOOLS.collector}", f"MTRACE_OUTPUT={log.name}", sys.executable, "-c", SERVER)
        say(process, "alloc 7770 3")
        is_refused("records itself into", "--attach", process.pid, "-o", folder / "no.dat")
        detach(process.pid)
        say(process, "alloc 7770 5")
        end(process)
        log = log.rename(folder / f"{n}.dat")
        if images(log) != [("detached", 3)]:
            raise Failure(f"of {name!r} there is {images(log)}")


def test_kept(folder):
    recorder, pid = left_behind(folder)
    recorder.wait()
    (folder / "there.dat").write_text("")
    for why in ("exists", "is stopped"):
        if why == "is stopped":
            os.kill(pid, signal.SIGSTOP)
        log = folder / ("there.dat" if why == "exists" else "other.dat")
        done = record("--attach", pid, "-o", log)
        if done.returncode == 0 or why not in done.stderr or done.stderr.count("\n") != 1:
            raise Failure(f"an attach that was to fail, as it {why}: {done.returncode}, {done.stderr}")
    os.kill(pid, signal.SIGCONT)
    say(recorder, "alloc 7770 30")
    detach(pid)
    recorder.stdin.close()
    record("--pack", folder / "started.dat.live")
    if images(folder / "started.dat") != [("detached", 37)]:
        raise Failure(f"of what an attach that failed had to keep there is {images(folder / 'started.dat')}")


def refused_beside(folder, why, status, *words):
    """Nothing in the folder has changed."""
    before = {path.name: path.stat().st_ino for path in folder.iterdir()}
    done = record(*words)
    if done.returncode != status or why not in done.stderr or done.stderr.count("\n") != 1:
        raise Failure(f"{words}, expected a line with {why!r}: {done.returncode}, {done.stderr}")
    after = {path.name: path.stat().st_ino for path in folder.iterdir()}
    if before != after:
        raise Failure(f"{words}, which were refused, have made {after} of {before}")


def pack_left(folder, pid, name):
    said = detach(pid)
    if f"and left the log as '{folder}/{name}.live': 'mtrace-record --pack {folder}/{name}.live'" not in said:
        raise Failure(f"the log that is left is not {name}.live: {said}")
    record("--pack", folder / f"{name}.live")


def test_replaced(folder):
    good = folder / "good.dat"
    subprocess.run([TOOLS.record, "-q", "-o", str(good), "--", "true"], check=True)
    process = start(sys.executable, "-c", SERVER)
    pid = process.pid
    attach_again = ("--attach", str(pid), "-f", "-o")
    recorder = attach(pid, folder / "run.dat")
    say(process, "alloc 7770 5")
    kill(recorder)
    for log in (good, folder / "run.dat"):
        refused_beside(folder, "is attached to already", 125, *attach_again, str(log))
    say(process, "alloc 7770 15")
    say(process, "pass 7780 300000")  # it has grown
    for options in ((), ("-f",)):
        refused_beside(folder, f"process {pid} still writes '{folder}/run.dat.live': 'mtrace-record --detach {pid}' ends that", 125,
                       *options, "-o", str(folder / "run.dat"), "--", "true")
    pack_left(folder, pid, "run.dat")
    if images(folder / "run.dat") != [("detached", 20)]:
        raise Failure(f"of a log that was not to be replaced there is {images(folder / 'run.dat')}")

    limits = resource.prlimit(pid, resource.RLIMIT_AS)
    resource.prlimit(pid, resource.RLIMIT_AS, (size_of(pid), limits[1]))
    refused_beside(folder, "cannot map 384 KiB", 125, *attach_again, str(good))
    resource.prlimit(pid, resource.RLIMIT_AS, limits)

    for point in ("attached", "replaced") if has_points() else ():
        kill_before_replacing(folder, process, good, point)
    recorder = attach(pid, good)
    recorder.send_signal(signal.SIGSTOP)
    say(process, "pass 7780 300000")  # its log grows, under the name that it has by now
    recorder.send_signal(signal.SIGCONT)
    (folder / "run.dat").unlink()
    detach(pid, recorder)
    if ask(good, "SELECT count(*) FROM allocations WHERE size_bytes = 7780") != [(300000,)]:
        raise Failure("of a log that grew while its recorder stood still something is missing")
    if (names := sorted(path.name for path in folder.iterdir() if path.suffix != ".db")) != ["good.dat"]:
        raise Failure(f"of a recording that replaced another one there are {names}")

    recorder = attach(pid, folder / "removed.dat")
    kill(recorder)
    (folder / "removed.dat.live").unlink()
    if (said := detach(pid)) != "detached; its recorder has ended, and the log was removed\n":
        raise Failure(f"--detach from a log that was removed says {said!r}")


def kill_before_replacing(folder, process, good, point):
    """The process has attached, and its log is beside the one that it replaces, or was to."""
    before = good.read_bytes()
    recorder = subprocess.Popen([TOOLS.record, "--attach", str(process.pid), "-f", "-o", str(good)], stderr=subprocess.DEVNULL, env=fault(point))
    STARTED.append(recorder)
    recorder.wait(60)
    say(process, "alloc 7770 11")
    other = start(sys.executable, "-c", SERVER)
    refused_beside(folder, f"process {process.pid} still writes", 125, "--attach", str(other.pid), "-f", "-o", str(good))
    pack_left(folder, process.pid, "good.dat.attaching")
    if (good.read_bytes() != before) != (point == "replaced") or images(folder / "good.dat.attaching") != [("detached", 11)]:
        raise Failure(f"an attach that was killed as it has {point} has left {images(folder / 'good.dat.attaching')}, and of what it was to replace {good.stat()}")
    for path in folder.glob("good.dat.attaching*"):
        path.unlink()


def test_again(folder):
    process = start(sys.executable, "-c", SERVER)
    recorder = attach(process.pid, folder / "first.dat")
    say(process, "exec 0 1")
    detach(process.pid, recorder)
    recorder = attach(process.pid, folder / "second.dat")
    say(process, "alloc 7770 30")
    detach(process.pid, recorder)
    say(process, "alloc 7770 5")
    if images(folder / "second.dat") != [("detached", 30)]:
        raise Failure(f"recorded again after an exec: {images(folder / 'second.dat')}")
    end(process)
    recorder, pid = left_behind(folder)
    taken = subprocess.Popen([TOOLS.record, "--attach", str(pid), "-o", str(folder / "third.dat")], stderr=subprocess.PIPE, text=True)
    STARTED.append(taken)
    said = [taken.stderr.readline() for _ in range(2)]
    if f"mtrace-record --pack {folder}/started.dat.live'" not in said[0] or "attached to process" not in said[1]:
        raise Failure(f"attaching to who was left behind says: {said}")
    say(recorder, "alloc 7770 30")
    detach(pid, taken)
    recorder.stdin.close()
    recorder.wait()
    record("--pack", folder / "started.dat.live")
    if images(folder / "started.dat") != [("detached", 7)] or images(folder / "third.dat") != [("detached", 30)]:
        raise Failure(f"of a recorder that was killed, and of the next: {images(folder / 'started.dat')}, {images(folder / 'third.dat')}")


def test_between(folder):
    program = compiled(folder, "again", AGAIN)
    met = set()
    for n in range(8):
        process = start(program, "700")
        time.sleep(random.random() * 0.01)
        log = folder / f"{n}.dat"
        recorder = attach(process.pid, log)
        say(process, "allocate")
        process.stdin.close()
        if process.wait(30) != 0 or recorder.wait(60) != 0:
            raise Failure(f"the program ended with {process.returncode}, mtrace-record said {recorder.stderr.read()}")
        found = ask(log, "SELECT (SELECT count(*) FROM processes), count(*) FROM allocations WHERE size_bytes = 7770")
        if found[0][1] != 9:
            raise Failure(f"images, and blocks of the last one: {found}; {recorder.stderr.read()}")
        met.add(found[0][0] > 1)
    print(f"attached to one that executed another afterwards: {met}")


def user_ticks(pid):
    return int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[11])


def voluntary_switches(pid):
    return sum(int(re.search(r"^voluntary_ctxt_switches:\s*(\d+)", path.read_text(), re.M)[1]) for path in Path(f"/proc/{pid}/task").glob("*/status"))


def test_stub(folder):
    """The stub is made to loop until the recorder has looked at it."""
    program = compiled(folder, "stubs", STUBS, "-no-pie", "-Wl,-z,lazy", "-pthread")
    for name, least in (("execl", 20), ("malloc", 19)):
        log = folder / f"{name}.dat"
        process = start(program, name)
        at = int(process.stdout.readline(), 16)
        with open(f"/proc/{process.pid}/mem", "r+b", buffering=0) as memory:
            saved = os.pread(memory.fileno(), 2, at)
            os.pwrite(memory.fileno(), b"\xeb\xfe", at)
            process.stdin.write("call\n")
            process.stdin.flush()
            wait_until("in the stub", lambda: user_ticks(process.pid) > 1)
            before = voluntary_switches(process.pid)
            recorder = subprocess.Popen([TOOLS.record, "--attach", str(process.pid), "-o", str(log)], stderr=subprocess.PIPE, text=True)
            STARTED.append(recorder)
            wait_until("looked at", lambda: voluntary_switches(process.pid) >= before + 3)
            if name == "malloc":
                recorder.stderr.readline()
            os.pwrite(memory.fileno(), saved, at)
        first = process.stdout.readline() if name == "malloc" else recorder.stderr.readline()
        if first != "done\n" and "attached" not in first:
            raise Failure(f"{name}: {first}")
        say(process, "count")
        process.stdin.close()
        if process.wait(30) != 0 or recorder.wait(60) != 0:
            raise Failure(f"{name}: the program ended with {process.returncode}, mtrace-record with {recorder.returncode}: {recorder.stderr.read()}")
        found = ask(log, "SELECT count(*) FROM allocations WHERE size_bytes = 7770")[0][0]
        if found < least:
            raise Failure(f"{name}: {found} of 20 blocks are recorded: {recorder.stderr.read()}")


def test_cloned(folder):
    library = compiled(folder, "later.so", LIBRARY, "-shared", "-fPIC", "-Wl,-z,relro,-z,now")
    process = start(compiled(folder, "cloning", CLONING, "-D_GNU_SOURCE", "-ldl"), library)
    recorder = attach(process.pid, folder / "run.dat", "--follow-children")
    for way in ("fork", "syscall", "none"):
        say(process, way)
    detach(process.pid, recorder)
    is_as_before(process)
    end(process)
    found = ask(folder / "run.dat", "SELECT p.pid != " + str(process.pid) + ", count(a.size_bytes) FROM processes AS p LEFT JOIN allocations AS a"
                " ON a.process_id = p.process_id AND a.size_bytes = 7770 GROUP BY p.process_id ORDER BY 1, 2")
    if found != [(0, 30), (1, 11), (1, 12), (1, 13)]:
        raise Failure(f"by process: {found}")


def ctl(process, *words):
    """The program handles the command at its next event."""
    client = subprocess.Popen([TOOLS.record, "--ctl", str(process.pid), *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    STARTED.append(client)
    while client.poll() is None:
        say(process, "pass 9000 1")
        time.sleep(0.01)
    said, complaint = client.communicate()
    if client.returncode != 0:
        raise Failure(f"--ctl {words}: {complaint}")
    return said.strip()


def switch(process, verb):
    while ctl(process, verb).startswith("requested; "):
        pass


def sizes(log):
    return dict(ask(log, "SELECT size_bytes, count(*) FROM allocations WHERE size_bytes BETWEEN 7701 AND 7709 GROUP BY 1"))


def windowed(process, folder):
    """Windows by hand."""
    recorder = attach(process.pid, folder / "ctl.dat", "--start-after", "1h")
    say(process, "alloc 7701 3")
    switch(process, "start")
    say(process, "alloc 7702 5")
    switch(process, "stop")
    say(process, "alloc 7703 7")
    if ctl(process, "snapshot", "here") != "here":
        raise Failure("no snapshot")
    switch(process, "start")
    say(process, "alloc 7704 9")
    if "leaked" not in Path(ctl(process, "report")).read_text():
        raise Failure("no report")
    detach(process.pid, recorder)
    found = sizes(folder / "ctl.dat"), ask(folder / "ctl.dat", "SELECT started_by, ended_by FROM windows ORDER BY window_id")
    if found[0] != {7702: 5, 7704: 9} or [by for by, _ in found[1]] != ["control", "control"] or found[1][0][1] != "control":
        raise Failure(f"windows by --ctl: {found}")


def timed(process, folder):
    """A window that the recorder begins and ends, before the program has done with it; where it is slow the program goes on for longer."""
    log = folder / "timed.dat"
    for seconds in (2, 6, 18):
        recorder = attach(process.pid, log, "--start-after", "500ms", "--stop-after", "500ms")
        n = 0
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            say(process, "alloc 7705 10")
            n += 10
            time.sleep(0.05)
        detach(process.pid, recorder)
        found = sizes(log).get(7705, 0), ask(log, "SELECT started_by, ended_by FROM windows")
        if found[1] == [("time", "time")] and 0 < found[0] < n:
            return
    raise Failure(f"windows by time: {found} of {n}")


def grown(process, folder):
    """A window that begins with what the process has in memory."""
    log = folder / "grown.dat"
    resident = int(Path(f"/proc/{process.pid}/statm").read_text().split()[1]) * 4096
    recorder = attach(process.pid, log, "--start-at-rss", str(resident + (40 << 20)))
    say(process, "alloc 7701 3")
    time.sleep(0.3)
    say(process, "alloc 7702 5")
    say(process, f"alloc {1 << 20} 60")
    for _ in range(30):
        say(process, "alloc 7703 7")
        time.sleep(0.1)
    detach(process.pid, recorder)
    found = sizes(log), ask(log, "SELECT started_by FROM windows")
    if found[0].keys() != {7703} or found[1] != [("size",)]:
        raise Failure(f"a window that begins by size: {found}")


def reported(process, folder):
    log = folder / "reported.dat"
    recorder = attach(process.pid, log, "--report-every", "300ms", "--report-signal", "USR1")
    reports = [Path(f"{log}.report.{n}.txt") for n in (1, 2, 3)]

    def is_third_there():
        say(process, "alloc 7707 10")
        recorder.send_signal(signal.SIGUSR1)
        time.sleep(0.1)
        return reports[-1].exists()

    wait_until("three reports", is_third_there)
    detach(process.pid, recorder)
    if "leaked" not in reports[-1].read_text():
        raise Failure(f"a report: {reports[-1].read_text()}")


def test_together(folder):
    """With the options of other recordings."""
    process = start(sys.executable, "-c", SERVER)
    for part in (windowed, timed, grown, reported):
        part(process, folder)
        is_as_before(process)
    log = folder / "other.dat"
    recorder = attach(process.pid, log, "--cull-temporary", "1000", "--max-live", "64MiB", "--no-compress", "--sample-memory", "10", "--no-mmaps", "--max-depth", "4")
    say(process, "alloc 7708 11")
    for _ in range(30):  # none is elided while buckets of the timeline are as short as clocks are uncertain
        say(process, "pass 7709 2000")
        time.sleep(0.05)
    detach(process.pid, recorder)
    is_as_before(process)
    found = sizes(log)
    if found.get(7708) != 11 or found.get(7709, 0) > 30 * 2000 // 2 or not ask(log, "SELECT count(*) FROM memory_samples")[0][0]:
        raise Failure(f"with other options there are {found}")
    print(f"{found.get(7709, 0)} of 60000 short-lived blocks were not elided")
    for options, why in ((("--aggregate",), "--aggregate cannot be used with --attach"), (("--patch",), "is for a program that is started"),
                         (("--wait",), "--wait needs --follow-children"), (("true",), "--attach runs no program")):
        done = record("--attach", process.pid, "-o", folder / "no.dat", *options)
        if done.returncode != 2 or why not in done.stderr.splitlines()[0] or (folder / "no.dat").exists():
            raise Failure(f"{options}: {done.returncode}, {done.stderr}")
    end(process)


def test_answers(folder):
    process = start(sys.executable, "-c", SERVER)
    attach(process.pid, folder / "run.dat")
    is_refused("is attached to already", "--attach", process.pid, "-o", folder / "no.dat")
    detach(process.pid)


CONSTRUCTED = LIBRARY + "void *made; __attribute__((constructor)) static void begin(void) { made = malloc(7771); }\n"


def test_later(folder):
    path = compiled(folder, "later.so", CONSTRUCTED, "-shared", "-fPIC", "-Wl,-z,relro,-z,now")
    process = start(sys.executable, "-c", SERVER)
    recorder = attach(process.pid, folder / "run.dat")
    say(process, f"load 0 {path}")
    say(process, "pass 7780 2000")  # looks are rare
    say(process, "keep 7770 30")
    detach(process.pid, recorder)
    is_as_before(process)
    found = ask(folder / "run.dat", "SELECT size_bytes, count(*) FROM allocations WHERE size_bytes IN (7770, 7771) GROUP BY 1")
    if found != [(7770, 30), (7771, 1)]:
        raise Failure(f"of 30 blocks of the library, and one of its constructor, are recorded: {found}")


SLOTS = r"""
#include <unistd.h>
%s
int main(void)
{
    char line[64];
    ssize_t n;
    while ((n = read(0, line, sizeof(line))) > 0) {
        step();
        if (write(1, line, (size_t)n) != n)
            return 1;
    }
    return 0;
}
"""


def test_gaps(folder):
    source = SLOTS % "#include <stdlib.h>\nvoid *volatile kept; static void step(void) { kept = malloc(7770); }"
    kinds = {"pie": ("-pie", "-fPIE", "-Wl,-z,max-page-size=0x200000"), "fixed": ("-no-pie", "-Wl,-z,max-page-size=0x200000"),
             "lazy": ("-pie", "-fPIE", "-Wl,-z,max-page-size=0x200000,-z,lazy")}
    if shutil.which("ld.lld"):
        kinds["lld"] = ("-fuse-ld=lld", "-Wl,-z,max-page-size=0x10000")
    for kind, options in kinds.items():
        process = start(compiled(folder, kind, source, "-Wl,--build-id=sha1", *options))
        log = folder / f"{kind}.dat"
        recorder = attach(process.pid, log)
        for _ in range(20):
            say(process, "on")
        detach(process.pid, recorder)
        is_as_before(process)
        process.stdin.close()
        messages = recorder.stderr.read()
        counted = ask(log, "SELECT count(*) FROM allocations WHERE size_bytes = 7770")
        if counted != [(20,)] or "no call by" in messages:
            raise Failure(f"{kind}: {counted[0][0]} of 20 blocks are recorded: {messages}")
        if ask(log, f"SELECT count(*) FROM objects WHERE path LIKE '%/{kind}' AND length(build_id) = 40") != [(1,)]:
            raise Failure(f"{kind}: the build id of the executable is not recorded")
    process = start(compiled(folder, "slotless", SLOTS % "static void step(void) { }"))
    recorder = attach(process.pid, folder / "slotless.dat")
    say(process, "on")
    detach(process.pid, recorder)
    messages = recorder.stderr.read()
    if f"no call by '{folder}/slotless' itself is recorded" not in messages:
        raise Failure(f"not said that no reference of the executable leads to us: {messages}")
    process = start(compiled(folder, "operators", SLOTS % "void *volatile kept; static void step(void) { kept = operator new(7770); }",
                             suffix="cc"))
    recorder = attach(process.pid, folder / "operators.dat")
    say(process, "on")
    detach(process.pid, recorder)
    messages = recorder.stderr.read()
    if ask(folder / "operators.dat", "SELECT count(*) FROM allocations WHERE size_bytes = 7770") != [(1,)] or "no call by" in messages:
        raise Failure(f"an executable that calls only C++ operators: {messages}")


def test_operators(folder):
    library = compiled(folder, "allocator.so", ALLOCATOR, "-shared", "-fPIC", suffix="cc")
    program = compiled(folder, "new", NEWS, library, suffix="cc")
    process = start(program)
    say(process, "7777")
    recorder = attach(process.pid, folder / "run.dat")
    say(process, "7778")
    detach(process.pid, recorder)
    is_as_before(process)
    if "operator new are missing" in recorder.stderr.read():
        raise Failure("operators are said to be missing")
    say(process, "7779")
    recorder = attach(process.pid, folder / "later.dat")
    process.stdin.write("exec\n")
    process.stdin.flush()
    time.sleep(0.3)
    say(process, "7780")
    detach(process.pid, recorder)
    if ask(folder / "later.dat", "SELECT count(*) FROM allocations WHERE size_bytes = 7780") != [(100,)]:
        raise Failure("what was executed has operators that are not recorded")
    end(process)
    found = ask(folder / "run.dat", "SELECT size_bytes, count(*), sum(NOT is_leaked) FROM allocations WHERE size_bytes BETWEEN 7777 AND 7779 GROUP BY 1")
    (frees,), = ask(folder / "run.dat", "SELECT inherited_frees FROM processes")
    if found != [(7778, 100, 50)] or frees != 50:
        raise Failure(f"of operator new there are {found}, and {frees} frees of blocks from before")


def test_hooked(folder):
    process = start(compiled(folder, "hooked", HOOKED, "-D_GNU_SOURCE", "-Wl,-z,relro,-z,now"))
    say(process, "before")
    recorder = attach(process.pid, folder / "run.dat")
    for _ in range(10):
        say(process, "while")
    detach(process.pid, recorder)
    is_as_before(process)
    say(process, "after")
    (n,), = ask(folder / "run.dat", "SELECT count(*) FROM allocations WHERE size_bytes = 7770")
    if n != 10:
        raise Failure(f"{n} of 10 blocks are recorded")
    end(process)


def said_with_no_more_memory(pid, *words):
    """Its address space may not grow any more."""
    limits = resource.prlimit(pid, resource.RLIMIT_AS)
    resource.prlimit(pid, resource.RLIMIT_AS, (size_of(pid), limits[1]))
    done = record(*words)
    resource.prlimit(pid, resource.RLIMIT_AS, limits)
    if done.returncode == 0 or "cannot map 384 KiB" not in done.stderr or "ulimit -v" not in done.stderr:
        raise Failure(f"{words} without memory: {done.returncode}, {done.stdout}{done.stderr}")


def test_limited(folder):
    program = Workload(folder, "attached", "registers")
    process = program.process
    for round in range(2):
        log = folder / f"{round}.dat"
        said_with_no_more_memory(process.pid, "--attach", str(process.pid), "-o", str(log))
        if log.exists() or words_to_us(process.pid):
            raise Failure("a process that could not be attached to was")
        recorder = attach(process.pid, log)
        said_with_no_more_memory(process.pid, "--detach", str(process.pid))
        if recorder.poll() is not None or not words_to_us(process.pid):
            raise Failure(f"who could not leave ended with {recorder.returncode}")
        detach(process.pid, recorder)
        is_as_before(process)
    recorder = attach(process.pid, folder / "alone.dat")
    kill(recorder)
    said_with_no_more_memory(process.pid, "--detach", str(process.pid))
    detach(process.pid)
    is_as_before(process)
    program.check("limits")


def child_of(pid):
    """The recorded program, once the library is loaded."""
    def children():
        return [child for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
                if "libmtrace.so" in Path(f"/proc/{child}/maps").read_text()]

    wait_until("the program is started", children)
    return int(children()[0])


def refused(pid, folder, why):
    done = record("--attach", pid, "-o", folder / "no.dat")
    if done.returncode == 0 or why not in done.stderr or done.stderr.count("\n") != 1:
        raise Failure(f"expected a line with {why!r}: {done.stderr}")
    if any(folder.iterdir()):
        raise Failure(f"files are left: {list(folder.iterdir())}")


def test_refused(folder):
    process = start(sys.executable, "-c", THREADS)
    # What nothing of ours is in is not led anywhere to find out.
    left = record("--detach", process.pid)
    if left.returncode == 0 or left.stderr != f"mtrace-record: process {process.pid} is not attached to\n":
        raise Failure(f"--detach of what was never attached to: {left.stderr}")
    if "libmtrace" in Path(f"/proc/{process.pid}/maps").read_text():
        raise Failure("--detach has put a library into a program that had none of ours")
    process.send_signal(signal.SIGSTOP)
    wait_until("the program is stopped", lambda: harness.state_of(process.pid) == "T")
    refused(process.pid, folder, "is stopped")
    process.send_signal(signal.SIGCONT)
    if TRACE(PTRACE_SEIZE, process.pid, None, None) == 0:
        refused(process.pid, folder, "is traced by process")
        hold(process.pid, is_seized=True)
        TRACE(PTRACE_DETACH, process.pid, None, None)
    process.terminate()
    process.wait()
    refused(process.pid, folder, "there is no process")
    program = Workload(folder.parent, "attached", "filtered")
    time.sleep(0.2)
    refused(program.process.pid, folder, "seccomp filter")
    program.check("a thread with a filter")
    program.said.unlink()
    preloaded = subprocess.Popen([TOOLS.record, "-q", "-o", str(folder.parent / f"{folder.name}.dat"), "--", sys.executable, "-c", THREADS],
                                 stderr=subprocess.DEVNULL)
    STARTED.append(preloaded)
    refused(child_of(preloaded.pid), folder, "is already recorded")
    os.kill(child_of(preloaded.pid), signal.SIGKILL)
    preloaded.wait()
    (folder.parent / f"{folder.name}.dat").unlink(missing_ok=True)


STILL = """
#include <stdlib.h>
#include <unistd.h>
int main(void)
{
    for (;; usleep(1000))
        free(malloc(100));
}
"""


def refuses_kind(folder, name, compiler, options, why):
    """False: the compiler, or what it needs, is not there, or this kernel does not run what it makes."""
    source = folder.parent / f"{folder.name}.{name}.c"
    source.write_text(STILL)
    program = source.with_suffix("")
    if not shutil.which(compiler) or subprocess.run([compiler, "-O1", *options, "-o", program, source], capture_output=True).returncode != 0:
        return False
    try:
        process = subprocess.Popen([program])
    except OSError:
        return False
    STARTED.append(process)
    time.sleep(0.1)
    if process.poll() is not None:
        return False
    refused(process.pid, folder, why)
    if process.poll() is not None:
        raise Failure(f"the {name} program ended with {process.returncode}")
    return True


def refuses_elsewhere(folder):
    """In a mount namespace where a folder of ours is another one."""
    library = Path(os.environ["MTRACE_TEST_COLLECTOR"]).parent
    process = subprocess.Popen(["unshare", "-m", "sh", "-c", f"mount -t tmpfs none '{library}' && exec sleep 1000"], stderr=subprocess.DEVNULL)
    STARTED.append(process)
    deadline = time.monotonic() + 30
    while "sleep" not in Path(f"/proc/{process.pid}/comm").read_text():
        if process.poll() is not None:  # it may not be made here
            return False
        if time.monotonic() > deadline:
            raise Failure("no program was started")
        time.sleep(0.01)
    refused(process.pid, folder, "another mount namespace")
    return True


def test_kinds(folder):
    folder = folder / "none"
    folder.mkdir()
    tried = {
        "static": refuses_kind(folder, "static", "cc", ["-static"], "is statically linked"),
        "musl": refuses_kind(folder, "musl", "musl-gcc", [], "has musl as its libc"),
        "32 bits": refuses_kind(folder, "narrow", "i686-linux-gnu-gcc", ["-static"], "is a 32-bit program"),
        "elsewhere": os.geteuid() == 0 and refuses_elsewhere(folder),
    }
    print(f"refused: {tried}; false: could not be tried here")
    if not any(tried.values()):
        raise harness.Skip("no such program can be made here")


def test_own_names(folder):
    process = start(TOOLS.workloads / "own_names", "echo")
    recorder = attach(process.pid, folder / "run.dat")
    say(process, "go")
    expected, _ = harness.workload_output(process.stdout.read())
    if process.wait(30) != 3 or recorder.wait(60) != 0:
        raise Failure(f"the program ended with {process.returncode}, mtrace-record with {recorder.returncode}")
    rows = ask(folder / "run.dat", "SELECT count(*), end_kind FROM allocations JOIN processes USING (process_id) WHERE size_bytes % 1000 = 777")
    if rows != [(expected["allocated"], "exit")]:
        raise Failure(f"recorded: {rows}, allocated: {expected}")


def test_crowd(folder):
    process = start(sys.executable, "-c", THREADS.replace("range(4)", "range(150)").replace("0.001", "1"))
    wait_until("threads are there", lambda: len(os.listdir(f"/proc/{process.pid}/task")) >= 151)
    recorder = attach(process.pid, folder / "run.dat")
    time.sleep(1.5)
    detach(process.pid, recorder)
    is_as_before(process)
    (n,), = ask(folder / "run.dat", "SELECT count(DISTINCT thread_id) FROM allocations")
    if n < 100:
        raise Failure(f"allocations of {n} of 150 threads are recorded")


# Loads a library, for each line of its input.
OPENING = r"""
import ctypes, sys
for line in sys.stdin:
    try:
        ctypes.CDLL(line.strip())
        print("loaded", flush=True)
    except OSError as how:
        print(how, flush=True)
"""
STORAGE = r"""
__attribute__((tls_model("initial-exec"))) _Thread_local char storage[BYTES];
char *storage_of_thread(void) { return storage; }
"""
STORAGE_BYTES = 608  # docs/attach.md
WIDE_BYTES = 1480
PT_TLS = 7


def storage_of(library):
    data = library.read_bytes()
    first, size, n = struct.unpack_from("<Q", data, 32)[0], *struct.unpack_from("<HH", data, 54)
    headers = [struct.unpack_from("<IIQQQQQQ", data, first + i * size) for i in range(n)]
    return [(header[6], header[7]) for header in headers if header[0] == PT_TLS][0]


def load(process, library):
    process.stdin.write(f"{library}\n")
    process.stdin.flush()
    return process.stdout.readline().strip()


def test_storage(folder):
    n_bytes, alignment = storage_of(Path(TOOLS.record).parent.parent / "lib/mtrace/libmtrace-attach.so")
    if n_bytes > STORAGE_BYTES:
        raise Failure(f"libmtrace-attach.so takes {n_bytes} bytes, docs/attach.md says {STORAGE_BYTES}")
    wide, narrow = (compiled(folder, f"{n}.so", STORAGE, "-shared", "-fPIC", f"-DBYTES={n}") for n in (WIDE_BYTES, WIDE_BYTES - STORAGE_BYTES - alignment))
    full = start(sys.executable, "-c", OPENING)
    said = load(full, wide)
    if said != "loaded":
        raise Skip(f"this glibc has less than {WIDE_BYTES} bytes for libraries that are opened: {said}")
    process = start(sys.executable, "-c", OPENING)
    for _ in range(2):
        detach(process.pid, attach(process.pid, folder / "run.dat"))
    said = load(process, narrow)
    if said != "loaded":
        raise Failure(f"{WIDE_BYTES} bytes fit without the collector; with it {WIDE_BYTES - STORAGE_BYTES - alignment} do not: {said}")
    done = record("--attach", full.pid, "-f", "-o", folder / "full.dat")
    if done.returncode == 0 or done.stderr.count("\n") != 1 or "glibc.rtld.optional_static_tls" not in done.stderr:
        raise Failure(f"where nothing is left: {done.stderr}")
    if library_range(full.pid) != (0, 0):
        raise Failure("the library is in the process, though it was refused")
    for one in (full, process):
        one.stdin.close()
        if one.wait(30) != 0:
            raise Failure(f"a program ended with {one.returncode}")


PARTS = {name[5:]: test for name, test in globals().copy().items() if name.startswith("test_")}


def main():
    if len(sys.argv) != 2 or sys.argv[1] not in PARTS:
        sys.exit(__doc__)
    with harness.scratch() as place:
        try:
            PARTS[sys.argv[1]](Path(place))
        finally:
            for process in STARTED:
                process.kill()
            for process in STARTED:  # of which one may trace another
                process.wait()


TOOLS = harness.Tools.from_environment()
harness.main(main)
