# SPDX-License-Identifier: MIT
# shellcheck shell=sh
. "$CASES/../fixture.sh"
mtrace-query leaks --to pprof run.db
# expect status 2
# expect stderr
#|mtrace-query: --to pprof is for export, not for leaks
#|Try 'mtrace-query --help'.
