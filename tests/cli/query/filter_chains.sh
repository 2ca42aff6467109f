. "$CASES/../fixture.sh"
make_fixture rows.db "$source/tests/sql/code.sql" "$CASES/../fixtures/rows.sql"
ids() { mtrace-query allocations rows.db --format csv "$@" | cut -d, -f1 | tail -n +2 | tr "\n" " "; echo "$*"; }
ids --chain-length-min 2
ids --position-in-chain-min 2
ids --first-size-max 10
ids --last-size-min 40 --last-size-max 40
ids --chain-lifetime-min 50ms
# expect stdout
#|4 5 6 --chain-length-min 2
#|5 6 --position-in-chain-min 2
#|4 5 6 8 11 13 14 --first-size-max 10
#|4 5 6 --last-size-min 40 --last-size-max 40
#|2 3 4 5 6 14 15 --chain-lifetime-min 50ms
