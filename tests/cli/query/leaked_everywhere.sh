# Sorted by leaked bytes, every command counts the same leaks as the command leaks: 300 bytes below setlocale are suppressed.
. "$CASES/../fixture.sh"
mtrace-query leaks run.db --csv --process 1 | awk -F, 'NR > 1 { sum += $2 } END { print sum }'
mtrace-query tree run.db --measure leaked --process 1 | head -1
mtrace-query export run.db --to flamegraph.pl --measure leaked --process 1 | awk '{ sum += $NF } END { print sum }'
cp run.db b.db
sqlite3 b.db 'DELETE FROM backtrace_totals; DELETE FROM suppressed_stacks'
mtrace-query diff run.db b.db --process 1 --csv | cut -d, -f1-7
mtrace-query diff b.db run.db --process 1 | grep " from "
# expect stdout
#|4750
#|server (pid 812): leaked, 4.6 KiB in 13 blocks of 5 stacks; 300 B suppressed and omitted
#|4750
#|change_bytes,change_blocks,before_bytes,after_bytes,before_blocks,after_blocks,function
#|-4000,-1,4000,0,1,0,Cache::reserve
#|-700,-7,700,0,7,0,Session::clone(int) const
#|-30,-3,30,0,3,0,
#|-20,-2,20,0,2,0,main
#|leaked, from b.db to run.db: +4.6 KiB in +13 blocks
# expect stderr
#|mtrace-query: note: 300 B leaked and suppressed are omitted
#|mtrace-query: note: 10 blocks were elided: totals include them, but this answer is made of rows and does not
