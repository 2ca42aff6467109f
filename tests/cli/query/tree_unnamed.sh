# A run of unnamed frames of one module is one box of a tree; an unnamed frame behind a named one is another.
. "$CASES/../fixture.sh"
sqlite3 run.db "UPDATE backtraces SET last_descendant_id = 13 WHERE backtrace_id IN (10, 11);
    INSERT INTO backtraces VALUES (12, 11, 13, 11, 3, 6, 'truncated'), (13, 12, 13, 11, 4, 6, 'truncated');
    UPDATE backtrace_totals SET backtrace_id = 13 WHERE backtrace_id = 11"
mtrace-query tree run.db --measure allocated --process 1 --min-share 0% --csv --site 6
# expect stdout
#|node_id,parent_node_id,depth,bytes,blocks,self_bytes,self_blocks,function,module
#|0,,0,30,3,0,0,all,
#|1,0,1,30,3,0,0,?,
#|2,1,2,30,3,30,3,,/opt/server/lib/libwork.so
