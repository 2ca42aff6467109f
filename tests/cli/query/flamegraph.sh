. "$CASES/../fixture.sh"
# Without the script, which is the same in every picture.
show() { sed '/^<script/,/<.script>$/d' "$1"; }
mtrace-query flamegraph run.db -o peak.svg
show peak.svg
grep -c '<script' peak.svg
mtrace-query flamegraph run.db --invert --by blocks --measure leaked --process 1 | show -
# Names from foreign binaries stay text.
sqlite3 run.db "UPDATE functions SET name = '</title><script>alert(1)</script>&' || char(7) || x'ff' || char(233) WHERE name = 'worker'"
mtrace-query flamegraph run.db | grep -a alert
