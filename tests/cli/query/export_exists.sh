# SPDX-License-Identifier: MIT
# shellcheck shell=sh
. "$CASES/../fixture.sh"
echo kept >out.txt
mtrace-query export --to flamegraph.pl -o out.txt run.db || status=$?
cat out.txt
exit $status
# expect status 1
# expect stdout
#|kept
# expect stderr
#|mtrace-query: 'out.txt' exists; --force replaces it
