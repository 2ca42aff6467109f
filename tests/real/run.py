#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""run.py [NAME…]: servers in realistic use, recorded, and the names that answers must contain.

Each case starts the program with mtrace-record, drives it through its own clients, ends it as its users do, and asks.
Without names all run; one whose package is not installed is skipped and says so. Environment as in ../e2e/run.py.
"""

import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))

import harness  # noqa: E402
from harness import Failure, Skip  # noqa: E402

TOOLS = harness.Tools.from_environment()
SECONDS = 120


def have(name, package, *places):
    found = shutil.which(name) or next((str(p) for p in places if Path(p).exists()), None)
    if found is None:
        raise Skip(f"{name} is not installed; Debian: {package}")
    return found


def expect(condition, what):
    if not condition:
        raise Failure(what)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def start(place, argv, options=(), env=None):
    return subprocess.Popen([TOOLS.record, "-o", "run.dat", *options, "--", *map(str, argv)], cwd=place,
                            env=harness.environment(env), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                            stderr=open(place / "stderr", "wb"), start_new_session=True)


def until(what, answers):
    """Waits until answers() is true."""
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        if answers():
            return
        time.sleep(0.1)
    raise Failure(f"{what} did not answer")


def printed(argv, place=None, **options):
    return subprocess.run([str(a) for a in argv], cwd=place, env=harness.environment(), capture_output=True, text=True,
                          errors="replace", timeout=SECONDS, check=False, **options)


def finish(place, recorder):
    """The end of the recording, its database and a way to ask."""
    recorder.wait(timeout=SECONDS)
    database = harness.import_log(TOOLS, place / "run.dat", place / "run.db")
    dropped = database.value("SELECT sum(events_dropped) FROM processes")
    expect(dropped == 0, f"{dropped} events were dropped")
    return database


def asked(place, *query):
    answer = printed([TOOLS.query, *query], place)
    expect(answer.returncode == 0, f"{query}: {answer.stderr}")
    return answer.stdout


def redis(place):
    """Keys that are set and never deleted: they grow in dictionary entries and values, under the command that sets them."""
    port, n_keys = free_port(), 20000
    client = [have("redis-cli", "redis-tools"), "-p", port]
    recorder = start(place, [have("redis-server", "redis-server"), "--port", port, "--save", "", "--appendonly", "no"])
    until("redis", lambda: printed([*client, "ping"]).stdout.strip() == "PONG")
    keys = "".join(f"SET session:{i} {'x' * 200}\r\n" for i in range(n_keys))
    expect("errors: 0" in printed([*client, "--pipe"], input=keys).stdout, "redis did not take the keys")
    kept = int(printed([*client, "dbsize"]).stdout)
    printed([*client, "shutdown", "nosave"])
    database = finish(place, recorder)
    expect(kept == n_keys, f"redis keeps {kept} keys")
    grown = database.rows("SELECT f.name, t.total_leaked_bytes FROM function_totals AS t JOIN functions AS f USING (function_id)"
                          " WHERE f.name IN ('setCommand', 'setGenericCommand', 'dbAdd')")
    expect(any(leaked >= n_keys * 200 for _, leaked in grown), f"who keeps the keys is not named: {grown}")
    expect("zmalloc" not in asked(place, "peak", "run.db", "-n", "5"), "redis' own malloc is blamed")


def nginx(place):
    """A daemon: the master and each worker are processes with an end of their own."""
    port, n_workers = free_port(), 2
    (place / "logs").mkdir()
    (place / "nginx.conf").write_text(
        f"daemon on; master_process on; worker_processes {n_workers}; pid {place}/nginx.pid; error_log {place}/error.log;\n"
        f"events {{}} http {{ access_log off; client_body_temp_path {place}/b; proxy_temp_path {place}/p; fastcgi_temp_path {place}/f;"
        f" uwsgi_temp_path {place}/u; scgi_temp_path {place}/s; server {{ listen 127.0.0.1:{port}; location / {{ return 200 ok; }} }} }}\n")
    program = have("nginx", "nginx-light", "/usr/sbin/nginx")
    recorder = start(place, [program, "-c", place / "nginx.conf"], ["--follow-children", "--wait"])

    def answers():
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
                connection.sendall(b"GET / HTTP/1.0\r\n\r\n")
                return b"200 OK" in connection.recv(4096)
        except OSError:
            return False
    until("nginx", answers)
    for _ in range(50):
        expect(answers(), "nginx stopped answering")
    os.kill(int((place / "nginx.pid").read_text()), 3)  # SIGQUIT: finish requests, then exit
    database = finish(place, recorder)
    ended = database.rows("SELECT end_kind, end_value, parent_process_id, events FROM processes")
    expect(len(ended) == 2 + n_workers, f"launcher, master and {n_workers} workers are expected: {ended}")
    expect(all(kind == "exit" and value == 0 for kind, value, _, _ in ended), f"not all ended well: {ended}")
    expect(all(events > 0 for _, _, _, events in ended), f"one recorded nothing: {ended}")
    names = asked(place, "by-function", "run.db", "-n", "0")
    expect("ngx_alloc" in names and "ngx_create_pool" in names, "nginx's pools are not named")


def postgresql(place):
    """A backend's memory contexts: palloc is named by the functions that call it."""
    program = have("postgres", "postgresql-15", "/usr/lib/postgresql/15/bin/postgres")
    if os.getuid() == 0:
        os.chmod(place.parent, 0o755)
        shutil.chown(place, "postgres")
    user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] if os.getuid() == 0 else []
    made = printed([*user, Path(program).resolve().parent / "initdb", "-D", place / "data", "--no-sync"], place)
    expect(made.returncode == 0, made.stderr)
    # A single-user backend: the same code as for a connection.
    query = "SELECT count(*) FROM (SELECT g, md5(g::text) AS h FROM generate_series(1, 20000) g ORDER BY h) AS t;\n"
    recorded = printed([*user, TOOLS.record, "-o", place / "run.dat", "--", program, "--single", "-D", place / "data", "postgres"],
                    place, input=query)
    expect("20000" in recorded.stdout, recorded.stdout + recorded.stderr)
    database = harness.import_log(TOOLS, place / "run.dat", place / "run.db")
    expect(database.value("SELECT sum(events_dropped) FROM processes") == 0, "events were dropped")
    names = {row[0] for row in database.rows("SELECT name FROM functions")}
    wanted = {"AllocSetContextCreateInternal", "palloc", "MemoryContextAlloc", "PostgresMain", "tuplesort_begin_heap"}
    expect(wanted <= names, f"not named: {wanted - names}")


