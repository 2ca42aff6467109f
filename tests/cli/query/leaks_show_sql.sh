. "$CASES/../fixture.sh"
mtrace-query leaks run.db --show-sql --process 1 | tee statement
sqlite3 run.db < statement | wc -l
