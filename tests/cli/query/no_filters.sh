# The name of a command that begins as a parameter's is not taken for one.
. "$CASES/../fixture.sh"
make_fixture rows.db "$source/tests/sql/code.sql" "$CASES/../fixtures/rows.sql"
for command in objects spare-capacity object-growth summary; do mtrace-query $command --group cache rows.db || echo "$?"; done
for command in by-group by-tag by-pool claimed-twice threads size-histogram; do mtrace-query $command --group cache rows.db || echo "$?"; done
mtrace-query by-pool --kind malloc rows.db || echo "$?"
