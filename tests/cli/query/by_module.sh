. "$CASES/../fixture.sh"
mtrace-query by-module run.db
# expect stdout
#|               own      own      own      total    total    total
#|process  allocated   leaked     peak  allocated   leaked     peak  module
#|      1    9.1 KiB    330 B  5.3 KiB    9.1 KiB    330 B  5.3 KiB  libwork.so
#|      1    5.1 KiB  4.6 KiB  4.5 KiB    5.1 KiB  4.6 KiB  4.5 KiB  server
#|      2      500 B    100 B    500 B      500 B    100 B    500 B  server
#|      3       64 B     64 B     64 B       64 B     64 B     64 B  server
#|      1        0 B      0 B      0 B   14.2 KiB  4.9 KiB  9.7 KiB  libc.so.6
#|      1        0 B      0 B      0 B     1000 B    600 B    500 B  libstdc++.so.6
#|      2        0 B      0 B      0 B      500 B    100 B    500 B  libc.so.6
#|      3        0 B      0 B      0 B       64 B     64 B     64 B  libc.so.6
