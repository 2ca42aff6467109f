# Beside a call site without a line stands the innermost caller that has one, if the width has room for it; json and csv are as before.
. "$CASES/../fixture.sh"
sqlite3 run.db "UPDATE frame_lines SET source_id = NULL, line = NULL WHERE frame_id = 6;
UPDATE call_sites SET source_id = NULL, line = NULL WHERE call_site_id = 3"
for command in leaks peak; do
    mtrace-query $command run.db --process 1 | sed -n '/Cache/p'
    COLUMNS=130 mtrace-query $command run.db --process 1 | sed -n '/Cache/p'
done
mtrace-query peak run.db --process 1 --csv | sed -n '/Cache/p'
# expect stdout
#|3.9 KiB       1        100 %  once at 200 ms           3  Cache::reserve  server
#|3.9 KiB       1        100 %  once at 200 ms           3  Cache::reserve  server  from main  main.c:10
#|      1    1m00s  3.9 KiB       1   40 %  Cache::reserve  server  from main  main.c:10     3
#|      1    1m00s  3.9 KiB       1   40 %  Cache::reserve  server  from main  main.c:10     3
#|1,60000000000,4000,1,0.4,Cache::reserve,,,/opt/server/bin/server,3,,
