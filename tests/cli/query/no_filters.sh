# The name of a command that begins as a parameter's is not taken for one.
. "$CASES/../fixture.sh"
make_fixture rows.db "$source/tests/sql/code.sql" "$CASES/../fixtures/rows.sql"
for command in objects spare-capacity object-growth summary; do mtrace-query $command --group cache rows.db || echo "$?"; done
for command in by-group by-tag by-pool claimed-twice threads size-histogram; do mtrace-query $command --group cache rows.db || echo "$?"; done
mtrace-query by-pool --kind malloc rows.db || echo "$?"
# expect stdout
#|2
#|2
#|2
#|2
#|2
#|2
#|2
#|2
#|2
#|2
#|2
# expect stderr
#|mtrace-query: objects takes no filters, but group was given: it shows sums of objects that the program's visitors counted, which cannot be divided by allocation
#|Try 'mtrace-query --help'.
#|mtrace-query: spare-capacity takes no filters, but group was given: it shows sums of objects that the program's visitors counted, which cannot be divided by allocation
#|Try 'mtrace-query --help'.
#|mtrace-query: object-growth takes no filters, but group was given: it shows sums of objects that the program's visitors counted, which cannot be divided by allocation
#|Try 'mtrace-query --help'.
#|mtrace-query: summary takes no filters, but group was given
#|Try 'mtrace-query --help'.
#|mtrace-query: --group: 'cache' is none of those recorded: there are none
#|Try 'mtrace-query --help'.
#|mtrace-query: --group: 'cache' is none of those recorded: there are none
#|Try 'mtrace-query --help'.
#|mtrace-query: --group: 'cache' is none of those recorded: there are none
#|Try 'mtrace-query --help'.
#|mtrace-query: --group: 'cache' is none of those recorded: there are none
#|Try 'mtrace-query --help'.
#|mtrace-query: --group: 'cache' is none of those recorded: there are none
#|Try 'mtrace-query --help'.
#|mtrace-query: --group: 'cache' is none of those recorded: there are none
#|Try 'mtrace-query --help'.
#|mtrace-query: --kind: 'malloc' cannot be used for blocks of pools: they have no kinds, heaps, chains or totals of groups
#|Try 'mtrace-query --help'.
