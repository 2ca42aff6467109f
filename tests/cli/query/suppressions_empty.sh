. "$CASES/../fixture.sh"
printf "leak:*\n" > rules
mtrace-query leaks run.db --suppressions rules
# expect status 2
# expect stderr
#|mtrace-query: 'rules' line 1: an empty pattern would suppress every leak
#|Try 'mtrace-query --help'.
