. "$CASES/../fixture.sh"
mtrace-query leaks run.db --format xml
