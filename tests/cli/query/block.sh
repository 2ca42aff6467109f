. "$CASES/../fixture.sh"
make_fixture rows.db "$source/tests/sql/code.sql" "$CASES/../fixtures/rows.sql"
ids() { mtrace-query allocations rows.db --format csv "$@" | cut -d, -f1 | tail -n +2 | tr "\n" " "; echo "$*"; }
mtrace-query block rows.db 0x10011
mtrace-query block 0x30015 rows.db --at 35ms
# expect stdout
#|process_  allocation_  alloc_  lifetime_  size_                   ended_  backtrace_
#|      id           id      ns         ns  bytes  address  kind    by              id  where                 site
#|       1            1     0 s    10.0 ms  100 B  0x10010  malloc  free             4  Sess..  session.c:88     2
#|       2           13  100 ms    10.0 ms   10 B  0x10010  malloc  free             6  Cache:..  cache.c:31     3
#|       2           14  110 ms          -   10 B  0x10010  malloc  -                6  Cache:..  cache.c:31     3
#|next: mtrace-query stack rows.db ID
#|process_  allocation_   alloc_  lifetime_  size_                    ended_   backtrace_
#|      id           id       ns         ns  bytes  address  kind     by               id  where               site
#|       1            5  30.0 ms    10.0 ms   20 B  0x30010  realloc  realloc           8  worker  libwork.so     5
#|next: mtrace-query stack rows.db ID
