. "$CASES/../fixture.sh"
mtrace-query leaks run.db --process 9
# expect status 1
# expect stderr
#|mtrace-query: 'run.db' has no process 9; mtrace-query processes lists them
