. "$CASES/../fixture.sh"
mtrace-query leaks run.db --format xml
# expect status 2
# expect stderr
#|mtrace-query: --format 'xml': table, json or csv is expected
#|Try 'mtrace-query --help'.
