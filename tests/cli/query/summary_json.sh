. "$CASES/../fixture.sh"
mtrace-query summary run.db --format json --process 2
