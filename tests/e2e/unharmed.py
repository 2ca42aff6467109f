#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""unharmed.py PART: what mtrace-record passes on to a program, and what it must not change.

signals   signals sent to mtrace-record reach the program, with their value, and mtrace-record continues
early     the same for signals sent before the program was started
timers    those that were set before mtrace-record was executed are the program's
names     a library of the program defines functions with names of libc's that mtrace wraps, with other arguments
musl      a program of another libc runs unrecorded: as the program, by a script, as a child, behind an exec
"""

import ctypes
import os
import select
import shutil
import signal
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))

import harness  # noqa: E402
from harness import Failure, Skip  # noqa: E402

LIBC = ctypes.CDLL(None, use_errno=True)
# Signals of faults and of job control are not passed on; SIGCHLD and the signals that end a test are of no use here.
NOT_SENT = {signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGTRAP, signal.SIGKILL, signal.SIGSTOP,
            signal.SIGTSTP, signal.SIGCONT, signal.SIGTTIN, signal.SIGTTOU, signal.SIGCHLD, signal.SIGTERM}


def start(tools, place, argv, **more):
    return subprocess.Popen([tools.record, "-f", "-o", place / "run.dat", "--", *argv], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            bufsize=0, env=harness.environment(), start_new_session=True, **more)


def expect_line(process, wanted):
    is_there, _, _ = select.select([process.stdout], [], [], 20)
    line = process.stdout.readline().decode().strip() if is_there else ""
    if line != wanted:
        os.killpg(process.pid, signal.SIGKILL)
        raise Failure(f"the program says '{line}' instead of '{wanted}': {process.stderr.read()}")


def expect_end(process, status):
    _, output = process.communicate(timeout=60)
    if process.returncode != status:
        raise Failure(f"mtrace-record ended with {process.returncode} instead of {status}: {output}")


def test_signals(tools, place):
    process = start(tools, place, [tools.workloads / "received"])
    expect_line(process, "ready")
    for number in sorted(signal.valid_signals() - NOT_SENT):
        os.kill(process.pid, number)
        expect_line(process, f"{int(number)} 0")
    for number in (signal.SIGUSR1, signal.SIGRTMIN, signal.SIGRTMAX):
        LIBC.sigqueue(process.pid, ctypes.c_int(number), ctypes.c_void_p(4711))
        expect_line(process, f"{int(number)} 4711")
    os.kill(process.pid, signal.SIGTERM)
    expect_end(process, 3)


def test_early(tools, place):
    """A signal that is blocked is pending behind an exec."""
    def pend():
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGPWR])
        os.kill(os.getpid(), signal.SIGPWR)
    process = start(tools, place, [tools.workloads / "received"], preexec_fn=pend)
    expect_line(process, "ready")
    expect_line(process, f"{int(signal.SIGPWR)} 0")
    os.kill(process.pid, signal.SIGTERM)
    expect_end(process, 3)


ITIMERS = "import signal; print([[round(t, -1) for t in signal.getitimer(i)] for i in (0, 1, 2)])"


def test_timers(tools, place):
    def set_timers():
        for which in (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF):
            signal.setitimer(which, 1000, 500)
    process = start(tools, place, [sys.executable, "-c", ITIMERS], preexec_fn=set_timers)
    expect_line(process, str([[1000.0, 500.0]] * 3))
    expect_end(process, 0)
    process = start(tools, place, ["sleep", "60"], preexec_fn=lambda: signal.setitimer(signal.ITIMER_REAL, 1))
    expect_end(process, 128 + signal.SIGALRM)

    def run_out():
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
        signal.setitimer(signal.ITIMER_REAL, 0.001)
    process = start(tools, place, [tools.workloads / "received"], preexec_fn=run_out)
    expect_line(process, "ready")
    expect_line(process, f"{int(signal.SIGALRM)} 0")
    os.kill(process.pid, signal.SIGTERM)
    expect_end(process, 3)


PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
extern char **environ;
int main(int argc, char **argv)
{
    for (char **at = environ; *at && !getenv("QUIET"); at++)
        if (!strncmp(*at, "LD_", 3) || !strncmp(*at, "MTRACE_", 7))
            printf("%s\n", *at);
    printf("%s %d\n", argv[0], malloc(1777) ? argc : -1);
    fflush(stdout);
    return argc > 1 && argv[1][0] != '-' ? execv(argv[1], argv + 1) : 5;
}
"""


