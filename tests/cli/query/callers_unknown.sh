. "$CASES/../fixture.sh"
mtrace-query callers nowhere run.db
# expect status 1
# expect stderr
#|mtrace-query: no function is called 'nowhere'; mtrace-query by-function lists them
