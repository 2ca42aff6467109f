# SPDX-License-Identifier: MIT
# shellcheck shell=sh
. "$CASES/../fixture.sh"
sqlite3 run.db "INSERT INTO processes(process_id, pid, start_ns, end_ns) VALUES (9, 9, 0, 1)"
mtrace-query export --to heaptrack run.db
# expect status 2
# expect stderr
#|mtrace-query: 'run.db' has 4 processes and heaptrack can hold one; choose it with --process ID
#|Try 'mtrace-query --help'.
