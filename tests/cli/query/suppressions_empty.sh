. "$CASES/../fixture.sh"
printf "leak:*\n" > rules
mtrace-query leaks run.db --suppressions rules
