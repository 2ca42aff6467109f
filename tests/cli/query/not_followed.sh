# Verdicts say that processes were not recorded, and of which recording that holds; --fail-if does so in each report.
. "$CASES/../lib.sh"
mtrace-record -q -o run.dat -- sh -c '/bin/true; exit 0' 2>/dev/null
mtrace-record -q --follow-children -o all.dat -- sh -c '/bin/true; exit 0' 2>/dev/null
mtrace-import run.dat run.db >imported.txt 2>&1
mtrace-import all.dat all.db >imported.txt 2>&1
for words in "leaks run.db" "summary run.db" "peak run.db" "peak run.db --fail-if bytes<0" "leaks run.db --fail-if leaked_bytes<0" \
    "diff run.db all.db" "diff all.db run.db --fail-if change_bytes>1e9" "leaks all.db" "leaks all.db --fail-if leaked_bytes<0"; do
    # shellcheck disable=SC2086
    echo "$words: $(mtrace-query $words 2>&1 | grep -o '[a-z.]*:* *[0-9]* process.* not recorded.*' || echo nothing)"
done
sqlite3 run.db "UPDATE meta SET value = 0 WHERE key = 'allocations'"
mtrace-query diff all.db run.db 2>&1 | grep 'no allocation'
mtrace-query leaks run.db --fail-if 'leaked_bytes > 1e9' 2>&1 | grep 'no allocation'
# expect stdout
#|leaks run.db: 1 process that it started is not recorded: mtrace-record --follow-children records it, too
#|summary run.db: 1 process that it started is not recorded: mtrace-record --follow-children records it, too
#|peak run.db: nothing
#|peak run.db --fail-if bytes<0: note: 1 process that it started is not recorded: mtrace-record --follow-children records it, too
#|leaks run.db --fail-if leaked_bytes<0: note: 1 process that it started is not recorded: mtrace-record --follow-children records it, too
#|diff run.db all.db: run.db: 1 process that it started is not recorded: mtrace-record --follow-children records it, too
#|diff all.db run.db --fail-if change_bytes>1e9: run.db: 1 process that it started is not recorded: mtrace-record --follow-children records it, too
#|leaks all.db: nothing
#|leaks all.db --fail-if leaked_bytes<0: nothing
#|mtrace-query: note: run.db: no allocation was recorded: the program allocated nothing while it was recorded, or has a built-in allocator; see docs/troubleshooting.md
#|mtrace-query: note: no allocation was recorded: the program allocated nothing while it was recorded, or has a built-in allocator; see docs/troubleshooting.md
