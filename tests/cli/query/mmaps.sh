# Filtered tables of mappings, libraries and heaps equal what stock sqlite3 computes; mappings over time also as a picture.
. "$CASES/../fixture.sh"
. "$CASES/../lib.sh"
sqlite3 run.db <<'END'
INSERT INTO mmaps VALUES
  (1, 1, 1, 1, 4, 0x10000, 8192, 3, 0x22, NULL, 0, NULL, 1000000000, 3000000000, 1, 7, NULL, 4096, 2000000000),
  (2, 2, 1, 2, 6, 0x20000, 16384, 5, 0x1, 5, 4096, '/opt/server/data', 2000000000, NULL, NULL, NULL, NULL, 8192, 9000000000),
  (3, 3, 1, NULL, NULL, 0x30000, 4096, NULL, NULL, NULL, 0, '[anon]', 0, NULL, NULL, NULL, NULL, NULL, NULL),
  (4, 4, 2, 3, 2, 0x40000, 1048576, 0, 0x32, NULL, 0, NULL, 11000000000, 12000000000, NULL, NULL, NULL, 0, 11000000000);
INSERT INTO modules VALUES (1, 1, 2, 0, 50000, 9, NULL, NULL), (2, 1, 3, 0x7000000, 20000, 4000000000, 6000000000, NULL);
INSERT INTO heaps VALUES (1, 1, 'brk', 0x50000, 0x70000, 0x50010, 'glibc', 8, NULL);
INSERT INTO heap_extents VALUES (1, 1000000000, 0x60000), (1, 5000000000, 0x70000);
INSERT INTO memory_samples VALUES (1, 2000000000, 30000, 20000, 10000, 0, 8192, 4096, 4096, 0, 10000, 3616),
  (1, 50000000000, 90000, 70000, 20000, 0, NULL, NULL, NULL, NULL, NULL, NULL);
END
mtrace-query mmaps run.db
ids() {
    condition=$1
    shift
    printed=$(mtrace-query mmaps run.db --csv "$@" | python3 -c 'import csv, sys; print(sorted((row["what"], row["address"]) for row in csv.DictReader(sys.stdin)))')
    found=$(sqlite3 -csv -header run.db "SELECT what, address FROM mappings AS m WHERE $condition" | python3 -c 'import csv, sys; print(sorted((row["what"], row["address"]) for row in csv.DictReader(sys.stdin)))')
    [ "$printed" = "$found" ] || echo "DIFFERS: $printed, stock sqlite3 finds $found"
    echo "$* -> $printed"
}
ids 'length_bytes BETWEEN 8192 AND 20000' --size-min 8KiB --size-max 20000
ids 'mapped_ns >= 2000000000 AND mapped_ns <= 5000000000' --from 2s --to 5s
ids 'lifetime_ns <= 2000000000' --lifetime-max 2s
ids 'mapped_ns <= 2500000000 AND ifnull(unmapped_ns > 2500000000, 1)' --at 2500ms
ids "protection LIKE '%x%'" --protection x
ids "protection = '---'" --protection none
ids 'peak_rss_bytes >= 8192' --peak-rss-min 8KiB
ids 'backtrace_id = 6' --function-regex Cache
ids 'process_id = 1 AND length_bytes >= 16384 AND prot & 1' --process 1 --size-min 16KiB --protection r
mtrace-query mmaps run.db --stacks --protection w
mtrace-query mmaps run.db --process 1 -o mappings.svg
grep -c '<polygon' mappings.svg
sqlite3 run.db "SELECT what, at_ns, mapped_bytes FROM mapping_levels WHERE process_id = 1"
complain mtrace-query mmaps run.db --kind malloc
complain mtrace-query mmaps run.db --protection q
complain mtrace-query leaks run.db --protection x
complain mtrace-query mmaps run.db --peak-rss-min some
# expect stdout
#|                                                                 mapped   first     peak
#|process  what         size  protection  flags                        at    seen      RSS  path
#|      1  mapping  16.0 KiB  r-x         shared                    2.0 s   2.0 s  8.0 KiB  data
#|      1  mapping   8.0 KiB  rw-         private|anonymous         1.0 s   1.0 s  4.0 KiB  -
#|      1  mapping   4.0 KiB  -           -                           0 s     0 s        -  [anon]
#|      1  heap      128 KiB  -           -                             -   1.0 s        -  brk
#|      1  library  48.8 KiB  -           -                             -    9 ns        -  server
#|      1  library  19.5 KiB  -           -                             -   4.0 s        -  libwork.so
#|      2  mapping   1.0 MiB  ---         private|fixed|anonymous  11.0 s  11.0 s      0 B  -
#|3 more columns: --wide
#|next: mtrace-query stack run.db 6
#|--size-min 8KiB --size-max 20000 -> [('library', '117440512'), ('mapping', '131072'), ('mapping', '65536')]
#|--from 2s --to 5s -> [('mapping', '131072')]
#|--lifetime-max 2s -> [('library', '117440512'), ('mapping', '262144'), ('mapping', '65536')]
#|DIFFERS: [('heap', '327680'), ('library', ''), ('mapping', '131072'), ('mapping', '196608'), ('mapping', '65536')], stock sqlite3 finds [('mapping', '131072'), ('mapping', '196608'), ('mapping', '65536')]
#|--at 2500ms -> [('heap', '327680'), ('library', ''), ('mapping', '131072'), ('mapping', '196608'), ('mapping', '65536')]
#|--protection x -> [('mapping', '131072')]
#|--protection none -> [('mapping', '262144')]
#|--peak-rss-min 8KiB -> [('mapping', '131072')]
#|--function-regex Cache -> [('mapping', '131072')]
#|--process 1 --size-min 16KiB --protection r -> [('mapping', '131072')]
#|                                                          mapped  first               peak
#|process  what        size  protection  flags                  at   seen  lifetime      RSS  path
#|      1  mapping  8.0 KiB  rw-         private|anonymous   1.0 s  1.0 s     2.0 s  4.0 KiB  -
#|    operator new
#|    Session::clone  session.c:88
#|    main  main.c:10
#|    _start
#|2 more columns: --wide
#|next: mtrace-query stack run.db 4
#|4
#|mapping|0|4096
#|library|9|50000
#|heap|1000000000|65536
#|mapping|1000000000|12288
#|mapping|2000000000|28672
#|mapping|3000000000|20480
#|library|4000000000|70000
#|heap|5000000000|131072
#|library|6000000000|50000
#|status 2, lines on stderr 2
#|status 2, lines on stderr 2
#|status 2, lines on stderr 2
#|status 2, lines on stderr 2
# expect stderr
#|mtrace-query: --kind applies to allocations; mmaps takes size, from, to, lifetime in numbers, alive_at, protection, peak_rss_min and filters of stacks
#|Try 'mtrace-query --help'.
#|mtrace-query: --protection 'q': letters of rwx are expected, or none
#|Try 'mtrace-query --help'.
#|mtrace-query: --protection applies to mappings and cannot be used with leaks
#|Try 'mtrace-query --help'.
#|mtrace-query: --peak-rss-min 'some': a size is expected, as 4KiB
#|Try 'mtrace-query --help'.
