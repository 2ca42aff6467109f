# SPDX-License-Identifier: MIT
# shellcheck shell=bash
. "$CASES/../fixture.sh"
# case names
# Commands and files in either order, misspelt names, headings as column names, names with blanks, help of one command.
. "$CASES/../lib.sh"
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
# case hostile_names
# Hostile names of executables, threads, files, functions and groups: escape sequences, newlines, direction marks and invalid UTF-8 are
# removed from every text output: tables, titles, notes, pictures, pages, CSV and formats of other tools.
sqlite3 -bail run.db <<'EOF'
CREATE TEMP TABLE bad AS SELECT char(27) || ']0;title' || char(7) || char(10) || 'FAKE LINE' || char(13) || char(0x202e) || char(0x2066) || char(0x9b)
  || CAST(x'ff9b' AS TEXT) AS text;
UPDATE processes SET executable = executable || (SELECT text FROM bad), command_line = json_array('x' || char(27) || char(10) || 'FAKE LINE');
UPDATE threads SET name = 'worker' || (SELECT text FROM bad);
UPDATE functions SET name = name || (SELECT text FROM bad), raw_name = raw_name || (SELECT text FROM bad);
UPDATE sources SET path = path || (SELECT text FROM bad);
UPDATE objects SET path = path || (SELECT text FROM bad), debug_note = 'no file' || (SELECT text FROM bad);
UPDATE allocation_groups SET name = name || (SELECT text FROM bad);
INSERT INTO meta SELECT 'unseen.' || text, 'jemalloc' || text FROM bad;
EOF
cat >look.py <<'EOF'
import glob, gzip, os, re, unicodedata
for path in sorted(glob.glob("out/*")):
    data = open(path, "rb").read()
    data = gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data
    text = data.decode("utf-8", "surrogateescape")
    name = os.path.basename(path)
    if name == "export pprof":  # numbers in binary
        bad = set(re.findall(rb"\nFAKE LINE|FAKE LINE\r|\x1b\]|\xe2\x80\xae", data))
    else:
        bad = {hex(ord(c)) for c in text if unicodedata.category(c) in ("Cc", "Cs") and c not in "\n\t\r" or c in "\u202e\u2066"}
    if "csv" not in name and "pprof" not in name and ("\nFAKE" in text or "\r" in text):  # CSV keeps newlines within quotes
        bad.add("line end")
    if bad or "FAKE" not in text and name not in ("diff", "timeline", "timeline svg", "size-histogram svg"):
        print(f"{name}: {sorted(bad)}")
EOF
mkdir out
try() { # NAME COMMAND…
    name=$1
    shift
    mtrace-query "$@" >"out/$name" 2>&1 || :
}
for command in summary leaks peak growth reallocs by-function by-module by-group threads processes flows tree timeline; do
    try "$command" "$command" run.db
    try "$command csv" "$command" run.db --csv
done
for command in leaks peak tree; do
    try "$command wide" "$command" run.db --wide
    try "$command json" "$command" run.db --json
done
try "sql" sql run.db 'SELECT name FROM functions'
try "diff" diff run.db run.db
try "report" report run.db
for command in flamegraph timeline size-histogram; do
    try "$command svg" "$command" run.db -f -o out.svg
    cat out.svg >>"out/$command svg"
done
for format in flamegraph.pl heaptrack speedscope dhat massif json pprof; do
    try "export $format" export run.db --to "$format"
done
mtrace-record -q -o run.dat -- sh -c 'exit 0'
mtrace-import run.dat "$(printf 'run\033]0;title\a\nFAKE LINE\342\200\256.db')" >out/import 2>&1
python3 look.py
# case foreign_recording
# A recording of another tool has no PID, no end of its process, and modules without known addresses.
sqlite3 run.db "INSERT INTO meta VALUES ('recorder', 'heaptrack'), ('names', 'recording'); UPDATE processes SET pid = 0, end_kind = 'unknown', end_value = NULL;
    DELETE FROM processes WHERE process_id > 1; UPDATE call_sites SET object_offset = 0x7f0000003000 WHERE call_site_id = 6;
    UPDATE frames SET object_offset = 0x7f0000003100 WHERE frame_id = 11"
