# SPDX-License-Identifier: MIT
# shellcheck shell=bash
. "$CASES/../fixture.sh"
# case fail_if
mtrace-query leaks run.db --fail-if "leaked_bytes > 500"
# expect status 3
# expect stdout
#|process   leaked  leaked blocks  never freed  pattern  stacks  where                         site
#|      1    700 B              7         58 %  steady        2  Session::clone  session.c:88     2
#|      1  3.9 KiB              1        100 %  once          1  Cache::reserve  cache.c:31       3
#|next: mtrace-query leaks run.db --site 2
# case escapes
# --fail-if takes one expression only: no text in it can bring suppressed leaks back.
. "$CASES/../lib.sh"
for text in 'leaked_bytes > 0) OR (1' '1 OR 1) --' '1 --' '1 /*' '1 FROM leaks --' '1, 2' '*' '' '1;' '1 AS one' 'count(*) > 0'; do
    complain mtrace-query leaks run.db --fail-if "$text" --csv
done
mtrace-query leaks run.db --fail-if "suppressed_by IS NOT NULL"
complain mtrace-query leaks run.db --fail-if 'leaked_bytes > 0' --skip 100
mtrace-query leaks run.db --fail-if "(leaked_blocks, 1) > (6, 0) -- more than six" --csv || test $? = 3
# expect stdout
#|status 2, lines on stderr 2
#|status 2, lines on stderr 2
#|process_id,leaked_bytes,leaked_blocks,share_of_site,function,source,line,module,call_site_id,stacks,leaked_first_ns,leaked_last_ns,pattern,usually_freed_in,suppressed_by,weight,leaked_bytes_margin,leaked_blocks_margin,verdict
#|1,700,7,0.583333333333333,Session::clone(int) const,/opt/server/src/session.c,88,/opt/server/bin/server,2,2,10000000000,90000000000,steady,Session::close /opt/server/src/session.c:140,,44800,,,
#|1,4000,1,1.0,Cache::reserve,/opt/server/src/cache.c,31,/opt/server/bin/server,3,1,200000000,200000000,once,,,4000,,,
#|2,100,1,0.2,Cache::reserve,/opt/server/src/cache.c,31,/opt/server/bin/server,3,1,15000000000,15000000000,once,Cache::reserve /opt/server/src/cache.c:31,,100,,,
#|1,30,3,1.0,,,,/opt/server/lib/libwork.so,6,1,5000000000,5000000000,burst,,,30,,,
#|1,20,2,0.5,main,/opt/server/src/main.c,10,/opt/server/bin/server,1,1,1000000000,2000000000,burst,main /opt/server/src/main.c:10,,20,,,
#|status 3, lines on stderr 0
#|status 2, lines on stderr 2
#|status 2, lines on stderr 2
#|status 2, lines on stderr 2
#|status 2, lines on stderr 2
#|status 2, lines on stderr 2
#|status 2, lines on stderr 2
#|status 2, lines on stderr 2
#|status 2, lines on stderr 2
#|process  leaked  leaked blocks  never freed  pattern  stacks  where  site
#|status 2, lines on stderr 2
#|process_id,leaked_bytes,leaked_blocks,share_of_site,function,source,line,module,call_site_id,stacks,leaked_first_ns,leaked_last_ns,pattern,usually_freed_in,suppressed_by,weight,leaked_bytes_margin,leaked_blocks_margin,verdict
#|1,700,7,0.583333333333333,Session::clone(int) const,/opt/server/src/session.c,88,/opt/server/bin/server,2,2,10000000000,90000000000,steady,Session::close /opt/server/src/session.c:140,,44800,,,
# expect stderr
#|mtrace-query: --fail-if 'leaked_bytes > 0) OR (1': near ")": syntax error; columns: process_id, leaked_bytes, leaked_blocks, share_of_site, function, source, line, module, call_site_id, stacks, leaked_first_ns, leaked_last_ns, pattern, usually_freed_in, suppressed_by, weight, leaked_bytes_margin, leaked_blocks_margin, verdict
#|Try 'mtrace-query --help'.
#|mtrace-query: --fail-if '1 OR 1) --': near ")": syntax error; columns: process_id, leaked_bytes, leaked_blocks, share_of_site, function, source, line, module, call_site_id, stacks, leaked_first_ns, leaked_last_ns, pattern, usually_freed_in, suppressed_by, weight, leaked_bytes_margin, leaked_blocks_margin, verdict
#|Try 'mtrace-query --help'.
#|mtrace-query: --fail-if '1 /*': incomplete input; columns: process_id, leaked_bytes, leaked_blocks, share_of_site, function, source, line, module, call_site_id, stacks, leaked_first_ns, leaked_last_ns, pattern, usually_freed_in, suppressed_by, weight, leaked_bytes_margin, leaked_blocks_margin, verdict
#|Try 'mtrace-query --help'.
#|mtrace-query: --fail-if '1 FROM leaks --': near "FROM": syntax error; columns: process_id, leaked_bytes, leaked_blocks, share_of_site, function, source, line, module, call_site_id, stacks, leaked_first_ns, leaked_last_ns, pattern, usually_freed_in, suppressed_by, weight, leaked_bytes_margin, leaked_blocks_margin, verdict
#|Try 'mtrace-query --help'.
#|mtrace-query: --fail-if '1, 2': row value misused; columns: process_id, leaked_bytes, leaked_blocks, share_of_site, function, source, line, module, call_site_id, stacks, leaked_first_ns, leaked_last_ns, pattern, usually_freed_in, suppressed_by, weight, leaked_bytes_margin, leaked_blocks_margin, verdict
#|Try 'mtrace-query --help'.
#|mtrace-query: --fail-if '*': near "*": syntax error; columns: process_id, leaked_bytes, leaked_blocks, share_of_site, function, source, line, module, call_site_id, stacks, leaked_first_ns, leaked_last_ns, pattern, usually_freed_in, suppressed_by, weight, leaked_bytes_margin, leaked_blocks_margin, verdict
#|Try 'mtrace-query --help'.
#|mtrace-query: --fail-if '': near "FROM": syntax error; columns: process_id, leaked_bytes, leaked_blocks, share_of_site, function, source, line, module, call_site_id, stacks, leaked_first_ns, leaked_last_ns, pattern, usually_freed_in, suppressed_by, weight, leaked_bytes_margin, leaked_blocks_margin, verdict
#|Try 'mtrace-query --help'.
#|mtrace-query: --fail-if '1;': one expression is expected; columns: process_id, leaked_bytes, leaked_blocks, share_of_site, function, source, line, module, call_site_id, stacks, leaked_first_ns, leaked_last_ns, pattern, usually_freed_in, suppressed_by, weight, leaked_bytes_margin, leaked_blocks_margin, verdict
#|Try 'mtrace-query --help'.
#|mtrace-query: --fail-if '1 AS one': near "AS": syntax error; columns: process_id, leaked_bytes, leaked_blocks, share_of_site, function, source, line, module, call_site_id, stacks, leaked_first_ns, leaked_last_ns, pattern, usually_freed_in, suppressed_by, weight, leaked_bytes_margin, leaked_blocks_margin, verdict
#|Try 'mtrace-query --help'.
#|mtrace-query: cannot run the statement: misuse of aggregate function count()
#|Try 'mtrace-query --help'.
#|mtrace-query: --skip cannot be used with fail_if, which tests all rows
#|Try 'mtrace-query --help'.
# case summary
mtrace-query run.db --fail-if "leaked_bytes > 500" --format csv >rows.csv || echo "status $?"
wc -l <rows.csv
mtrace-query run.db --fail-if "leaked_bytes > 1e9"
# expect stdout
#|status 3
#|2
#|                                            realloc
#|process  executable  pid  allocated  freed   copied  peak  leaked  suppressed  temporary  rounding
#|68 more columns: --wide
