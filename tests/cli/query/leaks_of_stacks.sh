# A leak is judged by its stacks: at site 5, one stack leaks its only block, another frees all of its 90.
. "$CASES/../fixture.sh"
sqlite3 run.db "UPDATE site_leaks SET rule_id = NULL WHERE call_site_id = 5"
mtrace-query leaks run.db --process 1 | sed -n '/once at 3/,/theirs/p'
mtrace-query leaks run.db --process 1 --csv | sed -n '/,300,/p'
# expect stdout
#|  300 B       1        100 %  once at 3.0 s            5  worker  libwork.so
#|                                                          other stacks free theirs in m..  main.c:10
#|1,300,1,1.0,worker,,,/opt/server/lib/libwork.so,5,1,3000000000,3000000000,once,,,300,,
