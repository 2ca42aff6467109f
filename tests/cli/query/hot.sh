. "$CASES/../fixture.sh"
mtrace-query hot run.db
# expect stdout
#|         allocated              times      mean
#|process     blocks  allocated  reused  lifetime  where                         site
#|      1         91    9.1 KiB   1.738     88 ns  worker  libwork.so               5
#|      1         12    1.2 KiB     1.5     1.0 s  Session::clone  session.c:88     2
#|      2          5      500 B       1   10.0 us  Cache::reserve  cache.c:31       3
#|      1          4       40 B   1.333    100 ms  main  main.c:10                  1
#|      1          3       30 B       1         -  libwork.so                       6
#|      1          1    3.9 KiB       1         -  Cache::reserve  cache.c:31       3
#|      3          1       64 B       1         -  main  main.c:10                  1
#|next: mtrace-query groups run.db --site 5
