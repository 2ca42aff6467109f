# --freed-from and --freed-to are about the end of blocks, as --from and --to are about their begin.
. "$CASES/../fixture.sh"
make_fixture rows.db "$source/tests/sql/code.sql" "$CASES/../fixtures/rows.sql"
ids() { mtrace-query allocations rows.db --csv "$@" | tail -n +2 | cut -d, -f1 | tr '\n' ' '; echo; }
ids --freed-from 80ms
ids --freed-to 51ms
ids --freed-from 30ms --freed-to 40ms
ids --to 59ms freed_from=60ms
mtrace-query hot rows.db --freed-from 80ms --csv | cut -d, -f2-3
