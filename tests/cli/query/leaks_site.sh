. "$CASES/../fixture.sh"
mtrace-query leaks run.db --site 2
# expect stdout
#|run.db  server (process 1, pid 812), 1m40s, killed by SIGKILL: "leaked" means live at that instant
#|leaked 700 B in 7 blocks of 1 site; 15 % of stacks complete
#|run.db  server (process 2, pid 813), 20.0 s, exited with status 0
#|leaked 0 B in 0 blocks of 0 sites; 100 % of stacks complete
#|run.db  sh (process 3, pid 814), 1.0 s, replaced by exec: blocks live at that time are not leaks
#|leaked 0 B in 0 blocks of 0 sites; 100 % of stacks complete
#|process  leaked  leaked blocks  never freed  pattern  stack  where                         site
#|      1   600 B              6         60 %  steady       4  Session::clone  session.c:88     2
#|      1   100 B              1         50 %  once         5  Session::clone  session.c:88     2
#|next: mtrace-query stack run.db 4
