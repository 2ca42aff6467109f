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
