. "$CASES/../fixture.sh"
mtrace-query sql run.db "DELETE FROM processes"
