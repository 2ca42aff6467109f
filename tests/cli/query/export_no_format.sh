# SPDX-License-Identifier: MIT
# shellcheck shell=sh
. "$CASES/../fixture.sh"
mtrace-query export run.db
# expect status 2
# expect stderr
#|mtrace-query: export needs --to FORMAT: flamegraph.pl, heaptrack, pprof, speedscope, dhat, massif or json
#|Try 'mtrace-query --help'.
