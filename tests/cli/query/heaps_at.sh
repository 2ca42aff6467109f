. "$CASES/../fixture.sh"
make_fixture rows.db "$source/tests/sql/code.sql" "$CASES/../fixtures/rows.sql"
# At 45 ms blocks 2, 3 (heap 1) and 6 (heap 2) are live. Heap 1: 16384 = 250 live + 14 slack + 24 overhead (8 before the lowest
# block, two headers) + 3808 holes + 12288 top; holes of 112 and 168 bytes. Heap 2: 4096 = 40 + 0 + 16 + 4040; a hole of 48.
mtrace-query fragmentation rows.db --at 45ms
mtrace-query fragmentation rows.db --at 45ms --format csv | cut -d, -f1-18
mtrace-query pinning rows.db --at 45ms
mtrace-query pinning rows.db --at 45ms --function-regex worker --format csv
mtrace-query holes rows.db --at 45ms
# Block 12 at 0x11800 of process 1, blocks 14 and 15 of process 2; heap 1 reached to 0x13000 by then. Each at its own end.
mtrace-query holes rows.db --at 75% --format csv
mtrace-query fragmentation rows.db --at 75% --format csv | cut -d, -f1-13
mtrace-query holes rows.db --format csv | cut -d, -f2,4,6-
mtrace-query pinning rows.db --at 45ms --process 1 --show-sql | sed -n 1,2p
