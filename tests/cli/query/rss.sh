# The highest sample is the peak of RSS; what is split is the fuller one of the two around the peak of live bytes, at 60 s.
. "$CASES/../fixture.sh"
sqlite3 run.db "DELETE FROM processes WHERE process_id > 1; INSERT INTO memory_samples VALUES (1, 50000000000, 90000, 70000, 15000, 20000),
  (1, 59000000000, 50000, 30000, 15000, 20000), (1, 61000000000, 55000, 35000, 15000, 9000), (1, 62000000000, 58000, 42000, 15000, 9000)"
mtrace-query run.db | grep -E '^(peak|RSS)'
