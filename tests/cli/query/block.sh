. "$CASES/../fixture.sh"
make_fixture rows.db "$source/tests/sql/code.sql" "$CASES/../fixtures/rows.sql"
ids() { mtrace-query allocations rows.db --format csv "$@" | cut -d, -f1 | tail -n +2 | tr "\n" " "; echo "$*"; }
mtrace-query block rows.db 0x10011
mtrace-query block 0x30015 rows.db --at 35ms
# expect stdout
#|process  block  allocated at  lifetime   size  ended by  stack  where                         site
#|      1      1           0 s   10.0 ms  100 B  free          4  Session::clone  session.c:88     2
#|      2     13        100 ms   10.0 ms   10 B  free          6  Cache::reserve  cache.c:31       3
#|      2     14        110 ms         -   10 B  -             6  Cache::reserve  cache.c:31       3
#|2 more columns: --wide
#|next: mtrace-query stack rows.db 4
#|process  block  allocated at  lifetime  size  address  kind     ended by  stack  where
#|      1      5       30.0 ms   10.0 ms  20 B  0x30010  realloc  realloc       8  worker  libwork.so
#|1 more column: --wide
#|next: mtrace-query stack rows.db 8
