. "$CASES/../fixture.sh"
make_fixture rows.db "$source/tests/sql/code.sql" "$CASES/../fixtures/rows.sql"
show() { grep -v '^<style' "$1"; }
mtrace-query heap-map rows.db --at 45ms -o heaps.svg
show heaps.svg
# Of another process; the same from what the file has, which here is nothing.
mtrace-query heap-map rows.db --at 190ms | show - | grep -c 'class="f'
mtrace-query heap-map rows.db --at peak || echo "status $?"
mtrace-query heap-map rows.db --at end -o none.svg || test ! -e none.svg
# Names from foreign binaries stay text.
sqlite3 rows.db "UPDATE functions SET name = '</title><script>alert(1)</script>&' || char(7) WHERE name = 'worker'"
mtrace-query heap-map rows.db --at 45ms | grep -a alert
