# In a narrow terminal function names are shortened, not lines.
. "$CASES/../fixture.sh"
sqlite3 run.db "DELETE FROM processes WHERE process_id > 1"
COLUMNS=80 mtrace-query leaks run.db -n 2
COLUMNS=62 mtrace-query leaks run.db -n 2
COLUMNS=50 mtrace-query leaks run.db -n 1
# expect stdout
#|run.db  server (pid 812), 1m40s, killed by SIGKILL: "leaked" means live at that instant
#|leaked 4.6 KiB in 13 blocks of 4 sites, by bytes, growing ones 64-fold; 15 % of stacks complete
#|                 never
#|  bytes  blocks  freed  pattern  site  where
#|  700 B       7   58 %  steady      2  Session::clone  session.c:88  2 stacks
#|    the others are freed in Session::close  session.c:140
#|3.9 KiB       1  100 %  once        3  Cache::reserve  cache.c:31
#|and 2 more sites: -n 0
#|next: mtrace-query leaks run.db --site 2    # filter: --function-regex 'Session::clone'
#|suppressed: 300 B in 1 block (leak:^setlocale$)
#|run.db  server (pid 812), 1m40s, killed by SIGKILL: "leaked" means live at that instant
#|leaked 4.6 KiB in 13 blocks of 4 sites, by bytes, growing ones 64-fold; 15 % of stacks complete
#|  bytes  blocks  where
#|  700 B       7  Session::clone  session.c:88  2 stacks
#|    the others are freed in Session::close  session.c:140
#|3.9 KiB       1  Cache::reserve  cache.c:31
#|3 more columns: --wide
#|and 2 more sites: -n 0
#|next: mtrace-query leaks run.db --site 2    # filter: --function-regex 'Session::clone'
#|suppressed: 300 B in 1 block (leak:^setlocale$)
#|run.db  server (pid 812), 1m40s, killed by SIGKILL: "leaked" means live at that instant
#|leaked 4.6 KiB in 13 blocks of 4 sites, by bytes, growing ones 64-fold; 15 % of stacks complete
#|bytes  where
#|700 B  Session::clone  session.c:88  2 stacks
#|    the others are freed in Sessi..  session.c:140
#|4 more columns: --wide
#|and 3 more sites: -n 0
#|next: mtrace-query leaks run.db --site 2    # filter: --function-regex 'Session::clone'
#|suppressed: 300 B in 1 block (leak:^setlocale$)
