# Names of executables, threads, files, functions and groups with escape sequences, line ends, marks of direction and invalid UTF-8 reach
# no text output: tables, titles, notes, pictures, pages, CSV and formats of other tools.
. "$CASES/../fixture.sh"
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
    if "csv" not in name and "pprof" not in name and ("\nFAKE" in text or "\r" in text):  # CSV keeps line ends, within quotes
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
