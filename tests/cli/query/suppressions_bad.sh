. "$CASES/../fixture.sh"
printf "\nrace:foo\n" > rules
mtrace-query leaks run.db --suppressions rules
# expect status 2
# expect stderr
#|mtrace-query: 'rules' line 2: 'race:foo' is not a rule; write leak:PATTERN
#|Try 'mtrace-query --help'.
