# Suggested next commands are never ones that would be refused: no filters of rows without rows, and nothing that samples cannot give.
. "$CASES/../fixture.sh"
make_fixture rows.db "$source/tests/sql/code.sql" "$CASES/../fixtures/rows.sql"
cp rows.db slim.db
sqlite3 slim.db "DELETE FROM meta WHERE key = 'slim'; INSERT INTO meta VALUES ('slim', 1)"
cp rows.db sampled.db
sqlite3 sampled.db 'UPDATE processes SET sample_bytes = 1'
for query in "summary rows" "timeline rows" "windows rows" "peak rows" "summary slim" "timeline slim" "windows slim" "peak slim" "summary sampled" \
    "peak sampled"; do
    mtrace-query ${query% *} ${query#* }.db 2>/dev/null | grep '^next:' || echo "$query: nothing"
done
# expect stdout
#|next: mtrace-query leaks rows.db    # or peak, temporary, hot, fragmentation
#|next: mtrace-query live rows.db --at peak
#|windows rows: nothing
#|next: mtrace-query groups rows.db --site 3
#|next: mtrace-query leaks slim.db    # or peak, temporary, hot, fragmentation
#|timeline slim: nothing
#|windows slim: nothing
#|next: mtrace-query groups slim.db --site 3
#|next: mtrace-query leaks sampled.db    # or peak, hot
#|next: mtrace-query groups sampled.db --site 3
