. "$CASES/../fixture.sh"
mtrace-query describe leeks
# expect status 2
# expect stderr
#|mtrace-query: 'leeks' is no view or table; did you mean leaks?
#|Try 'mtrace-query --help'.
