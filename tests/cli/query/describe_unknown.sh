. "$CASES/../fixture.sh"
mtrace-query describe leeks
# expect status 2
# expect stderr
#|mtrace-query: unknown view or table 'leeks'; did you mean leaks?
#|Try 'mtrace-query --help'.
