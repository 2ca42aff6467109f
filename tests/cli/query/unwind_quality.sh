. "$CASES/../fixture.sh"
mtrace-query unwind-quality run.db
# expect stdout
#|process  status     module      stacks  allocations  share
#|      1  guessed    libc.so.6        2           91   82 %
#|      1  complete   libc.so.6        4           17   15 %
#|      1  truncated  libwork.so       1            3  2.7 %
#|      2  complete   libc.so.6        1            5  100 %
#|      3  complete   libc.so.6        1            1  100 %
