# Every text about a running program says live blocks, not leaked ones; keys of JSON and CSV do not change.
. "$CASES/../fixture.sh"
for kind in running detached unseen; do
    sqlite3 run.db "UPDATE processes SET end_kind = '$kind', end_value = NULL WHERE process_id = 1"
    mtrace-query leaks run.db --process 1 | sed -n 1,3p
done
mtrace-query run.db --process 1 | grep -E 'live|leaked'
mtrace-query tree run.db --process 1 --measure leaked | sed -n 1p
mtrace-query callers Session::clone run.db --process 1 --measure leaked | sed -n 1p
mtrace-query report run.db --process 1 -o report.html
grep -o '<dt>l[^<]*<' report.html
mtrace-query leaks run.db --process 1 --csv -n 1 | cut -d, -f1-3
# expect stdout
#|run.db  server (process 1, pid 812), 1m40s, still running: its blocks are live, not leaked
#|live 4.6 KiB in 13 blocks of 4 sites, by bytes, growing ones 64-fold; 15 % of stacks complete
#|  bytes  blocks  still live  pattern               site  where
#|run.db  server (process 1, pid 812), 1m40s, went on when the recording was detached: its blocks were live, not leaked
#|live 4.6 KiB in 13 blocks of 4 sites, by bytes, growing ones 64-fold; 15 % of stacks complete
#|  bytes  blocks  still live  pattern               site  where
#|run.db  server (process 1, pid 812), 1m40s, the log goes no further, and whether it still runs is not known here: its blocks count as live
#|live 4.6 KiB in 13 blocks of 4 sites, by bytes, growing ones 64-fold; 15 % of stacks complete
#|  bytes  blocks  still live  pattern               site  where
#|run.db  server (process 1, pid 812), 1m40s, the log goes no further, and whether it still runs is not known here: its blocks count as live
#|  info      4.0 KiB more in 6 blocks were live where the log ends, the largest part from
#|  info      700 B in 7 blocks from Session::clone (session.c:88) were live where the log ends; they
#|live        4.9 KiB in 14 blocks, of these 300 B suppressed
#|elided      10 blocks, all of them freed soon: in all totals, without rows; the peak may have been higher by those live at one time (meta: elided.most_live_bytes)
#|server (pid 812): live, 4.6 KiB in 13 blocks of 5 stacks; 300 B suppressed and omitted
#|callers of Session::clone: live, 700 B in 7 blocks, 15 % of all
#|<dt>live at the peak<
#|<dt>live<
#|process_id,leaked_bytes,leaked_blocks
#|1,700,7
