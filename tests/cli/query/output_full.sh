. "$CASES/../fixture.sh"
mtrace-query peak run.db > /dev/full
