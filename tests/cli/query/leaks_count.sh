. "$CASES/../fixture.sh"
mtrace-query leaks run.db --process 1 -n 1
# expect stdout
#|run.db  server (process 1, pid 812), 1m40s, killed by SIGKILL: "leaked" means live at that instant
#|leaked 4.6 KiB in 13 blocks of 4 sites, growing ones first; 15 % of stacks complete
#|bytes  blocks  never freed  pattern           site  where
#|700 B       7         58 %  steady 525 B/min     2  Session::clone  session.c:88  2 stacks
#|                                                    the others are freed in Session..  session.c:140
#|and 3 more sites: -n 0
#|next: mtrace-query leaks run.db --process 1 --site 2    # filter: --function-regex 'Session::clone'
#|suppressed: 300 B in 1 block (leak:^setlocale$)
