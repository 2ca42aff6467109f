. "$CASES/../fixture.sh"
mtrace-query stack run.db five