mtrace-query leaks run.db --process 1
mtrace-query stack 11 run.db
mtrace-query flamegraph run.db --measure leaked -o heap.svg
grep -o '<title>[^<]*' heap.svg | head -1
sqlite3 run.db "SELECT function FROM sites WHERE call_site_id = 6; SELECT stack FROM stack_texts WHERE backtrace_id = 11"
# expect stdout
#|run.db  server, 1m40s, how it ended was not recorded: "leaked" means live at the end of the recording
#|leaked 4.6 KiB in 13 blocks of 4 sites, by bytes, growing ones 64-fold; 15 % of stacks complete
#|  bytes  blocks  never freed  pattern               site  where
#|  700 B       7         58 %  steady 8 B/s             2  Session::clone  session.c:88  2 stacks
#|                                                          the others are freed in S..  session.c:140
#|3.9 KiB       1        100 %  once at 200 ms           3  Cache::reserve  cache.c:31
#|   30 B       3        100 %  burst at 5.0 s           6  libwork.so 0x7f0000003000  libwork.so
#|   20 B       2         50 %  burst 1.0 s to 2.0 s     1  main  main.c:10
#|                                                          the others are freed in main  main.c:10
#|next: mtrace-query leaks run.db --site 2    # filter: --function-regex 'Session::clone'
#|suppressed: 300 B in 1 block (leak:^setlocale$)
#|frame  inlined  where               offset
#|    0        0  libwork.so  0x7f0000003100
#|    1        0  -                      0x0
#|<title>server: leaked, 4.6 KiB in 13 blocks of 5 stacks; 300 B suppressed and omitted
#|libwork.so 0x7f0000003000
#|libwork.so 0x7f0000003100 < 0x0
# case other_version
# Tables of another schema version are refused, tables of users are ignored, and views of the file are never run.
sqlite3 run.db "CREATE TABLE mine(a); CREATE VIEW my_leaks AS SELECT * FROM leaks; CREATE INDEX by_line ON call_sites(line);
                DROP VIEW leaks; CREATE VIEW leaks AS SELECT zeroblob(1000000000) AS leaked_bytes"
mtrace-query leaks run.db --process 1 | sed -n 1,4p | tail -2
mtrace-query sql run.db 'SELECT * FROM my_leaks' || echo refused
for change in 'DROP TABLE call_sites; CREATE TABLE call_sites(call_site_id INTEGER PRIMARY KEY) STRICT' 'DROP TABLE site_totals' \
    'DROP TABLE functions; CREATE VIEW functions AS SELECT 1 AS function_id' \
    'DROP TABLE sources; CREATE TABLE sources(source_id INTEGER PRIMARY KEY, path TEXT NOT NULL DEFAULT (zeroblob(9))) STRICT'; do
    cp run.db other.db
    sqlite3 other.db "$change"
    mtrace-query leaks other.db && echo taken
    mtrace-import --resymbolize other.db && echo taken
done
sqlite3 run.db 'CREATE TRIGGER t AFTER DELETE ON frame_lines BEGIN INSERT INTO mine VALUES (1); END'
mtrace-import --resymbolize run.db && echo taken
sqlite3 run.db 'DROP INDEX by_line'
mtrace-import --resymbolize run.db && sqlite3 run.db 'SELECT count(*) FROM mine'
# expect stdout
#|  bytes  blocks  never freed  pattern               site  where
#|  700 B       7         58 %  steady 8 B/s             2  Session::clone  session.c:88  2 stacks
#|refused
#|0
# expect stderr
#|mtrace-query: cannot run the statement: access to view "leaks" prohibited
#|Try 'mtrace-query --help'.
#|mtrace-query: 'other.db' was made by another version of mtrace, or changed: its table call_sites differs; import the recording again
#|mtrace-import: 'other.db' was made by another version of mtrace, or changed: its table call_sites differs; import the recording again
#|mtrace-query: 'other.db' was made by another version of mtrace, or changed: its table site_totals is missing; import the recording again
#|mtrace-import: 'other.db' was made by another version of mtrace, or changed: its table site_totals is missing; import the recording again
#|mtrace-query: 'other.db' was made by another version of mtrace, or changed: its table functions is missing; import the recording again
#|mtrace-import: 'other.db' was made by another version of mtrace, or changed: its table functions is missing; import the recording again
#|mtrace-query: 'other.db' was made by another version of mtrace, or changed: its table sources differs; import the recording again
#|mtrace-import: 'other.db' was made by another version of mtrace, or changed: its table sources differs; import the recording again
#|mtrace-import: 'run.db' has an index that mtrace did not make; drop it, or import the recording again
