. "$CASES/../fixture.sh"
mtrace-query temporary run.db
# expect stdout
#|         temporary                    allocated  elided
#|process     blocks  temporary  share     blocks  blocks  where                         site
#|      1         80    7.8 KiB   88 %         91      10  worker  libwork.so               5
#|      2          4      400 B   80 %          5       0  Cache::reserve  cache.c:31       3
#|      1          2      200 B   17 %         12       0  Session::clone  session.c:88     2
#|next: mtrace-query groups run.db --site 5
