# SPDX-License-Identifier: MIT
# shellcheck shell=bash
. "$CASES/../fixture.sh"
# case tree
mtrace-query tree run.db
mtrace-query tree run.db --process 1 --measure leaked --by blocks
mtrace-query tree run.db --bottom-up --min-share 10%
mtrace-query tree run.db --measure temporary --function-regex worker --format csv
mtrace-query tree run.db --site 2 --format json --min-share 50%
make_fixture rows.db "$source/tests/sql/code.sql" "$CASES/../fixtures/rows.sql"
mtrace-query tree rows.db --at 45ms
mtrace-query tree rows.db --measure allocated --size-min 200
# expect stdout
#|server (pid 812 and 2 more): live at the peak, 10.3 KiB in 46 blocks of 7 stacks
#|   10.3 KiB  99.7 %  |- _start
#|    5.2 KiB    51 %  |  |- worker
#|      300 B   2.8 %  |  |  `- setlocale
#|    5.1 KiB    49 %  |  `- main
#|    4.4 KiB    43 %  |     |- Cache::reserve
#|      500 B   4.7 %  |     |- Session::clone
#|      500 B   4.7 %  |     |  operator new
#|      100 B   0.9 %  |     `- (1 smaller)
#|       30 B   0.3 %  `- (1 smaller)
#|next: mtrace-query callees run.db _start
#|server (pid 812): leaked, 4.6 KiB in 13 blocks of 5 stacks; 300 B suppressed and omitted
#|         10    77 %  |- _start
#|         10    77 %  |  main
#|          6    46 %  |  |- Session::clone
#|          6    46 %  |  |  operator new
#|          1   7.7 %  |  |- Cache::reserve
#|          1   7.7 %  |  `- main
#|          1   7.7 %  |     Session::clone
#|          3    23 %  `- ?
#|          3    23 %     libwork.so
#|next: mtrace-query callees run.db main
#|server (pid 812 and 2 more): live at the peak, 10.3 KiB in 46 blocks of 7 stacks
#|    4.9 KiB    48 %  |- worker
#|    4.9 KiB    48 %  |  _start
#|    4.4 KiB    43 %  |- Cache::reserve
#|    4.4 KiB    43 %  |  main
#|    4.4 KiB    43 %  |  _start
#|     1014 B   9.6 %  `- (5 smaller)
#|next: mtrace-query callers run.db worker
#|node_id,parent_node_id,depth,bytes,blocks,self_bytes,self_blocks,function,module
#|0,,0,8000,80,0,0,all,
#|1,0,1,8000,80,0,0,_start,/usr/lib/libc.so.6
#|2,1,2,8000,80,8000,80,worker,/opt/server/lib/libwork.so
#|[
#| {"node_id":0,"parent_node_id":null,"depth":0,"bytes":600,"blocks":6,"self_bytes":0,"self_blocks":0,"function":"all","module":null},
#| {"node_id":1,"parent_node_id":0,"depth":1,"bytes":600,"blocks":6,"self_bytes":0,"self_blocks":0,"function":"_start","module":"/usr/lib/libc.so.6"},
#| {"node_id":2,"parent_node_id":1,"depth":2,"bytes":600,"blocks":6,"self_bytes":0,"self_blocks":0,"function":"main","module":"/opt/server/bin/server"},
#| {"node_id":3,"parent_node_id":2,"depth":3,"bytes":500,"blocks":5,"self_bytes":0,"self_blocks":0,"function":"Session::clone(int) const","module":"/opt/server/bin/server"},
#| {"node_id":4,"parent_node_id":3,"depth":4,"bytes":500,"blocks":5,"self_bytes":500,"self_blocks":5,"function":"operator new(unsigned long)","module":"/usr/lib/libstdc++.so.6"}
#|]
#|server (pid 812 and 1 more): live, 290 B in 3 blocks of 3 stacks; alive_at 45ms
#|      290 B   100 %  `- _start
#|      250 B    86 %     |- main
#|      200 B    69 %     |  |- Session::clone
#|      200 B    69 %     |  |  operator new
#|       50 B    17 %     |  `- Cache::reserve
#|       40 B    14 %     `- worker
#|next: mtrace-query callees rows.db _start
#|server (pid 812 and 1 more): allocated, 6.2 KiB in 4 blocks of 3 stacks; size_min 200
#|    6.2 KiB   100 %  `- _start
#|    6.2 KiB   100 %     main
#|    4.9 KiB    78 %     |- Cache::reserve
#|      400 B   6.2 %     `- Session::clone
#|      400 B   6.2 %        operator new
#|next: mtrace-query callees rows.db main
# case refused
. "$CASES/../lib.sh"
complain mtrace-query tree run.db --measure live
complain mtrace-query tree run.db --measure much
complain mtrace-query tree run.db --by size
complain mtrace-query tree run.db --min-share 5
complain mtrace-query leaks run.db --measure peak
complain mtrace-query leaks run.db --by blocks
complain mtrace-query leaks run.db --invert
complain mtrace-query flamegraph run.db --format csv
complain mtrace-query flamegraph run.db --function-regex nowhere
# expect stdout
#|status 2, lines on stderr 2
#|status 2, lines on stderr 2
#|status 2, lines on stderr 2
#|status 2, lines on stderr 2
#|status 2, lines on stderr 2
#|status 2, lines on stderr 2
#|status 2, lines on stderr 2
#|status 2, lines on stderr 2
#|status 1, lines on stderr 1
# expect stderr
#|mtrace-query: --measure=live needs --at TIME: a time, a percentage of the run, peak or end
#|Try 'mtrace-query --help'.
#|mtrace-query: --measure 'much': peak, leaked, allocated, freed, temporary or live is expected
#|Try 'mtrace-query --help'.
#|mtrace-query: --by 'size': bytes or blocks is expected
#|Try 'mtrace-query --help'.
#|mtrace-query: --min-share '5': a percentage is expected, as 0.5%
#|Try 'mtrace-query --help'.
#|mtrace-query: --measure cannot be used with leaks
#|Try 'mtrace-query --help'.
#|mtrace-query: --by cannot be used with leaks
#|Try 'mtrace-query --help'.
#|mtrace-query: --bottom-up is for tree and flamegraph, not for leaks
#|Try 'mtrace-query --help'.
#|mtrace-query: pictures have the format SVG only
#|Try 'mtrace-query --help'.
#|mtrace-query: nothing to draw: server (pid 812 and 2 more): live at the peak, 0 B in 0 blocks of 0 stacks; function_regex nowhere
# case unnamed
# Consecutive unnamed frames of one module are one box of the tree; an unnamed frame after a named one is another.
sqlite3 run.db "UPDATE backtraces SET last_descendant_id = 13 WHERE backtrace_id IN (10, 11);
    INSERT INTO backtraces VALUES (12, 11, 13, 11, 3, 6, 'truncated'), (13, 12, 13, 11, 4, 6, 'truncated');
    UPDATE backtrace_totals SET backtrace_id = 13 WHERE backtrace_id = 11"
mtrace-query tree run.db --measure allocated --process 1 --min-share 0% --csv --site 6
# expect stdout
#|node_id,parent_node_id,depth,bytes,blocks,self_bytes,self_blocks,function,module
#|0,,0,30,3,0,0,all,
#|1,0,1,30,3,0,0,?,
#|2,1,2,30,3,30,3,,/opt/server/lib/libwork.so
