# SPDX-License-Identifier: MIT
# shellcheck shell=bash
. "$CASES/../fixture.sh"
# case names_without_folders
mtrace-query sql run.db "SELECT executable, command_line FROM processes ORDER BY process_id" --csv --confidential
mtrace-query sql run.db "SELECT count(*) AS folders FROM main.objects" --confidential || echo refused
for command in summary leaks peak by-module processes tree; do
    mtrace-query $command run.db --json > open.json
    mtrace-query $command run.db --json --confidential > hidden.json
    echo "$command: $(grep -c '"/\|[^…]/[a-z]*/' open.json || :) $(grep -c '"/\|[^…]/[a-z]*/' hidden.json || :)"
done
# expect stdout
#|executable,command_line
#|…/server,
#|…/server,
#|…/sh,
#|refused
#|summary: 3 0
#|leaks: 5 0
#|peak: 7 0
#|by-module: 8 0
#|processes: 3 0
#|tree: 7 0
# expect stderr glob
#|mtrace-query: only reading is allowed: one SELECT; with --confidential no table of 'main' that has paths
#|...
