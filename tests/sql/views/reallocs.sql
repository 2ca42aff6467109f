-- Site 2, two stacks: 2 chains with 5 reallocs, 30 + 70 bytes copied, first (10 + 20) / 2, last (40 + 161) / 2 = 100.
-- Site 3 copied as much with fewer reallocs. A chain that began without a call site still counts.
.read code.sql
INSERT INTO chain_totals(process_id, first_backtrace_id, chains, reallocs, moves, copied_bytes, longest, first_bytes, last_bytes, leaked_chains) VALUES
  (1, 4, 1, 2, 2, 30, 3, 10, 40, 0),
  (1, 5, 1, 3, 3, 70, 4, 20, 161, 1),
  (1, 6, 1, 1, 1, 100, 2, 100, 200, 0),
  (2, 1, 1, 1, 0, 0, 2, 8, 16, 0);
-- expect
--|process_id,chains,reallocs,copied_bytes,longest_chain,first_size_bytes,last_size_bytes,function,source,line,module,call_site_id
--|1,2,5,100,4,15,100,"Session::clone(int) const",/opt/server/src/session.c,88,/opt/server/bin/server,2
--|1,1,1,100,2,100,200,Cache::reserve,/opt/server/src/cache.c,31,/opt/server/bin/server,3
--|2,1,1,0,2,8,16,,,,,
