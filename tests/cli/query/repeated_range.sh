# Of several values of --from or --to one must match, so the widest range holds, in any order.
. "$CASES/../fixture.sh"
make_fixture rows.db "$source/tests/sql/code.sql" "$CASES/../fixtures/rows.sql"
# Adds a call site that grows in each range; every third block is freed.
sqlite3 rows.db "DELETE FROM windows; WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 149)
    INSERT INTO packed_allocation_rows SELECT 121000000 + i * 500000, iif(i % 3, NULL, 5000000), 0x20000 + i * 64, 40 + i % 3, 0, 8, iif(i % 3, NULL, 7), iif(i % 3, NULL, 1),
      (i % 3 = 0) + 256 * 3 + (3 << 24) - 0x1000101, 16 + i FROM n"
ask() {
    # shellcheck disable=SC2086
    mtrace-query $1 rows.db $2 -n 0 --csv 2>&1
}
for command in leaks growth hot timeline "hot --lifetime only_deallocated_in_current_range"; do
    ask "$command" "--from 130ms --to 190ms" >wanted || echo "$command is refused"
    [ "$(wc -l <wanted)" -gt 1 ] || echo "$command has no rows"
    ask "$command" "--from 160ms --to 190ms" | cmp -s wanted - && echo "$command of a narrower range is the same"
    for range in "--from 130ms --from 160ms --to 190ms" "--from 160ms --from 130ms --to 190ms" "--from 130ms --to 140ms --to 190ms" \
        "--from 130ms --from 160ms --to 150ms --to 190ms" "--from 160ms --from 130ms --to 190ms --to 150ms"; do
        ask "$command" "$range" | diff wanted - || echo "$command $range differs"
    done
done
ask hot "--from 10ms --to 60ms" >wanted
ask hot "--from 10ms --from 70ms --to 60ms" | diff wanted - && wc -l <wanted
# expect stdout
#|5
