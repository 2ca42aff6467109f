# SPDX-License-Identifier: MIT
# shellcheck shell=sh
. "$CASES/../fixture.sh"
sqlite3 run.db "UPDATE backtrace_totals SET elided_blocks = 0; UPDATE backtrace_totals SET elided_blocks = 7 WHERE backtrace_id = 4"
sqlite3 run.db "SELECT sum(elided_blocks) FROM backtrace_totals"
mtrace-query export --to dhat --process 1 run.db >/dev/null
mtrace-query export --to speedscope --process 1 run.db >/dev/null
# expect stdout
#|7
# expect stderr
#|mtrace-query: note: 7 elided blocks have no row and are missing in dhat; totals include them
