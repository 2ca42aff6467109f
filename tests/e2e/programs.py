#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""programs.py NAME: a real program behaves the same with and without recording, and the recording has its events.

stdout, stderr, exit status, environment, descriptors and the files of the working directory are compared. Each
program runs untracked twice first: what differs between those two (if anything) is a mistake in the case.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))

import harness  # noqa: E402
from harness import Failure, Skip  # noqa: E402

PYTHON_TEXT = r"""
import json, re, collections, sys, threading
data = [{"id": i, "name": "n" * (i % 50), "tags": [str(j) for j in range(i % 7)]} for i in range(3000)]
text = json.dumps(data)
again = json.loads(text)
words = collections.Counter(re.findall(r"[a-z]+", text))
threads = [threading.Thread(target=lambda: sorted(text[:20000])) for _ in range(4)]
[t.start() for t in threads]; [t.join() for t in threads]
print(len(text), again == data, words.most_common(2))
print("to stderr", file=sys.stderr)
sys.exit(5)
"""

SQL_TEXT = """
CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
INSERT INTO t SELECT i, printf('%0200d', i * 7919 % 20000) FROM n;
CREATE INDEX t_b ON t(b);
SELECT count(*), min(b), max(a) FROM t WHERE b > '5';
SELECT group_concat(a) FROM (SELECT a FROM t ORDER BY b LIMIT 20);
"""

NODE_TEXT = """
const m = new Map(); for (let i = 0; i < 50000; i++) m.set('k' + i, {i, s: 'x'.repeat(i % 100)});
console.log(m.size, JSON.stringify([...m.values()].slice(0, 3)));
console.error('to stderr'); process.exitCode = 3;
"""

PERL_TEXT = r'my %h; $h{$_ % 977} .= "x$_" for 1..40000; print length($h{$_}), "\n" for sort { $a <=> $b } (keys %h)[0..0]; ' \
            r'my $t = join ",", map { $_ * 3 } 1..5000; my $n = () = $t =~ /9+/g; print "$n\n"; exit 4'

AWK_TEXT = 'BEGIN { for (i = 0; i < 40000; i++) a[i % 997] = a[i % 997] " " i; n = asorti(a, b); print n, b[1], length(a[5]); exit 2 }'

BASH_TEXT = r"""
for i in {1..200}; do words+=("word$i"); done
declare -A map; for w in "${words[@]}"; do map[$w]=${#w}; done
echo "${#map[@]} $(echo sub shell | tr a-z A-Z)"; printf '%s\n' "${words[@]}" | sort | tail -1
trap 'echo leaving' EXIT; f() { return 9; }; f; exit $?
"""

CXX_TEXT = r"""
template <int N> struct sum { static constexpr int value = N + sum<N - 1>::value; };
template <> struct sum<0> { static constexpr int value = 0; };
struct base { virtual ~base() {} virtual int f(int) = 0; };
template <int N> struct derived : base { int f(int x) override { return x * N + sum<N>::value; } };
int run(base &b) { try { return b.f(3); } catch (...) { throw; } }
int all() { derived<1> a; derived<50> b; derived<300> c; return run(a) + run(b) + run(c); }
"""


def have(program):
    path = shutil.which(program, path=harness.environment()["PATH"])
    if path is None:
        raise Skip(f"{program} is not installed")
    return path


def write(place, name, text):
    (place / name).write_text(text)
    return name


def python3(_):
    return [have("python3"), "-c", PYTHON_TEXT], {}


def python3_malloc(_):
    return [have("python3"), "-c", PYTHON_TEXT], {"PYTHONMALLOC": "malloc"}


def sqlite(_):
    return [have("sqlite3"), "file.db", SQL_TEXT], {}


def git_log(place):
    git = have("git")
    identity = {f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER")
                for what, value in (("NAME", "A"), ("EMAIL", "a@b.c"), ("DATE", "2020-01-01T00:00:00Z"))}
    subprocess.run([git, "init", "-q", "repo"], cwd=place, env=harness.environment(), check=True)
    for i in range(20):
        write(place / "repo", "file.txt", "".join(f"line {j * (i + 1)}\n" for j in range(200)))
        for argv in (["add", "-A"], ["commit", "-q", "-m", f"change {i}"]):
            subprocess.run([git, *argv], cwd=place / "repo", env=harness.environment(identity), check=True)
    (place / "repo" / ".git" / "index").unlink()  # holds the times of this very run
    return [git, "-C", "repo", "--no-pager", "log", "-p", "--stat", "--format=%H %s"], {}


