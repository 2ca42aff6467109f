. "$CASES/../fixture.sh"
make_fixture rows.db "$source/tests/sql/code.sql" "$CASES/../fixtures/rows.sql"
ids() { mtrace-query allocations rows.db --format csv "$@" | cut -d, -f1 | tail -n +2 | tr "\n" " "; echo "$*"; }
mtrace-query allocations rows.db --address-min 0xg
# expect status 2
# expect stderr
#|mtrace-query: --address-min: '0xg' is not an address; write it as 0x7f00 or in decimal
#|Try 'mtrace-query --help'.