def to_its_end(place, argv, names, prefixes=(), options=()):
    """A program that ends by itself: unchanged, complete, and these functions are named."""
    untracked = printed(argv, place)
    recorded = printed([TOOLS.record, "-q", "-o", place / "run.dat", *options, "--", *argv], place)
    expect((recorded.returncode, recorded.stdout) == (untracked.returncode, untracked.stdout),
           f"{recorded.returncode} {recorded.stdout} is not {untracked.returncode} {untracked.stdout}: {recorded.stderr[-500:]}")
    database = harness.import_log(TOOLS, place / "run.dat", place / "run.db")
    expect(database.value("SELECT sum(events_dropped) FROM processes") == 0, "events were dropped")
    found = {row[0] for row in database.rows("SELECT name FROM functions")}
    missing = set(names) - found | {p for p in prefixes if not any(name.startswith(p) for name in found)}
    expect(not missing, f"not named: {missing}")
    return database


def beside_others(place, argv, database, share):
    """heaptrack counts as many calls, but for those that differ from run to run, and memcheck, whose processor is another, nearly as many."""
    have("valgrind", "valgrind")
    have("heaptrack", "heaptrack")
    ours = dict(zip(("allocations", "frees", "allocated_bytes"), database.rows(
        "SELECT sum(allocated_blocks), sum(freed_blocks), sum(allocated_bytes) FROM backtrace_totals")[0]))
    for name, theirs, allowed in (("heaptrack", harness.heaptrack_totals(argv, place, {}), 0.02), ("valgrind", harness.valgrind_totals(argv, place, {}), share)):
        for figure in sorted(ours.keys() & theirs.keys()):
            print(f"{figure}: ours {ours[figure]}, {name}'s {theirs[figure]}")
            expect(abs(ours[figure] - theirs[figure]) <= allowed * theirs[figure] + 1, f"{figure}: ours {ours[figure]}, {name}'s {theirs[figure]}")


