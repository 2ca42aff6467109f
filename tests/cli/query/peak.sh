. "$CASES/../fixture.sh"
mtrace-query peak run.db --process 1
