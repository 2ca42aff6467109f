. "$CASES/../fixture.sh"
mtrace-query groups run.db --sort-by last_ns --order dsc -n 2 --skip 1 --format csv
