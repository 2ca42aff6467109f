# A database without rows refuses commands that need rows, instead of an empty answer; all totals are there.
. "$CASES/../lib.sh"
make_log
mtrace-import --slim --no-symbols run.dat slim.db 2>messages.txt
for query in "leaks --from 50%" "hot --size-min 1KiB" "live --at peak" "tree --at peak" "diff --at 10% --at 90%" allocations \
    "block 0x1" realloc-chains "groups --lifetime only_leaked" "by-function --thread 1" "export --to pprof --size-min 1"; do
    # shellcheck disable=SC2086
    complain mtrace-query $query slim.db
done
# The database of a growing log gets its rows at the end.
cp slim.db early.db
sqlite3 early.db "INSERT INTO meta VALUES ('early', 1)"
complain mtrace-query leaks --from 50% early.db
complain mtrace-query export --to json early.db
mtrace-query hot slim.db --csv | grep -q sh && echo 'totals are there'
mtrace-query leaks slim.db --function-regex nothing --format csv
mtrace-query groups slim.db --lifetime all -n 1 --format csv | wc -l
# expect stdout
#|status 1, lines on stderr 1
#|status 1, lines on stderr 1
#|status 1, lines on stderr 1
#|status 1, lines on stderr 1
#|status 1, lines on stderr 1
#|status 1, lines on stderr 1
#|status 1, lines on stderr 1
#|status 1, lines on stderr 1
#|status 1, lines on stderr 1
#|status 1, lines on stderr 1
#|status 1, lines on stderr 1
#|status 1, lines on stderr 1
#|status 1, lines on stderr 1
#|totals are there
#|process_id,leaked_bytes,leaked_blocks,share_of_site,function,source,line,module,call_site_id,stacks,leaked_first_ns,leaked_last_ns,pattern,usually_freed_in,suppressed_by,weight,leaked_bytes_margin,leaked_blocks_margin,verdict
#|2
# expect stderr
#|mtrace-query: 'slim.db' was imported with --slim or --follow, and this query needs rows of single blocks; import the log again without --slim
#|mtrace-query: 'slim.db' was imported with --slim or --follow, and this query needs rows of single blocks; import the log again without --slim
#|mtrace-query: 'slim.db' was imported with --slim or --follow, and this query needs rows of single blocks; import the log again without --slim
#|mtrace-query: 'slim.db' was imported with --slim or --follow, and this query needs rows of single blocks; import the log again without --slim
#|mtrace-query: 'slim.db' was imported with --slim or --follow, and this query needs rows of single blocks; import the log again without --slim
#|mtrace-query: 'slim.db' was imported with --slim or --follow, and this query needs rows of single blocks; import the log again without --slim
#|mtrace-query: 'slim.db' was imported with --slim or --follow, and this query needs rows of single blocks; import the log again without --slim
#|mtrace-query: 'slim.db' was imported with --slim or --follow, and this query needs rows of single blocks; import the log again without --slim
#|mtrace-query: 'slim.db' was imported with --slim or --follow, and this query needs rows of single blocks; import the log again without --slim
#|mtrace-query: 'slim.db' was imported with --slim or --follow, and this query needs rows of single blocks; import the log again without --slim
#|mtrace-query: 'slim.db' was imported with --slim or --follow, and this query needs rows of single blocks; import the log again without --slim
#|mtrace-query: 'early.db' follows a growing log (--follow) and has no rows of single blocks, which this query needs, until the recording has ended; 'mtrace-import LOG OTHER.db' makes a database with those so far
#|mtrace-query: 'early.db' follows a growing log (--follow) and has no rows of single blocks, which this query needs, until the recording has ended; 'mtrace-import LOG OTHER.db' makes a database with those so far
