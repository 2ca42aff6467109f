. "$CASES/../fixture.sh"
sqlite3 run.db "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 49)
  INSERT INTO timeline SELECT 1, i, i * 2000000000, (i + 1) * 2000000000, i * 200, i, iif(i = 30, 10000, i * 204), i * 190, 1, 1, 1, 1, i, i * 2, NULL, NULL, NULL, NULL, NULL FROM n"
mtrace-query timeline run.db --process 1
mtrace-query timeline run.db --process 2
LC_ALL=C COLUMNS=50 mtrace-query timeline run.db --process 1
mtrace-query timeline run.db -n 2
mtrace-query timeline run.db --process 1 --sort-by live_bytes -n 1 --format csv
# expect stdout
#|server (process 1, pid 812), 1m40s, killed by SIGKILL: "leaked" means live at that instant
#|live bytes: at most 9.8 KiB about 1m00s, 9.6 KiB at the end
#|   9.8 KiB |                                                    ██                          ▂▄▄▆▆██
#|           |                                                    ██                   ▂▄▄▆▆█████████
#|           |                                                    ██            ▂▄▄▆▆████████████████
#|           |                                                    ██   ▁▁▃▅▅▇▇███████████████████████
#|   6.5 KiB |                                                  ▁▁██▅▇▇██████████████████████████████
#|           |                                           ▁▁▃▅▅▇▇█████████████████████████████████████
#|           |                                    ▁▁▃▃▅▇▇████████████████████████████████████████████
#|           |                             ▁▁▃▃▅▇▇███████████████████████████████████████████████████
#|   3.3 KiB |                      ▁▁▃▃▅▇▇██████████████████████████████████████████████████████████
#|           |               ▂▂▄▄▆███████████████████████████████████████████████████████████████████
#|           |        ▂▂▄▄▆██████████████████████████████████████████████████████████████████████████
#|           | ▂▂▄▄▆█████████████████████████████████████████████████████████████████████████████████
#|         0 +---------------------------------------------------------------------------------------
#|            0 s                                                                               1m40s
#|next: mtrace-query live run.db --at peak
#|server (process 2, pid 813), 20.0 s, exited with status 0
#|nothing was live
#|next: mtrace-query live run.db --at peak
#|server (process 1, pid 812), 1m40s, killed by SIGKILL: "leaked" means live at that instant
#|live bytes: at most 9.8 KiB about 1m00s, 9.6 KiB at the end
#|   9.8 KiB |                      #           ###
#|           |                      #        ######
#|           |                      #     #########
#|           |                      #  ############
#|   6.5 KiB |                      ###############
#|           |                   ##################
#|           |                 ####################
#|           |              #######################
#|   3.3 KiB |           ##########################
#|           |       ##############################
#|           |    #################################
#|           |.####################################
#|         0 +-------------------------------------
#|            0 s                             1m40s
#|next: mtrace-query live run.db --at peak
#|                                        live                allocated             leaked
#|process  bucket  start    end   live  blocks   peak    low     blocks  allocated  blocks  leaked
#|      1       0    0 s  2.0 s    0 B       0    0 B    0 B          1        1 B       0     0 B
#|      1       1  2.0 s  4.0 s  200 B       1  204 B  190 B          1        1 B       1     2 B
#|2 more columns: --wide
#|more rows: -n 0
#|next: mtrace-query live run.db --at peak
#|process_id,bucket,start_ns,end_ns,live_bytes,live_blocks,peak_bytes,low_bytes,allocated_blocks,allocated_bytes,freed_blocks,freed_bytes,leaked_blocks,leaked_bytes,live_bytes_margin,peak_bytes_margin,allocated_bytes_margin,freed_bytes_margin,leaked_bytes_margin
#|1,49,98000000000,100000000000,9800,49,9996,9310,1,1,1,1,49,98,,,,,
# expect stderr
#|mtrace-query: note: 10 blocks were elided: inside a bucket the curve may have been higher by the elided blocks live at one time (meta: elided.most_live_bytes)
#|mtrace-query: note: 10 blocks were elided: inside a bucket the curve may have been higher by the elided blocks live at one time (meta: elided.most_live_bytes)
#|mtrace-query: note: 10 blocks were elided: inside a bucket the curve may have been higher by the elided blocks live at one time (meta: elided.most_live_bytes)
#|mtrace-query: note: 10 blocks were elided: inside a bucket the curve may have been higher by the elided blocks live at one time (meta: elided.most_live_bytes)
