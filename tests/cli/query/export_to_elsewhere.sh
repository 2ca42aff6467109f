# SPDX-License-Identifier: MIT
# shellcheck shell=sh
. "$CASES/../fixture.sh"
mtrace-query leaks --to pprof run.db
