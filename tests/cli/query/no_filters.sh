# The name of a command that begins as a parameter's is not taken for one.
. "$CASES/../fixture.sh"
make_fixture rows.db "$source/tests/sql/code.sql" "$CASES/../fixtures/rows.sql"
for command in by-pool objects claimed-twice spare-capacity object-growth summary; do mtrace-query $command --group cache rows.db || echo "$?"; done
for command in by-group by-tag threads size-histogram; do mtrace-query $command --group cache rows.db || echo "$?"; done
