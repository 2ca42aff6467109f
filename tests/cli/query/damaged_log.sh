# What is lost of a damaged log is stated below every headline, or on stderr.
. "$CASES/../fixture.sh"
sqlite3 run.db "DELETE FROM processes WHERE process_id > 1; INSERT INTO meta VALUES ('log.lost_bytes', 2904), ('log.bytes', 7000), ('log.damage.truncated', 1), ('log.damage.node', 12),
  ('log.damage', '''run.dat'' at byte 4096: file ends inside a frame' || char(10) || 'another line')"
mtrace-query run.db | sed -n 1,2p
mtrace-query leaks run.db | sed -n 1,3p
mtrace-query hot run.db -n 1
mtrace-query leaks run.db --format csv -n 1
# A log that ends too early is not called damaged.
sqlite3 run.db "UPDATE meta SET value = 0 WHERE key = 'log.lost_bytes'; DELETE FROM meta WHERE key = 'log.damage.node'; UPDATE processes SET end_kind = 'unseen', end_value = NULL"
mtrace-query run.db | sed -n 1,2p
sqlite3 run.db "DELETE FROM meta WHERE key = 'log.damage.truncated'"
mtrace-query run.db | sed -n 2p
# expect stdout
#|run.db  server (pid 812), 1m40s, killed by SIGKILL: "leaked" means live at that instant
#|log damaged: 2.8 KiB of 6.8 KiB cannot be read; how much is missing after that is unknown; first 'run.dat' at byte 4096: file ends inside a frame; 12 events without their stack; totals are lower bounds, leaks may be too many: import a whole copy, or record again
#|run.db  server (pid 812), 1m40s, killed by SIGKILL: "leaked" means live at that instant
#|log damaged: 2.8 KiB of 6.8 KiB cannot be read; how much is missing after that is unknown; first 'run.dat' at byte 4096: file ends inside a frame; 12 events without their stack; totals are lower bounds, leaks may be too many: import a whole copy, or record again
#|leaked 4.6 KiB in 13 blocks of 4 sites, by bytes, growing ones 64-fold; 15 % of stacks complete
#|allocated blocks  allocated  times reused  mean lifetime  where               site
#|              91    9.1 KiB         1.738          88 ns  worker  libwork.so     5
#|more rows: -n 0
#|next: mtrace-query groups run.db --site 5
#|process_id,leaked_bytes,leaked_blocks,share_of_site,function,source,line,module,call_site_id,stacks,leaked_first_ns,leaked_last_ns,pattern,usually_freed_in,suppressed_by,weight,leaked_bytes_margin,leaked_blocks_margin,verdict
#|1,700,7,0.583333333333333,Session::clone(int) const,/opt/server/src/session.c,88,/opt/server/bin/server,2,2,10000000000,90000000000,steady,Session::close /opt/server/src/session.c:140,,44800,,,
#|run.db  server (pid 812), 1m40s, the log goes no further, and whether it still runs is not known here: its blocks count as live
#|the log is incomplete: 6.8 KiB were read, and everything after that is missing; totals are lower bounds, leaks may be too many: where it was recorded 'mtrace-record --pack LOG', then send or import it again
#|log damaged: 'run.dat' at byte 4096: file ends inside a frame; totals are lower bounds, leaks may be too many: import a whole copy, or record again
# expect stderr
#|mtrace-query: note: log damaged: 2.8 KiB of 6.8 KiB cannot be read; how much is missing after that is unknown; first 'run.dat' at byte 4096: file ends inside a frame; 12 events without their stack; totals are lower bounds, leaks may be too many: import a whole copy, or record again
#|mtrace-query: note: log damaged: 2.8 KiB of 6.8 KiB cannot be read; how much is missing after that is unknown; first 'run.dat' at byte 4096: file ends inside a frame; 12 events without their stack; totals are lower bounds, leaks may be too many: import a whole copy, or record again
