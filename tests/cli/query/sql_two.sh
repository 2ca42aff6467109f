. "$CASES/../fixture.sh"
mtrace-query sql run.db "SELECT 1; SELECT 2"
