. "$CASES/../fixture.sh"
mtrace-query leaks
# expect status 2
# expect stderr
#|mtrace-query: leaks needs a database
#|Try 'mtrace-query --help'.
