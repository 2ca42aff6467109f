# Each answer states the number of dropped events, unless its own text does; a process without dropped events has no such line.
. "$CASES/../fixture.sh"
sqlite3 run.db "UPDATE processes SET events_dropped = 7 WHERE process_id = 2"
for command in peak temporary hot timeline processes; do
    mtrace-query $command --format csv run.db 2>&1 >/dev/null | grep dropped
done
mtrace-query peak run.db --process 1 2>&1 | grep -c dropped || true
mtrace-query leaks --format json run.db 2>&1 >/dev/null | grep -c 'were dropped'
for command in leaks summary; do
    mtrace-query $command run.db --process 2 2>&1 | grep -o '[^;,(]*dropped'
done
mtrace-query report run.db --process 2 -o page.html 2>/dev/null
grep -o '7 of 57 events ([^)]*) were dropped' page.html
for process in 1 2; do
    mtrace-query report run.db --process $process -f -o page.html 2>/dev/null
    grep -o 'events_dropped">[^<]*' page.html || echo "nothing about process $process"
done
# expect stdout
#|mtrace-query: note: 7 of 1,061 events (0.7 %) were dropped: allocations and frees are missing, so numbers from the first drop on are inexact (reasons: meta, events.dropped.*)
#|mtrace-query: note: 7 of 1,061 events (0.7 %) were dropped: allocations and frees are missing, so numbers from the first drop on are inexact (reasons: meta, events.dropped.*)
#|mtrace-query: note: 7 of 1,061 events (0.7 %) were dropped: allocations and frees are missing, so numbers from the first drop on are inexact (reasons: meta, events.dropped.*)
#|mtrace-query: note: 7 of 1,061 events (0.7 %) were dropped: allocations and frees are missing, so numbers from the first drop on are inexact (reasons: meta, events.dropped.*)
#|mtrace-query: note: 7 of 1,061 events (0.7 %) were dropped: allocations and frees are missing, so numbers from the first drop on are inexact (reasons: meta, events.dropped.*)
#|0
#|1
#| 7 events dropped
#| 7 dropped
#|7 of 57 events (12 %) were dropped
#|nothing about process 1
#|events_dropped">7
