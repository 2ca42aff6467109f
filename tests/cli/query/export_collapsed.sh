# SPDX-License-Identifier: MIT
# shellcheck shell=sh
. "$CASES/../fixture.sh"
mtrace-query export --to flamegraph.pl --measure leaked run.db
# expect stdout
#|??;/opt/server/lib/libwork.so 30
#|_start;main 20
#|_start;main;Cache::reserve 4100
#|_start;main;Session::clone(int) const;operator new(unsigned long) 600
#|_start;main;main;Session::clone(int) const 100
# expect stderr
#|mtrace-query: note: 300 B leaked and suppressed are omitted
