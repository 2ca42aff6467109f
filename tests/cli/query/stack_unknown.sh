. "$CASES/../fixture.sh"
mtrace-query stack run.db 99
# expect status 1
# expect stderr
#|mtrace-query: 'run.db' has no stack 99; mtrace-query groups lists them
