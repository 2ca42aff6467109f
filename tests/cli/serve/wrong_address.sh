. "$CASES/../fixture.sh"
mtrace-serve --listen example.com run.db
