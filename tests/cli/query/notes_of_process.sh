# Notes about missing data of one process do not appear in answers about another one.
. "$CASES/../fixture.sh"
sqlite3 run.db "INSERT OR REPLACE INTO meta VALUES ('processes.partial', 1), ('processes.partial.2', 1), ('modules.unnamed', 5), ('modules.unnamed.2', 5),
    ('threads.joined.2', 7); UPDATE processes SET executable = '/opt/other' WHERE process_id = 2; INSERT INTO meta VALUES ('unseen./opt/other', 'jemalloc')"
for process in "" "--process 1" "--process 2"; do
    echo "of ${process:-all}:" >&2
    # shellcheck disable=SC2086
    mtrace-query threads $process --format csv run.db >/dev/null
done
echo 'an older import has sums alone:' >&2
sqlite3 run.db "DELETE FROM meta WHERE key GLOB '*.2'"
mtrace-query threads --process 1 --format csv run.db >/dev/null
echo 'samples of process 2:' >&2
sqlite3 run.db "UPDATE processes SET sample_bytes = 1024 WHERE process_id = 2"
for process in 1 2; do
    mtrace-query peak --process $process --format csv run.db 2>&1 >/dev/null | grep -c 'estimates from samples' || true
done
# expect stdout
#|0
#|1
# expect stderr
#|of all:
#|mtrace-query: note: blocks of jemalloc inside '/opt/other' are not recorded and not included in any number
#|mtrace-query: note: too many libraries were loaded at the same time: 5 modules without names
#|mtrace-query: note: 1 process recorded late, or not all the time: blocks of other times are not included in any number, and blocks that replace them count as new
#|mtrace-query: note: 7 threads share a row with others (MTRACE_MAX_THREADS): a row called 'other threads' stands for several, one after the other
#|of --process 1:
#|of --process 2:
#|mtrace-query: note: blocks of jemalloc inside '/opt/other' are not recorded and not included in any number
#|mtrace-query: note: too many libraries were loaded at the same time: 5 modules without names
#|mtrace-query: note: 1 process recorded late, or not all the time: blocks of other times are not included in any number, and blocks that replace them count as new
#|mtrace-query: note: 7 threads share a row with others (MTRACE_MAX_THREADS): a row called 'other threads' stands for several, one after the other
#|an older import has sums alone:
#|mtrace-query: note: too many libraries were loaded at the same time: 5 modules without names
#|mtrace-query: note: 1 process recorded late, or not all the time: blocks of other times are not included in any number, and blocks that replace them count as new
#|samples of process 2:
