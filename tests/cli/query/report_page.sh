# A page that needs no other file: what it says of leaks is what the view says, and no name can end its script.
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
