. "$CASES/../fixture.sh"
mtrace-query groups run.db
# expect stdout
#|                                                       own_
#|process_  allocated_  allocated_  leaked_  leaked_    peak_  interval_  backtrace_
#|      id       bytes      blocks    bytes   blocks    bytes         ns          id  where                 site
#|       1     8.8 KiB          90      0 B        0  4.9 KiB      1m38s           8  worker  libwork.so       5
#|       1     3.9 KiB           1  3.9 KiB        1  3.9 KiB        0 s           6  Cache:..  cache.c:31     3
#|       1      1000 B          10    600 B        6    600 B      1m29s           4  Sess..  session.c:88     2
#|       2       500 B           5    100 B        1    500 B      9.0 s           6  Cache:..  cache.c:31     3
#|       1       300 B           1    300 B        1    300 B        0 s           9  worker  libwork.so       5
#|       1       200 B           2    100 B        1    200 B      2.0 s           5  Sess..  session.c:88     2
#|       3        64 B           1     64 B        1     64 B        0 s           2  main  main.c:10          1
#|       1        40 B           4     20 B        2     30 B      1.5 s           2  main  main.c:10          1
#|       1        30 B           3     30 B        3     30 B        0 s          11  libwork.so               6
#|next: mtrace-query stack run.db ID
