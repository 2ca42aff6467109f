. "$CASES/../fixture.sh"
mtrace-query peak run.db --format csv -o out.csv; cat out.csv | wc -l
mtrace-query peak run.db --format csv -o - | cmp - out.csv; [ ! -e ./- ]
mtrace-query peak run.db --format csv -o out.csv
