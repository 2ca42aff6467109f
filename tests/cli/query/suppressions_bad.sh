. "$CASES/../fixture.sh"
printf "\nrace:foo\n" > rules
mtrace-query leaks run.db --suppressions rules