def compiled(place, name, *compiler):
    (place / "program.c").write_text(PROGRAM)
    done = subprocess.run([*compiler, "-o", place / name, place / "program.c"], capture_output=True, text=True)
    if done.returncode != 0:
        raise Failure(f"{compiler}: {done.stderr}")
    return place / name


def compare(tools, place, argv, options, wanted, env=None):
    """The program behaves as unrecorded, and mtrace-record prints a line with the wanted text."""
    (place / "there").mkdir(exist_ok=True)
    untracked = harness.run(argv, place / "there", env)
    recorded = harness.run([tools.record, "-f", *options, "-o", place / "run.dat", "--", *argv], place / "there", env)
    harness.check_unchanged(untracked, recorded)
    lines = recorded.stderr.decode().splitlines()
    if not any(wanted in line for line in lines) or len(lines) > 2:
        raise Failure(f"{argv} {options}: no line says '{wanted}': {lines}")


DECLARATIONS = """
int printf(const char *, ...);
void *dlopen(const char *, int), *dlsym(void *, const char *), *malloc(unsigned long);
struct big { long words[6]; };
int daemon(const char *, double, int, long, long, long, long, long);
double prctl(double, double);
struct big brk(int);
int chroot(void);
double valloc(double, double);
long mallocx(const char *, long, long, long, long);
void cfree(void *, int, char, long);
int reallocarray(int, int), aligned_alloc(int), free_sized(int, int, int), malloc_info(int);
"""
LIBRARY = DECLARATIONS + r"""
int daemon(const char *a, double b, int c, long d, long e, long f, long g, long h)
{ return printf("%s %g %d %ld %ld %ld %ld %ld\n", a, b, c, d, e, f, g, h); }
double prctl(double a, double b) { return a * b; }
struct big brk(int x) { return (struct big){{x, 2, 3, 4, 5, 6}}; }
int chroot(void) { return printf("chroot\n"); }
double valloc(double a, double b) { return a - b; }
long mallocx(const char *a, long b, long c, long d, long e) { return printf("%s %ld %ld %ld\n", a, b, c + d, e); }
void cfree(void *a, int b, char c, long d) { printf("%p %d %c %ld\n", a, b, c, d); }
int reallocarray(int a, int b) { return a - b; }
int aligned_alloc(int a) { return -a; }
int free_sized(int a, int b, int c) { return a - b - c; }
int malloc_info(int a) { return a * a; }
void within(void) { printf("%g %d %d\n", valloc(5, 1), reallocarray(2, 9), malloc_info(5)); }
__attribute__((constructor)) static void construct(void) { printf("constructor %g %ld\n", prctl(2, 5), brk(7).words[0]); }
"""
CALLS = DECLARATIONS + r"""
static int (*volatile pointer)(void) = chroot;
void within(void);
void NAME(void)
{
    malloc(1777);
    daemon("x", 2.5, 3, 4, 5, 6, 7, 8);
    printf("%g %ld %d\n", prctl(3, 4), brk(9).words[5], pointer());
    mallocx("mallocx", 2, 3, 4, 5);
    cfree((void *)1, 2, '3', 4);
    within();
    printf("%g %d %d %d %d\n", valloc(3, 9), reallocarray(4, 5), aligned_alloc(6), free_sized(7, 8, 9), malloc_info(10));
}
"""
MAIN = r"""
int fflush(void *), getchar(void);
int main(int argc, char **argv)
{
    calls();
    ((void (*)(void))dlsym(dlopen(argv[1], 2), "plug"))();
    for (fflush(0); argc > 2 && getchar() == 'c'; fflush(0))
        calls();
    return 0;
}
"""


