. "$CASES/../fixture.sh"
printf "# ours\n\nleak:^Cache::\nleak:/libwork.so$\n" > rules
mtrace-query leaks run.db --suppressions rules
# expect stdout
#|run.db  server (process 1, pid 812), 1m40s, killed by SIGKILL: "leaked" means live at that instant
#|leaked 720 B in 9 blocks of 2 sites, growing ones first; 15 % of stacks complete
#|bytes  blocks  never freed  pattern               site  where
#|700 B       7         58 %  steady 525 B/min         2  Session::clone  session.c:88  2 stacks
#|                                                        the others are freed in Ses..  session.c:140
#| 20 B       2         50 %  burst 1.0 s to 2.0 s     1  main  main.c:10
#|                                                        the others are freed in main  main.c:10
#|next: mtrace-query leaks run.db --process 1 --site 2    # filter: --function-regex 'Session::clone'
#|suppressed: 4.2 KiB in 5 blocks (leak:^Cache::, and 1 more rule)
#|run.db  server (process 2, pid 813), 20.0 s, exited with status 0
#|leaked 0 B in 0 blocks of 0 sites; 100 % of stacks complete
#|suppressed: 100 B in 1 block (leak:^Cache::)
#|run.db  sh (process 3, pid 814), 1.0 s, replaced by exec: blocks live at that time are not leaks
#|leaked 0 B in 0 blocks of 0 sites; 100 % of stacks complete
