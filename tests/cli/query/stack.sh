. "$CASES/../fixture.sh"
mtrace-query stack run.db 5
mtrace-query stack 5 run.db --format json
