. "$CASES/../fixture.sh"
mtrace-query sql run.db "SELEC 1"
# expect status 2
# expect stderr
#|mtrace-query: cannot run the statement: near "SELEC": syntax error
#|Try 'mtrace-query --help'.