def node(_):
    return [have("node"), "-e", NODE_TEXT], {}


def perl(_):
    return [have("perl"), "-e", PERL_TEXT], {}


def gawk(_):
    return [have("gawk"), AWK_TEXT], {}


def bash(_):
    return [have("bash"), "-c", BASH_TEXT], {}


def cc1plus(place):
    compiler = subprocess.run([have("g++"), "-print-prog-name=cc1plus"], capture_output=True, text=True, check=True)
    write(place, "input.cc", CXX_TEXT)
    return [compiler.stdout.strip(), "-quiet", "-O2", "input.cc", "-o", "-"], {}


def gxx(place):
    write(place, "input.cc", CXX_TEXT)
    return [have("g++"), "-O1", "-c", "input.cc", "-o", "output.o"], {}


def xmllint(place):
    items = "".join(f'<item id="{i}"><name>n{i}</name><![CDATA[{"x" * (i % 60)}]]></item>' for i in range(3000))
    write(place, "input.xml", f"<all>{items}</all>")
    return [have("xmllint"), "--format", "input.xml"], {}


def jq(_):
    return [have("jq"), "-n", "-c", "[range(20000) | {i: ., s: (. % 100 | tostring)}] | group_by(.s) | map(length) | add"], {}


def env(_):
    return [have("env")], {"SOME_VARIABLE": "some value"}


def true(_):
    return [have("true")], {}


def workload(name):
    return lambda _: ([harness.Tools.from_environment().workloads / name], {})


# Programs with almost no heap events of their own are listed here.
PROGRAMS = {"python3": (python3, 10000), "python3_malloc": (python3_malloc, 100000), "sqlite3": (sqlite, 1000),
            "git": (git_log, 1000), "node": (node, 1000), "perl": (perl, 1000), "gawk": (gawk, 1000), "bash": (bash, 1000),
            "cc1plus": (cc1plus, 10000), "g++": (gxx, 100), "xmllint": (xmllint, 10000), "jq": (jq, 10000),
            "env": (env, 1), "true": (true, 1), "surroundings": (workload("surroundings"), 100),
            "surroundings_set": (workload("surroundings_set"), 100)}


def run_program(tools, name, place):
    prepare, least_events = PROGRAMS[name]
    outcomes = []
    for number in range(3):
        # The same path each time, because programs put their directory into what they write.
        there = place / "there"
        shutil.rmtree(there, ignore_errors=True)
        there.mkdir()
        argv, env_added = prepare(there)
        if number == 2:
            argv, more = harness.record_argv(tools, "record", place / "run.dat", argv)
            env_added = {**env_added, **more}
        outcomes.append(harness.run(argv, there, env_added))
    try:
        harness.check_unchanged(outcomes[0], outcomes[1])
    except Failure as how:
        raise Failure(f"two untracked runs differ, so this case compares too much: {how}") from None
    harness.check_unchanged(outcomes[0], outcomes[2])
    database = harness.import_log(tools, place / "run.dat", place / "run.db")
    events = database.value("SELECT coalesce(sum(events), 0) FROM processes")
    if events < least_events:
        raise Failure(f"only {events} events were recorded; {outcomes[2].stderr.decode(errors='replace')}")
    dropped = database.value("SELECT sum(events_dropped) FROM processes")
    odd = [row for row in database.rows("SELECT key, value FROM meta WHERE key GLOB 'anomaly.*'") if row[1]]
    if dropped or odd:
        raise Failure(f"{dropped} events dropped, anomalies {odd}")
    print(f"{name}: unchanged, {events} events")


def main():
    if len(sys.argv) != 2 or sys.argv[1] not in PROGRAMS:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory(prefix="mtrace-e2e.") as place:
        run_program(harness.Tools.from_environment(), sys.argv[1], Path(place))


if __name__ == "__main__":
    if sys.argv[1:] == ["--list"]:  # for CMakeLists.txt
        print(";".join(PROGRAMS), end="")
    else:
        harness.main(main)