def ffmpeg(place):
    """Without threads of its own it does the same each time, but for a constructor of libhwy, which measures how fine the clock is and
    allocates for each of its tries. What the processor can do decides which libraries and functions run."""
    argv = [have("ffmpeg", "ffmpeg"), "-v", "error", "-threads", "1", "-filter_threads", "1", "-filter_complex_threads", "1", "-f", "lavfi", "-i",
            "testsrc=duration=1:size=64x64", "-threads", "1", "-f", "framemd5", "-"]
    database = to_its_end(place, argv, {"av_malloc", "av_frame_alloc", "avfilter_graph_config", "av_read_frame"})
    beside_others(place, argv, database, 0.03)


def node(place):
    """Memory for V8's objects is mapped."""
    database = to_its_end(place, [have("node", "nodejs"), "-e", "console.log([...Array(9e4).keys()].map(String).length)"], (),
                          ("node::Start(", "v8::internal::Compiler::Compile("))
    expect(database.value("SELECT count(*) FROM mmaps WHERE length >= 262144") > 8, "V8's pages are missing")


BUFFERS = """
const kept = [];
process.stdin.on('data', () => { for (let i = 0; i < 200; i++) kept.push(Buffer.alloc(100777)); console.log(kept.length); });
process.stdin.on('end', () => process.exit(0));
console.log('up');
"""


