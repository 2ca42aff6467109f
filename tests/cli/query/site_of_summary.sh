. "$CASES/../fixture.sh"
mtrace-query run.db --site 2 --format json
