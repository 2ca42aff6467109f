# An image that exec replaced, with few bytes, takes one line; a note about a process is printed for it alone.
. "$CASES/../fixture.sh"
sqlite3 run.db "UPDATE processes SET events_dropped = 3 WHERE process_id = 1; INSERT INTO meta VALUES ('unseen./opt/server/bin/server', 'jemalloc'), ('unseen_process.1', '1')"
for command in summary leaks; do
    mtrace-query $command run.db >out.txt
    grep -c 'jemalloc' out.txt
    grep -A1 'process 3' out.txt
done
mtrace-query leaks run.db --process 3
# expect stdout
#|1
#|run.db  sh (process 3, pid 814), 1.0 s, replaced by exec; peak 64 B: --process 3
#|no lines in /opt/server/lib/libwork.so: built without -g
#|1
#|run.db  sh (process 3, pid 814), 1.0 s, replaced by exec; peak 64 B: --process 3
#|run.db  sh (process 3, pid 814), 1.0 s, replaced by exec: blocks live at that time are not leaks
#|leaked 0 B in 0 blocks of 0 sites; 100 % of stacks complete
