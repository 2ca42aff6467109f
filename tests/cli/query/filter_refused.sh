. "$CASES/../fixture.sh"
make_fixture rows.db "$source/tests/sql/code.sql" "$CASES/../fixtures/rows.sql"
ids() { mtrace-query allocations rows.db --format csv "$@" | cut -d, -f1 | tail -n +2 | tr "\n" " "; echo "$*"; }
mtrace-query spare-capacity rows.db --size-min 4
# expect status 2
# expect stderr
#|mtrace-query: spare-capacity takes no filters, but size_min was given: it shows sums of objects that the program's visitors counted, which cannot be divided by allocation
#|Try 'mtrace-query --help'.
