# SPDX-License-Identifier: MIT
# shellcheck shell=bash
. "$CASES/../fixture.sh"
# case collapsed
mtrace-query export --to flamegraph.pl --measure leaked run.db
# expect stdout
#|??;/opt/server/lib/libwork.so 30
#|_start;main 20
#|_start;main;Cache::reserve 4100
#|_start;main;Session::clone(int) const;operator new(unsigned long) 600
#|_start;main;main;Session::clone(int) const 100
# expect stderr
#|mtrace-query: note: 300 B leaked and suppressed are omitted
# case exists
echo kept >out.txt
mtrace-query export --to flamegraph.pl -o out.txt run.db || status=$?
cat out.txt
exit $status
# expect status 1
# expect stdout
#|kept
# expect stderr
#|mtrace-query: 'out.txt' exists; --force replaces it
# case to_elsewhere
mtrace-query leaks --to pprof run.db
# expect status 2
# expect stderr
#|mtrace-query: --to pprof is for export, not for leaks
#|Try 'mtrace-query --help'.
# case two_processes
sqlite3 run.db "INSERT INTO processes(process_id, pid, start_ns, end_ns) VALUES (9, 9, 0, 1)"
mtrace-query export --to heaptrack run.db
# expect status 2
# expect stderr
#|mtrace-query: 'run.db' has 4 processes and heaptrack can hold one; choose it with --process ID
#|Try 'mtrace-query --help'.
