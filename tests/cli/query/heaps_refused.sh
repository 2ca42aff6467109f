. "$CASES/../fixture.sh"
. "$CASES/../lib.sh"
make_fixture rows.db "$source/tests/sql/code.sql" "$CASES/../fixtures/rows.sql"
complain mtrace-query fragmentation rows.db --at 45ms --at end
complain mtrace-query fragmentation rows.db --size-min 1KiB
complain mtrace-query pinning rows.db --at 45ms --size-min 1KiB
complain mtrace-query holes rows.db --at noon
complain mtrace-query holes rows.db --at 10s
complain mtrace-query heap-map rows.db --format json
complain mtrace-query fragmentation rows.db --at 45ms --process 9
# What the file cannot know.
sqlite3 rows.db "INSERT INTO meta VALUES ('slim', 1)"
complain mtrace-query fragmentation rows.db --at 45ms
complain mtrace-query fragmentation rows.db --at end
complain mtrace-query holes rows.db
sqlite3 rows.db "DELETE FROM meta WHERE key = 'slim'; INSERT INTO meta VALUES ('recorder', 'heaptrack'), ('pairing', 'address')"
complain mtrace-query holes rows.db --at 45ms
sqlite3 rows.db "INSERT OR REPLACE INTO meta VALUES ('pairing', 'size_and_stack')"
complain mtrace-query pinning rows.db
# expect stdout
#|status 2, lines on stderr 2
#|status 2, lines on stderr 2
#|status 2, lines on stderr 2
#|status 2, lines on stderr 2
#|status 2, lines on stderr 2
#|status 2, lines on stderr 2
#|status 1, lines on stderr 1
#|status 1, lines on stderr 1
#|                                                                       free
#|                                                                 free    at   not  topmost
#|process  at  heap  kind  size  live  rounding  overhead  holes  pages   top  live    stack  where
#|status 0, lines on stderr 1
#|status 1, lines on stderr 1
#|process  at       time  heap  kind    from     to  number  bytes  share
#|      1  45ms  45.0 ms     1  brk     64 B  127 B       1  112 B   40 %
#|      1  45ms  45.0 ms     1  brk    128 B  255 B       1  168 B   60 %
#|      1  45ms  45.0 ms     2  arena   32 B   63 B       1   48 B  100 %
#|next: mtrace-query heap-map rows.db -o heaps.svg
#|status 0, lines on stderr 1
#|process  at  time  pinned pages  would free  held by blocks  example block  where  site
#|status 0, lines on stderr 2
# expect stderr
#|mtrace-query: fragmentation shows one time, but at was given twice
#|Try 'mtrace-query --help'.
#|mtrace-query: fragmentation takes no filters, but size_min was given
#|Try 'mtrace-query --help'.
#|mtrace-query: pinning takes filters of stacks and groups only, but size_min was given
#|Try 'mtrace-query --help'.
#|mtrace-query: --alive-at: 'noon' is not a time; write seconds, or numbers with d, h, m, s, ms, us or ns, as in 4m12s
#|Try 'mtrace-query --help'.
#|mtrace-query: --at '10s' is after the end of the run; the run is from 0 s to 200 ms
#|Try 'mtrace-query --help'.
#|mtrace-query: pictures have the format SVG only
#|Try 'mtrace-query --help'.
#|mtrace-query: 'rows.db' has no process 9; mtrace-query processes lists them
#|mtrace-query: 'rows.db' was imported with --slim or --follow, and this query needs rows of single blocks; import the log again without --slim
#|mtrace-query: note: no rows
#|mtrace-query: 'rows.db' was imported with --slim or --follow, and this query needs rows of single blocks; import the log again without --slim
#|mtrace-query: note: heaptrack records no usable sizes and no heaps: slack, overhead and top are unknown
#|mtrace-query: note: this recording has no addresses, so heaps are unknown; 'heaptrack --raw' keeps them
#|mtrace-query: note: no rows
