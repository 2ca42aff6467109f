#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""side_effects.py RULE: limits of the collector's side effects, measured on workloads with and without it.

stack     each call takes at most 512 bytes of the program's stack, or what the real function takes and a frame of ours
handlers  a signal handler that interrupts us finds itself on the stack of its thread, and with room there
notes     a module whose notes lie where nothing is mapped is not read there
threads   a short thread costs at most 4 system calls and 3 page faults more than untracked
bounds    the stack of a thread has known bounds, whichever call made it, and when
probes    an event of a coroutine without unwind tables probes each page of its stack once
operators threads use operators new of a plugin while other libraries, and then the plugin, are unloaded
bindings  every `_Unwind_*` of a program that throws is bound to the library it was bound to without us
"""

import re
import resource
import shutil
import struct
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))

import harness  # noqa: E402
import raw_log  # noqa: E402
from harness import Failure, Skip  # noqa: E402

MAX_STACK_BYTES = 512
WRAPPER_BYTES = 192  # below which the real function begins; realloc has there the event for trackers
MAX_RARE_BYTES = 2048  # a rule is made, the segment changes; unwind_state.c goes elsewhere where little more is left


def preloaded(tools, log):
    return {"LD_PRELOAD": tools.collector, "MTRACE_OUTPUT": str(log)}


def succeed(argv, place, env):
    outcome = harness.run(argv, place, env)
    if outcome.status != 0:
        raise Failure(f"{argv} ended with {outcome.status}: {outcome.stderr.decode(errors='replace')}")
    return outcome.stdout.decode()


# ---- stack ----

def depths(tools, place, env):
    """call -> (bytes of 99 of 100 calls, bytes of the deepest)"""
    lines = succeed([tools.workloads / "stack_use"], place, env).splitlines()
    return {call: (int(typical), int(most)) for _, call, typical, most in map(str.split, lines)}


def check_stack(tools, place):
    without, tracked = depths(tools, place, {}), depths(tools, place, preloaded(tools, place / "run.dat"))
    for call, (typical, most) in tracked.items():
        real_typical, real_most = without[call]
        print(f"{call}: {typical} bytes, at most {most}; untracked {real_typical}, at most {real_most}")
        if typical > max(MAX_STACK_BYTES, real_typical + WRAPPER_BYTES):
            raise Failure(f"{call} takes {typical} bytes of stack, untracked {real_typical}")
        if most > max(MAX_RARE_BYTES, real_most + WRAPPER_BYTES):
            raise Failure(f"a {call} took {most} bytes of stack, untracked {real_most}")


# ---- handlers ----

def check_handlers(tools, place):
    argv = [tools.workloads / "handler_stack", tools.workloads / "twin_left.so", "leak_in_left_twin"]
    output = succeed(argv, place, preloaded(tools, place / "run.dat")).split()
    if output[:1] != ["handlers"] or int(output[1]) == 0:
        raise Failure(f"no handler interrupted us, so nothing was tested: {output}")
    if int(output[3]) != 0:
        raise Failure(f"{output[3]} of {output[1]} handlers ran on another stack")
    print(f"{output[1]} handlers ran on the stack of their thread")


# ---- threads ----

MAX_CALLS = 4
MAX_FAULTS = 3


def counted(place, name, argv, env):
    """System calls, by strace, and page faults of a program."""
    summary = place / name
    strace = ["strace", "-q", "-f", "-c", "-o", summary, *[f"-E{key}={value}" for key, value in env.items()]]
    succeed([*strace, *argv], place, {})
    lines = [line.split() for line in summary.read_text().splitlines()]
    calls = sum(int(words[3]) for words in lines if len(words) >= 5 and words[3].isdigit() and words[-1] != "total")
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt
    succeed(argv, place, env)
    return calls, resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt - before


def check_threads(tools, place):
    if shutil.which("strace") is None:
        raise Skip("strace is not installed")
    argv = [tools.workloads / "short_threads"]
    n_threads = int(re.search(r"expect threads (\d+)", succeed(argv, place, {})).group(1))
    untracked, tracked = counted(place, "untracked", argv, {}), counted(place, "tracked", argv, preloaded(tools, place / "run.dat"))
    for what, without, recorded, most in zip(("system calls", "page faults"), untracked, tracked, (MAX_CALLS, MAX_FAULTS)):
        print(f"{what}: {without} untracked, {recorded} recorded, {n_threads} threads")
        if without < n_threads:
            raise Failure(f"only {without} {what} of {n_threads} threads: they were not counted")
        if recorded - without > most * n_threads:
            raise Failure(f"a thread costs {(recorded - without) / n_threads:.1f} {what} more than untracked")


# ---- bounds ----

def check_bounds(tools, place):
    """On a stack with known bounds, rules are made unless the kernel reports it as an alternate one. On others it is not asked."""
    if shutil.which("strace") is None:
        raise Skip("strace is not installed")
    for how in ("pthread", "thrd", "waiting"):
        log = place / f"{how}.dat"
        env = {**preloaded(tools, log), **({"MTRACE_DISABLE_BY_DEFAULT": "1", "MTRACE_SIGNAL_TOGGLE": "SIGUSR2"}
                                           if how == "waiting" else {})}
        strace = ["strace", "-q", "-f", "-e", "trace=sigaltstack", "-o", place / how, *[f"-E{key}={value}" for key, value in env.items()]]
        succeed([*strace, tools.workloads / "thread_creation", how], place, {})
        lines = [line.split() for line in (place / how).read_text().splitlines()]
        main_thread = lines[-1][0]  # the last one to exit
        asked = sum(words[0] != main_thread and words[1].startswith("sigaltstack(NULL") for words in lines)
        recorded = sum(1 for _, _, size in raw_log.events(log) if size and size % 1000 == 777)
        print(f"{how}: {recorded} blocks, asked {asked} times")
        if recorded < 200:
            raise Failure(f"{how}: only {recorded} blocks were recorded")
        if asked == 0:
            raise Failure(f"{how}: the bounds of the thread's stack are not known")


# ---- probes ----

MAX_PROBES = 30  # of an event; 200 frames are on 13 pages, and 30 more events are of libc


def check_probes(tools, place):
    if shutil.which("strace") is None:
        raise Skip("strace is not installed")
    n_blocks, log = 500, place / "run.dat"
    strace = ["strace", "-q", "-f", "-e", "trace=rt_sigprocmask", "-o", place / "calls", *[f"-E{key}={value}" for key, value in preloaded(tools, log).items()]]
    succeed([*strace, tools.workloads / "deep_coroutine", "200", str(n_blocks)], place, {})
    n_probes = len((place / "calls").read_text().splitlines())
    n_events = sum(1 for _ in raw_log.events(log))
    print(f"{n_events} events, {n_probes} probes")
    if n_events < 2 * n_blocks:
        raise Failure(f"only {n_events} events were recorded")
    if n_probes > MAX_PROBES * n_events:
        raise Failure(f"an event needs {n_probes / n_events:.0f} probes")


# ---- bindings ----

BINDING = re.compile(r"binding file (\S+) \[\d+\] to (\S+) \[\d+\]: \S+ symbol `(_Unwind_\w+)'")


def bindings(argv, place, env):
    """{(file, symbol, library it is bound to)} of the whole run, nothing bound late."""
    place.mkdir()
    succeed(argv, place, {**env, "LD_DEBUG": "bindings", "LD_DEBUG_OUTPUT": str(place / "ld"), "LD_BIND_NOW": "1"})
    text = "".join(path.read_text(errors="replace") for path in place.glob("ld.*"))
    return {(user, symbol, library) for user, library, symbol in BINDING.findall(text)}


def check_bindings(tools, place):
    cancel = [tools.workloads / "cancel_host", tools.workloads / "cancel_plugin.so"]
    for name, argv in (("exceptions", [tools.workloads / "exceptions"]), ("cancel_host", cancel)):
        without = bindings(argv, place / f"{name}.without", {})
        for unwinder in ("fast", "check"):
            env = {**preloaded(tools, place / f"{name}.dat"), "MTRACE_UNWINDER": unwinder}
            tracked = bindings(argv, place / f"{name}.{unwinder}", env)
            # The oracle may bind what it likes: no other library sees it.
            changed = {one for one in without ^ tracked if not re.search(r"mtrace-oracle|libunwind", one[0])}
            if not without or changed:
                raise Failure(f"{name}, {unwinder}: {len(without)} bindings untracked, {sorted(changed)} differ")
        print(f"{name}: {len(without)} bindings of _Unwind_* are the same")


# ---- notes ----

PT_LOAD, PT_NOTE = 1, 4


def with_notes_in_a_gap(library, target):
    """A copy whose note segments claim to be loaded between two others, where ld.so maps unreadable memory."""
    data = bytearray(library.read_bytes())
    first, size, n = struct.unpack_from("<Q", data, 32)[0], *struct.unpack_from("<HH", data, 54)
    headers = [(at, struct.unpack_from("<I", data, at)[0]) for at in range(first, first + size * n, size)]
    end = min(sum(struct.unpack_from("<QQQ", data, at + 16)[0::2]) for at, kind in headers if kind == PT_LOAD)
    gap = (end + 0x1fff) & ~0xfff
    for at, kind in headers:
        if kind == PT_NOTE:
            struct.pack_into("<QQ", data, at + 16, gap, gap)
    target.write_bytes(data)
    return any(kind == PT_NOTE for _, kind in headers)


def check_notes(tools, place):
    if not with_notes_in_a_gap(tools.workloads / "gaps_right.so", place / "moved.so"):
        raise Skip("the linker made no notes")
    argv = [tools.workloads / "twin_libraries", tools.workloads / "gaps_left.so", place / "moved.so"]
    if succeed(argv, place, {}) != succeed(argv, place, preloaded(tools, place / "run.dat")):
        raise Failure("the program said something else")
    print("notes that are not mapped are passed over")


# ---- operators ----

def check_operators(tools, place):
    collector = Path(tools.collector).with_name("libmtrace-new.so")
    libraries = [tools.workloads / f"{name}.so" for name in ("twin_left", "twin_right", "gaps_left", "gaps_right")]
    for plugin in ("late_plugin_alone", "late_plugin"):
        log = place / f"{plugin}.dat"
        output = succeed([tools.workloads / "late_operators", tools.workloads / f"{plugin}.so", *libraries], place,
                       {**preloaded(tools, log), "LD_PRELOAD": str(collector)})
        made = int(output.split("expect allocated ")[1].split()[0])
        sizes = [size for _, _, size in raw_log.events(log) if size and size % 1000 == 777]
        if made < 100 or len(sizes) != made:
            raise Failure(f"{plugin}: it made {made} objects, {len(sizes)} are recorded")
        log.unlink()
        print(f"{plugin}: {made} objects")


harness.main_of_parts({"stack": check_stack, "handlers": check_handlers, "bindings": check_bindings, "bounds": check_bounds, "notes": check_notes, "operators": check_operators, "probes": check_probes,
                       "threads": check_threads}, __doc__)
