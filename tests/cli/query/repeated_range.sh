# Of a repeated --from or --to one must hold, so that the widest range is asked for, in whatever order they come.
. "$CASES/../fixture.sh"
make_fixture rows.db "$source/tests/sql/code.sql" "$CASES/../fixtures/rows.sql"
ask() {
    # shellcheck disable=SC2086
    mtrace-query $1 rows.db $2 -n 0 --csv 2>&1 || echo "exit $?"
}
for command in leaks growth hot timeline "hot --lifetime only_deallocated_in_current_range"; do
    ask "$command" "--from 10ms --to 90ms" >wanted
    for range in "--from 10ms --from 50ms --to 90ms" "--from 50ms --from 10ms --to 90ms" "--from 10ms --to 20ms --to 90ms" \
        "--from 10ms --from 50ms --to 40ms --to 90ms" "--from 50ms --from 10ms --to 90ms --to 40ms"; do
        ask "$command" "$range" | diff wanted - || echo "$command $range differs"
    done
done
ask hot "--from 10ms --to 60ms" >wanted
ask hot "--from 10ms --from 70ms --to 60ms" | diff wanted - && wc -l <wanted
