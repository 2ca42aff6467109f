. "$CASES/../fixture.sh"
make_fixture rows.db "$source/tests/sql/code.sql" "$CASES/../fixtures/rows.sql"
ids() { mtrace-query allocations rows.db --format csv "$@" | cut -d, -f1 | tail -n +2 | tr "\n" " "; echo "$*"; }
mtrace-query allocations rows.db --size-min 5x
# expect status 2
# expect stderr
#|mtrace-query: --size-min: '5x' is not a size; write bytes, or a number with KiB, MiB, GiB or TiB
#|Try 'mtrace-query --help'.
