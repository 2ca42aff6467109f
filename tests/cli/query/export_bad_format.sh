# SPDX-License-Identifier: MIT
# shellcheck shell=sh
. "$CASES/../fixture.sh"
mtrace-query export --to callgrind run.db
# expect status 2
# expect stderr
#|mtrace-query: --to 'callgrind': flamegraph.pl, heaptrack, pprof, speedscope, dhat, massif or json is expected
#|Try 'mtrace-query --help'.