def buffers(place, is_attached):
    """Debian's node has gaps between its segments. Each Buffer of this size is one block, by the function that V8 calls for it."""
    (place / "buffers.js").write_text(BUFFERS)
    argv = [have("node", "nodejs"), "buffers.js"]
    program = subprocess.Popen(argv if is_attached else [TOOLS.record, "-q", "-o", "run.dat", "--", *argv], cwd=place, env=harness.environment(),
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    expect(program.stdout.readline() == "up\n", "node did not start")
    recorder = program
    if is_attached:
        recorder = subprocess.Popen([TOOLS.record, "-o", "run.dat", "--attach", str(program.pid)], cwd=place, stderr=subprocess.PIPE, text=True)
        expect("attached to" in recorder.stderr.readline(), "not attached")
    output, _ = program.communicate("x\n", timeout=SECONDS)
    expect((program.returncode, output) == (0, "200\n"), f"node ended with {program.returncode} and said {output}")
    database = finish(place, recorder)
    counted = database.rows("SELECT count(*), sum(is_leaked) FROM allocations WHERE size_bytes = 100777")
    expect(counted == [(200, 200)], f"200 Buffers were made and kept, counted are {counted}")
    expect("node::NodeArrayBufferAllocator::Allocate" in asked(place, "peak", "run.db", "-n", "1"), "who made the Buffers is not named")


PHP_IMAGE = """<?php
$image = imagecreatetruecolor(2500, 2000);
imagefilledrectangle($image, 0, 0, 100, 100, 5);
echo imagesx($image), "\\n";
"""

PHP_CURL = """<?php
for ($i = 0; $i < 50; $i++) {
    $handle = curl_init("file://" . __FILE__);
    curl_setopt($handle, CURLOPT_RETURNTRANSFER, true);
    $text = curl_exec($handle);
    curl_close($handle);
}
echo strlen($text) > 0 ? "read" : "failed", "\\n";
"""


def php(place, script, extension, package):
    """PHP opens its extensions with RTLD_DEEPBIND. Debian's leaves blocks of its own at its end: valgrind counts the same ones."""
    program = have("php", "php-cli")
    if extension not in printed([program, "-m"]).stdout.split():
        raise Skip(f"PHP has no {extension}; Debian: {package}")
    (place / "script.php").write_text(script)
    database = to_its_end(place, [program, "script.php"], ())
    have("valgrind", "valgrind")
    theirs = harness.valgrind_totals([program, "script.php"], place, {})
    ours = dict(zip(("allocations", "frees", "allocated_bytes", "leaked_bytes"), database.rows(
        "SELECT sum(allocated_blocks), sum(freed_blocks), sum(allocated_bytes), sum(leaked_bytes) FROM backtrace_totals")[0]))
    for figure, found in ours.items():
        print(f"{figure}: ours {found}, valgrind's {theirs[figure]}")
        expect(abs(found - theirs[figure]) <= 0.002 * theirs[figure], f"{figure}: ours {found}, valgrind's {theirs[figure]}")
    strays = database.rows("SELECT key, value FROM meta WHERE key GLOB 'anomaly.*' AND value > 0")
    expect(not strays, f"calls are missing: {strays}")
    return database


def php_gd(place):
    """The image takes 4 bytes for each of its 5,000,000 points."""
    php(place, PHP_IMAGE, "gd", "php-gd")
    first = asked(place, "peak", "run.db", "-n", "1", "--format", "csv")
    expect("libgd.so" in first and "gdImageCreateTrueColor" in first, f"the image is not at the top of the peak: {first}")
    database = harness.Database(place / "run.db")
    held = database.value("SELECT sum(peak_bytes) FROM backtrace_totals")
    expect(held >= 20_000_000, f"the peak has {held} bytes")


def php_curl(place):
    database = php(place, PHP_CURL, "curl", "php-curl")
    leaks = database.rows("SELECT function, leaked_blocks FROM leaks WHERE module LIKE '%/libcurl.so%'")
    expect(not leaks, f"libcurl leaks nothing by valgrind: {leaks}")


def java(place):
    """Java's heap is mapped, too."""
    database = to_its_end(place, [have("java", "default-jre-headless"), "-Xint", "-Xmx64m", "-XX:+UseSerialGC", "-version"],
                          {"JNI_CreateJavaVM"}, ("os::malloc(",))
    expect(database.value("SELECT max(length) FROM mmaps") >= 64 << 20, "Java's heap is missing")


SANITIZED = """
#include <stdio.h>
#include <stdlib.h>
static void *volatile kept[500];
int main(void)
{
    for (int i = 0; i < 1000; i++) {
        void *volatile block = malloc(777);
        if (i % 2) free(block); else kept[i / 2] = block;
    }
    puts("1000 made");
    return 0;
}
"""


def sanitized(place, which):
    """Its allocator precedes libc's: the program behaves as it does alone, and its blocks are counted."""
    (place / "made.c").write_text(SANITIZED)
    compiler = have("gcc", "gcc")
    made = printed([compiler, "-g", "-O1", f"-fsanitize={which}", "made.c", "-o", "made"], place)
    if made.returncode != 0:
        raise Skip(f"gcc cannot build with -fsanitize={which}")
    database = to_its_end(place, [place / "made"], {"main"})
    counted = database.rows("SELECT count(*), sum(is_leaked) FROM allocations WHERE size_bytes = 777")
    expect(counted == [(1000, 500)], f"1000 blocks were made and 500 kept, counted are {counted}")


def redis_jemalloc(place):
    """Debian's redis counts its jemalloc memory itself (zmalloc), adding up malloc_usable_size."""
    port, n_keys = free_port(), 20000
    client = [have("redis-cli", "redis-tools"), "-p", port]
    recorder = start(place, [have("redis-server", "redis-server"), "--port", port, "--save", "", "--appendonly", "no"])
    until("redis", lambda: printed([*client, "ping"]).stdout.strip() == "PONG")
    keys = "".join(f"SET session:{i} {'x' * 200}\r\n" for i in range(n_keys))
    expect("errors: 0" in printed([*client, "--pipe"], input=keys).stdout, "redis did not take the keys")
    books = dict(line.split(":", 1) for line in printed([*client, "info", "memory"]).stdout.splitlines() if ":" in line)
    printed([*client, "shutdown", "nosave"])
    database = finish(place, recorder)
    if not books["mem_allocator"].startswith("jemalloc"):
        raise Skip(f"this redis has {books['mem_allocator']}")
    counted = database.value("SELECT sum(usable_bytes) FROM allocations WHERE is_leaked AND backtrace_id IN (SELECT backtrace_id FROM stack_frames WHERE function GLOB 'z*alloc*')")
    print(f"live bytes that zmalloc gave, as jemalloc rounds them: ours {counted}, redis' {books['used_memory']}")
    expect(abs(counted - int(books["used_memory"])) <= 0.01 * counted, f"live bytes: ours {counted}, redis' {books['used_memory']}")
    blamed = database.rows("SELECT function, sum(leaked_blocks) FROM leaks GROUP BY 1 ORDER BY 2 DESC LIMIT 3")
    expect(all("alloc" not in (function or "") for function, _ in blamed) and blamed[0][1] >= n_keys, f"blamed are {blamed}, not the functions that keep keys")
    leaking = {name for name, leaked in database.rows("SELECT f.name, t.total_leaked_bytes FROM function_totals AS t JOIN functions AS f USING (function_id)")
               if leaked >= n_keys * 200}
    expect("setCommand" in leaking, f"the command that keeps the keys is not among {leaking}")


OPENMP = """
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
enum { N_THREADS = 4, N_ITEMS = 4000 };
static char *kept[N_ITEMS];
int main(void)
{
    long sum = 0;
#pragma omp parallel for num_threads(N_THREADS) schedule(static) reduction(+ : sum)
    for (int i = 0; i < N_ITEMS; i++) {
        char *volatile scratch = malloc(777);
        memset(scratch, i, 777);
        sum += scratch[i % 777] != 0;
        free(scratch);
        if (i % 4 == 0)
            kept[i] = malloc(1777); /* kept */
    }
#pragma omp parallel num_threads(N_THREADS)
#pragma omp single
    for (int i = 0; i < 100; i++)
#pragma omp task
    {
        char *volatile task = calloc(1, 2777);
        free(task);
    }
    printf("%ld %d\\n", sum, omp_get_max_threads() > 0);
    return kept[0] == NULL;
}
"""


def built(place, compiler, package, name, text, *options):
    (place / name).write_text(text)
    made = printed([have(compiler, package), "-g", "-O1", *options, name, "-o", "made"], place)
    if made.returncode != 0:
        raise Skip(f"{compiler} cannot build {name}: {made.stderr[-200:]}")
    return place / "made"


def line_of(text, mark):
    return next(i for i, line in enumerate(text.splitlines(), 1) if mark in line)


def openmp(place):
    """A loop and tasks of libgomp's threads: every thread's blocks, by the line in the loop."""
    argv = [built(place, "gcc", "gcc", "made.c", OPENMP, "-fopenmp")]
    database = to_its_end(place, argv, {"main"})
    counted = database.rows("SELECT size_bytes, count(*), sum(is_leaked) FROM allocations WHERE size_bytes IN (777, 1777, 2777) GROUP BY 1")
    expect(counted == [(777, 4000, 0), (1777, 1000, 1000), (2777, 100, 0)], f"counted are {counted}")
    by_thread = database.rows("SELECT count(*), sum(is_leaked) FROM allocations WHERE size_bytes IN (777, 1777) GROUP BY thread_id")
    expect(by_thread == [(1250, 250)] * 4, f"four threads have equal shares, counted are {by_thread}")
    blamed = database.rows("SELECT source, line, leaked_blocks FROM leaks WHERE leaked_bytes = 1777000")
    expect(len(blamed) == 1 and blamed[0][0].endswith("made.c") and blamed[0][1:] == (line_of(OPENMP, "/* kept */"), 1000), f"blamed is {blamed}")
    kept_by_library = database.rows("SELECT DISTINCT suppressed_by FROM leaks WHERE leaked_bytes NOT IN (1777000) AND module LIKE '%libgomp%'")
    expect(kept_by_library == [("made by libgomp for its threads",)], f"of libgomp are left {kept_by_library}")
    beside_others(place, argv, database, 0.01)


FORTRAN = """
module forest
  implicit none
  type tree
    integer, allocatable :: leaves(:)
    type(tree), pointer :: next => null()
  end type
contains
  subroutine grow(first, n)
    type(tree), pointer, intent(inout) :: first
    integer, intent(in) :: n
    type(tree), pointer :: added
    allocate(added)
    allocate(added%leaves(n)) ! kept
    added%leaves = n
    added%next => first
    first => added
  end subroutine
  function doubled(leaves) result(more)
    integer, intent(in) :: leaves(:)
    integer, allocatable :: more(:)
    allocate(more(2 * size(leaves)))
    more(1:size(leaves)) = leaves
    more(size(leaves) + 1:) = leaves
  end function
end module
program made
  use forest
  implicit none
  type(tree), pointer :: first => null()
  integer, allocatable :: temporary(:)
  integer :: i
  do i = 1, 100
    call grow(first, 250)
  end do
  do i = 1, 50
    temporary = doubled(first%leaves)
    deallocate(temporary)
  end do
  print *, size(first%leaves)
end program
"""


def fortran(place):
    """allocate and deallocate, by their lines; the module's function grow, which keeps its blocks, is a call site itself."""
    argv = [built(place, "gfortran", "gfortran", "made.f90", FORTRAN)]
    database = to_its_end(place, argv, {"__forest_MOD_grow", "__forest_MOD_doubled"})
    blamed = database.rows("SELECT function, line, leaked_blocks FROM leaks WHERE leaked_bytes = 100000")
    expect(blamed == [("__forest_MOD_grow", line_of(FORTRAN, "! kept"), 100)], f"blamed is {blamed}")
    counted = database.rows("SELECT count(*), sum(is_leaked) FROM allocations WHERE size_bytes = 2000")
    expect(counted == [(100, 0)], f"50 results and 50 copies of them are temporary, counted are {counted}")
    others = database.rows("SELECT function, module FROM leaks WHERE leaked_bytes <> 100000 AND suppressed_by IS NULL AND module LIKE '%/lib%'")
    expect(not others, f"of libraries are left {others}")
    beside_others(place, argv, database, 0.01)


CARGO = """
[package]
name = "made"
version = "0.1.0"
edition = "2021"
[dependencies]
%s
[profile.release]
debug = 1
"""

RUST = """
#[global_allocator]
static GLOBAL: %s = %s;
#[inline(never)]
fn make(kept: &mut Vec<Vec<u8>>, i: usize) {
    let block = std::hint::black_box(vec![1u8; 777]);
    if i %% 2 == 0 { kept.push(block); }
}
fn main() {
    let mut kept: Vec<Vec<u8>> = Vec::new();
    for i in 0..1000 { make(&mut kept, i); }
    let mut grown: Vec<u8> = Vec::with_capacity(1777);
    grown.extend_from_slice(&[1; 1777]);
    grown.reserve_exact(2000);
    std::thread::spawn(|| for _ in 0..100 { std::hint::black_box(vec![0u8; 5777]); }).join().unwrap();
    println!("{} kept", kept.len());
    std::mem::forget(kept);
    std::mem::forget(grown);
}
"""


def rust(place, crate, version, allocator, options=()):
    """An allocator linked into the program under names of its own: its blocks are counted, with the place that made them."""
    cargo = have("cargo", "cargo", Path.home() / ".cargo/bin/cargo")
    (place / "src").mkdir()
    (place / "Cargo.toml").write_text(CARGO % f'{crate} = "{version}"')
    (place / "src/main.rs").write_text(RUST % (allocator, allocator))
    made = subprocess.run([cargo, "build", "--release"], cwd=place, capture_output=True, text=True, timeout=1200)
    if made.returncode != 0:
        raise Skip(f"cargo cannot build it: {made.stderr[-200:]}")
    database = to_its_end(place, [place / "target/release/made"], {"made::make"}, options=options)
    counted = database.rows("SELECT size_bytes, count(*), sum(is_leaked) FROM allocations "
                            "WHERE size_bytes IN (777, 1777, 3777, 5777) GROUP BY 1")
    expect(counted == [(777, 1000, 500), (1777, 1, 0), (3777, 1, 1), (5777, 100, 0)],
           f"1000, 1 grown once, 100 blocks were made and 501 kept; counted are {counted}")
    blamed = database.rows("SELECT function, leaked_bytes FROM leaks WHERE leaked_blocks = 500")
    expect(blamed == [("made::make", 500 * 777)], f"blamed is {blamed}, not the function that asked for the blocks")
    expect(not database.rows("SELECT value FROM meta WHERE key GLOB 'unseen.*'"), "it is said to be incomplete")


CASES = {"redis": redis, "nginx": nginx, "postgresql": postgresql, "ffmpeg": ffmpeg, "node": node, "node_preloaded": lambda place: buffers(place, False),
         "node_attached": lambda place: buffers(place, True), "php_gd": php_gd, "php_curl": php_curl, "java": java, "redis_jemalloc": redis_jemalloc, "openmp": openmp, "fortran": fortran,
         "asan": lambda place: sanitized(place, "address"), "tsan": lambda place: sanitized(place, "thread"), "rust_jemalloc": lambda place: rust(place, "tikv-jemallocator", "0.5", "tikv_jemallocator::Jemalloc"),
         "rust_mimalloc": lambda place: rust(place, "mimalloc", "0.1", "mimalloc::MiMalloc", ["--patch"])}


def run(name):
    with harness.scratch() as scratch:
        place = Path(scratch) / "run"
        place.mkdir()
        try:
            CASES[name](place)
        except Skip as why:
            return f"skipped: {why}"
        except (Failure, subprocess.TimeoutExpired) as how:
            return f"FAILED: {how}"
    return "passed"


def main():
    has_failed = False
    for name in sys.argv[1:] or CASES:
        result = run(name)
        has_failed |= result.startswith("FAILED")
        print(f"{name:13} {result}", flush=True)
    sys.exit(has_failed)


main()
