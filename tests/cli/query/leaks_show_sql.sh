. "$CASES/../fixture.sh"
mtrace-query leaks run.db --show-sql --process 1 | tee statement
sqlite3 run.db < statement | wc -l
# expect stdout
#|SELECT * FROM leaks WHERE suppressed_by IS NULL AND process_id = 1 LIMIT 21 OFFSET 0;
#|4