def make(place, name, text, *options):
    (place / f"{name}.c").write_text(text)
    subprocess.run(["cc", "-w", "-fno-builtin", "-o", place / name, place / f"{name}.c", *options], check=True)
    return place / name


def test_names(tools, place):
    library = make(place, "libnames.so", LIBRARY, "-shared", "-fPIC")
    plug = make(place, "plug.so", CALLS.replace("NAME", "plug"), "-shared", "-fPIC")
    for options in (["-Wl,-z,now"], ["-Wl,-z,lazy"], ["-Wl,-z,lazy", "-no-pie"], ["-fno-plt"]):
        program = make(place, "names", CALLS.replace("NAME", "calls") + MAIN, *options, library, f"-Wl,-rpath,{place}")
        compare(tools, place, [program, plug], [], "next: mtrace-query")
    process = subprocess.Popen([program, plug, "wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
    process.stdout.readline()  # of the constructor
    wanted = b"".join(process.stdout.readline() for _ in range(7))
    for _ in range(7):
        process.stdout.readline()  # of the plug-in
    recorder = subprocess.Popen([tools.record, "-f", "-o", place / "run.dat", "--attach", str(process.pid)], stderr=subprocess.PIPE)
    output = b""
    while b"attached to process" not in output:  # warnings come first
        if not (line := recorder.stderr.readline()):
            raise Failure(f"it is not attached to: {output}")
        output += line
    process.stdin.write(b"c")
    got = b"".join(process.stdout.readline() for _ in range(7))
    process.stdin.close()
    recorder.communicate(timeout=60)
    if got != wanted or process.wait(timeout=60) != 0:
        raise Failure(f"attached to, it prints {got} instead of {wanted}")


def test_musl(tools, place):
    if not shutil.which("musl-gcc"):
        raise Skip("musl-gcc is not installed (package musl-tools)")
    musl = compiled(place, "musl", "musl-gcc")
    loader = place / "loader"
    shutil.copy(next(Path("/lib").glob("ld-musl-*.so.1")), loader)
    renamed = compiled(place, "renamed", "musl-gcc", f"-Wl,-dynamic-linker={loader}")
    static = compiled(place, "static", "musl-gcc", "-static")
    glibc = compiled(place, "glibc", "cc")
    script = place / "script"
    script.write_text(f"#!{musl} -x\n")
    script.chmod(0o700)
    quiet = {"QUIET": "1"}  # a program without a loader is given our variables, for what it starts
    for program in (musl, renamed, script):
        compare(tools, place, [program], [], "is not glibc's")
        compare(tools, place, ["env", program], [], "static, set-uid, 32-bit, musl")
    for options in ([], ["--follow-children"]):
        compare(tools, place, ["sh", "-c", f"{musl}; {script}; exit 7"], options, "not recorded")
        compare(tools, place, [static, musl], options, "statically linked", quiet)
        compare(tools, place, [glibc, static, musl], options, "up to an exec", quiet)
        compare(tools, place, [static, glibc], options, "next: mtrace-query", quiet)
    for folder in ("first", "second", "third"):
        (place / folder).mkdir()
    (place / "first" / "found").mkdir()
    (place / "second" / "found").write_bytes(glibc.read_bytes())  # execvp passes over what may not be executed
    (place / "third" / "found").symlink_to(musl)
    compare(tools, place, ["env", f"PATH={place}/first:{place}/second:{place}/third:/bin", "found"], [], "static, set-uid, 32-bit, musl")
    compare(tools, place, [musl, glibc], [], "is not glibc's")
    compare(tools, place, [loader, musl], [], "nothing was recorded", quiet)


harness.main_of_parts({name[5:]: test for name, test in globals().copy().items() if name.startswith("test_")}, __doc__)
