# SPDX-License-Identifier: MIT
# shellcheck shell=sh
. "$CASES/../fixture.sh"
mtrace-query export --to flamegraph.pl --measure leaked run.db
