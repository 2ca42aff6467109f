# Wrong arguments: one line says which, and what to do.
. "$CASES/../lib.sh"
. "$CASES/../fixture.sh"
echo '== callers unknown'
complain mtrace-query callers nowhere run.db
echo '== describe unknown'
complain mtrace-query describe leeks
echo '== export bad format'
# SPDX-License-Identifier: MIT
# shellcheck shell=sh
complain mtrace-query export --to callgrind run.db
echo '== export no format'
# SPDX-License-Identifier: MIT
# shellcheck shell=sh
complain mtrace-query export run.db
echo '== fail if bad'
complain mtrace-query leaks run.db --fail-if "leeks > 1"
echo '== lines unknown'
complain mtrace-query lines ession.c run.db
echo '== no arguments'
complain mtrace-query
echo '== site of summary'
complain mtrace-query run.db --site 2 --format json
echo '== no id'
complain mtrace-query leaks run.db --site 0
complain mtrace-query leaks run.db --process 0
echo '== stack bad'
complain mtrace-query stack run.db five
echo '== stack unknown'
complain mtrace-query stack run.db 99
echo '== suppressions bad'
printf "\nrace:foo\n" > rules
complain mtrace-query leaks run.db --suppressions rules
echo '== suppressions empty'
printf "leak:*\n" > rules
complain mtrace-query leaks run.db --suppressions rules
# expect stdout
#|== callers unknown
#|status 1, lines on stderr 1
#|== describe unknown
#|status 2, lines on stderr 2
#|== export bad format
#|status 2, lines on stderr 2
#|== export no format
#|status 2, lines on stderr 2
#|== fail if bad
#|status 2, lines on stderr 2
#|== lines unknown
#|status 1, lines on stderr 1
#|== no arguments
#|status 2, lines on stderr 2
#|== site of summary
#|status 2, lines on stderr 2
#|== no id
#|status 2, lines on stderr 2
#|status 2, lines on stderr 2
#|== stack bad
#|status 2, lines on stderr 2
#|== stack unknown
#|status 1, lines on stderr 1
#|== suppressions bad
#|status 2, lines on stderr 2
#|== suppressions empty
#|status 2, lines on stderr 2
# expect stderr
#|mtrace-query: no function is called 'nowhere'; mtrace-query by-function lists them
#|mtrace-query: unknown view or table 'leeks'; did you mean leaks?
#|Try 'mtrace-query --help'.
#|mtrace-query: --to 'callgrind': flamegraph.pl, heaptrack, pprof, speedscope, dhat, massif or json is expected
#|Try 'mtrace-query --help'.
#|mtrace-query: export needs --to FORMAT: flamegraph.pl, heaptrack, pprof, speedscope, dhat, massif or json
#|Try 'mtrace-query --help'.
#|mtrace-query: --fail-if 'leeks > 1': no such column: leeks; columns: process_id, leaked_bytes, leaked_blocks, share_of_site, function, source, line, module, call_site_id, stacks, leaked_first_ns, leaked_last_ns, pattern, usually_freed_in, suppressed_by, weight, leaked_bytes_margin, leaked_blocks_margin
#|Try 'mtrace-query --help'.
#|mtrace-query: no source file is called 'ession.c'; give its name or the end of its path
#|mtrace-query: no database is named
#|Try 'mtrace-query --help'.
#|mtrace-query: 'summary' cannot be restricted by site: it has no call_site_id
#|Try 'mtrace-query --help'.
#|mtrace-query: --site '0': an id is expected; the first is 1
#|Try 'mtrace-query --help'.
#|mtrace-query: --process '0': an id is expected; the first is 1
#|Try 'mtrace-query --help'.
#|mtrace-query: 'five' is not a stack's id; mtrace-query groups lists them
#|Try 'mtrace-query --help'.
#|mtrace-query: 'run.db' has no stack 99; mtrace-query groups lists them
#|mtrace-query: 'rules' line 2: 'race:foo' is not a rule; write leak:PATTERN
#|Try 'mtrace-query --help'.
#|mtrace-query: 'rules' line 1: an empty pattern would suppress every leak
#|Try 'mtrace-query --help'.
