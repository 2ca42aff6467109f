. "$CASES/../fixture.sh"
make_fixture rows.db "$source/tests/sql/code.sql" "$CASES/../fixtures/rows.sql"
ids() { mtrace-query allocations rows.db --format csv "$@" | cut -d, -f1 | tail -n +2 | tr "\n" " "; echo "$*"; }
mtrace-query live rows.db --at 45ms
mtrace-query live rows.db --at peak --function-regex Cache
# expect stdout
#|process  bytes  blocks  share  where                         site
#|      1  200 B       1   69 %  Session::clone  session.c:88     2
#|      1   50 B       1   17 %  Cache::reserve  cache.c:31       3
#|      1   40 B       1   14 %  worker  libwork.so               5
#|next: mtrace-query groups rows.db --site 2
#|process    bytes  blocks  share  where                       site
#|      1  4.9 KiB       2  100 %  Cache::reserve  cache.c:31     3
#|      2     10 B       1  100 %  Cache::reserve  cache.c:31     3
#|next: mtrace-query groups rows.db --site 3
