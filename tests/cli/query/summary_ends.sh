# The summary counts modules without lines, and leads to the peak if nothing leaked.
. "$CASES/../fixture.sh"
sqlite3 run.db "UPDATE objects SET debug_note = 'built without -g' WHERE object_id = 1"
mtrace-query run.db | tail -n 3
sqlite3 run.db "UPDATE objects SET debug_note = 'built without -g'"
mtrace-query run.db | tail -n 2
mtrace-query run.db --wide | grep '^no lines'
sqlite3 run.db "UPDATE backtrace_totals SET leaked_bytes = 0, leaked_blocks = 0"
mtrace-query run.db 2>/dev/null | tail -n 1
# expect stdout
#|no lines in /opt/server/lib/libwork.so: built without -g
#|no lines in /usr/lib/libc.so.6: built without -g
#|next: mtrace-query leaks run.db    # or peak, temporary, hot, fragmentation
#|no lines in 4 modules (server, libwork.so, …): --wide shows why, and how to get them
#|next: mtrace-query leaks run.db    # or peak, temporary, hot, fragmentation
#|no lines in /opt/server/bin/server: built without -g
#|no lines in /opt/server/lib/libwork.so: built without -g
#|no lines in /usr/lib/libc.so.6: built without -g
#|no lines in /usr/lib/libstdc++.so.6: built without -g
#|next: mtrace-query peak run.db    # or temporary, hot, fragmentation
