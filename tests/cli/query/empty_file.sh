. "$CASES/../fixture.sh"
: > empty.db; mtrace-query leaks empty.db
# expect status 1
# expect stderr
#|mtrace-query: 'empty.db' is empty; mtrace-import makes databases
