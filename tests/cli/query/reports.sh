# Reports that no other case shows: those of the common fixture, then those that bring their own facts.
. "$CASES/../fixture.sh"
for report in leaks-by-stack lifetime-histogram threads; do
    echo "-- $report"
    mtrace-query "$report" run.db
done
for view in flows reallocs by_function growth size_histogram; do
    cat "$source"/importer/schema/*.sql | sqlite3 -bail "$view.db"
    "$source/tests/sql/load_views" sqlite3 "$source" "$view.db"
    (cd "$source/tests/sql" && cat "$view/fixture.sql" made_tables.sql) >facts.sql
    (cd "$source/tests/sql" && sqlite3 -bail "$OLDPWD/$view.db" ".read $OLDPWD/facts.sql")
    report=$(echo "$view" | tr _ -)
    echo "-- $report"
    mtrace-query "$report" "$view.db"
done
