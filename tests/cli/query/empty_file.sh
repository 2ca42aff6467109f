. "$CASES/../fixture.sh"
: > empty.db; mtrace-query leaks empty.db
