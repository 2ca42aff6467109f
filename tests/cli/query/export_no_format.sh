# SPDX-License-Identifier: MIT
# shellcheck shell=sh
. "$CASES/../fixture.sh"
mtrace-query export run.db
