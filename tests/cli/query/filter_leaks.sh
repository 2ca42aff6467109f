. "$CASES/../fixture.sh"
make_fixture rows.db "$source/tests/sql/code.sql" "$CASES/../fixtures/rows.sql"
ids() { mtrace-query allocations rows.db --format csv "$@" | cut -d, -f1 | tail -n +2 | tr "\n" " "; echo "$*"; }
mtrace-query leaks rows.db --size-min 100
# expect stdout
#|rows.db  server (process 1, pid 812), 100 ms, exited with status 0; size_min 100
#|leaked 5.3 KiB in 3 blocks of 2 sites, by bytes, growing ones 64-fold; 100 % of stacks complete
#|                 never
#|  bytes  blocks  freed  pattern                  site  where
#|4.9 KiB       1  100 %  once at 70.0 ms             3  Cache::reserve  cache.c:31
#|  400 B       2   67 %  burst 5.0 ms to 90.0 ms     2  Session::clone  session.c:88
#|                                                       the others are freed in Sess..  session.c:140
#|next: mtrace-query leaks rows.db --process 1 --site 3    # filter: --function-regex 'Cache::reserve'
#|rows.db  server (process 2, pid 813), 100 ms, exited with status 1; size_min 100
#|leaked 0 B in 0 blocks of 0 sites; no stacks
