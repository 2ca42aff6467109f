. "$CASES/../fixture.sh"
mtrace-query peak run.db --process 1
# expect stdout
#|process  peak at    bytes  blocks  share  where                         site
#|      1    1m00s  5.2 KiB      29   54 %  worker  libwork.so               5
#|      1    1m00s  3.9 KiB       1   40 %  Cache::reserve  cache.c:31       3
#|      1    1m00s    600 B       6  6.0 %  Session::clone  session.c:88     2
#|      1    1m00s     30 B       2  0.3 %  libwork.so                       6
#|      1    1m00s     20 B       2  0.2 %  main  main.c:10                  1
#|next: mtrace-query groups run.db --site 5
