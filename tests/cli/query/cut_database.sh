. "$CASES/../fixture.sh"
head -c 20000 run.db > cut.db; mtrace-query leaks cut.db
