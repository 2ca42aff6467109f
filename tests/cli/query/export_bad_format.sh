# SPDX-License-Identifier: MIT
# shellcheck shell=sh
. "$CASES/../fixture.sh"
mtrace-query export --to callgrind run.db
