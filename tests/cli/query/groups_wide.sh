. "$CASES/../fixture.sh"
mtrace-query groups run.db -w -n 1
# expect stdout
#|process  stack  allocated blocks  allocated  freed blocks    freed  leaked blocks  leaked  min size  max size  first at  last at  first to last  own peak  own peak at  function  source  line  module                      site
#|      1      8                90    8.8 KiB            90  8.8 KiB              0     0 B     100 B     100 B     1.0 s    1m39s          1m38s   4.9 KiB        1m00s  worker    -          -  /opt/server/lib/libwork.so     5
#|more rows: -n 0
#|next: mtrace-query stack run.db 8
