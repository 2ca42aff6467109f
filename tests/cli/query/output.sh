. "$CASES/../fixture.sh"
mtrace-query peak run.db --format csv -o out.csv; cat out.csv | wc -l
mtrace-query peak run.db --format csv -o - | cmp - out.csv; [ ! -e ./- ]
mtrace-query peak run.db --format csv -o out.csv
# expect status 1
# expect stdout
#|8
# expect stderr
#|mtrace-query: 'out.csv' exists; --force replaces it
