#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs real programs with MTRACE_UNWINDER=check and requires that no complete stack differs from libunwind's.

check.py CASE…    some of the cases below
check.py --full   all of them, at full length (minutes: libunwind walks every stack)
The library is named by MTRACE_TEST_COLLECTOR. Exit status 77: no program of the asked cases is installed.
"""

import os
import shutil
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COUNTERS = struct.Struct("<II")
MISMATCHES_OFFSET = 256  # of unwind_mismatches in struct log_header; unwind_checked follows
JSON_LOOP = "import json\nfor i in range({n}): json.loads(json.dumps([{{'a': i, 'b': [1, 2, 'x' * i]}}] * 20))"
THREADS = ("import json, threading\nwork = lambda: [json.dumps([i] * 200) for i in range({n})]\n"
           "threads = [threading.Thread(target=work) for i in range(4)]\n"
           "[t.start() for t in threads]\n[t.join() for t in threads]")
CXX = "#include <map>\n#include <string>\n#include <vector>\nint main() {{ std::map<std::string, std::vector<int>> m; m[\"a\"].resize({n}); }}"
CXX_SHORT = ("template <int n> struct chain {{ chain<n - 1> next; int at(int i) {{ return i == n ? n : next.at(i); }} }};\n"
             "template <> struct chain<0> {{ int at(int i) {{ return i; }} }};\nint main() {{ return chain<{n}>().at(0); }}")
SQL = ("create table t(a, b); with recursive c(i) as (select 1 union all select i + 1 from c where i < {n})"
       " insert into t select i, i * 2 from c; create index x on t(b); select count(*) from t;")


def cc1plus():
    found = subprocess.run(["g++", "-print-prog-name=cc1plus"], capture_output=True, text=True).stdout.strip()
    return found if found and os.path.isabs(found) else None


# name: (program, arguments with {n} and {file}, short n, full n, (short, full) text of {file}, complete stacks at least when short)
CASES = {
    "python": ("/usr/bin/python3", ["-c", JSON_LOOP], 2, 300, None, 10000),
    "threads": ("/usr/bin/python3", ["-c", THREADS], 3, 200, None, 10000),
    "git": ("git", ["-C", str(ROOT), "log", "--stat", "-{n}"], 3, 100, None, 100),
    "perl": ("perl", ["-e", "my %h; $h{{$_}} = [$_] x 5 for 1 .. {n};"], 500, 20000, None, 1000),
    "sqlite3": ("sqlite3", [":memory:", SQL], 500, 20000, None, 1000),
    "bash": ("bash", ["-c", "for i in $(seq {n}); do x=$(echo $i); done"], 3, 100, None, 500),
    "cc1plus": (cc1plus(), ["-quiet", "-O1", "-fpreprocessed", "{file}", "-o", "/dev/null"], 100, 9, (CXX_SHORT, CXX), 5000),
    "openssl": ("openssl", ["genrsa", "1024"], 1, 1, None, 1000),
    "node": ("node", ["-e", "let a = []; for (let i = 0; i < {n}; i++) a.push({{x: i}}); JSON.stringify(a)"],
             1000, 20000, None, 10000),
}
QUICK = ("python", "threads", "git", "perl", "sqlite3", "bash", "openssl")


def run(name, full, folder):
    program, arguments, short_n, full_n, text, least = CASES[name]
    program = program and shutil.which(program)
    if not program:
        return None
    n = full_n if full else short_n
    source = folder / "source.ii"
    if text:
        (folder / "source.cpp").write_text(text[full].format(n=n))
        subprocess.run(["g++", "-E", folder / "source.cpp", "-o", source], check=True)
    log = folder / f"{name}.dat"
    diagnostics = folder / f"{name}.txt"
    environment = dict(os.environ, LD_PRELOAD=os.environ["MTRACE_TEST_COLLECTOR"], MTRACE_UNWINDER="check",
                       MTRACE_OUTPUT=str(log), MTRACE_LOG="warn", MTRACE_LOGFILE=str(diagnostics), PYTHONMALLOC="malloc")
    status = subprocess.run([program] + [a.format(n=n, file=source) for a in arguments], env=environment,
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode
    different, checked = COUNTERS.unpack_from(log.read_bytes()[:4096], MISMATCHES_OFFSET)
    print(f"{name}: exit status {status}, {checked} complete stacks, {different} differ from libunwind's")
    if different and diagnostics.exists():
        print(diagnostics.read_text())
    return status == 0 and different == 0 and checked >= least


def main():
    full = "--full" in sys.argv
    names = [a for a in sys.argv[1:] if not a.startswith("-")] or list(CASES if full else QUICK)
    with tempfile.TemporaryDirectory() as folder:
        results = [run(name, full, Path(folder)) for name in names]
    if all(result is None for result in results):
        print("none of these programs is installed:", *names)
        return 77
    return 0 if all(result is not False for result in results) else 1


sys.exit(main())
