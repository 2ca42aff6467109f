# The report page needs no other file, shows the same leaks as the view, and no name can end its script.
. "$CASES/../fixture.sh"
. "$CASES/../lib.sh"
make_fixture rows.db "$source/tests/sql/code.sql" "$CASES/../fixtures/rows.sql"
sqlite3 rows.db "UPDATE functions SET name = 'f</script><script>alert(1)</script>&' WHERE name = 'Cache::reserve'"
mtrace-query report rows.db -o report.html
grep -c '<svg' report.html
grep -o '<script[^>]*id="[a-z-]*"' report.html
grep -c 'alert(1)</script>' report.html || true
grep -oE '(https?:)?//[a-z0-9.]+/' report.html | sort -u || echo "no address of anything else"
sed -n '/id="rows-leaks">/,/<\/script>/p' report.html | sed 's/.*id="rows-leaks">//; s/<\/script>.*//' >leaks.json
sqlite3 :memory: "SELECT sum(value ->> 'leaked_bytes'), group_concat(value ->> 'function') FROM json_each(readfile('leaks.json'))"
sqlite3 rows.db "SELECT sum(leaked_bytes), group_concat(function) FROM leaks WHERE process_id = 1 AND suppressed_by IS NULL"
complain mtrace-query report rows.db
complain mtrace-query report rows.db -o report.txt
mtrace-query report rows.db -o filtered.html --size-min 100
grep -oE '<p class="note">[^<]*|not of what passes[^<]*|<dd data-name="[a-z_]*">[^<]*' filtered.html
complain mtrace-query report rows.db -o other.html --fail-if 1
ls
# expect stdout
#|3
#|<script type="application/json" id="rows-leaks"
#|<script type="application/json" id="rows-peak"
#|<script type="application/json" id="rows-growth"
#|<script type="application/json" id="rows-temporary"
#|<script type="application/json" id="rows-hot"
#|<script type="application/json" id="rows-modules"
#|<script type="application/json" id="rows-threads"
#|<script type="application/json" id="rows-processes"
#|<script type="application/json" id="flame"
#|0
#|no address of anything else
#|5490|f</script><script>alert(1)</script>&,Session::clone(int) const,worker
#|5490|f</script><script>alert(1)</script>&,Session::clone(int) const,worker
#|status 2, lines on stderr 2
#|status 2, lines on stderr 2
#|<p class="note">Figures, charts, tables and flame graphs are of the blocks that pass these filters; processes are shown whole.
#|<dd data-name="allocated_bytes">6.3 KiB
#|<dd data-name="allocations">5
#|<dd data-name="leaked_bytes">5.3 KiB
#|<dd data-name="leaked_blocks">3
#|<dd data-name="suppressed_bytes">0 B
#|<dd data-name="temporary_blocks">1
#|<dd data-name="complete_share">100 %
#|not of what passes a filter; mtrace-query growth takes the same
#|status 2, lines on stderr 2
#|filtered.html
#|leaks.json
#|report.html
#|rows.db
#|run.db
# expect stderr
#|mtrace-query: note: the report is of process 1, which had most memory, of 2; process=ID chooses another
#|mtrace-query: a report is a page of HTML: name the file it becomes, as output=report.html
#|Try 'mtrace-query --help'.
#|mtrace-query: a report is a page of HTML: name the file it becomes, as output=report.html
#|Try 'mtrace-query --help'.
#|mtrace-query: note: the report is of process 1, which had most memory, of 2; process=ID chooses another
#|mtrace-query: --fail-if applies to rows, and report has none
#|Try 'mtrace-query --help'.
