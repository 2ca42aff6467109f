. "$CASES/../fixture.sh"
mtrace-query groups run.db -w -n 1
# expect stdout
#|process_id  backtrace_id  allocated_blocks  allocated_bytes  freed_blocks  freed_bytes  leaked_blocks  leaked_bytes  min_size_bytes  max_size_bytes  first_ns  last_ns  interval_ns  own_peak_bytes  own_peak_ns  function  source  line  module                      call_site_id
#|         1             8                90          8.8 KiB            90      8.8 KiB              0           0 B           100 B           100 B     1.0 s    1m39s        1m38s         4.9 KiB        1m00s  worker    -          -  /opt/server/lib/libwork.so             5
#|more rows: -n 0
#|next: mtrace-query stack run.db ID
