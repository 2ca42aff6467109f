# Commands and files in either order, misspelt names, heads of tables as names of columns, names with blanks, help of one command.
. "$CASES/../lib.sh"
. "$CASES/../fixture.sh"
mv run.db "my run.db"
mtrace-query "my run.db" hot -n 1
mtrace-query leaks "my run.db" --process 2 | tail -n 1
mtrace-query hot "my run.db" --sort-by bytes --csv -n 2
mtrace-query hot "my run.db" --sort-by site --order asc --csv -n 2
mtrace-query hot "my run.db" --fail-if "bytes > 5000 and where = 'worker' and 'bytes' > 1" --csv || echo "status $?"
complain mtrace-query hto "my run.db"
complain mtrace-query help hto
complain mtrace-query describe lekas
complain mtrace-query export "my run.db" --to foo
mtrace-query describe by-module "my run.db" | sed -n 1,1p
mtrace-query help groups
mtrace-query tree --help
mtrace-query help | sed -n 1,1p
# expect stdout
#|process  allocated blocks  allocated  times reused  mean lifetime  where               site
#|      1                91    9.1 KiB         1.738          88 ns  worker  libwork.so     5
#|more rows: -n 0
#|next: mtrace-query groups 'my run.db' --site 5
#|next: mtrace-query leaks 'my run.db' --process 2 --site 3    # filter: --function-regex 'Cache::reserve'
#|process_id,allocated_blocks,allocated_bytes,turnover,mean_lifetime_ns,function,source,line,module,call_site_id,allocated_blocks_margin,allocated_bytes_margin
#|1,91,9300,1.73831775700935,88,worker,,,/opt/server/lib/libwork.so,5,,
#|1,1,4000,1.0,,Cache::reserve,/opt/server/src/cache.c,31,/opt/server/bin/server,3,,
#|process_id,allocated_blocks,allocated_bytes,turnover,mean_lifetime_ns,function,source,line,module,call_site_id,allocated_blocks_margin,allocated_bytes_margin
#|1,4,40,1.33333333333333,100000000,main,/opt/server/src/main.c,10,/opt/server/bin/server,1,,
#|3,1,64,1.0,,main,/opt/server/src/main.c,10,/opt/server/bin/server,1,,
#|process_id,allocated_blocks,allocated_bytes,turnover,mean_lifetime_ns,function,source,line,module,call_site_id,allocated_blocks_margin,allocated_bytes_margin
#|1,91,9300,1.73831775700935,88,worker,,,/opt/server/lib/libwork.so,5,,
#|status 3
#|status 2, lines on stderr 2
#|status 2, lines on stderr 2
#|status 2, lines on stderr 2
#|status 2, lines on stderr 2
#|by_module: one row per file of code: what it allocates itself, and together with everything it calls.
#|Usage: mtrace-query groups run.db [OPTION...]
#|everything allocated with one stack
#|
#|Filters: all
#|Columns: mtrace-query describe groups
#|Next:    mtrace-query stack run.db ID
#|All filters and options: mtrace-query help filters, mtrace-query help options
#|Usage: mtrace-query tree run.db [OPTION...]
#|a call tree, from main or --bottom-up: --measure, --by, --at
#|
#|Filters: all
#|Weights: --measure peak|leaked|allocated|freed|temporary|live, --by bytes|blocks
#|Trees:   --bottom-up, --min-share N%
#|All filters and options: mtrace-query help filters, mtrace-query help options
#|Usage: mtrace-query [COMMAND] run.db [FILTER...] [OPTION...]
# expect stderr
#|mtrace-query: unknown command 'hto'; did you mean hot?
#|Try 'mtrace-query --help'.
#|mtrace-query: unknown command 'hto'; did you mean hot?
#|Try 'mtrace-query --help'.
#|mtrace-query: unknown view or table 'lekas'; did you mean leaks?
#|Try 'mtrace-query --help'.
#|mtrace-query: --to 'foo': flamegraph.pl, heaptrack, pprof, speedscope, dhat, massif or json is expected
#|Try 'mtrace-query --help'.
